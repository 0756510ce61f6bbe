"""Undoes changes of runs: previews the undo, and makes it in one transaction as a new run.

The session user undoes: Frappe checks their permissions on every document. What others changed since is kept
unless the caller decides to restore it; what cannot be restored must be left by decision, or nothing is done.
"""

from dataclasses import asdict
from typing import Any

import frappe
from frappe import _

from huf.ai.core.errors import ToolError, UsageError
from huf.ai.dry_run.isolation import ADVICE
from huf.ai.dry_run.preview import PreviewChanged, apply_approved, preview_changes
from huf.ai.storage.agent_changes import lock_changes
from huf.ai.undo.capture import CallChanges
from huf.ai.undo.description import describe_undo, list_readable
from huf.ai.undo.plans import Decisions, check_decisions, digest_plans, list_targets, list_undone, make_plans
from huf.ai.undo.record import record_undo
from huf.ai.undo.restoring import Problem, Restored, restore_all
from huf.ai.undo.scope import UndoScope, UndoSelection, list_triggers, read_scope

CHANGED = "What this undo would do has changed since you saw it. Look at it again."
NOTHING = "There is nothing to undo: these runs changed no document, or it was undone before."
NOTHING_RESTORED = (
	"This undo would restore nothing: all that the runs changed was changed since, or you may not restore it."
)


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
