"""The registry of functions that may be called over HTTP, by whom and with which verbs."""

from collections.abc import Callable

import frappe
from frappe.utils.typing_validations import validate_argument_types

ALL_METHODS = ("GET", "POST", "PUT", "DELETE")

whitelisted: set[Callable] = set()
guest_methods: set[Callable] = set()
xss_safe_methods: set[Callable] = set()
allowed_http_methods_for_whitelisted_func: dict[Callable, list[str]] = {}


def whitelist(allow_guest=False, xss_safe=False, methods=None):
	"""Decorator that makes a function available at /api/method/<its dotted path>.

	In requests, arguments are validated by the annotations.
	"""

	def register(function):
		checked = validate_argument_types(function, apply_condition=in_request_or_test)
		whitelisted.add(checked)
		allowed_http_methods_for_whitelisted_func[checked] = list(methods or ALL_METHODS)
		if allow_guest:
			guest_methods.add(checked)
			if xss_safe:
				xss_safe_methods.add(checked)
		return checked

	return register


def in_request_or_test() -> bool:
	return bool(getattr(frappe.local, "request", None) or frappe.local.flags.in_test)


def is_whitelisted(method):
	"""Raises PermissionError unless the user may call it. A guest's text arguments are sanitized."""
	from frappe.utils.html_utils import sanitize_html

	is_guest = frappe.session.user == "Guest"
	if method not in whitelisted or (is_guest and method not in guest_methods):
		summary = frappe._("You are not permitted to access this resource.")
		detail = frappe._("Function {0} is not whitelisted.").format(
			frappe.bold(f"{method.__module__}.{method.__name__}")
		)
		message = f"<details><summary>{summary}</summary>{detail}</details>"
		frappe.throw(message, frappe.PermissionError, title=frappe._("Method Not Allowed"))
	if is_guest and method not in xss_safe_methods:
		for key, value in (frappe.form_dict or {}).items():
			if isinstance(value, str):
				frappe.form_dict[key] = sanitize_html(value)
