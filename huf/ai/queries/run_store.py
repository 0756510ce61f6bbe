"""A store of finished runs (save, get, list) over Agent Run, in the record shape of external front ends.

Reads with the user's list permissions; a run in progress is not in the store yet. Does not commit.
"""

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import frappe

from huf.ai.core.documents import get_permitted
from huf.ai.core.grouping import group_pairs
from huf.ai.core.json_text import read_json_or_text
from huf.ai.core.stored_text import clip
from huf.ai.core.types import ENDED_STATUSES, CallStatus, RunStatus
from huf.ai.storage.events import EXTERNAL_FAILED, EXTERNAL_STATUSES
from huf.ai.storage.rows import insert_row, insert_rows, update_row

RUN_STATUSES = {
	"completed": RunStatus.SUCCESS,
	EXTERNAL_FAILED: RunStatus.FAILED,
	"cancelled": RunStatus.CANCELLED,
}
COLUMNS = {
	"run_id": "name",
	"objective": "prompt",
	"confidence": "confidence",
	"steps": "steps",
	"duration_ms": "duration_ms",
	"result": "response",
	"error": "error_message",
	"created_at": "creation",
	"completed_at": "ended_at",
}
"""Fields of AgentRunRecord and the columns of Agent Run that store them."""


@dataclass(frozen=True)
class AgentRunRecord:
	"""A finished run; `status` is completed, failed or cancelled."""

	run_id: str
	objective: str
	status: str
	result: Any = None
	error: str | None = None
	confidence: float = 0.0
	plan: list[str] = field(default_factory=list)
	tools_used: list[str] = field(default_factory=list)
	steps: int = 0
	duration_ms: int = 0
	created_at: datetime | None = None
	completed_at: datetime | None = None
	route: str = "agent"


class RunStore:
	def save(self, record: AgentRunRecord) -> None:
		"""Insert a record as a new Agent Run of the user, or update an existing one.

		Raises PermissionError.
		"""
		values = {
			column: getattr(record, name)
			for name, column in COLUMNS.items()
			if name not in ("run_id", "created_at")
		}
		result = (
			record.result if isinstance(record.result, str | None) else json.dumps(record.result, default=str)
		)
		values |= {
			"route": record.route,
			"plan": json.dumps(record.plan, ensure_ascii=False),
			"status": RUN_STATUSES[record.status].value,
			"response": clip(result),
			"error_message": clip(record.error),
		}
		if frappe.db.exists("Agent Run", record.run_id):
			get_permitted("Agent Run", record.run_id)
			update_row("Agent Run", record.run_id, values)
			return
		user = frappe.session.user
		insert_row(
			"Agent Run", {**values, "run_as": user, "started_at": record.created_at}, user, record.run_id
		)
		if record.created_at:
			update_row("Agent Run", record.run_id, {"creation": record.created_at})
		insert_rows(
			"Agent Tool Call",
			[build_tool_call(record.run_id, *each) for each in enumerate(record.tools_used, 1)],
		)

	def get(self, run_id: str) -> AgentRunRecord | None:
		found = read_records({"name": run_id, "status": ["in", ENDED_STATUSES]}, 1)
		return found[0] if found else None

	def list(self, limit: int = 50) -> list[AgentRunRecord]:
		"""Up to `limit` records, newest first."""
		return read_records({"status": ["in", ENDED_STATUSES]}, limit)


def build_tool_call(run: str, step: int, tool: str) -> dict:
	return {"run": run, "step": step, "position": 0, "tool": tool, "status": CallStatus.SUCCESS.value}


def read_records(filters: dict, limit: int) -> list[AgentRunRecord]:
	rows = frappe.get_list(
		"Agent Run",
		filters=filters,
		fields=[*COLUMNS.values(), "status", "plan"],
		order_by="creation desc",
		limit_page_length=limit,
	)
	tools = list_tools_by_run([row.name for row in rows])
	return [build_record(row, tools.get(row.name, [])) for row in rows]


def build_record(row, tools: list[str]) -> AgentRunRecord:
	values = {name: row[column] for name, column in COLUMNS.items()}
	if (row.response or "").startswith(("{", "[")):
		values["result"] = read_json_or_text(row.response)
	return AgentRunRecord(
		**values,
		status=EXTERNAL_STATUSES.get(row.status, EXTERNAL_FAILED),
		plan=json.loads(row.plan or "[]"),
		tools_used=tools,
	)


def list_tools_by_run(runs: list[str]) -> dict[str, list[str]]:
	"""{run: names of the tools it called, without duplicates, in order}."""
	calls = frappe.get_list(
		"Agent Tool Call",
		filters={"run": ["in", runs]},
		fields=["run", "tool"],
		order_by="step asc, position asc",
		limit_page_length=0,
	)
	return group_pairs(dict.fromkeys((call.run, call.tool) for call in calls))
