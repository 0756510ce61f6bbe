"""Agent Eval Runs: the progress of an agent's queued eval, and the results of earlier ones."""

from datetime import datetime

import frappe
from frappe import _
from frappe.utils import get_datetime, now, now_datetime
from frappe.utils.background_jobs import get_job_status

from huf.ai.agents.manager import AgentManager
from huf.ai.core.errors import UsageError
from huf.ai.core.stored_text import clip
from huf.ai.core.times import subtract_seconds
from huf.ai.evals.runner import CASE, CaseResult
from huf.ai.queries.versions import list_instruction_versions
from huf.ai.storage.rows import insert_row, update_row

EVAL = "Agent Eval Run"
RUNNING = ("Queued", "Started")
MAX_HOURS = 1
"""The time limit of the job; an eval that reports nothing for longer has lost its worker."""
ENQUEUED_S = 60
"""An eval that has reported something in this time is not looked up in the queue: its job may be about to be
enqueued.
"""
JOB_OPEN = ("queued", "started")
MAX_EVALS = 50
MAX_ERROR_CHARS = 500
FIELDS = [
	"name",
	"creation",
	"ended_at",
	"status",
	"error",
	"model",
	"instructions_version",
	"with_changes",
	"cases",
	"done",
	"attempts",
	"passed",
]


def begin_eval(agent: str, model: str | None) -> str:
	"""A record of an eval that is about to be queued; returns its name. Does not commit.

	Raises UsageError without enabled cases, or while another eval of the agent runs.
	"""
	# Of concurrent requests, the later ones wait here and find the record of the first.
	frappe.db.get_value("Agent", agent, "name", for_update=True)
	cases = frappe.db.count(CASE, {"agent": agent, "disabled": 0})
	if not cases:
		raise UsageError(_("The agent {0} has no eval cases.").format(agent))
	if any(row.status in RUNNING for row in list_evals(agent)):
		raise UsageError(_("The eval cases of {0} are being run. Wait until they have ended.").format(agent))
	values = {
		"agent": agent,
		**describe_version(agent, model),
		"status": "Queued",
		"cases": cases,
		"done": 0,
		"attempts": 0,
		"passed": 0,
	}
	return insert_row(EVAL, values)


def describe_version(agent: str, model: str | None) -> dict:
	"""Fields that say what an eval evaluates: the agent as it is now, with its pending changes."""
	doc = frappe.get_doc("Agent", agent)
	changes = frappe.parse_json(doc.pending_changes or "{}")
	return {
		"model": model or changes.get("model") or AgentManager(agent).model,
		"instructions_version": len(list_instruction_versions(doc)) + ("instructions" in changes),
		"with_changes": int(bool(changes)),
	}


def start_eval(record: str, agent: str, model: str | None) -> None:
	"""Store that the job of an eval begins, with the agent's version now: it may have changed in the queue.
	Commits.
	"""
	update_row(EVAL, record, {"status": "Started", "modified": now(), **describe_version(agent, model)})
	frappe.db.commit()


def add_result(record: str, result: CaseResult) -> None:
	"""Count the result of a case, and commit."""
	row = frappe.db.get_value(EVAL, record, ["done", "attempts", "passed"], as_dict=True)
	values = {
		"status": "Started",
		"modified": now(),
		"done": row.done + 1,
		"attempts": row.attempts + len(result.attempts),
		"passed": row.passed + result.passed,
	}
	update_row(EVAL, record, values)
	frappe.db.commit()


def end_eval(record: str, error: str | None = None) -> None:
	"""Close a record, with the error that ended the eval early. Commits."""
	status = "Failed" if error else "Finished"
	values = {"status": status, "error": clip(error or "", MAX_ERROR_CHARS) or None, "ended_at": now()}
	update_row(EVAL, record, values)
	frappe.db.commit()


def eval_job_id(record: str) -> str:
	return f"huf-eval-{record}"


def list_evals(agent: str) -> list:
	"""The newest evals of an agent first, with FIELDS. One whose job was lost is Failed."""
	rows = frappe.get_all(
		EVAL,
		filters={"agent": agent},
		fields=[*FIELDS, "modified"],
		order_by="creation desc",
		limit_page_length=MAX_EVALS,
	)
	return [close_lost(row) for row in rows]


def close_lost(row):
	reported_at = get_datetime(row.pop("modified"))
	if row.status in RUNNING and has_lost_job(row.name, reported_at):
		row.update(status="Failed", error=_("The job was lost. Run the cases again."))
	return row


def has_lost_job(record: str, reported_at: datetime) -> bool:
	"""Whether the job of an open eval has ended or was never enqueued."""
	if reported_at < subtract_seconds(now_datetime(), MAX_HOURS * 3600):
		return True
	is_recent = reported_at > subtract_seconds(now_datetime(), ENQUEUED_S)
	return not is_recent and get_job_status(eval_job_id(record)) not in JOB_OPEN
