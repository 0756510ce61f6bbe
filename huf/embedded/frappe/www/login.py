"""The page `/login`, with a hint until the first login."""

from urllib.parse import urlsplit

import frappe
from frappe.auth import get_home
from frappe.password_reset import is_possible
from frappe.website.page import redirect


def get_context(context):
	context.redirect_to = get_safe_path(frappe.form_dict.get("redirect-to")) or get_home()
	if frappe.session.user != "Guest":
		redirect(context.redirect_to)
	context.can_reset = is_possible()
	context.is_first_login = not frappe.db.get_value("User", "Administrator", "last_login")
	return add_app(context)


def add_app(context):
	context.app_title = (frappe.get_hooks("app_title") or ["Frappe"])[-1]
	context.logo = next((screen.get("logo") for screen in frappe.get_hooks("add_to_apps_screen")), None)
	return context


def get_safe_path(address: str | None) -> str | None:
	"""The path if it stays on this site; None for anything that could lead elsewhere.

	Browsers read backslashes as slashes and drop control characters, so `/\\evil` is as bad as `//evil`.
	"""
	address = (address or "").strip()
	is_path = address.startswith("/") and address.isprintable() and "\\" not in address
	parts = urlsplit(address) if is_path and not address.startswith("//") else None
	return address if parts and not parts.scheme and not parts.netloc else None
