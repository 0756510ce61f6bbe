"""Tracebacks and Error Log rows."""

import sys
import traceback

import frappe


def get_traceback(with_context: bool = False) -> str:
	"""The text of the exception being handled; empty without one."""
	if sys.exc_info()[0] is None:
		return ""
	return traceback.format_exc()


def try_to_log_error(title: str):
	"""Roll back and commit an Error Log row for the current exception. If that fails, print both errors."""
	logged = sys.exc_info()[1]
	try:
		frappe.db.rollback()
		frappe.log_error(title=title[:140])
		frappe.db.commit()
	except Exception as error:  # logging must not hide the error that is being logged
		print(f"{title} failed: {logged!r}. There is no Error Log of it: {error}", file=sys.stderr)


def log_error(title=None, message=None, reference_doctype=None, reference_name=None, *, defer_insert=False):
	"""Write an Error Log row with the message, else the traceback. A title of many lines is the message."""
	if message and title and "\n" in str(title):
		title, message = message, title
	elif title and not message and "\n" in str(title):
		title, message = None, title
	message = str(message or get_traceback() or title or "")
	title = str(title or message.strip().rsplit("\n", 1)[-1] or "Error")
	entry = frappe.get_doc(
		dict(
			doctype="Error Log",
			method=title[:140],
			error=message,
			reference_doctype=reference_doctype,
			reference_name=reference_name,
		)
	)
	return entry.insert(ignore_permissions=True)
