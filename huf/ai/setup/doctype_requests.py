"""Requests for DocTypes, sent to the System Managers by users who may not create them."""

import frappe
from frappe import _
from frappe.utils import get_fullname, today

from huf.ai.core.errors import UsageError
from huf.ai.core.text_decoding import NO_TAGS, strip_control_chars
from huf.ai.storage import notifications
from huf.ai.storage.users import list_users_with_role

MAX_REQUEST_CHARS = 140
MAX_REQUESTS_PER_DAY = 10
MAX_ASKED = 20
SYSTEM_MANAGER = "System Manager"
NEW_DOCTYPE = ("DocType", "new")
"""The document that the notification links to: the Desk and the page open the form of a new one."""


def request_doctype(request: str) -> list[str]:
	"""Notify the System Managers, once per day and request; returns the full names of who was asked."""
	user = frappe.session.user
	if SYSTEM_MANAGER in frappe.get_roles(user):
		raise UsageError(_("You are a System Manager: create the DocType yourself."))
	request = " ".join(strip_control_chars(request).translate(NO_TAGS).split())
	if not request or len(request) > MAX_REQUEST_CHARS:
		raise UsageError(_("Say in 1 to {0} characters which records are missing.").format(MAX_REQUEST_CHARS))
	subject = _("{0} asks for a DocType: {1}").format(get_fullname(user).translate(NO_TAGS), request)
	asked = list_users_with_role(SYSTEM_MANAGER)[:MAX_ASKED] or ["Administrator"]
	before = read_todays_requests(user)
	if subject.casefold() not in before:
		if len(before) >= MAX_REQUESTS_PER_DAY:
			raise UsageError(_("You have asked {0} times today. Ask again tomorrow.").format(len(before)))
		for each in asked:
			notifications.notify_user(each, subject, "", *NEW_DOCTYPE)
	return [get_fullname(each) for each in asked]


def read_todays_requests(user: str) -> set[str]:
	"""The subjects, in lower case, by which a user has asked today."""
	doctype, name = NEW_DOCTYPE
	own = {"from_user": user, "document_type": doctype, "document_name": name, "creation": [">=", today()]}
	rows = frappe.get_all(notifications.NOTIFICATION, own, pluck="subject", order_by="creation asc")
	return {each.casefold() for each in rows}
