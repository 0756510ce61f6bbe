"""The page `/update-password?key=...`, to which the mailed link leads."""

import frappe
from frappe.sessions import get_csrf_token
from frappe.www.login import add_app


def get_context(context):
	context.key = frappe.form_dict.get("key") or ""
	context.csrf_token = get_csrf_token() if frappe.session.user != "Guest" else ""
	return add_app(context)
