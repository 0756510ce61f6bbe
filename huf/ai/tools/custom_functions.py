"""Finds functions of apps by dotted path, describes them by their signature, and calls them as tools.

People enter the path in a form, so only functions that an installed app offers can be reached.
"""

import importlib
import inspect
import math
import re
from collections.abc import Callable
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import frappe
from frappe import _

from huf.ai.core.errors import ToolError, UsageError

ARGUMENT = re.compile(r"^( *)(\w+)(?: \([^)]*\))?:\s+(\S.*(?:\n\1 +\S.*)*)$", re.MULTILINE)
"""A parameter under "Args:" with its description; lines that are indented further continue it."""
get_signature = lru_cache(maxsize=512)(inspect.signature)
"""Cached, because reading a signature takes longer than most calls."""
JSON_TYPES: dict[type, str] = {
	str: "string",
	int: "integer",
	float: "number",
	bool: "boolean",
	dict: "object",
	list: "array",
	NoneType: "null",
}


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
	try:
		return function(**arguments)
	except TypeError:
		check_signature(function, arguments)
		raise


def check_signature(function: Callable, arguments: dict) -> None:
	"""Raises ToolError if the signature does not accept the arguments, which a decorator may hide."""
	try:
		get_signature(function).bind(**arguments)
	except TypeError as error:
		raise ToolError(f"The arguments do not fit the function: {error}.") from None


def takes_context(function: Callable) -> bool:
	"""Whether it is `async (args, user_context)`."""
	names = list(get_signature(function).parameters)
	return inspect.iscoroutinefunction(function) and names == ["args", "user_context"]


def build_user_context() -> dict:
	user = frappe.session.user
	email = frappe.db.get_value("User", user, "email")
	return {"user_id": user, "user_email": email, "user_role": frappe.get_roles(user)}


def build_schema(function: Callable) -> dict:
	"""A JSON schema from a signature: types from annotations, descriptions from "Args:"; without a default,
	required.
	"""
	if takes_context(function):
		return {"type": "object", "properties": {}}
	hints = get_type_hints(function)
	arguments = ARGUMENT.findall((inspect.getdoc(function) or "").partition("Args:\n")[2])
	descriptions = {name: " ".join(text.split()) for _indent, name, text in arguments}
	properties, required, open_ended = {}, [], False
	for name, parameter in get_signature(function).parameters.items():
		if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
			open_ended = open_ended or parameter.kind is parameter.VAR_KEYWORD
			continue
		properties[name] = build_type_schema(hints.get(name))
		if name in descriptions:
			properties[name]["description"] = descriptions[name]
		if parameter.default is parameter.empty:
			required.append(name)
		elif is_json_scalar(parameter.default):
			properties[name]["default"] = parameter.default
	return {
		"type": "object",
		"properties": properties,
		"required": required,
		"additionalProperties": open_ended,
	}


def is_json_scalar(value: Any) -> bool:
	return isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))


def build_type_schema(hint: Any) -> dict:
	"""The JSON schema of an annotation; {} accepts anything, for annotations without a JSON type."""
	if get_origin(hint) is Literal:
		choices = get_args(hint)
		types = {JSON_TYPES.get(type(each)) for each in choices}
		return ({"type": types.pop()} if len(types) == 1 else {}) | {"enum": list(choices)}
	parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
	kinds = [JSON_TYPES.get(get_origin(part) or part) for part in parts]
	if None in kinds:
		return {}
	schema: dict = {"type": kinds[0] if len(kinds) == 1 else kinds}
	if "array" in kinds:
		# OpenAI refuses lists without an item type.
		of = get_args(parts[kinds.index("array")])
		schema["items"] = build_type_schema(of[0]) if of else {}
	return schema
