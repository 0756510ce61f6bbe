"""Messages for the person in front: collected in `frappe.local.message_log`, sent by the HTTP side."""

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
	*,
	realtime=False,
):
	"""Show a message, and raise `raise_exception` (a class; True means ValidationError) with it."""
	if isinstance(msg, bytes):
		msg = msg.decode()
	error = None
	if raise_exception:
		is_exception = isclass(raise_exception) and issubclass(raise_exception, Exception)
		error = (raise_exception if is_exception else ValidationError)(msg)
	if not frappe.local.flags.mute_messages:
		entry = _dict(
			message=msg, title=title or frappe._("Message", context="Default title of the message dialog")
		)
		is_rows = isinstance(msg, (list, tuple))
		optional = {
			"as_table": int(as_table and is_rows),
			"as_list": int(as_list and is_rows),
			"indicator": indicator or ("red" if error else None),
			"is_minimizable": is_minimizable,
			"alert": int(alert),
			"raise_exception": int(bool(error)),
			"primary_action": primary_action,
			"wide": wide,
		}
		entry.update({key: value for key, value in optional.items() if value})
		if error:
			entry["__frappe_exc_id"] = error.__frappe_exc_id = frappe.generate_hash()
		if realtime:
			frappe.publish_realtime(event="msgprint", message=entry, user=frappe.session.user)
		else:
			frappe.local.message_log.append(entry)
	if error:
		raise error


def throw(
	msg, exc=ValidationError, title=None, is_minimizable=False, wide=False, as_list=False, primary_action=None
):
	"""Raise an exception and show its message."""
	msgprint(
		msg,
		raise_exception=exc,
		title=title,
		indicator="red",
		is_minimizable=is_minimizable,
		wide=wide,
		as_list=as_list,
		primary_action=primary_action,
	)


def errprint(msg):
	frappe.local.error_log.append({"exc": str(msg)})


def bold(text) -> str:
	return f"<strong>{text}</strong>"


def clear_messages():
	frappe.local.message_log = []


def clear_last_message():
	frappe.local.message_log = frappe.local.message_log[:-1]


def get_message_log() -> list[dict]:
	return list(frappe.local.message_log)
