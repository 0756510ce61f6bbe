"""Finds tools written as code: in an app's folder `huf_tools`, in its hook `huf_tools`, and in tools.py of
packs.

A file marks functions with `@tool` or `register_tool`; what a site has is looked up each time from its
installed apps and packs. A file that cannot be loaded is reported by `list_tool_faults` and does not affect
other files.
"""

import importlib
import importlib.util
import inspect
import os
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from traceback import extract_tb
from typing import Any

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.core.progress import report_progress as report_progress
from huf.ai.core.types import Effect
from huf.ai.loop.plan_prompts import describe_tools
from huf.ai.tools import custom_functions
from huf.ai.tools.signatures import build_schema, check_annotations, describe_function, get_signature
from huf.ai.tools.types import CUSTOM_FUNCTION, TOOL_NAME

FOLDER = "huf_tools"
MARKS = "__huf_tools__"
"""The name under which a module holds its tools by name."""


@dataclass(frozen=True)
class Declarations:
	"""What the author of a tool declares about its calls.

	Without any, it counts as external, its results as outside content, all parameters as sensitive.

	`untrusted_result`: results carry text that others wrote, also as names and labels. `sensitive`:
	parameters that decide where something goes or who is affected, such as a recipient, an account, an
	amount, a role or a link; None: all. `destructive`: a call deletes, or changes passwords, sharing, roles
	or what others act on. `documents_only`: a call changes nothing but documents, through Frappe, so an
	approval can do a dry run and show the real difference; other approvals show the arguments and run
	nothing.
	"""

	effect: Effect = Effect.EXTERNAL
	untrusted_result: bool = True
	sensitive: tuple[str, ...] | None = None
	destructive: bool = False
	documents_only: bool = False


def declare(
	effect: Effect | str | None = None,
	untrusted_result: bool | None = None,
	sensitive: Iterable[str] | None = None,
	destructive: bool = False,
	documents_only: bool = False,
) -> Declarations:
	"""Declarations with defaults filled in; `untrusted_result` None: as for the effect.

	Raises ValueError for an unknown effect.
	"""
	if effect is None:
		effect = Effect.WRITE if documents_only else Effect.EXTERNAL
	try:
		effect = Effect(effect)
	except ValueError:
		raise ValueError(f"{effect!r} is not an effect. Use read, write or external.") from None
	if untrusted_result is None:
		untrusted_result = effect is Effect.EXTERNAL
	names = None if sensitive is None else tuple(sensitive)
	return Declarations(effect, untrusted_result, names, destructive, documents_only)


DECLARATIONS = tuple(each.name for each in fields(Declarations))


@dataclass(frozen=True)
class CodeTool:
	"""A function as a tool of `app`.

	`parameters` is a JSON schema. The declarations are those of `tool`, with their defaults filled in.
	"""

	name: str
	app: str
	description: str
	parameters: dict
	declared: Declarations
	function: Callable

	@property
	def effect(self) -> Effect:
		return self.declared.effect

	@property
	def module(self) -> str:
		return self.function.__module__

	@property
	def values(self) -> dict[str, str]:
		"""The fields of its Agent Tool Function."""
		return {
			"tool_name": self.name,
			"types": "App Provided",
			"provider_app": self.app,
			"description": self.description,
		}

	async def __call__(self, args: dict, user_context: dict) -> Any:
		result = custom_functions.call_function(self.function, args, user_context)
		return await result if inspect.isawaitable(result) else result


@dataclass(frozen=True)
class CodeTools:
	"""The tools of an app or a pack by name, and a message for each file or tool that cannot be used."""

	tools: dict[str, CodeTool] = field(default_factory=dict)
	faults: list[str] = field(default_factory=list)

	def add(self, tool: CodeTool) -> None:
		"""The first tool of a name counts; a second one is a fault."""
		first = self.tools.setdefault(tool.name, tool)
		if first.function is not tool.function:
			self.faults.append(f"Tool {tool.name!r} is already registered by {first.module}")

	def extend(self, other: "CodeTools") -> None:
		self.faults.extend(other.faults)
		for each in other.tools.values():
			self.add(each)


def tool(
	description: str | Callable | None = None,
	*,
	name: str | None = None,
	parameters: dict | None = None,
	**declared: Any,
) -> Callable:
	"""Mark a function as a tool, as `@tool` or `@tool(...)`. Omitted values come from its name, docstring and
	signature.

	`declared`: see `Declarations` and `declare`.
	"""

	text = description if isinstance(description, str) else None
	caller = sys._getframe(1).f_globals

	def mark(function: Callable) -> Callable:
		check_function(function)
		record_tool(caller, name or function.__name__, function, text, parameters=parameters, **declared)
		return function

	return mark(description) if callable(description) else mark


def register_tool(
	name: str,
	func: Callable,
	description: str | None = None,
	*,
	parameters: dict | None = None,
	**declared: Any,
) -> None:
	"""Mark a function, or the method of an object, as a tool under a name; also `async (args, user_context)`.

	Sites that load the module which calls this see it; a function may have several names. Raises ValueError
	for a name that models do not accept, or that is registered already, and for what is no function.
	"""
	check_function(func)
	caller = sys._getframe(1).f_globals
	app = caller["__name__"].partition(".")[0]
	record_tool(caller, name, func, description, app=app, parameters=parameters, **declared)


def record_tool(caller: dict, name: str, function: Callable, *description: str | None, **how: Any) -> None:
	"""Record a tool in the module that registers it and in the one that defines its function.

	`caller`: the names of the former. An attribute of the function says that it is offered.
	"""
	if not TOOL_NAME.fullmatch(name):
		raise ValueError(
			f"{name!r} is not a name for a tool. Use only letters, digits, _ and -, and at most 64 of them."
		)
	own = vars(sys.modules[function.__module__]) if function.__module__ in sys.modules else caller
	for names in (caller, own):
		first = names.get(MARKS, {}).get(name)
		if first and (names is caller or first.function is not function):
			raise ValueError(f"Tool {name!r} is already registered by {first.module}")
	tool = build_code_tool(name, function, *description, **how)
	for names in (caller, own):
		names.setdefault(MARKS, {})[name] = tool
	if inspect.isfunction(function):
		function.huf_tool = True  # type: ignore[attr-defined]


def check_function(function: Callable) -> None:
	"""Raises ValueError for what cannot be a tool, saying what to do."""
	label = getattr(function, "__qualname__", type(function).__name__)
	if isinstance(function, staticmethod | classmethod):
		raise ValueError(f"{label}: put @tool below @staticmethod. A class method is no tool.")
	if not (inspect.isfunction(function) or inspect.ismethod(function)):
		raise ValueError(f"{label} is no function. Write a function that calls it.")
	first = next(iter(get_signature(function).parameters), "")
	if inspect.isfunction(function) and first in ("self", "cls") and "." in label.rpartition("<locals>.")[2]:
		raise ValueError(
			f"{label} is a method, and a tool has no object. Write a function, or register the method of an "
			f"object: register_tool({function.__name__!r}, some_object.{function.__name__})."
		)


def build_code_tool(
	name: str,
	function: Callable,
	description: str | None = None,
	*,
	app: str | None = None,
	parameters: dict | None = None,
	**declared: Any,
) -> CodeTool:
	if not parameters:
		check_annotations(function)
	return CodeTool(
		name,
		app or function.__module__.partition(".")[0],
		description or describe_function(function) or name.replace("_", " "),
		parameters or build_schema(function),
		declare(**declared),
		function,
	)


def get_available_tools_description() -> str:
	"""The tools as text for a planner: a line per tool, with its description and the JSON schema of its
	arguments.
	"""
	return describe_tools(sorted(list_code_tools(), key=lambda each: each.name))


def list_code_tools() -> list[CodeTool]:
	"""The code tools of the apps and packs that this site has."""
	return list(load_site_tools().tools.values())


def list_tool_faults() -> list[str]:
	"""Messages about tool files of this site's apps and packs that cannot be used."""
	return load_site_tools().faults


def load_site_tools() -> CodeTools:
	found = CodeTools()
	for app in frappe.get_installed_apps():
		found.extend(load_app_tools(app))
	return found


def load_app_tools(app: str) -> CodeTools:
	"""The tools of an app's hook and folder, and of its packs that this site has installed."""
	found = CodeTools()
	for entry in [*(frappe.get_hooks("huf_tools", app_name=app) or []), *list_folder_modules(app)]:
		found.extend(load_tools(app, entry))
	for module in list_pack_modules(app):
		found.extend(load_tools(app, module))
	return found


def find_code_tool(app: str, name: str) -> CodeTool:
	"""A tool of an installed app. Raises UsageError, which names faults in the app's files."""
	found = load_app_tools(app) if app in frappe.get_installed_apps() else CodeTools()
	if name in found.tools:
		return found.tools[name]
	reasons = "".join(f" {fault}." for fault in found.faults)
	similar = ", ".join(get_close_matches(name, found.tools))
	hint = f" (similar: {similar})" if similar else ""
	raise UsageError(f"The app {app!r} does not offer {name!r}{hint}.{reasons}")


def find_tool_function(row: Any) -> Callable:
	"""The function of an Agent Tool Function of a code type. Raises UsageError if it is gone."""
	if row.types == CUSTOM_FUNCTION:
		return custom_functions.find_offered_function(row.function_path)
	return find_code_tool(row.provider_app, row.function_path or row.tool_name).function


def list_pack_modules(app: str) -> list[str]:
	"""The tool modules of an app's packs that this site has installed."""
	filters = {"app": app, "tools_module": ["is", "set"]}
	return frappe.get_all("Agent Pack", filters, pluck="tools_module", order_by="name asc")


def list_folder_modules(app: str) -> list[str]:
	folder = importlib.util.find_spec(f"{app}.{FOLDER}")
	if folder and folder.submodule_search_locations is None:
		return [folder.name]  # huf_tools.py
	names = pkgutil.iter_modules(folder.submodule_search_locations or ()) if folder else ()
	return [
		f"{app}.{FOLDER}.{each.name}"
		for each in names
		if not re.match(r"test_|_", each.name) and not each.ispkg
	]


def load_tools(app: str, entry: str | dict) -> CodeTools:
	"""The tools of a module, or the function that a dict of the hook describes."""
	found = CodeTools()
	try:
		tools = import_tools_of(entry) if isinstance(entry, str) else [build_hook_tool(app, entry)]
	except Exception as error:  # the boundary around an app's code, which an import runs
		label = entry if isinstance(entry, str) else entry.get("tool_name")
		reason = f"{type(error).__name__}: {error}{describe_place(error, str(label))}"
		found.faults.append(f"The tools of {label} could not be loaded: {reason}")
		return found
	for each in tools:
		found.add(each)
	return found


def describe_place(error: Exception, module: str) -> str:
	"""The last line of the module that led to an error, as " (file, line 3)"; "" if it is in none."""
	end = module.replace(".", os.sep) + ".py"
	lines = [each.lineno for each in extract_tb(error.__traceback__) if each.filename.endswith(end)]
	return f" ({os.path.basename(end)}, line {lines[-1]})" if lines else ""


def import_tools_of(module: str) -> list[CodeTool]:
	"""The tools that a module registers or defines."""
	return [*getattr(importlib.import_module(module), MARKS, {}).values()]


def build_hook_tool(app: str, entry: dict) -> CodeTool:
	function = custom_functions.find_app_function(entry["function_path"])
	more = {key: entry[key] for key in (*DECLARATIONS, "parameters") if key in entry}
	return build_code_tool(entry["tool_name"], function, entry.get("description"), app=app, **more)
