"""Describes an undo for the user who decides about it, as far as they may read the documents."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import frappe
from frappe import _

from huf.ai.dry_run.diff import DOCSTATUS_LABELS, translate_labels
from huf.ai.dry_run.preview import Preview
from huf.ai.tools.schemas import TABLE_TYPES
from huf.ai.undo.capture import to_key
from huf.ai.undo.folding import Conflict
from huf.ai.undo.plans import Decisions, DocumentPlan, decide_conflict, digest_plans, is_kept
from huf.ai.undo.restoring import Problem, Restored, Target
from huf.ai.undo.scope import UndoScope


def describe_undo(
	found: UndoScope,
	plans: list[DocumentPlan],
	preview: Preview,
	restored: list[Restored],
	problems: list[Problem],
	decisions: Decisions,
) -> dict:
	"""{runs, digest, difference, conflicts, problems, kept, notes, external, untraced, hidden}.

	`difference` is that of a draft. `conflicts`: values that others changed since. `problems`: documents that
	cannot be restored, and why. `kept`: documents that the user decided to leave. `notes`: what a restored
	document could not get back. `external` and `untraced`: calls that are not undone. `hidden`: the number of
	conflicts and problems that the user may not read, and that stay as they are.
	"""
	named = [(plan.target, conflict) for plan in plans if not plan.is_kept for conflict in plan.conflicts]
	conflicts = [describe_conflict(target, conflict, decisions) for target, conflict in named]
	readable = list_readable(problems)
	return {
		"runs": list(found.runs),
		"digest": f"{digest_plans(found, plans, decisions)}.{preview.digest}",
		"difference": translate_labels(preview.as_dict()),
		"conflicts": [each for each in conflicts if each],
		"problems": [{**asdict(each), "key": to_key(each.doctype, each.name)} for each in readable],
		"kept": [plan.target.key for plan in plans if is_kept(plan.target, decisions)],
		"notes": [describe_note(each) for each in restored if each.note or each.left],
		"external": list(found.external),
		"untraced": list(found.untraced),
		"hidden": conflicts.count(None) + len(problems) - len(readable),
	}


def describe_conflict(target: Target, conflict: Conflict, decisions: Decisions) -> dict | None:
	"""{key, doctype, name, path, label, fields, restored, written, current, changed_by, changed_at, decision,
	can_restore}; None if the user may not read it. `fields`: {fieldname: {label, fieldtype}}.
	"""
	if not may_read(target.doctype, target.name) or not may_read_path(target.doctype, conflict.path):
		return None
	sides = {
		side: filter_values(target.doctype, conflict.path, getattr(conflict, side))
		for side in ("restored", "written", "current")
	}
	stamp = frappe.db.get_value(target.doctype, target.name, ["modified_by", "modified"])
	return {
		"key": to_key(target.key, *conflict.path),
		"doctype": target.doctype,
		"name": target.name,
		"path": list(conflict.path),
		"label": label_of(target.doctype, conflict.path),
		"fields": describe_fields(target.doctype, conflict.path, *sides.values()),
		**sides,
		"changed_by": conflict.by or (stamp[0] if stamp else None),
		"changed_at": str(stamp[1]) if stamp else None,
		"can_restore": conflict.can_restore,
		"decision": decide_conflict(decisions, target.key, conflict.path),
	}


def describe_note(restored: Restored) -> dict:
	left = [label_of(restored.doctype, (name,)) for name in restored.left]
	return {**asdict(restored), "left": left}


def list_readable(problems: list[Problem]) -> list[Problem]:
	return [each for each in problems if may_read(each.doctype, each.name)]


def may_read(doctype: str, name: str) -> bool:
	"""Read permission on the document, or on its DocType where the document is gone."""
	doc = name if frappe.db.exists(doctype, name) else None
	return bool(frappe.has_permission(doctype, "read", doc=doc))


def may_read_path(doctype: str, path: tuple[str, ...]) -> bool:
	"""Whether each field that a path names is within the user's permission levels."""
	metas, levels = list_metas(doctype, path), read_levels(doctype)
	fields = [meta.get_field(name) for meta, name in zip(metas, path[::2], strict=False)]
	return all((df.permlevel or 0) in levels for df in fields if df)


def filter_values(doctype: str, path: tuple[str, ...], value: Any) -> Any:
	"""The readable part of what is at a path: a field's value, or a document or row with its values by field,
	and tables with their rows by name.
	"""
	if path[-1:] == ("docstatus",):
		return _(DOCSTATUS_LABELS[value])
	if not isinstance(value, Mapping):
		return value
	if len(path) == 1:
		return {row: filter_values(doctype, (*path, row), values) for row, values in value.items()}
	return {
		name: filter_values(doctype, (*path, name), each)
		for name, each in value.items()
		if may_read_path(doctype, (*path, name))
	}


def describe_fields(doctype: str, path: tuple[str, ...], *values: Any) -> dict[str, dict]:
	"""The field that a path names; if it names a document or a row, the fields of the values."""
	names = path[-1:] if len(path) in (1, 3) else [name for each in values for name in each or ()]
	meta, fields = list_metas(doctype, path)[-1], {}
	for name in names:
		df = meta.get_field(name)
		label = df.label if df else meta.get_label(name) if name in ("docstatus", "idx") else name
		fields[name] = {"label": _(label or name), "fieldtype": df.fieldtype if df else None}
	return fields


def list_metas(doctype: str, path: tuple[str, ...]) -> list[Any]:
	"""The meta of the document and, if the path names a table, of its rows."""
	meta = frappe.get_meta(doctype)
	table = meta.get_field(path[0]) if path else None
	if table and table.fieldtype in TABLE_TYPES:
		return [meta, frappe.get_meta(table.options)]
	return [meta]


def read_levels(doctype: str) -> set[int]:
	return {0, *frappe.get_meta(doctype).get_permlevel_access("read")}


def label_of(doctype: str, path: tuple[str, ...]) -> str:
	if not path:
		return _(doctype)
	meta = frappe.get_meta(doctype)
	label = _(meta.get_label(path[0]) or path[0])
	if len(path) == 3 and (table := meta.get_field(path[0])):
		return f"{label}: {_(frappe.get_meta(table.options).get_label(path[2]))}"
	return label
