"""Finds fields in a condition that its DocType lacks: such a condition is never true."""

import ast
from difflib import get_close_matches

from frappe import _

from huf.ai.core.errors import UsageError

STANDARD_FIELDS = (
	"name",
	"doctype",
	"owner",
	"creation",
	"modified",
	"modified_by",
	"docstatus",
	"idx",
	"parent",
)
METHODS = ("get", "as_dict", "get_value_before_save", "has_value_changed")
FIELD_METHODS = ("get", "get_value_before_save", "has_value_changed")
"""Methods of `doc` whose first argument names a field."""
MAX_SUGGESTIONS = 3


def check_condition_fields(condition: str | None, meta) -> None:
	"""Raises UsageError, with the nearest names, for a field of `doc` that the DocType of `meta` lacks.

	The condition is valid Python.
	"""
	known = [*(field.fieldname for field in meta.fields), *STANDARD_FIELDS]
	for name in find_field_names((condition or "").strip()):
		if name in known:
			continue
		near = get_close_matches(name, known, MAX_SUGGESTIONS)
		advice = _("Similar fields: {0}.").format(", ".join(near)) if near else _("Use one of its fields.")
		text = _("{0} has no field {1}, so the condition is never met.").format(_(meta.name), name)
		raise UsageError(f"{text} {advice}")


def find_field_names(condition: str) -> list[str]:
	"""The fields that an expression reads as doc.x, doc["x"], doc.get("x") or doc.has_value_changed("x")."""
	if not condition:
		return []
	found = []
	for node in ast.walk(ast.parse(f"(\n{condition}\n)", mode="eval")):
		if isinstance(node, ast.Attribute) and is_doc(node.value) and node.attr not in METHODS:
			found.append(node.attr)
		elif isinstance(node, ast.Subscript) and is_doc(node.value):
			found += read_constant_text(node.slice)
		elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and is_doc(node.func.value):
			if node.func.attr in FIELD_METHODS and node.args:
				found += read_constant_text(node.args[0])
	return list(dict.fromkeys(found))


def is_doc(node: ast.AST) -> bool:
	return isinstance(node, ast.Name) and node.id == "doc"


def read_constant_text(node: ast.AST) -> list[str]:
	return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []
