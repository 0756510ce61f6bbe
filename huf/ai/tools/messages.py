"""The tool types Send Mail (to users, contacts and addresses) and Notify (users)."""

import re
from collections.abc import Iterable

import frappe

from huf.ai.core.errors import ToolError
from huf.ai.core.templates import render_template
from huf.ai.core.text_decoding import EMAIL_ADDRESS, strip_control_chars
from huf.ai.storage import notifications, outgoing_mail
from huf.ai.storage.untrusted_records import find_marked, find_outsider

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


def notify(to: Iterable[str] | str, subject: str, text: str, by_mail: bool) -> dict:
	"""Notify users in their list, and by mail if the tool's record says so: {status, to}."""
	users = list(dict.fromkeys(find_user(each) for each in split_names(to)))
	for user in users:
		notifications.notify_user(user, subject, text, "Agent Run", frappe.flags.huf_run)
	if by_mail:
		send_mail(users, subject, text or subject)
	return {"status": "notified", "to": users}


def list_recipients(to: Iterable[str] | str) -> list[str]:
	parts = re.split(r"[,;\n]", to) if isinstance(to, str) else to
	return [str(part).strip() for part in parts if str(part).strip()]


def split_names(to: Iterable[str] | str) -> list[str]:
	names = list_recipients(to)
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
	if record := find_record(name):
		return record[0]
	raise ToolError(f"{name!r} is no e-mail address and matches no single user or contact. Give the address.")


def find_record(name: str) -> tuple[str, str, str] | None:
	"""(address, DocType, name) of the one user, or else contact, that a recipient's name means."""
	if user := find_known_user(name):
		return frappe.db.get_value("User", user, "email") or user, "User", user
	if not (frappe.db.exists("DocType", CONTACT) and frappe.has_permission(CONTACT, "read")):
		return None
	fields = ["name", "email_id"]
	rows = [
		row
		for filters in ({"name": name}, {"full_name": name})
		for row in frappe.get_list(CONTACT, filters=filters, fields=fields, order_by="name asc")
		if row.email_id
	]
	is_one = len({row.email_id for row in rows}) == 1
	return (rows[0].email_id.lower(), CONTACT, rows[0].name) if is_one else None


def find_stranger(name: str) -> tuple[str, str] | None:
	"""(address, origin) of a recipient whose name means a record that a stranger has written."""
	record = None if EMAIL_ADDRESS.fullmatch(name) else find_record(name)
	if not record:
		return None
	address, doctype, known = record
	origin = find_marked(doctype, [known])
	# A guest owns a user who signed up or came by single sign-on. With access to the Desk, it is a colleague.
	if not origin and not (doctype == "User" and has_desk_access(known)):
		origin = find_outsider(doctype, [known])
	return (address, origin) if origin else None


def has_desk_access(user: str) -> bool:
	return frappe.db.get_value("User", user, "user_type") == "System User"


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
