"""Undoes changes of runs: previews the undo, and makes it in one transaction as a new run.

The session user undoes: Frappe checks their permissions on every document. What others changed since is kept
unless the caller decides to restore it; what cannot be restored must be left by decision, or nothing is done.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import frappe
from frappe import _

from huf.ai.core.errors import ToolError, UsageError
from huf.ai.core.grouping import group_pairs
from huf.ai.core.json_text import to_canonical_json
from huf.ai.core.request_values import read_json_object
from huf.ai.core.stored_text import digest
from huf.ai.dry_run.diff import DOCSTATUS_LABELS, translate_labels
from huf.ai.dry_run.isolation import ADVICE
from huf.ai.dry_run.preview import Preview, PreviewChanged, apply_approved, preview_changes
from huf.ai.storage.agent_changes import lock_changes
from huf.ai.tools.schemas import TABLE_TYPES
from huf.ai.undo.capture import CallChanges, read_stored_image, to_key
from huf.ai.undo.folding import KEEP, RESTORE, Change, Conflict, revert_changes
from huf.ai.undo.record import record_undo
from huf.ai.undo.restoring import Problem, Restored, Target, restore_all
from huf.ai.undo.scope import UndoScope, UndoSelection, list_triggers, read_scope

Decisions = Mapping[str, str]
"""By key of a conflict or of a document (see `to_key`): keep or restore. The key "*" is for all others."""
ADDED: Mapping[str, tuple[str, str, dict]] = {
	"Comment": ("reference_doctype", "reference_name", {"comment_type": "Comment"}),
	"File": ("attached_to_doctype", "attached_to_name", {}),
	"ToDo": ("reference_type", "reference_name", {}),
}
"""DocTypes whose documents Frappe deletes with the one that they name: these fields, and more filters."""
CHANGED = "What this undo would do has changed since you saw it. Look at it again."
NOTHING = "There is nothing to undo: these runs changed no document, or it was undone before."
NOTHING_RESTORED = (
	"This undo would restore nothing: all that the runs changed was changed since, or you may not restore it."
)


@dataclass(frozen=True)
class DocumentPlan:
	"""One changed document: the state to restore, and the obstacles."""

	target: Target
	conflicts: tuple[Conflict, ...]
	is_kept: bool
	"""The caller decided to leave it as it is."""

	@property
	def is_undone(self) -> bool:
		"""False if all of it has changed since and nothing is done; it can be undone later."""
		is_left = not self.target.action and any(each.can_restore for each in self.conflicts)
		return not (self.is_kept or is_left)


def preview_undo(scope: UndoSelection, decisions: Decisions | str | None = None) -> dict:
	"""What an undo would change, in the form of `describe_undo`. Changes nothing."""
	decisions = check_decisions(decisions)
	found = read_scope(scope)
	frappe.db.rollback()
	plans = make_plans(found, decisions)
	outcome: list[Any] = []
	try:
		preview = preview_changes(lambda: outcome.append(restore_all(list_targets(plans))))
	except ToolError as error:
		raise UsageError(explain_refusal(error)) from None
	restored, problems = outcome[0]
	frappe.db.rollback()
	return describe_undo(found, plans, preview, restored, problems, decisions)


def apply_undo(scope: UndoSelection, approved: str, decisions: Decisions | str | None = None) -> dict:
	"""Undo what was previewed as `approved` (its digest): {run, restored: [...]}. Commits.

	Raises UsageError, with nothing changed, if it would now do something else or restore nothing, or if a
	document cannot be restored and the caller did not decide to keep it. Documents that cannot be restored
	and that the user may not read are kept.
	"""
	decisions = check_decisions(decisions)
	found = read_scope(scope)
	frappe.db.rollback()
	changes = CallChanges()
	try:
		changes.begin()
		# Otherwise these triggers would repeat what is undone.
		frappe.flags.huf_undone_triggers = list_triggers(found.runs)
		restored, undone = make_undo(found, approved, decisions)
		run = record_undo(found, undone, restored, changes.end())
	except BaseException as error:  # re-raised: even an interrupt must leave nothing half undone
		changes.end()
		frappe.db.rollback()
		if isinstance(error, PreviewChanged):
			raise UsageError(_(CHANGED)) from None
		if isinstance(error, ToolError):
			raise UsageError(explain_refusal(error)) from None
		raise
	finally:
		frappe.flags.huf_undone_triggers = None
	frappe.db.commit()
	return {"run": run, "restored": [asdict(each) for each in restored]}


def explain_refusal(error: ToolError) -> str:
	return str(error).replace(ADVICE, _("Keep such documents, and restore them yourself."))


def make_undo(found: UndoScope, approved: str, decisions: Decisions) -> tuple[list[Restored], list[Any]]:
	"""(what was restored, the Agent Change rows that are undone)."""
	# Lock before reading, so that a concurrent undo of the same changes sees this one's.
	if not found.changes or not lock_changes([row.name for row in found.changes]):
		raise UsageError(_(NOTHING))
	plans = make_plans(found, decisions, lock=True)
	targets = list_targets(plans)
	prefix, _dot, difference = approved.partition(".")
	if prefix != digest_plans(found, plans, decisions):
		raise UsageError(_(CHANGED))

	def work() -> tuple[list[Restored], list[Problem]]:
		restored, problems = restore_all(targets)
		if readable := list_readable(problems):
			names = "; ".join(f"{_(each.doctype)} {each.name}: {each.error}" for each in readable)
			text = _("This cannot be undone. Keep these documents, or repair them first: {0}")
			raise UsageError(text.format(names))
		if not restored:
			raise UsageError(_(NOTHING_RESTORED))
		return restored, problems

	restored, unreadable = apply_approved(work, difference)
	return restored, list_undone(found, plans, unreadable)


# --- plans ---


def make_plans(found: UndoScope, decisions: Decisions, lock: bool = False) -> list[DocumentPlan]:
	"""One plan per changed document, the document that was changed last first."""
	by_document = group_pairs(((row.reference_doctype, row.reference_name), row) for row in found.changes)
	plans = [make_plan(*key, rows, decisions, lock) for key, rows in by_document.items()]
	plans = [keep_added(plan, set(by_document), decisions) for plan in plans]
	by_key = {plan.target.key: plan for plan in plans}
	return [follow_cause(plan, by_key) for plan in plans]


def follow_cause(plan: DocumentPlan, plans: Mapping[str, DocumentPlan]) -> DocumentPlan:
	"""A document that the submission of another one changed, such as a ledger entry, is kept with that one;
	otherwise it is the other's cancellation that decides about it, and nothing is asked about its values.
	"""
	cause = plans.get(plan.target.cause or "")
	if not cause:
		return plan
	cause = follow_cause(cause, plans)
	return replace(plan, conflicts=(), is_kept=cause.is_kept or not cause.target.action)


def make_plan(doctype: str, name: str, rows: list[Any], decisions: Decisions, lock: bool) -> DocumentPlan:
	current = read_stored_image(doctype, name, lock)
	changes = [Change(parse(doctype, row.before), parse(doctype, row.after)) for row in rows]
	folded = revert_changes(current, changes, partial(decide_conflict, decisions, to_key(doctype, name)))
	content = next((row.file_content for row in rows if row.file_content), None)
	cause = rows[0].cause if all(row.cause == rows[0].cause for row in rows) else None
	target = Target(doctype, name, current, folded.target, content, cause)
	return DocumentPlan(target, tuple(folded.conflicts), is_kept(target, decisions))


def keep_added(plan: DocumentPlan, changed: set[tuple[str, str]], decisions: Decisions) -> DocumentPlan:
	"""The plan, with a conflict if it deletes a document to which others have added something.

	`changed`: the documents that the undone runs have changed.
	"""
	target = plan.target
	added = list_added(target, changed) if target.action == "delete" else []
	if not added:
		return plan
	counts = {doctype: sum(each == doctype for each, _ in added) for doctype, _ in added}
	others = [each for each in plan.conflicts if each.path]
	known = next((each for each in plan.conflicts if not each.path), Conflict((), None, {}, {}))
	conflict = replace(known, current={**known.current, **counts}, by=added[-1][1])
	if decide_conflict(decisions, target.key, ()) != RESTORE:
		target = replace(target, wanted=target.current)
	return replace(plan, target=target, conflicts=(*others, conflict))


def list_added(target: Target, changed: set[tuple[str, str]]) -> list[tuple[str, str]]:
	"""(DocType, owner) of what a deletion of a document would take along and no undone run has made."""
	found = []
	for doctype, (doctype_field, name_field, more) in ADDED.items():
		filters = {doctype_field: target.doctype, name_field: target.name, **more}
		rows = frappe.get_all(doctype, filters, ["name", "owner"], order_by="creation asc")
		found += [(doctype, row.owner) for row in rows if (doctype, str(row.name)) not in changed]
	return found


def list_undone(found: UndoScope, plans: list[DocumentPlan], problems: list[Problem]) -> list[Any]:
	"""The changes that are undone; those of documents left as they are can be undone later."""
	undone = {(plan.target.doctype, plan.target.name) for plan in plans if plan.is_undone}
	undone -= {(each.doctype, each.name) for each in problems}
	return [row for row in found.changes if (row.reference_doctype, row.reference_name) in undone]


def is_kept(target: Target, decisions: Decisions) -> bool:
	return decisions.get(target.key) == KEEP


def decide_conflict(decisions: Decisions, key: str, path: tuple[str, ...]) -> str:
	"""The decision about a conflict in the document of a key; without one, what is there now is kept."""
	return decisions.get(to_key(key, *path), decisions.get("*", KEEP))


def parse(doctype: str, image: str | None) -> dict | None:
	"""The state of a document, stored as JSON, without fields and tables that its DocType has lost since;
	None if it did not exist.
	"""
	if not image:
		return None
	meta = frappe.get_meta(doctype)
	state = frappe.parse_json(image)
	for part in ("fields", "rows"):
		if part in state:
			state[part] = {name: value for name, value in state[part].items() if meta.has_field(name)}
	return state


def list_targets(plans: list[DocumentPlan]) -> list[Target]:
	return [plan.target for plan in plans if not plan.is_kept and plan.target.action]


def check_decisions(decisions: Decisions | str | None) -> Decisions:
	"""Raises UsageError for invalid decisions."""
	read = read_json_object(decisions or {}, "decisions")
	if not all(each in (KEEP, RESTORE) for each in read.values()):
		raise UsageError(f"decisions must map keys of conflicts to {KEEP} or {RESTORE}.")
	return read


def digest_plans(found: UndoScope, plans: list[DocumentPlan], decisions: Decisions) -> str:
	"""Identifies which changes are undone with which decisions, and what others have added."""
	added = [conflict.current for plan in plans for conflict in plan.conflicts if conflict.by]
	text = to_canonical_json([sorted(row.name for row in found.changes), dict(decisions), added])
	return digest(text)[:12]


# --- description ---


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
