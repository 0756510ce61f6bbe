"""The tool types Send Mail (to users, contacts and addresses) and Notify (users)."""

import re
from collections.abc import Iterable

import frappe

from huf.ai.core.errors import ToolError
from huf.ai.core.templates import render_template
from huf.ai.core.text_decoding import EMAIL_ADDRESS, strip_control_chars
from huf.ai.storage import notifications, outgoing_mail

MAX_RECIPIENTS = 50
CONTACT = "Contact"


def send_mail(to: Iterable[str] | str, subject: str, body: str, template: str | None = None) -> dict:
	"""Queue a new mail: {status, mail, to}. `template` as in `compose_mail`."""
	sender = outgoing_mail.find_sender()
	if not sender:
		raise ToolError(outgoing_mail.find_sending_problem("this site"))
	mail = compose_mail(to, subject, body, template)
	name = outgoing_mail.insert_new_mail(sender, **mail, run=frappe.flags.huf_run)
	return {"status": "queued", "mail": name, "to": mail["to"]}


def compose_mail(to: Iterable[str] | str, subject: str, body: str, template: str | None = None) -> dict:
	"""{to, subject, body} as they are sent. `template`: Jinja text, with `body`, `subject` and `user`."""
	recipients = list(dict.fromkeys(find_address(each) for each in split_names(to)))
	subject = " ".join(strip_control_chars(subject).split())
	if template:
		names = {"body": body, "subject": subject, "user": frappe.session.user}
		try:
			body = render_template(template, names)
		except Exception as error:  # a template raises whatever its author wrote
			raise ToolError(f"The mail's template does not work: {error}") from error
	return {"to": recipients, "subject": subject, "body": body}


def notify(to: Iterable[str] | str, subject: str, text: str = "", by_mail: bool = False) -> dict:
	"""Notify users in their list, and by mail if the tool's record says so: {status, to}."""
	users = list(dict.fromkeys(find_user(each) for each in split_names(to)))
	for user in users:
		notifications.notify_user(user, subject, text, "Agent Run", frappe.flags.huf_run)
	if by_mail:
		send_mail(users, subject, text or subject)
	return {"status": "notified", "to": users}


def split_names(to: Iterable[str] | str) -> list[str]:
	parts = re.split(r"[,;\n]", to) if isinstance(to, str) else to
	names = [str(part).strip() for part in parts if str(part).strip()]
	if not names:
		raise ToolError("There is no recipient. Name at least one user or address.")
	if len(names) > MAX_RECIPIENTS:
		raise ToolError(f"More than {MAX_RECIPIENTS} recipients. Send to fewer.")
	return names


def find_address(name: str) -> str:
	"""The mail address of a recipient: an address itself, a user, or a contact that the session user may
	read.
	"""
	if EMAIL_ADDRESS.fullmatch(name):
		return name.lower()
	if user := find_known_user(name):
		return frappe.db.get_value("User", user, "email") or user
	if frappe.db.exists("DocType", CONTACT) and frappe.has_permission(CONTACT, "read"):
		names = ({"name": name}, {"full_name": name})
		found = [
			row.email_id
			for filters in names
			for row in frappe.get_list(CONTACT, filters=filters, fields=["email_id"], order_by="name asc")
		]
		if len(set(filter(None, found))) == 1:
			return next(filter(None, found)).lower()
	raise ToolError(f"{name!r} is no e-mail address and matches no single user or contact. Give the address.")


def find_user(name: str) -> str:
	user = find_known_user(name)
	if not user:
		raise ToolError(f"There is no enabled user {name!r}, or there are several. Give the user's address.")
	return user


def find_known_user(name: str) -> str | None:
	"""The one enabled user of that name, address or full name."""
	for field in ("name", "email", "full_name"):
		found = frappe.get_all(
			"User", {field: name, "enabled": 1}, pluck="name", order_by="name asc", limit=2
		)
		if len(found) == 1 and found[0] != "Guest":
			return found[0]
	return None
