"""Plans an undo: for each changed document the state to restore, and what stands in the way."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.core.grouping import group_pairs
from huf.ai.core.json_text import to_canonical_json
from huf.ai.core.request_values import read_json_object
from huf.ai.core.stored_text import digest
from huf.ai.undo.capture import read_stored_image, to_key
from huf.ai.undo.folding import KEEP, RESTORE, Change, Conflict, revert_changes
from huf.ai.undo.restoring import Problem, Target
from huf.ai.undo.scope import UndoScope

Decisions = Mapping[str, str]
"""By key of a conflict or of a document (see `to_key`): keep or restore. The key "*" is for all others."""
ADDED: Mapping[str, tuple[str, str, dict]] = {
	"Comment": ("reference_doctype", "reference_name", {"comment_type": "Comment"}),
	"File": ("attached_to_doctype", "attached_to_name", {}),
	"ToDo": ("reference_type", "reference_name", {}),
}
"""DocTypes whose documents Frappe deletes with the one that they name: these fields, and more filters."""


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
	changes = [Change(parse_image(doctype, row.before), parse_image(doctype, row.after)) for row in rows]
	decide = partial(decide_conflict, decisions, to_key(doctype, name))
	wanted, conflicts = revert_changes(current, changes, decide)
	content = next((row.file_content for row in rows if row.file_content), None)
	cause = rows[0].cause if all(row.cause == rows[0].cause for row in rows) else None
	authors = tuple(
		each.before["modified_by"] for each in changes if each.before and "modified_by" in each.before
	)
	since = min(row.creation for row in rows)
	target = Target(doctype, name, current, wanted, content, cause, authors, since)
	return DocumentPlan(target, conflicts, is_kept(target, decisions))


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


def parse_image(doctype: str, image: str | None) -> dict | None:
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
