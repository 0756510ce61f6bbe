"""Pending changes of an agent: they are tested with its eval cases and applied if all pass.

The Agent's controller holds changes back; see `huf/huf/doctype/agent/agent.py`.
"""

import json
from dataclasses import dataclass
from functools import partial

import frappe
from frappe import _

from huf.ai.core.errors import UsageError
from huf.ai.evals import history
from huf.ai.evals.runner import MAX_TIMES, EvalReport, check_models, evaluate_agent

AGENT = "Agent"
JOB = "huf.ai.evals.pending_changes.run_job"


@dataclass(frozen=True)
class TriedChanges:
	"""The report of an eval with pending changes, and whether they were applied."""

	report: EvalReport
	applied: bool


def read_pending_changes(agent: str) -> dict:
	"""The pending changes as {field: value}; empty if there are none."""
	return json.loads(frappe.db.get_value(AGENT, agent, "pending_changes") or "{}")


def try_changes(
	agent: str, times: int = 1, model: str | None = None, judge: str | None = None, **options
) -> TriedChanges:
	"""Evaluate the agent with its pending changes, and apply them if every attempt passes. Commits.

	Another `model`, or "Recorded" answers, say nothing about the changed agent: with one, nothing is
	applied. Raises UsageError if nothing is pending, or if the pending changes were replaced during the
	eval.
	"""
	changes = read_pending_changes(agent)
	if not changes:
		raise UsageError(_("{0} has no pending changes.").format(agent))
	report = evaluate_agent(agent, times, model, judge, changes, **options)
	applied = report.is_good and model is None
	if applied:
		apply_changes(agent, changes)
	return TriedChanges(report, applied)


def apply_changes(agent: str, changes: dict) -> None:
	doc = frappe.get_doc(AGENT, agent)
	if read_pending_changes(agent) != changes:
		raise UsageError(
			_("The pending changes of {0} were replaced during the eval. Run the cases again.").format(agent)
		)
	doc.update({**changes, "pending_changes": None})
	doc.flags.cases_passed = True
	doc.save()
	frappe.db.commit()


def discard_pending_changes(agent: str) -> None:
	"""Drop the pending changes. Does not commit."""
	doc = frappe.get_doc(AGENT, agent)
	doc.pending_changes = None
	doc.save()


def enqueue_eval(agent: str, times: int, model: str | None, judge: str | None) -> str:
	"""Queue the job that runs the agent's cases, and return the name of its Agent Eval Run. Commits.

	Raises UsageError for what cannot be evaluated, and while another eval of the agent runs.
	"""
	if not 1 <= times <= MAX_TIMES:
		raise UsageError(f"A case can be run 1 to {MAX_TIMES} times.")
	check_models(model, judge)
	# `begin_eval` waits for a lock, and must read what others have committed before it gets it.
	frappe.db.commit()
	record = history.begin_eval(agent, model)
	values = {"agent": agent, "times": times, "model": model, "judge": judge, "record": record}
	job_id = history.eval_job_id(record)
	frappe.enqueue(JOB, queue="long", timeout=3600, enqueue_after_commit=True, job_id=job_id, **values)
	return record


def run_job(agent: str, times: int, model: str | None, judge: str | None, record: str | None = None) -> None:
	"""Background job: evaluate with the pending changes, or the agent as it is.

	Results go to the case records, and to the Agent Eval Run `record`.
	"""
	evaluate = try_changes if read_pending_changes(agent) else evaluate_agent
	if record is None:
		evaluate(agent, times, model, judge)
		return
	try:
		history.start_eval(record, agent, model)
		evaluate(agent, times, model, judge, on_result=partial(history.add_result, record))
	except Exception as error:  # the boundary of the job: its record would stay open
		frappe.db.rollback()
		history.end_eval(record, str(error))
		raise
	history.end_eval(record)
