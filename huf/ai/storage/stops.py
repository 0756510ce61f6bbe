"""Stores active stops, in one row that every worker reads before each step.

The row Agent Stop Switch holds all active stops as JSON. A worker reads it with a shared lock in the
transaction of its journal row; a stop waits for these transactions. After a stop is committed, the runs it
covers begin no step and commit no write.
"""

import json
from collections.abc import Iterable, Mapping

import frappe
from frappe import _
from frappe.utils import now

from huf.ai.core.errors import UsageError
from huf.ai.storage.rows import insert_row, insert_rows, update_row

STOP, SWITCH, SWITCH_NAME = "Agent Stop", "Agent Stop Switch", "switch"
SCOPES = {
	"All": None,
	"Agent": "agent",
	"Provider": "provider",
	"User": "run_as",
	"Trigger": "trigger",
	"Tool": "tool",
}
"""Scopes, with the column of Agent Run that each compares; a tool is compared with the call's."""
TARGETS = {
	"Agent": "Agent",
	"Provider": "AI Provider",
	"User": "User",
	"Trigger": "Agent Trigger",
	"Tool": "Agent Tool Function",
}
"""DocTypes of targets."""


def read_stops() -> list[dict]:
	"""The active stops: [{name, scope, target, reason, stopped_by, stopped_at}], oldest first."""
	return parse_stops(frappe.db.get_value(SWITCH, SWITCH_NAME, "stops"))


def parse_stops(text: str | None) -> list[dict]:
	"""The stops in a field `stops`, as `read_stops` returns them."""
	return json.loads(text) if text else []


def find_stop(stops: Iterable[dict], run: Mapping, tool: str | None = None) -> dict | None:
	"""The first stop that covers a run (its columns, see SCOPES) or the call of a tool."""
	values = {**run, "tool": tool}
	for stop in stops:
		column = SCOPES[stop["scope"]]
		if column is None or (stop["target"] and values.get(column) == stop["target"]):
			return stop
	return None


def find_stop_of_run(run: str) -> dict | None:
	"""The stop that holds a queued run: one that covers the run, or the tool at which it was held."""
	stops = read_stops()
	if not stops:
		return None
	row = frappe.db.get_value(
		"Agent Run", run, ["agent", "provider", "run_as", "trigger", "held_by"], as_dict=True
	)
	if not row:
		return None
	return find_stop(stops, row) or next((stop for stop in stops if stop["name"] == row.held_by), None)


def refuse_if_stopped(run: Mapping, advice: str, tool: str | None = None) -> None:
	"""Raises UsageError, which ends in `advice`, if a stop covers a run or the call of a tool."""
	if stop := find_stop(read_stops(), run, tool):
		raise UsageError(f"{describe_stop(stop)}. {advice}")


def describe_stop(stop: Mapping) -> str:
	"""For people: who stopped what, and why."""
	what = _("Everything") if stop["scope"] == "All" else f"{_(stop['scope'])} {stop['target']}"
	text = _("{0} was stopped by {1} on {2}").format(what, stop["stopped_by"], stop["stopped_at"][:16])
	return f"{text}: {stop['reason']}" if stop["reason"] else text


def add_stop(scope: str, target: str | None, reason: str, stopped_by: str | None = None) -> dict:
	"""Store a stop, by the session user by default, and add it to the switch. Does not commit."""
	stops = lock_switch()
	stop = {
		"scope": scope,
		"target": target,
		"reason": reason,
		"stopped_by": stopped_by or frappe.session.user,
		"stopped_at": now(),
	}
	named = {"name": insert_row(STOP, stop), **stop}
	write_switch([*stops, named])
	return named


def remove_stop(name: str) -> bool:
	"""Release a stop; False if it is not active. Does not commit."""
	stops = lock_switch()
	rest = [stop for stop in stops if stop["name"] != name]
	if len(rest) == len(stops):
		return False
	update_row(STOP, name, {"released_by": frappe.session.user, "released_at": now()})
	write_switch(rest)
	return True


def rename_target(doctype: str, old: str, new: str) -> None:
	"""Let stops, also released ones, name their target by its new name. Does not commit."""
	scopes = [scope for scope, each in TARGETS.items() if each == doctype]
	if not scopes:
		return
	frappe.db.set_value(STOP, {"scope": ["in", scopes], "target": old}, "target", new, update_modified=False)
	stops = lock_switch()
	renamed = [stop for stop in stops if stop["scope"] in scopes and stop["target"] == old]
	for stop in renamed:
		stop["target"] = new
	if renamed:
		write_switch(stops)


def lock_switch() -> list[dict]:
	"""The active stops, locked until the transaction ends."""
	ensure_switch()
	return parse_stops(frappe.db.get_value(SWITCH, SWITCH_NAME, "stops", for_update=True))


def write_switch(stops: list[dict]) -> None:
	update_row(SWITCH, SWITCH_NAME, {"stops": json.dumps(stops) if stops else None})


def ensure_switch() -> None:
	"""Insert the switch unless it exists. Does not commit."""
	if not frappe.db.exists(SWITCH, SWITCH_NAME):
		insert_rows(SWITCH, [{"stops": None}], names=[SWITCH_NAME])
