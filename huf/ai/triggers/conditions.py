"""Evaluates a trigger's condition, part by part. It reads copies of values (`doc`, `now`, `user`) and cannot
change anything.
"""

import ast
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import frappe
from frappe import _

from huf.ai.core.errors import UsageError
from huf.ai.core.expressions import Limits, evaluate_expression, parse_expression
from huf.ai.core.stored_text import clip
from huf.ai.core.trigger_types import ConditionResult
from huf.ai.triggers.condition_fields import find_field_names
from huf.ai.triggers.moments import parse_moments, wrap_moment

TABLE_FUNCTIONS: dict[str, Callable] = {"len": len, "any": any, "all": all}
NAMES = {"doc", "now", "user", "int", "float", "round", *TABLE_FUNCTIONS}
MAX_VALUE_CHARS = 60
MAX_ERROR_CHARS = 300
HIDDEN = {"Password"}
NO_VALUE = {"Table", "Table MultiSelect", "Section Break", "Column Break", "Tab Break", "HTML", "Button"}


class Snapshot:
	"""The values of a document, and those it had before. Fields are attributes; a missing field is None.

	`unlogged`: fields that not every reader of an event may see.
	"""

	__slots__ = ("_before", "_unlogged", "_values")

	def __init__(
		self,
		values: Mapping[str, Any],
		before: Mapping[str, Any] | None = None,
		unlogged: frozenset[str] = frozenset(),
	):
		self._values, self._before, self._unlogged = values, before, unlogged

	def __getattr__(self, name):
		if name.startswith("_"):
			raise AttributeError(name)
		return wrap_value(self._values.get(name))

	def __getitem__(self, name):
		return wrap_value(self._values.get(name))

	def __contains__(self, name):
		return name in self._values

	def get(self, name, default=None):
		value = self._values.get(name)
		return default if value is None else wrap_value(value)

	def as_dict(self) -> dict:
		return dict(self._values)

	def get_value_before_save(self, fieldname):
		return wrap_moment(self._before.get(fieldname)) if self._before else None

	def has_value_changed(self, fieldname) -> bool:
		"""True for a new document, as in Frappe."""
		return not self._before or not is_same(self._before.get(fieldname), self._values.get(fieldname))


def wrap_value(value):
	if isinstance(value, dict):
		return Snapshot(value)
	return [wrap_value(row) for row in value] if isinstance(value, list) else wrap_moment(value)


def is_same(before, after) -> bool:
	"""Whether two values are stored alike: 7 and "7" are, and so are None and an empty text."""
	return before == after or str("" if before is None else before) == str("" if after is None else after)


def take_snapshot(doc) -> Snapshot:
	before = doc.get_doc_before_save()
	return Snapshot(
		parse_with_rows(doc.as_dict(), doc.meta),
		parse_with_rows(before.as_dict(), doc.meta) if before else None,
		frozenset(list_unlogged_fields(doc.meta)),
	)


def parse_with_rows(values: dict, meta) -> dict:
	"""A document's values and those of its rows, with dates and times as objects."""
	parse_moments(values, meta)
	for df in meta.get_table_fields():
		for row in values.get(df.fieldname) or ():
			parse_moments(row, frappe.get_meta(df.options))
	return values


def restrict_snapshot(snapshot: Snapshot, meta, user: str) -> Snapshot:
	"""A snapshot without the fields above the user's permission levels."""
	hidden = list_hidden_fields(meta, user)
	if not hidden:
		return snapshot
	before = snapshot._before
	return Snapshot(
		remove_fields(snapshot.as_dict(), hidden),
		remove_fields(before, hidden) if before else None,
		snapshot._unlogged,
	)


def list_hidden_fields(meta, user: str) -> dict[str | None, set[str]]:
	"""Fields above the user's permission levels: of the document under None, of rows under their table."""
	if user == "Administrator":
		return {}
	roles = frappe.get_roles(user)
	levels = {0, *(rule.permlevel for rule in meta.permissions if rule.read and rule.role in roles)}
	tables = {df.fieldname: frappe.get_meta(df.options) for df in meta.get_table_fields()}
	found = {
		table: {df.fieldname for df in each.fields if (df.permlevel or 0) not in levels}
		for table, each in {None: meta, **tables}.items()
	}
	return {table: names for table, names in found.items() if names}


def remove_fields(values: Mapping[str, Any], hidden: Mapping[str | None, set[str]]) -> dict:
	"""A document's values without hidden fields. `hidden`: {child table: fields}, None for the document
	itself.
	"""
	kept = {name: value for name, value in values.items() if name not in hidden.get(None, ())}
	for table in hidden:
		if table and isinstance(kept.get(table), list):
			kept[table] = [
				{name: value for name, value in row.items() if name not in hidden[table]}
				for row in kept[table]
			]
	return kept


def read_field_changes(doc: Snapshot, meta) -> list[tuple[str, Any, Any]]:
	"""[(fieldname, before, after)] of changed fields, without those that not every reader of the document may
	see.
	"""
	if not doc._before:
		return []
	return [
		(field.fieldname, doc.get_value_before_save(field.fieldname), doc.get(field.fieldname))
		for field in loggable_fields(meta)
		if doc.has_value_changed(field.fieldname)
	]


def loggable_fields(meta) -> list:
	return [f for f in meta.fields if not f.permlevel and f.fieldtype not in HIDDEN | NO_VALUE]


def list_unlogged_fields(meta) -> list[str]:
	"""Fields that not every reader of the document may see, and tables whose rows have such fields."""
	rows = {df.fieldname: frappe.get_meta(df.options).fields for df in meta.get_table_fields()}
	return [
		df.fieldname
		for df in meta.fields
		if any(each.permlevel or each.fieldtype in HIDDEN for each in (df, *rows.get(df.fieldname, ())))
	]


def loggable_values(doc: Snapshot, meta) -> dict:
	"""{fieldname: value} of fields that have a value and that every reader of the document may see."""
	values = {field.fieldname: doc.get(field.fieldname) for field in loggable_fields(meta)}
	return {name: value for name, value in values.items() if value not in (None, "")}


# --- conditions ---


def evaluate_condition(
	condition: str | None, doc: Snapshot, user: str, now: datetime
) -> tuple[list[ConditionResult], str | None]:
	"""(checks, error): one check for each part joined by `and`; `error` is a message if a part raised.

	Parts after the first that is not true are not evaluated; their `ok` is None.
	"""
	checks: list[ConditionResult] = []
	try:
		parts, limits = split_conjunction(condition), Limits()
	except SyntaxError as refused:  # stored by a version that allowed it; somebody's save must not fail
		return checks, f"The condition cannot be read: {refused.msg}."
	names = {**TABLE_FUNCTIONS, "doc": doc, "now": wrap_moment(now), "user": user}
	for place, part in enumerate(parts):
		value, error = evaluate_part(part, names, limits)
		if error and not doc._unlogged.isdisjoint(find_field_names(part)):
			error = error.partition(":")[0]  # the message may have the field's value
		checks.append(ConditionResult(part, bool(value) and not error, error or describe_seen(part, names)))
		if error or not value:
			rest = [ConditionResult(part, None) for part in parts[place + 1 :]]
			return checks + rest, error and f"The condition {part} failed: {error}"
	return checks, None


def split_conjunction(condition: str | None) -> list[str]:
	"""The parts that `and` joins, as Python source. Raises SyntaxError."""
	text = (condition or "").strip()
	if not text:
		return []
	body = parse_expression(text).body
	parts = body.values if isinstance(body, ast.BoolOp) and isinstance(body.op, ast.And) else [body]
	return [ast.unparse(part) for part in parts]


def evaluate_part(part: str, names: dict, limits: Limits | None = None) -> tuple[Any, str | None]:
	"""(value, None), or (None, error message): an expression that a person wrote may raise anything."""
	try:
		return evaluate_expression(part, names, limits), None
	except Exception as error:  # the boundary around an expression
		return None, f"{type(error).__name__}: {error}"[:MAX_ERROR_CHARS]


def describe_seen(part: str, names: Mapping[str, Any]) -> str:
	"""What an expression reads, with its values: "status = 'Open', len(items) = 2, user = 'anna'".

	An event is read by its user and by managers, who may read less of the document than the trigger.
	"""
	doc = names["doc"]
	paths = [path for path in find_paths(part) if path[0] not in doc._unlogged]
	values = [(".".join(path), value) for path in paths for value in read_field_path(doc, path)]
	found, free = [(path, each) for path, each in values if not isinstance(each, list)], find_free_names(part)
	if not free.isdisjoint(TABLE_FUNCTIONS):
		found += [(f"len({path})", len(each)) for path, each in values if isinstance(each, list)]
	others = {"now": names["now"].replace(microsecond=0), "user": names["user"]}
	found += [(name, value) for name, value in others.items() if name in free]
	return ", ".join(f"{name} = {describe_value(value)}" for name, value in found)


def find_paths(part: str) -> list[tuple[str, ...]]:
	"""The fields of `doc` in an expression, those of objects in it as ("order", "amount")."""
	paths: dict[tuple[str, ...], None] = {}
	for node in ast.walk(ast.parse(part, mode="eval")):
		names: list[str] = []
		while isinstance(node, ast.Attribute):
			names.insert(0, node.attr)
			node = node.value
		if names and isinstance(node, ast.Name) and node.id == "doc":
			paths[tuple(names)] = None
	return list(paths)


def read_field_path(doc: Snapshot, path: tuple[str, ...]) -> list:
	"""The value in a list; empty if the field is missing, or holds an object."""
	value: Any = doc
	for name in path:
		if not isinstance(value, Snapshot) or name not in value:
			return []
		value = value.get(name)
	return [] if isinstance(value, Snapshot) else [value]


def describe_value(value) -> str:
	return clip(repr(value) if isinstance(value, str) else str(value), MAX_VALUE_CHARS)


def validate_condition(condition: str | None) -> None:
	"""Raises UsageError for a condition that can never be evaluated: bad syntax, unknown names, forbidden
	code.
	"""
	try:
		parts = split_conjunction(condition)
	except SyntaxError as error:
		raise UsageError(_("The condition is not a Python expression: {0}.").format(error.msg)) from None
	for part in parts:
		unknown = sorted(find_free_names(part) - NAMES)
		if unknown:
			text = _("A condition may use doc, now and user, but not {0}.")
			raise UsageError(text.format(", ".join(unknown)))
		empty = {**TABLE_FUNCTIONS, "doc": Snapshot({}), "now": datetime(2000, 1, 1), "user": "Guest"}
		_value, failure = evaluate_part(part, empty)
		if failure and failure.startswith(("SyntaxError", "TooMuchWork")):
			text = _("The condition {0} uses something that is not allowed: {1}")
			raise UsageError(text.format(part, failure))


def find_free_names(expression: str) -> set[str]:
	"""Names that an expression takes from outside, without those it binds itself, as in a comprehension."""
	names = [node for node in ast.walk(ast.parse(expression, mode="eval")) if isinstance(node, ast.Name)]
	own = {node.id for node in names if isinstance(node.ctx, ast.Store)}
	return {node.id for node in names} - own
