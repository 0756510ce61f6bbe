"""The stop switch: managers stop agents, tools, users and more, see which calls are still open, and release
them.
"""

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.runs.queue import enqueue_work, recover_runs
from huf.ai.storage import leases, stops
from huf.permissions import is_manager

MAX_REASON_CHARS = 500


def stop(scope: str, target: str | None = None, reason: str | None = None) -> dict:
	"""Stop everything, or an agent, tool, provider, user or trigger: {stop, running}. Commits.

	`running`: external calls and model calls that had begun; they are not interrupted. Raises
	PermissionError, UsageError.
	"""
	check_manager()
	if scope not in stops.SCOPES:
		raise UsageError(f"{scope!r} cannot be stopped. Choose one of: {', '.join(stops.SCOPES)}.")
	target = find_target(scope, (target or "").strip())
	frappe.db.commit()
	added = stops.add_stop(scope, target, (reason or "").strip()[:MAX_REASON_CHARS])
	frappe.db.commit()
	frappe.publish_realtime("huf_stops", {"stop": added["name"]})
	return {"stop": added, "running": list_running(added)}


def release(name: str) -> list[str]:
	"""Release a stop and enqueue the runs it held, oldest first; returns them. Commits."""
	check_manager()
	frappe.db.commit()
	if not stops.remove_stop(name):
		frappe.db.rollback()
		if not frappe.db.exists(stops.STOP, name):
			raise UsageError(f"There is no stop {name!r}.")
		raise UsageError("This stop is not active: it was released before.")
	frappe.db.commit()
	frappe.publish_realtime("huf_stops", {"released": name})
	waiting = [run for run in leases.read_all_queued_runs() if not stops.find_stop_of_run(run)]
	for run in waiting:
		enqueue_work(run)
	recover_runs()
	return waiting


def check_manager() -> None:
	if not is_manager(frappe.session.user):
		raise frappe.PermissionError("Only a Huf Manager can stop and release agents.")


def find_target(scope: str, target: str) -> str | None:
	"""The target's stored name, with which runs are compared. Raises UsageError."""
	if scope == "All" and target:
		raise UsageError(f"All stops everything, not only {target!r}. Name the scope of the target.")
	if scope == "All":
		return None
	if not target:
		raise UsageError(f"Say which {scope.lower()} to stop.")
	stored = frappe.db.get_value(stops.TARGETS[scope], target, "name")
	if not stored:
		raise UsageError(f"There is no {scope.lower()} {target!r}.")
	return stored


def list_running(stop: dict) -> list[dict]:
	"""Calls of covered runs that had begun before the stop: [{run, agent, kind, tool}]."""
	calls = frappe.db.sql(
		"""select 'tool' as kind, step.tool as tool, step.run as run, run.agent, run.provider, run.run_as,
			run.`trigger` from `tabAgent Tool Call` step join `tabAgent Run` run on run.name = step.run
			where step.status = 'Started' and run.status = 'Started'
		union all
		select 'model', null, step.run, run.agent, run.provider, run.run_as, run.`trigger`
			from `tabAgent LLM Call` step join `tabAgent Run` run on run.name = step.run
			where step.status = 'Started' and run.status = 'Started' """,
		as_dict=True,
	)
	return [
		{key: call[key] for key in ("run", "agent", "kind", "tool")}
		for call in calls
		if stops.find_stop([stop], call, call.tool)
	]
