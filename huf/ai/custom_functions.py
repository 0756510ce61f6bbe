"""Functions that apps lend to agents: found by dotted path, described by their signature, called.

Only functions defined in an installed app are found, and Frappe's own only where they are whitelisted: a path is typed
by a person into a form and must not reach the whole of Python.
"""

import inspect
from collections.abc import Callable
from typing import Any, get_args, get_origin, get_type_hints

import frappe

from huf.ai.errors import ToolError, UsageError

JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object", list: "array"}


def find(path: str) -> Callable:
	"""The function at `path`. Raises UsageError with the reason where it may not be used."""
	app = (path or "").partition(".")[0]
	if app not in frappe.get_installed_apps():
		raise UsageError(f"{path!r} is not in an installed app. Give a path such as my_app.api.my_function.")
	try:
		function = frappe.get_attr(path)
	except (ImportError, AttributeError, ValueError) as error:
		raise UsageError(f"There is no function at {path!r}: {error}") from None
	home = (getattr(function, "__module__", None) or "").partition(".")[0]
	if not inspect.isroutine(function) or home != app:
		raise UsageError(f"{path!r} is not a function that the app {app!r} defines.")
	if app == "frappe" and function not in frappe.whitelisted:
		raise UsageError(f"{path!r} is internal to Frappe. Only its whitelisted functions can be tools.")
	return function


def offers() -> list[dict]:
	"""Tools that installed apps offer by the hook `huf_tools`: dicts with tool_name, description and function_path.

	Each may have `parameters` (a JSON schema) and `effect` too.
	"""
	return [
		{"provider_app": app, **offer} for app in frappe.get_installed_apps() for offer in app_offers(app)
	]


def app_offers(app: str) -> list[dict]:
	return frappe.get_hooks("huf_tools", app_name=app) or []


def find_offer(app: str, tool_name: str) -> dict:
	for offer in app_offers(app) if app in frappe.get_installed_apps() else []:
		if offer["tool_name"] == tool_name:
			return offer
	names = ", ".join(offer["tool_name"] for offer in offers() if offer["provider_app"] == app) or "no tools"
	raise UsageError(f"The app {app!r} does not offer {tool_name!r} (it offers: {names}).")


def call(function: Callable, arguments: dict) -> Any:
	"""Call with plain keyword arguments, or with (args, user_context) where the function is made for those."""
	if takes_context(function):
		return function(arguments, user_context())
	try:
		inspect.signature(function).bind(**arguments)
	except TypeError as error:
		raise ToolError(f"The arguments do not fit the function: {error}.") from None
	return function(**arguments)


def takes_context(function: Callable) -> bool:
	"""Whether it is `async (args, user_context)`."""
	names = list(inspect.signature(function).parameters)
	return inspect.iscoroutinefunction(function) and names == ["args", "user_context"]


def user_context() -> dict:
	user = frappe.session.user
	email = frappe.db.get_value("User", user, "email")
	return {"user_id": user, "user_email": email, "user_role": frappe.get_roles(user)}


def schema_of(function: Callable) -> dict:
	"""JSON schema from a signature: annotations give types, missing defaults what is required."""
	if takes_context(function):
		return {"type": "object", "properties": {}}
	hints = get_type_hints(function)
	properties, required, open_ended = {}, [], False
	for name, parameter in inspect.signature(function).parameters.items():
		if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
			open_ended = open_ended or parameter.kind is parameter.VAR_KEYWORD
			continue
		properties[name] = type_schema(hints.get(name))
		if parameter.default is parameter.empty:
			required.append(name)
	return {
		"type": "object",
		"properties": properties,
		"required": required,
		"additionalProperties": open_ended,
	}


def type_schema(hint: Any) -> dict:
	"""The JSON type of an annotation; anything goes where it has no plain one."""
	kinds = [
		JSON_TYPES.get(get_origin(part) or part)
		for part in get_args(hint) or (hint,)
		if part is not type(None)
	]
	if get_origin(hint) in JSON_TYPES:
		return {"type": JSON_TYPES[get_origin(hint)]}
	if not kinds or None in kinds:
		return {}
	optional = ["null"] if type(None) in get_args(hint) else []
	return {"type": kinds[0]} if len(kinds) == 1 and not optional else {"type": [*kinds, *optional]}
