"""Installed apps: their modules, hooks and functions by dotted path.  Reads files, never the database."""

import importlib
import inspect
import json
from functools import lru_cache
from pathlib import Path

import frappe
from frappe.types import _dict


def get_installed_apps(*, _ensure_on_bench: bool = False) -> list[str]:
	"""Installed apps in the order of installation, "frappe" first."""
	return list(frappe.local.conf.installed_apps or ["frappe"])


def scrub(txt: str) -> str:
	return str(txt).replace(" ", "_").replace("-", "_").lower()


def unscrub(txt: str) -> str:
	return txt.replace("_", " ").replace("-", " ").title()


def get_module(modulename: str):
	return importlib.import_module(modulename)


def get_attr(method_string: str):
	"""The object at a dotted path.  Its app must be installed."""
	app = method_string.split(".", 1)[0]
	if app not in get_installed_apps() and not frappe.local.flags.in_install:
		frappe.throw(frappe._("App {0} is not installed").format(app), frappe.AppNotInstalledError)
	module, _dot, name = method_string.rpartition(".")
	return getattr(get_module(module), name)


def call(fn, /, *args, **kwargs):
	"""Call a function, given itself or as a dotted path, without keyword arguments that it does not take."""
	if isinstance(fn, str):
		fn = get_attr(fn)
	return fn(*args, **get_newargs(fn, kwargs))


def get_newargs(fn, kwargs: dict) -> dict:
	"""The keyword arguments that the function accepts."""
	# Of a method, the function: the cache would keep its document.
	names, takes_all = _parameters_of(getattr(fn, "__func__", fn))
	kwargs = {key: value for key, value in kwargs.items() if key not in ("ignore_permissions", "flags")}
	return kwargs if takes_all else {key: value for key, value in kwargs.items() if key in names}


@lru_cache(maxsize=1024)
def _parameters_of(fn) -> tuple[frozenset[str], bool]:
	"""(parameter names, whether any keyword is accepted)."""
	parameters = inspect.signature(fn).parameters
	return frozenset(parameters), any(each.kind is each.VAR_KEYWORD for each in parameters.values())


# --- files ---


def get_app_path(app_name: str, *joins) -> str:
	"""A path below the app's package."""
	return get_pymodule_path(app_name, *joins)


def get_pymodule_path(modulename: str, *joins) -> str:
	return str(Path(get_module(scrub(modulename)).__file__).parent.joinpath(*joins))


def get_module_app(module: str) -> str:
	"""The app a module belongs to.  Raises DoesNotExistError."""
	for app in get_installed_apps():
		if scrub(module) in map(scrub, get_module_list(app)):
			return app
	raise frappe.DoesNotExistError(f"No installed app has the module {module}")


@lru_cache(maxsize=64)
def get_module_list(app_name: str) -> list[str]:
	lines = read_file(get_app_path(app_name, "modules.txt")) or ""
	return [line.strip() for line in lines.splitlines() if line.strip()]


def read_file(path: str, raise_not_found: bool = False) -> str | None:
	file = Path(path)
	if file.exists() or raise_not_found:
		return file.read_text(encoding="utf-8")
	return None


def get_file_json(path: str):
	return json.loads(Path(path).read_text(encoding="utf-8"))


# --- hooks ---


def get_hooks(hook: str | None = None, default="_KEEP_DEFAULT_LIST", app_name: str | None = None):
	"""Hooks of all installed apps, or of one: values are lists, dicts stay dicts with lists inside."""
	hooks = _merged_hooks((app_name,) if app_name else tuple(get_installed_apps()))
	if hook:
		return hooks.get(hook, [] if default == "_KEEP_DEFAULT_LIST" else default)
	return hooks


@lru_cache(maxsize=64)
def _merged_hooks(apps: tuple[str, ...]) -> _dict:
	merged = _dict()
	for app in apps:
		module = get_module(f"{app}.hooks")
		for name, value in vars(module).items():
			if not name.startswith("_") and not inspect.ismodule(value) and not inspect.isfunction(value):
				append_hook(merged, name, value)
	return merged


def append_hook(target: dict, key: str, value):
	"""Merge one app's hook into those of the others."""
	if isinstance(value, dict):
		inner = target.setdefault(key, {})
		for inner_key, inner_value in value.items():
			append_hook(inner, inner_key, inner_value)
	else:
		target.setdefault(key, []).extend(value if isinstance(value, list) else [value])


def get_doc_hooks() -> dict:
	"""doc_events as {doctype: {event: [dotted path]}}; a key may be a tuple of DocTypes."""
	return _doc_hooks(tuple(get_installed_apps()))


@lru_cache(maxsize=16)
def _doc_hooks(apps: tuple[str, ...]) -> dict:
	by_doctype = {}
	for doctypes, events in _merged_hooks(apps).get("doc_events", {}).items():
		for doctype in doctypes if isinstance(doctypes, tuple) else (doctypes,):
			append_hook(by_doctype, doctype, events)
	return by_doctype


def doc_event_handlers(doctype: str, event: str) -> list[str]:
	"""Dotted paths of the handlers, those of the DocType before those of "*"."""
	hooks = get_doc_hooks()
	return [*hooks.get(doctype, {}).get(event, ()), *hooks.get("*", {}).get(event, ())]


@lru_cache(maxsize=1024)
def get_handler(path: str):
	"""The function at the dotted path of a handler; every save asks for several."""
	return get_attr(path)


def clear_hooks_cache():
	for cached in (get_module_list, _merged_hooks, _doc_hooks, get_handler):
		cached.cache_clear()
