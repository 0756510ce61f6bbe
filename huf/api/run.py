"""Endpoints about runs. Users see the runs they may read; Huf Managers settle calls whose worker was lost."""

from datetime import datetime, time

import frappe

from huf.ai.chat import approvals, messages
from huf.ai.core.documents import get_permitted
from huf.ai.core.request_values import clamp_count, clamp_start, clip_search, read_date, read_text_map
from huf.ai.evals import reruns
from huf.ai.queries import named_records, runs
from huf.ai.runs import lost_calls, model_input, replay

MAX_RUNS = 200


@frappe.whitelist(methods=["GET"])
def get_runs(
	agent: str | None = None,
	status: str | None = None,
	trigger: str | None = None,
	start: int = 0,
	limit: int = 50,
	user: str | None = None,
	from_date: str | None = None,
	to_date: str | None = None,
	min_cost: float = 0,
	text: str = "",
):
	"""Runs, newest first; see `huf.ai.queries.runs`.

	`user`: whom they act as. Dates are inclusive, in the site's time zone; `min_cost` is in USD.
	"""
	wanted = {"agent": agent, "status": status, "trigger": trigger, "run_as": user}
	filters: list[list] = [[field, "=", value] for field, value in wanted.items() if value]
	if from_date:
		filters.append(["creation", ">=", read_date(from_date)])
	if to_date:
		filters.append(["creation", "<=", datetime.combine(read_date(to_date), time.max)])
	if min_cost > 0:
		filters.append(["total_cost", ">=", min_cost])
	return runs.list_runs(filters, clamp_start(start), clamp_count(limit, MAX_RUNS), clip_search(text))


@frappe.whitelist(methods=["GET"])
def get_run(run: str):
	"""A run's timeline: {run, steps: [{step, model_calls, tool_calls}], children}."""
	return runs.read_timeline(run)


@frappe.whitelist(methods=["GET"])
def get_records(run: str):
	"""The records named in a run's calls: [{doctype, name, title}]; see `huf.ai.queries.named_records`."""
	return named_records.list_named_records(run)


@frappe.whitelist(methods=["GET"])
def get_model_input(run: str, step: int):
	"""What the model was sent at a step of an ended run: see `huf.ai.runs.model_input`."""
	return model_input.read_model_input(run, step)


@frappe.whitelist(methods=["GET"])
def compare(run: str, other: str):
	"""Two runs side by side: {left, right, steps: [{step, same, left, right, differences}]}."""
	left, right = runs.read_timeline(run), runs.read_timeline(other)
	sides = [{step["step"]: step for step in side["steps"]} for side in (left, right)]
	steps = [
		{**each, "left": sides[0].get(each["step"]), "right": sides[1].get(each["step"])}
		for each in replay.diff(run, other)
	]
	return {"left": left["run"], "right": right["run"], "steps": steps}


@frappe.whitelist(methods=["POST"])
def replay_run(run: str):
	"""Replay an ended run from its record, without a model or a tool.

	Returns {identical, status, stop_reason, steps}.
	"""
	replayed = replay.replay(run)
	outcome = replayed.outcome
	return {
		"identical": replayed.identical,
		"status": outcome.status.value,
		"stop_reason": outcome.stop_reason.value if outcome.stop_reason else None,
		"steps": outcome.steps,
	}


@frappe.whitelist(methods=["POST"])
def rerun(run: str, step: int, edits: dict | str):
	"""Run an ended run again from a step with edited messages, as dry runs: see `huf.ai.evals.reruns`."""
	return reruns.rerun(run, step, read_text_map(edits, "edits"))


@frappe.whitelist(methods=["POST"])
def cancel(run: str):
	"""Request a run's cancellation, at its next step or, while it waits, at once."""
	get_permitted("Agent Run", run)
	approvals.cancel_run(run)


@frappe.whitelist(methods=["POST"])
def go_on(run: str):
	"""Continue a run that reached its step or time limit as a new background run: {run, conversation}."""
	get_permitted("Agent Run", run)
	return messages.continue_in_background(run)


@frappe.whitelist(methods=["POST"])
def settle_call(call: str, verdict: str):
	"""Record whether a call whose worker was lost took effect: done or not_done."""
	lost_calls.settle_call(call, verdict)


@frappe.whitelist(methods=["POST"])
def retry_call(call: str):
	"""Repeat a call whose worker was lost. Returns its result."""
	return lost_calls.retry_call(call)
