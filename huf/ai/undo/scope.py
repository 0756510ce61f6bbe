"""What an undo covers: the recorded changes of runs, and their calls that cannot be taken back."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import frappe
from frappe import _

from huf.ai.core.documents import get_permitted
from huf.ai.core.errors import UsageError
from huf.ai.core.json_text import parse_result
from huf.ai.core.request_values import read_json, read_time
from huf.ai.core.types import OPEN_STATUSES, CallStatus, Effect
from huf.ai.storage.agent_changes import FIELDS, list_agent_changes
from huf.ai.tools.types import RUN_AGENT
from huf.ai.undo.compensation import describe_compensation

MAX_RUNS = 200
MAX_CHANGES = 2000
DONE_STATUSES = [each.value for each in (CallStatus.SUCCESS, CallStatus.UNKNOWN, CallStatus.STARTED)]
CALL_FIELDS = ["name", "run", "step", "tool", "effect", "status", "arguments", "result", "started_at"]


@dataclass(frozen=True)
class UndoSelection:
	"""Runs by name, the runs of an agent or a trigger, or what runs changed on one record as (DocType, name).

	`since` leaves out what was done before.
	"""

	runs: tuple[str, ...] = ()
	agent: str | None = None
	since: datetime | None = None
	trigger: str | None = None
	record: tuple[str, str] | None = None

	@property
	def record_filters(self) -> dict[str, str]:
		"""Filters of the record's changes; none if no record is named."""
		if not self.record:
			return {}
		doctype, name = self.record
		return {"reference_doctype": doctype, "reference_name": name}


@dataclass(frozen=True)
class UndoScope:
	"""`changes`: Agent Change rows, newest first. `external` and `untraced`: see `list_remaining_calls`."""

	runs: tuple[str, ...]
	changes: tuple[Any, ...]
	external: tuple[dict, ...]
	untraced: tuple[dict, ...]


def parse_scope(
	runs: Sequence[str] | str | None = None,
	agent: str | None = None,
	since: str | None = None,
	trigger: str | None = None,
	doctype: str | None = None,
	name: str | None = None,
) -> UndoSelection:
	"""A scope from what a caller passed; `runs` may be JSON. Raises UsageError."""
	names = read_json(runs, "runs") if isinstance(runs, str) and runs.startswith("[") else runs
	names = [names] if isinstance(names, str) else names or []
	if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
		raise UsageError("runs must be a list of names of Agent Runs.")
	record = (str(doctype), str(name)) if doctype and name else None
	if sum(map(bool, (names, agent, trigger, record))) != 1:
		raise UsageError(_("Name the runs to undo, or an agent, a trigger or a record and a time."))
	if not names and not since:
		raise UsageError(_("Say since when to undo what was done."))
	return UndoSelection(tuple(dict.fromkeys(names)), agent, read_time(since), trigger, record)


def read_scope(scope: UndoSelection) -> UndoScope:
	"""The runs that the user may read, with all they did. Raises PermissionError, UsageError."""
	runs = find_runs(scope)
	since = {"creation": [">=", scope.since]} if scope.since else {}
	made = list_known_changes({"run": ["in", runs], **since, **scope.record_filters})
	changes = [row for row in made if not row.undone_by]
	if len(changes) > MAX_CHANGES:
		text = _("These are {0} changes. Undo at most {1} at a time.")
		raise UsageError(text.format(len(changes), MAX_CHANGES))
	if any(row.before is None and row.after is None for row in changes):
		raise UsageError(
			_("The contents of these runs were cleared after their retention time, so they cannot be undone.")
		)
	external, untraced = ((), ()) if scope.record else list_remaining_calls(runs, scope.since)
	return UndoScope(
		tuple(runs),
		tuple(changes),
		tuple(map(describe_remaining_call, external)),
		tuple(map(describe_remaining_call, untraced)),
	)


def list_remaining_calls(runs: Sequence[str], since: datetime | None) -> tuple[Sequence, Sequence]:
	"""Calls that are not taken back: those of other systems, and writes that left no record of a change."""
	of_runs = {"run": ["in", runs]}
	filters: dict[str, Any] = {**of_runs, "effect": ["!=", "read"], "status": ["in", DONE_STATUSES]}
	if since:
		filters["started_at"] = [">=", since]
	calls = frappe.get_all("Agent Tool Call", filters, CALL_FIELDS, order_by="started_at asc, position asc")
	traced = {row.tool_call for row in list_known_changes(of_runs, ("tool_call", "reference_doctype"))}
	callers = list_calling_tools(runs)
	external = [
		call
		for call in calls
		if call.effect == Effect.EXTERNAL.value and (call.run, call.tool) not in callers
	]
	return external, [call for call in calls if call.effect == Effect.WRITE.value and call.name not in traced]


def list_triggers(runs: Sequence[str]) -> list[str]:
	"""The triggers that started these runs, or the runs that these undo, through all undos of undos."""
	triggers, level = [], list(runs)
	while level:
		found = frappe.get_all(
			"Agent Run", {"name": ["in", level]}, ["trigger", "undone_runs"], order_by="creation asc"
		)
		triggers += [run.trigger for run in found if run.trigger]
		level = [name for run in found for name in frappe.parse_json(run.undone_runs or "[]")]
	return triggers


def list_calling_tools(runs: Sequence[str]) -> set[tuple[str, str]]:
	"""(run, tool) of calls that started other runs of these, which are undone themselves."""
	tools = frappe.get_all("Agent Tool Function", {"types": RUN_AGENT}, pluck="name", order_by="name asc")
	called = {"name": ["in", runs], "parent_run": ["in", runs]}
	parents = frappe.get_all("Agent Run", called, pluck="parent_run", order_by="creation asc")
	return {(run, tool) for run in parents for tool in tools}


def list_known_changes(filters: dict, fields: Sequence[str] = FIELDS) -> list[Any]:
	"""Changes, newest first, without those of DocTypes that were removed since, such as a pack's."""
	rows = list_agent_changes(filters, fields)
	doctypes = {"name": ["in", list({row.reference_doctype for row in rows}) or [""]]}
	known = set(frappe.get_all("DocType", doctypes, pluck="name", order_by="name asc"))
	return [row for row in rows if row.reference_doctype in known]


def find_runs(scope: UndoSelection) -> list[str]:
	"""The runs of a scope and the runs that they started. All must have ended."""
	if scope.runs:
		names = list(scope.runs)
		for name in names:
			if not frappe.db.exists("Agent Run", name):
				raise UsageError(_("There is no run {0}.").format(name))
			get_permitted("Agent Run", name)
	else:
		chosen = {**choose_runs(scope), "is_undo": 0}
		still = list_run_names({**chosen, "status": ["in", OPEN_STATUSES]})
		names = [*list_run_names({**chosen, "ended_at": [">=", scope.since]}), *still]
	if not names:
		raise UsageError(_("There is no run since then that did something here and that you may read."))
	for name in names:  # which grows in the loop
		if len(names) > MAX_RUNS:
			raise UsageError(_("These are more than {0} runs. Undo fewer at a time.").format(MAX_RUNS))
		if not scope.record:
			names += [run for run in list_run_names({"parent_run": name}) if run not in names]
	still = frappe.get_all(
		"Agent Run", {"name": ["in", names], "status": ["in", OPEN_STATUSES]}, pluck="name", order_by="name"
	)
	if still:
		text = _("These runs have not ended: {0}. Cancel them first.")
		raise UsageError(text.format(", ".join(still)))
	return names


def choose_runs(scope: UndoSelection) -> dict:
	"""Filters of the runs of an agent or a trigger, or of those that changed a record."""
	if not scope.record:
		return {"agent": scope.agent} if scope.agent else {"trigger": scope.trigger}
	changes = list_agent_changes({**scope.record_filters, "creation": [">=", scope.since]})
	return {"name": ["in", [row.run for row in changes] or [""]]}


def list_run_names(filters: dict) -> list[str]:
	"""Names of runs that the user may read."""
	return frappe.get_list(
		"Agent Run", filters, pluck="name", order_by="creation asc", limit_page_length=MAX_RUNS + 1
	)


def describe_remaining_call(call: Any) -> dict:
	"""A call that is not taken back: {call, run, step, tool, effect, status, arguments, compensate}."""
	return {
		"call": call.name,
		"run": call.run,
		"step": call.step,
		"tool": call.tool,
		"effect": call.effect,
		"status": call.status,
		"arguments": call.arguments,
		"compensate": describe_compensation(call.tool, *map(parse_result, (call.arguments, call.result))),
	}
