"""Changes of an agent that wait until its cases pass: tried, and made if all is well. The Agent's controller keeps them back."""

import json
from dataclasses import dataclass

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.evals.runner import EvalReport, evaluate_agent

AGENT = "Agent"


@dataclass(frozen=True)
class TriedChanges:
	"""What came of trying changes; `applied`: they are the agent's now."""

	report: EvalReport
	applied: bool


def read_changes(agent: str) -> dict:
	"""{field: value} that wait; empty: nothing does."""
	return json.loads(frappe.db.get_value(AGENT, agent, "pending_changes") or "{}")


def try_changes(
	agent: str, times: int = 1, model: str | None = None, judge: str | None = None, **more
) -> TriedChanges:
	"""Run the cases with what waits, and make it the agent's if each passes each time. Commits.

	Raises UsageError where nothing waits, or something else has come to wait meanwhile.
	"""
	changes = read_changes(agent)
	if not changes:
		raise UsageError(f"No change of {agent} waits.")
	report = evaluate_agent(agent, times, model, judge, changes, **more)
	if report.is_good:
		apply_changes(agent, changes)
	return TriedChanges(report, report.is_good)


def apply_changes(agent: str, changes: dict) -> None:
	doc = frappe.get_doc(AGENT, agent)
	if read_changes(agent) != changes:
		raise UsageError(f"The changes of {agent} that wait are not those that were tried. Try again.")
	doc.update({**changes, "pending_changes": None})
	doc.flags.cases_passed = True
	doc.save()
	frappe.db.commit()


def discard_changes(agent: str) -> None:
	"""Let go what waits. Does not commit."""
	doc = frappe.get_doc(AGENT, agent)
	doc.pending_changes = None
	doc.save()


def run_job(agent: str, times: int, model: str | None, judge: str | None) -> None:
	"""A job: the cases with what waits, or with the agent as it is; how it went is on the cases' records."""
	(try_changes if read_changes(agent) else evaluate_agent)(agent, times, model, judge)
