"""Tools written as code: a file in an app's folder `huf_tools`, what its hook `huf_tools` names, and tools.py of a pack.

A file holds functions marked with `@tool`, or calls `register_tool`. Here they are found and described. A file that
cannot be loaded is told of by `faults`, and keeps no other from working.
"""

import importlib
import importlib.util
import inspect
import pkgutil
import re
from collections.abc import Callable
from dataclasses import dataclass
from threading import RLock
from typing import Any

import frappe

from huf.ai import custom_functions
from huf.ai.errors import UsageError
from huf.ai.tool_types import TOOL_NAME
from huf.ai.types import Effect, describe_tools

FOLDER = "huf_tools"


@dataclass(frozen=True)
class CodeTool:
	"""A function as a tool of `app`. `parameters` is a JSON schema."""

	name: str
	app: str
	description: str
	parameters: dict
	effect: Effect
	function: Callable

	@property
	def module(self) -> str:
		return self.function.__module__

	async def __call__(self, args: dict, user_context: dict) -> Any:
		result = custom_functions.call(self.function, args, user_context)
		return await result if inspect.isawaitable(result) else result


TOOLS: dict[str, CodeTool] = {}
"""All code tools of this process by their name; which of them a site has, `offers` says."""
FAULTS: dict[str, list[str]] = {}
"""Of each app whose tools were looked for, what was wrong with its files."""
PACKED: dict[str, str | None] = {}
"""Modules of packs' tools that were loaded, each with what was wrong with it. A site has those of the packs installed there."""
loading = RLock()


def tool(
	description: str | None = None,
	*,
	name: str | None = None,
	effect: Effect | str = Effect.WRITE,
	parameters: dict | None = None,
) -> Callable[[Callable], Callable]:
	"""Mark a function of a tool's file; what is left out comes from its name, docstring and signature."""

	def mark(function: Callable) -> Callable:
		function.huf_tool = describe(
			name or function.__name__, function, description, effect=effect, parameters=parameters
		)
		return function

	return mark


def register_tool(
	name: str,
	func: Callable,
	description: str | None = None,
	*,
	effect: Effect | str = Effect.WRITE,
	parameters: dict | None = None,
) -> None:
	"""Make a function a tool, usually an `async (args, user_context)`. Raises ValueError where the name is taken."""
	add(describe(name, func, description, effect=effect, parameters=parameters))


def describe(name, function, description=None, *, app=None, effect=Effect.WRITE, parameters=None) -> CodeTool:
	told = (inspect.getdoc(function) or "").partition("\n\n")[0]
	return CodeTool(
		name,
		app or function.__module__.partition(".")[0],
		description or " ".join(told.split()) or name.replace("_", " "),
		parameters or custom_functions.schema_of(function),
		Effect(effect),
		function,
	)


def add(found: CodeTool) -> None:
	if not TOOL_NAME.fullmatch(found.name):
		raise ValueError(f"{found.name!r} is no name of a tool: letters, digits, _ and - only, 64 at most")
	if found.name in TOOLS:
		raise ValueError(f"Tool {found.name!r} is already registered by the app {TOOLS[found.name].app!r}")
	TOOLS[found.name] = found


def get_available_tools_description() -> str:
	"""What a planner is told: a line a tool, with its description and the JSON schema of its arguments."""
	return describe_tools(sorted(offers(), key=lambda each: each.name))


def offers() -> list[CodeTool]:
	"""The code tools of the apps that this site has."""
	return [each for app in frappe.get_installed_apps() for each in app_offers(app)]


def app_offers(app: str) -> list[CodeTool]:
	load(app)
	modules = pack_modules(app)
	for module in modules:
		load_pack(app, module)
	return [
		each
		for each in list(TOOLS.values())
		if each.app == app and (each.module not in PACKED or each.module in modules)
	]


def pack_modules(app: str) -> list[str]:
	"""The modules of tools of the packs that this site has from an app."""
	filters = {"app": app, "tools_module": ["is", "set"]}
	return frappe.get_all("Agent Pack", filters, pluck="tools_module", order_by="name asc")


def load_pack(app: str, module: str) -> str | None:
	"""Bring in the tools of a pack, once a process; gives what is wrong with them."""
	with loading:
		if module not in PACKED:
			PACKED[module] = load_entry(app, module)
		return PACKED[module]


def find_offer(app: str, name: str) -> CodeTool:
	"""A tool that an installed app offers. Raises UsageError, with what is wrong with the app's files."""
	if app in frappe.get_installed_apps():
		load(app)
		found = TOOLS.get(name)
		if found and found.app == app and found.module not in PACKED:
			return found
	offered = {each.name: each for each in app_offers(app)} if app in frappe.get_installed_apps() else {}
	if name in offered:
		return offered[name]
	reasons = "".join(f" {fault}." for fault in FAULTS.get(app, ()))
	raise UsageError(
		f"The app {app!r} does not offer {name!r} (it offers: {', '.join(offered) or 'no tools'}).{reasons}"
	)


def faults() -> list[str]:
	"""What is wrong with the tool files of this site's apps: a line each."""
	apps = frappe.get_installed_apps()
	packed = [fault for app in apps for module in pack_modules(app) if (fault := load_pack(app, module))]
	return [*(fault for app in apps for fault in load(app)), *packed]


def load(app: str) -> list[str]:
	"""Bring in an app's tools, once a process; gives what is wrong with its files."""
	with loading:
		if app not in FAULTS:
			entries = [*(frappe.get_hooks("huf_tools", app_name=app) or []), *modules_in_folder(app)]
			FAULTS[app] = [fault for entry in entries if (fault := load_entry(app, entry))]
		return FAULTS[app]


def modules_in_folder(app: str) -> list[str]:
	folder = importlib.util.find_spec(f"{app}.{FOLDER}")
	names = pkgutil.iter_modules(folder.submodule_search_locations or ()) if folder else ()
	return [
		f"{app}.{FOLDER}.{each.name}"
		for each in names
		if not re.match(r"test_|_", each.name) and not each.ispkg
	]


def load_entry(app: str, entry: str | dict) -> str | None:
	"""Bring in a module's tools, or the function that a hook's dict describes; gives what is wrong with it."""
	label = entry if isinstance(entry, str) else entry.get("tool_name")
	try:
		for each in marked(app, entry):
			add(each)
	except Exception as error:  # the boundary around a tool's file: importing it runs an app's code
		for name in [name for name, each in TOOLS.items() if each.function.__module__ == entry]:
			del TOOLS[name]
		return f"The tools of {label} could not be loaded: {type(error).__name__}: {error}"
	return None


def marked(app: str, entry: str | dict) -> list[CodeTool]:
	if isinstance(entry, str):
		members = vars(importlib.import_module(entry)).values()
		functions = [each for each in members if inspect.isfunction(each) and each.__module__ == entry]
		return [each.huf_tool for each in functions if hasattr(each, "huf_tool")]
	function = custom_functions.find(entry["function_path"])
	more = {key: entry[key] for key in ("effect", "parameters") if key in entry}
	return [describe(entry["tool_name"], function, entry.get("description"), app=app, **more)]
