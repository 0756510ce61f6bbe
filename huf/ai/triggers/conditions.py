"""What a person wrote on a trigger, evaluated: its condition part by part, and its prompt.

Both see copies of values, `doc`, `now`, `user` and for a prompt a few more; they can look, and change nothing.
"""

import ast
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import frappe
from jinja2 import Environment, TemplateSyntaxError

from huf.ai.core.errors import UsageError
from huf.ai.core.trigger_types import ConditionResult

NAMES = {"doc", "now", "user", "int", "float", "round"}
MAX_VALUE_CHARS = 60
HIDDEN = {"Password"}
NO_VALUE = {"Table", "Table MultiSelect", "Section Break", "Column Break", "Tab Break", "HTML", "Button"}


class Snapshot:
	"""The values of a document, and those it had before; fields are attributes, and a missing one is None."""

	__slots__ = ("_before", "_values")

	def __init__(self, values: Mapping[str, Any], before: Mapping[str, Any] | None = None):
		self._values, self._before = values, before

	def __getattr__(self, name):
		if name.startswith("_"):
			raise AttributeError(name)
		return wrapped(self._values.get(name))

	def __getitem__(self, name):
		return wrapped(self._values.get(name))

	def __contains__(self, name):
		return name in self._values

	def get(self, name, default=None):
		value = self._values.get(name)
		return default if value is None else wrapped(value)

	def as_dict(self) -> dict:
		return dict(self._values)

	def get_value_before_save(self, fieldname):
		return self._before.get(fieldname) if self._before else None

	def has_value_changed(self, fieldname) -> bool:
		"""True for a new document, as Frappe has it."""
		return not self._before or not is_same(self._before.get(fieldname), self._values.get(fieldname))


def wrapped(value):
	if isinstance(value, dict):
		return Snapshot(value)
	return [wrapped(row) for row in value] if isinstance(value, list) else value


def is_same(before, after) -> bool:
	"""Whether two values would be stored alike: 7 and "7" are, as are None and an empty text."""
	return before == after or str("" if before is None else before) == str("" if after is None else after)


def snapshot(doc) -> Snapshot:
	before = doc.get_doc_before_save()
	return Snapshot(doc.as_dict(), before.as_dict() if before else None)


def changes(doc: Snapshot, meta) -> list[tuple[str, Any, Any]]:
	"""(fieldname, before, after) of what a save changed, as far as everyone who may read the document may know it."""
	if not doc._before:
		return []
	return [
		(field.fieldname, doc.get_value_before_save(field.fieldname), doc.get(field.fieldname))
		for field in readable_fields(meta)
		if doc.has_value_changed(field.fieldname)
	]


def readable_fields(meta) -> list:
	return [f for f in meta.fields if not f.permlevel and f.fieldtype not in HIDDEN | NO_VALUE]


def readable_values(doc: Snapshot, meta) -> dict:
	"""Fields that have a value and no permission level of their own."""
	shown = {field.fieldname: doc.get(field.fieldname) for field in readable_fields(meta)}
	return {name: value for name, value in shown.items() if value not in (None, "")}


# --- conditions ---


def check_condition(
	condition: str | None, doc: Snapshot, user: str, now: datetime
) -> tuple[list[ConditionResult], str | None]:
	"""Each part of the condition in turn up to the first that is not true, and the error if one raised."""
	checks: list[ConditionResult] = []
	parts = split(condition)
	for place, part in enumerate(parts):
		value, error = evaluate(part, {"doc": doc, "now": now, "user": user})
		checks.append(ConditionResult(part, bool(value) and not error, error or what_it_saw(part, doc)))
		if error or not value:
			rest = [ConditionResult(part, None) for part in parts[place + 1 :]]
			return checks + rest, error and f"The condition {part} cannot be evaluated: {error}"
	return checks, None


def split(condition: str | None) -> list[str]:
	"""The parts that `and` joins, as Python writes them. Raises SyntaxError."""
	if not (condition or "").strip():
		return []
	body = ast.parse(f"(\n{condition.strip()}\n)", mode="eval").body
	joined = isinstance(body, ast.BoolOp) and isinstance(body.op, ast.And)
	return [ast.unparse(part) for part in (body.values if joined else [body])]


def evaluate(expression: str, names: dict) -> tuple[Any, str | None]:
	"""(value, None) or (None, what was raised): an expression that a person wrote may raise anything."""
	try:
		return frappe.safe_eval(expression, dict(names)), None
	except Exception as error:  # the boundary around an expression
		return None, f"{type(error).__name__}: {error}"[:300]


def what_it_saw(part: str, doc: Snapshot) -> str:
	"""The fields of `doc` in an expression, with their values."""
	fields = dict.fromkeys(
		node.attr
		for node in ast.walk(ast.parse(part, mode="eval"))
		if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "doc"
	)
	seen = [f"{field} = {shortened(doc.get(field))}" for field in fields if field in doc]
	return ", ".join(seen)


def shortened(value) -> str:
	text = repr(value) if isinstance(value, str) else str(value)
	return text if len(text) <= MAX_VALUE_CHARS else text[: MAX_VALUE_CHARS - 1] + "…"


def check_expression(condition: str | None) -> None:
	"""Raise UsageError for what can never be evaluated: bad syntax, unknown names, what is forbidden."""
	try:
		parts = split(condition)
	except SyntaxError as error:
		raise UsageError(f"The condition is no Python expression: {error.msg}.") from None
	for part in parts:
		unknown = sorted(names_of(part) - NAMES)
		if unknown:
			raise UsageError(f"A condition knows doc, now and user, but not {', '.join(unknown)}.")
		empty = {"doc": Snapshot({}), "now": datetime(2000, 1, 1), "user": "Guest"}
		_value, error = evaluate(part, empty)
		if error and error.startswith("SyntaxError"):
			raise UsageError(f"The condition {part} uses what is not allowed: {error}")


def names_of(expression: str) -> set[str]:
	"""Names an expression takes from outside; those it binds itself, as in a comprehension, are its own."""
	names = [node for node in ast.walk(ast.parse(expression, mode="eval")) if isinstance(node, ast.Name)]
	own = {node.id for node in names if isinstance(node.ctx, ast.Store)}
	return {node.id for node in names} - own


# --- prompts ---


def check_template(template: str | None) -> None:
	"""Raise UsageError for a prompt that can never be rendered."""
	try:
		Environment().parse(template or "")
	except TemplateSyntaxError as error:
		raise UsageError(f"The prompt is no Jinja template: {error.message} (line {error.lineno}).") from None
	if ".__" in (template or ""):
		raise UsageError("The prompt uses what is not allowed: names with two underscores.")


UNREACHABLE = {"frappe": {}, "FrappeClient": None, "run_script": None}
"""What real Frappe offers to templates beyond values: whoever writes a trigger must not read past permissions."""


def render_prompt(template: str, names: dict) -> str:
	"""Raises UsageError for a template that cannot be rendered, or gives nothing."""
	told = len(frappe.local.message_log)
	try:
		# The line break keeps Frappe from taking one line of text for the path of a file.
		text = frappe.render_template(template + "\n", {**names, **UNREACHABLE}).strip()
	except Exception as error:  # the boundary around a template
		# Frappe tells the person at the screen, who only saved a document, and wraps what was raised.
		del frappe.local.message_log[told:]
		cause = error.__context__ or error
		message = f"{type(cause).__name__}: {cause}"[:300]
		raise UsageError(f"The prompt cannot be rendered: {message}") from None
	if not text:
		raise UsageError("The prompt came out empty.")
	return text


def as_text(payload: Any, longest: int) -> str:
	"""A payload as a model reads it."""
	if payload is None:
		return ""
	text = (
		payload
		if isinstance(payload, str)
		else json.dumps(payload, indent=1, ensure_ascii=False, default=str)
	)
	return text if len(text) <= longest else text[: longest - 1] + "…"
