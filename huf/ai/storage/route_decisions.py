"""Agent Route Decision: one row for each decision of the router, and what became of it. The only writer of these rows.

Never commits, but in what clears old rows away.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import frappe
from frappe.utils import add_to_date, now_datetime

from huf.ai.core.types import RunStatus
from huf.ai.storage.rows import clip, digest, insert_row, update_row

DECISION = "Agent Route Decision"
AGENT = "agent"
MAX_TEXT_CHARS = 1_000
MATCH_WINDOW_S = 3600
"""Seconds in which a run for the same words is what came of a decision."""
AT_WORK = (RunStatus.QUEUED.value, RunStatus.STARTED.value, RunStatus.WAITING.value)
BATCH = 500


@dataclass(frozen=True)
class RecordedDecision:
	"""A decision as a run needs to know it; `agent_score` is what spoke for the agent, whatever was decided."""

	name: str
	route: str
	agent_score: float
	plan_hint: tuple[str, ...]


def insert_decision(message: str, values: Mapping[str, Any]) -> str:
	"""Write a decision down; lists are kept as JSON. Gives its name."""
	kept = {
		field: json.dumps(value, ensure_ascii=False) if isinstance(value, list | tuple) else value
		for field, value in values.items()
	}
	row = {
		"message": clip(message, MAX_TEXT_CHARS),
		"message_digest": digest(message),
		"escalated": 0,
		**kept,
	}
	return insert_row(DECISION, row)


def find_decision(message: str, user: str, now: datetime | None = None) -> RecordedDecision | None:
	"""What was decided for these words of the user a short while ago and led to no run yet."""
	since = add_to_date(now or now_datetime(), seconds=-MATCH_WINDOW_S, as_datetime=True)
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
	return next(
		(
			RecordedDecision(row.name, row.route, get_agent_score(row), tuple(json.loads(row.plan_hint)))
			for row in rows
		),
		None,
	)


def get_agent_score(row: Mapping[str, Any]) -> float:
	return float(row["confidence"] if row["route"] == AGENT else row["other_confidence"])


def link_run(decision: str, run: str, escalated: bool) -> None:
	"""Say which run came of a decision; escalated: the chat was to answer, and the agent did."""
	update_row(DECISION, decision, {"run": run, "escalated": int(escalated)})


def read_last_route(conversation: str) -> tuple[str | None, bool]:
	"""(the last route taken in a conversation, None for none; whether a run of it waits or works)"""
	newest = {"filters": {"conversation": conversation}, "order_by": "creation desc, name desc", "limit": 1}
	decided = frappe.get_all(DECISION, fields=["route", "escalated"], **newest)
	runs = frappe.get_all("Agent Run", fields=["status"], **newest)
	at_work = bool(runs) and runs[0].status in AT_WORK
	if at_work or (decided and decided[0].escalated):
		return AGENT, at_work
	return (decided[0].route if decided else None), False


def read_outcomes(limit: int = 5_000) -> list[tuple[float, bool]]:
	"""(score of the agent, whether it was needed) of the newest decisions whose end is known, for fitting.

	The agent was needed where the chat was escalated, or the agent used a tool; not where the agent used none, or the
	chat's answer stood. What a conversation decided is no witness, nor is a decision that nothing was tried on.
	"""
	rows = frappe.db.sql(
		"""select decision.route, decision.confidence, decision.other_confidence, decision.escalated, decision.run,
		exists (select 1 from `tabAgent Tool Call` used where used.run = decision.run) as used_tools
		from `tabAgent Route Decision` decision
		where decision.stage in ('heuristics', 'classifier', 'model') and (decision.run is not null or decision.route = 'chat')
		order by decision.creation desc limit %s""",
		(limit,),
		as_dict=True,
	)
	return [as_outcome(row) for row in rows]


def as_outcome(row: Mapping[str, Any]) -> tuple[float, bool]:
	used = row["route"] == AGENT and bool(row["used_tools"])
	return get_agent_score(row), bool(row["escalated"]) or used


def blank_decisions(before: datetime) -> None:
	"""Take the words out of decisions from before a time; a batch at a time. Commits."""
	old = {"creation": ["<", before], "message": ["is", "set"]}
	while names := frappe.get_all(DECISION, filters=old, pluck="name", order_by="creation asc", limit=BATCH):
		frappe.db.set_value(
			DECISION,
			{"name": ["in", names]},
			{"message": None, "message_digest": None},
			update_modified=False,
		)
		frappe.db.commit()


def clear_decisions(before: datetime) -> None:
	"""Delete decisions from before a time, a batch at a time. Commits."""
	old = {"creation": ["<", before]}
	while names := frappe.get_all(DECISION, filters=old, pluck="name", order_by="creation asc", limit=BATCH):
		frappe.db.delete(DECISION, {"name": ["in", names]})
		frappe.db.commit()
