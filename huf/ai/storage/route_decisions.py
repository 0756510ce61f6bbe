"""Stores Agent Route Decision: one row for each decision of the router, and its outcome. The only writer.

Nothing here commits, except the functions that clear old rows.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import frappe
from frappe.utils import add_to_date, now_datetime

from huf.ai.core.stored_text import clip, digest
from huf.ai.core.types import OPEN_STATUSES
from huf.ai.storage.rows import blank_rows, delete_rows, insert_row, update_row

DECISION = "Agent Route Decision"
AGENT = "agent"
MAX_TEXT_CHARS = 1_000
MAX_OUTCOMES = 5_000
MATCH_WINDOW_S = 3600
"""A decision is linked to a run for the same message within this time."""


@dataclass(frozen=True)
class RecordedDecision:
	"""A stored decision, as a run needs it. `agent_score`: the confidence that the agent is needed, whatever
	was decided.
	"""

	name: str
	route: str
	agent_score: float
	plan_hint: tuple[str, ...]


def insert_decision(message: str, values: Mapping[str, Any]) -> str:
	"""Insert a decision and return its name; lists are stored as JSON."""
	stored = {
		field: json.dumps(value, ensure_ascii=False) if isinstance(value, list | tuple) else value
		for field, value in values.items()
	}
	row = {
		"message": clip(message, MAX_TEXT_CHARS),
		"message_digest": digest(message),
		"escalated": 0,
		**stored,
	}
	return insert_row(DECISION, row)


def find_decision(message: str, user: str) -> RecordedDecision | None:
	"""The user's recent decision for this message that has no run yet, or None."""
	since = add_to_date(now_datetime(), seconds=-MATCH_WINDOW_S, as_datetime=True)
	rows = frappe.get_all(
		DECISION,
		filters={
			"owner": user,
			"message_digest": digest(message),
			"run": ["is", "not set"],
			"creation": [">", since],
		},
		fields=["name", "route", "confidence", "other_confidence", "plan_hint"],
		order_by="creation desc",
		limit=1,
	)
	if not rows:
		return None
	row = rows[0]
	return RecordedDecision(row.name, row.route, get_agent_score(row), tuple(json.loads(row.plan_hint)))


def find_decision_of_run(run: str) -> str | None:
	return frappe.db.get_value(DECISION, {"run": run}, "name")


def get_agent_score(row: Mapping[str, Any]) -> float:
	return float(row["confidence"] if row["route"] == AGENT else row["other_confidence"])


def link_run(decision: str, run: str, escalated: bool, conversation: str | None = None) -> None:
	"""Store a decision's run. `escalated`: the chat was chosen, but the agent answered."""
	known = {"conversation": conversation} if conversation else {}
	update_row(DECISION, decision, {"run": run, "escalated": int(escalated), **known})


def read_decisions(runs: Sequence[str]) -> dict[str, dict]:
	"""{run: {route, confidence, reasons, escalated}} of routed runs."""
	fields = ["run", "route", "confidence", "reasons", "escalated"]
	rows = frappe.get_all(DECISION, {"run": ["in", runs]}, fields, order_by="creation asc") if runs else []
	return {
		row.pop("run"): {**row, "reasons": json.loads(row.reasons or "[]"), "escalated": bool(row.escalated)}
		for row in rows
	}


def read_last_route(conversation: str) -> tuple[str | None, bool]:
	"""(the last route in a conversation or None, whether its newest run is open)."""
	newest = {"filters": {"conversation": conversation}, "order_by": "creation desc, name desc", "limit": 1}
	decided = frappe.get_all(DECISION, fields=["route", "creation"], **newest)
	runs = frappe.get_all("Agent Run", fields=["status", "route", "creation"], **newest)
	if runs and runs[0].status in OPEN_STATUSES:
		return AGENT, True
	# A run without a route decision is the agent's.
	if runs and not (decided and decided[0].creation > runs[0].creation):
		return runs[0].route or AGENT, False
	return (decided[0].route if decided else None), False


def read_outcomes() -> list[tuple[float, bool]]:
	"""[(agent score, whether the agent was needed)] of the newest decisions with a known outcome, to fit the
	router.

	The agent was needed if the chat was escalated or the agent used a tool. Continued conversations and
	fallbacks are left out: they reveal nothing about the message.
	"""
	rows = frappe.db.sql(
		"""select decision.route, decision.confidence, decision.other_confidence, decision.escalated,
		decision.run,
		exists (select 1 from `tabAgent Tool Call` used where used.run = decision.run) as used_tools
		from `tabAgent Route Decision` decision
		where decision.stage in ('heuristics', 'classifier', 'model')
		and (decision.run is not null or decision.route = 'chat')
		order by decision.creation desc limit %s""",
		(MAX_OUTCOMES,),
		as_dict=True,
	)
	return [as_outcome(row) for row in rows]


def as_outcome(row: Mapping[str, Any]) -> tuple[float, bool]:
	used = row["route"] == AGENT and bool(row["used_tools"])
	return get_agent_score(row), bool(row["escalated"]) or used


def blank_decisions(before: datetime) -> None:
	"""Blank the messages of decisions from before a time. Commits each batch."""
	old = {"creation": ["<", before], "message": ["is", "set"]}
	blank_rows(DECISION, old, ("message", "message_digest"))


def clear_decisions(before: datetime) -> None:
	"""Delete decisions from before a time. Commits each batch."""
	delete_rows(DECISION, {"creation": ["<", before]})
