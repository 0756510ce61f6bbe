"""Messages for the user, collected in `frappe.local.message_log` and sent with the response."""

from inspect import isclass

import frappe
from frappe.exceptions import ValidationError  # noqa: A004
from frappe.types import _dict


def msgprint(
	msg,
	title=None,
	raise_exception=False,
	as_table=False,
	as_list=False,
	indicator=None,
	alert=False,
	primary_action=None,
	is_minimizable=False,
	wide=False,
):
	"""Show a message, and raise `raise_exception` (a class; True means ValidationError) with it."""
	error = None
	if raise_exception:
		is_exception = isclass(raise_exception) and issubclass(raise_exception, Exception)
		error = (raise_exception if is_exception else ValidationError)(msg)
		error.__frappe_exc_id = frappe.generate_hash()
	if not frappe.local.flags.mute_messages:
		title = title or frappe._("Message", context="Default title of the message dialog")
		entry = _dict(message=msg, title=title)
		optional = {
			"as_table": int(as_table and type(msg) in (list, tuple)),
			"as_list": int(as_list and type(msg) in (list, tuple)),
			"indicator": indicator or ("red" if error else None),
			"is_minimizable": is_minimizable,
			"alert": int(alert),
			"raise_exception": int(bool(error)),
			"__frappe_exc_id": getattr(error, "__frappe_exc_id", None),
			"primary_action": primary_action,
			"wide": wide,
		}
		entry.update({key: value for key, value in optional.items() if value})
		frappe.local.message_log.append(entry)
	if error:
		raise error


def throw(
	msg, exc=ValidationError, title=None, is_minimizable=False, wide=False, as_list=False, primary_action=None
):
	"""Raise an exception and show its message."""
	msgprint(msg, title, exc, False, as_list, "red", False, primary_action, is_minimizable, wide)


def bold(text) -> str:
	return f"<strong>{text}</strong>"


def clear_messages():
	frappe.local.message_log = []


def clear_last_message():
	frappe.local.message_log = frappe.local.message_log[:-1]
