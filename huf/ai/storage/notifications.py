"""Notifies users by rows of Frappe's Notification Log, which the web app and the Desk show."""

import frappe

from huf.ai.core.stored_text import clip

NOTIFICATION = "Notification Log"
MAX_SUBJECT_CHARS = 500


def notify_user(user: str, subject: str, text: str, doctype: str | None, name: str | None) -> str:
	"""Notify a user, optionally with a link to a document. Returns the notification's name."""
	values = {
		"doctype": NOTIFICATION,
		"for_user": user,
		"type": "Alert",
		"subject": clip(subject, MAX_SUBJECT_CHARS),
		"email_content": text,
		"document_type": doctype,
		"document_name": name,
		"from_user": frappe.session.user,
	}
	return frappe.get_doc(values).insert(ignore_permissions=True).name


def list_notifications(user: str, limit: int) -> list:
	fields = ["name", "subject", "email_content", "document_type", "document_name", "read", "creation"]
	return frappe.get_all(
		NOTIFICATION, {"for_user": user}, fields, order_by="creation desc", limit_page_length=limit
	)


def mark_read(user: str, name: str) -> None:
	if frappe.db.get_value(NOTIFICATION, name, "for_user") == user:
		frappe.db.set_value(NOTIFICATION, name, "read", 1, update_modified=False)


def delete_notifications(runs: list[str]) -> None:
	"""Delete the notifications about these runs, which quote their answers. Does not commit."""
	frappe.db.delete(NOTIFICATION, {"document_type": "Agent Run", "document_name": ["in", runs]})
