"""The texts of errors that refuse something, as plain text: Frappe writes its own for a browser."""

import re

import frappe

TAG = re.compile(r"</?([a-z]\w*)\b[^<>]*>", re.IGNORECASE)
INLINE_TAGS = ("a", "b", "code", "em", "i", "span", "strong", "u")


def read_refusal(error: Exception) -> str:
	"""What an error says; "" if nothing. For a missing permission, Frappe keeps the text in a flag."""
	if isinstance(error, frappe.PermissionError):
		return remove_tags(str(error) or frappe.flags.error_message or "")
	return str(error)


def remove_tags(html: str) -> str:
	"""A message without its tags; a "<" that begins no tag stays, and so does the space between lines and
	items.
	"""
	text = TAG.sub(lambda tag: "" if tag[1].lower() in INLINE_TAGS else " ", html)
	return " ".join(text.split())
