"""Finds functions of apps by dotted path, and calls them as tools.

People enter the path in a form, so only functions that an installed app offers can be reached.
"""

import importlib
import inspect
from collections.abc import Callable
from typing import Any

import frappe
from frappe import _

from huf.ai.core.errors import ToolError, UsageError
from huf.ai.tools.signatures import convert_arguments, get_signature, takes_context

PUBLIC_FUNCTIONS = "huf.ai.tool_functions"
"""Functions of Huf that are offered in addition to those of its hook and `@tool`."""


def find_offered_function(path: str) -> Callable:
	"""The function at `path`, for a path that a person typed.

	An app offers a function by `@tool`, by its hook `huf_tools` or by `frappe.whitelist`. Huf's own endpoints
	are whitelisted for pages and not offered: one of them approves drafts. Raises UsageError.
	"""
	function = find_app_function(path)
	if hasattr(function, "huf_tool") or is_named_by_hook(path) or is_public_function(function):
		return function
	if function in frappe.whitelisted and not path.startswith("huf."):
		return function
	raise UsageError(
		f"{path!r} is not offered to agents. Mark the function with @tool (of huf.ai.tools.registry) or with "
		"@frappe.whitelist(), or name it in the hook huf_tools of its app."
	)


def is_named_by_hook(path: str) -> bool:
	entries = frappe.get_hooks("huf_tools") or []
	return any(isinstance(entry, dict) and entry.get("function_path") == path for entry in entries)


def is_public_function(function: Callable) -> bool:
	return any(function is offered for offered in vars(importlib.import_module(PUBLIC_FUNCTIONS)).values())


def find_app_function(path: str) -> Callable:
	"""The function at `path`, which an installed app defines. Raises UsageError with the reason."""
	app = (path or "").partition(".")[0]
	if app not in frappe.get_installed_apps():
		text = _("{0} is not in an installed app. Give a path such as my_app.api.my_function.")
		raise UsageError(text.format(path))
	try:
		function = frappe.get_attr(path)
	except (ImportError, AttributeError, ValueError) as error:
		raise UsageError(_("There is no function at {0}: {1}").format(path, error)) from None
	defining_app = (getattr(function, "__module__", None) or "").partition(".")[0]
	if not inspect.isroutine(function) or defining_app != app:
		raise UsageError(_("{0} is not a function that the app {1} defines.").format(path, app))
	return function


def call_function(function: Callable, arguments: dict, context: dict | None = None) -> Any:
	"""Call with keyword arguments, or with (args, user_context) if that is the function's signature."""
	if takes_context(function):
		return function(arguments, context or build_user_context())
	converted = convert_arguments(function, arguments)
	try:
		return function(**converted)
	except TypeError:
		check_signature(function, converted)
		raise


def check_function_call(function: Callable, arguments: dict) -> None:
	"""Raises ToolError if the function does not take the arguments."""
	if not takes_context(function):
		check_signature(function, convert_arguments(function, arguments))


def check_signature(function: Callable, arguments: dict) -> None:
	"""Raises ToolError if the signature does not accept the arguments, which a decorator may hide."""
	try:
		get_signature(function).bind(**arguments)
	except TypeError as error:
		raise ToolError(f"The arguments do not fit the function: {error}.") from None


def build_user_context() -> dict:
	user = frappe.session.user
	email = frappe.db.get_value("User", user, "email")
	return {"user_id": user, "user_email": email, "user_role": frappe.get_roles(user)}
