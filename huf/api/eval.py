"""Endpoints about evals: rating runs, an agent's cases and results, changes held until the cases pass."""

import frappe

from huf.ai.core.documents import get_permitted
from huf.ai.evals import from_runs, history, pending_changes

CASE = "Agent Eval Case"
FIELDS = ["name", "case_name", "agent", "disabled", "verdict", "note", "run", "prompt"]
LAST_RESULT_FIELDS = ["last_run", "last_model", "passed", "times", "last_fault"]


@frappe.whitelist(methods=["POST"])
def mark(run: str, good: bool, note: str = ""):
	"""Rate a run and turn it into a case of its agent: {case, verdict}. For users who may read the run; if
	they may not change the agent, the case is disabled until somebody who may enables it.
	"""
	return {"case": from_runs.mark_run(run, good, note), "verdict": "Good" if good else "Bad"}


@frappe.whitelist(methods=["POST"])
def rate(run: str, verdict: str, note: str = ""):
	"""Rate a run Good or Bad, or remove the rating with "": {case, verdict}. For users who may read the run.

	Unlike `mark` this creates no case; `case` is the run's existing case, or None.
	"""
	return {"case": from_runs.rate_run(run, verdict, note), "verdict": verdict}


@frappe.whitelist(methods=["GET"])
def get_cases(agent: str):
	"""{cases: [{name, case_name, prompt, disabled, passed, times, last_run, last_fault, ...}], waiting:
	{field: value}, evals: [{name, creation, status, model, cases, done, ...}]}; see `history.list_evals`.
	"""
	check_manageable(agent)
	rows = frappe.get_list(
		CASE, filters={"agent": agent}, fields=[*FIELDS, *LAST_RESULT_FIELDS], order_by="case_name asc"
	)
	return {
		"cases": rows,
		"waiting": pending_changes.read_pending_changes(agent),
		"evals": history.list_evals(agent),
	}


@frappe.whitelist(methods=["POST"])
def run(agent: str, times: int = 1, model: str | None = None, judge: str | None = None):
	"""Queue a job that runs an agent's cases; held changes are tested and made if all cases pass.

	`get_cases` returns the results. `model`: an AI Model, "Offline" or "Recorded"; by default the agent's
	own. Returns {enqueued, eval}; the Agent Eval Run `eval` shows the progress.
	"""
	check_manageable(agent)
	return {"enqueued": True, "eval": pending_changes.enqueue_eval(agent, times, model, judge)}


@frappe.whitelist(methods=["POST"])
def discard_changes(agent: str):
	"""Discard the held changes."""
	check_manageable(agent)
	pending_changes.discard_pending_changes(agent)
	return {"waiting": {}}


def check_manageable(agent: str) -> None:
	get_permitted("Agent", agent, "write")
	frappe.has_permission(CASE, "read", throw=True)
