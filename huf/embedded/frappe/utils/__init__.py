"""`frappe.utils`: conversions, and helpers for users and addresses."""

import re

import frappe
from frappe.utils.data import *  # noqa: F403
from frappe.utils.error import get_traceback  # noqa: F401
from frappe.utils.html_utils import sanitize_html  # noqa: F401

ATOM, LABEL = r"[a-z0-9!#$%&'*+/=?^_`{|}~-]+", "[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
EMAIL = re.compile(rf"{ATOM}(?:\.{ATOM})*@(?:{LABEL}\.)+{LABEL}", re.IGNORECASE | re.ASCII)


def get_fullname(user: str | None = None) -> str:
	"""The full name of a user, by default the session user; the user ID if there is none."""
	user = user or frappe.session.user
	return frappe.db.get_value("User", user, "full_name") or user or ""


def split_emails(txt: str) -> list[str]:
	"""The parts between commas and line breaks that are not in double quotes."""
	parts = re.findall(r'(?:"[^"]*"|[^,\n"]+|")+', cstr(txt))  # noqa: F405
	return [part.strip() for part in parts if part.strip()]


def validate_email_address(email_str: str, throw: bool = False) -> str:
	"""The valid addresses of a comma separated text, without names, joined by a comma.

	Raises InvalidEmailAddressError for the first invalid one if `throw`.
	"""
	valid = []
	for part in split_emails((email_str or "").strip()):
		address = part.rsplit("<", 1)[-1].rstrip("> ") if "<" in part else part
		if EMAIL.fullmatch(address) or address in frappe.STANDARD_USERS:
			valid.append(address)
		elif throw:
			frappe.throw(
				frappe._("{0} is not a valid Email Address").format(frappe.bold(escape_html(address))),  # noqa: F405
				frappe.InvalidEmailAddressError,
			)
	return ", ".join(valid)


def validate_url(txt: str, throw: bool = False, valid_schemes=None) -> bool:
	from urllib.parse import urlsplit

	parts = urlsplit((txt or "").strip())
	schemes = [valid_schemes] if isinstance(valid_schemes, str) else valid_schemes
	is_valid = bool(parts.netloc and parts.scheme) and (not schemes or parts.scheme in schemes)
	if throw and not is_valid:
		frappe.throw(frappe._("'{0}' is not a valid URL").format(frappe.bold(txt)))
	return is_valid


def __getattr__(name):
	raise AttributeError(f"frappe.utils.{name} is not part of embedded mode: see huf/embedded/README.md")
