"""Messages for the user, collected in `frappe.local.message_log` and sent with the response."""

from inspect import isclass

import frappe
from frappe.exceptions import ValidationError  # noqa: A004
from frappe.types import _dict


def msgprint(msg, title=None, raise_exception=False, indicator=None, alert=False):
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
			"indicator": indicator or ("red" if error else None),
			"alert": int(alert),
			"raise_exception": int(bool(error)),
			"__frappe_exc_id": getattr(error, "__frappe_exc_id", None),
		}
		entry.update({key: value for key, value in optional.items() if value})
		frappe.local.message_log.append(entry)
	if error:
		raise error


def throw(msg, exc=ValidationError, title=None):
	"""Raise an exception and show its message."""
	msgprint(msg, raise_exception=exc, title=title, indicator="red")


def bold(text) -> str:
	return f"<strong>{text}</strong>"


def clear_messages():
	frappe.local.message_log = []


def clear_last_message():
	frappe.local.message_log = frappe.local.message_log[:-1]
