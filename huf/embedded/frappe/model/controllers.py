"""The Python class of a DocType."""

import importlib

import frappe
from frappe.model import core_doctypes

_controllers: dict[tuple[str, str], type] = {}
"""{(module of the DocType, DocType): class}"""


def get_controller(doctype: str) -> type:
	"""The class in the DocType's module; Document itself for a DocType without one.  Raises ImportError."""
	from frappe.model.document import Document

	module, custom = ("Core", 0) if doctype in core_doctypes else module_of(doctype)
	if custom:
		return Document
	if (module, doctype) not in _controllers:
		_controllers[module, doctype] = load_controller(doctype, module)
	return _controllers[module, doctype]


def module_of(doctype: str) -> tuple[str, int]:
	try:
		meta = frappe.get_meta(doctype)
	except frappe.DoesNotExistError:
		frappe.clear_last_message()
		return "Core", 0
	return meta.module, meta.custom


def load_controller(doctype: str, module: str) -> type:
	from frappe.apps import get_module_app
	from frappe.model.document import Document

	folder = frappe.scrub(doctype)
	path = f"{get_module_app(module)}.{frappe.scrub(module)}.doctype.{folder}"
	try:
		found = importlib.import_module(f"{path}.{folder}")
	except ModuleNotFoundError as error:
		if error.name and not path.startswith(error.name) and error.name != f"{path}.{folder}":
			raise
		if error.name == f"{path}.{folder}":
			return Document
		raise ImportError(
			f"Module import failed for {doctype}, the DocType you're trying to open might be deleted.\n"
			f"Error: No module named '{path}'"
		) from error
	name = doctype.replace(" ", "").replace("-", "")
	controller = getattr(found, name, None)
	if controller is None:
		raise ImportError(f"{path}.{folder} has no class {name}")
	return controller
