"""Requests that their sender repeats with the same idempotency key, because it has lost the answer."""

import re
from collections.abc import Iterable, Iterator

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.core.events import EventKind, RunEvent
from huf.ai.core.types import RunStatus
from huf.ai.queries.event_stream import follow_run_events
from huf.ai.storage.drafts import describe_draft, read_pending_drafts

IDEMPOTENCY_KEY = re.compile("[A-Za-z0-9-]{16,64}")


def read_idempotency_key(given: str | None) -> str | None:
	"""Raises UsageError."""
	if given and not IDEMPOTENCY_KEY.fullmatch(given):
		raise UsageError("idempotency_key must be 16 to 64 letters, digits and hyphens.")
	return given or None


def find_sent_run(idempotency_key: str | None):
	"""The run, {name, status, agent, conversation}, of the session user's request with this key, or None."""
	if not idempotency_key:
		return None
	sent = {"request_key": idempotency_key, "owner": frappe.session.user}
	fields = ["name", "status", "agent", "conversation"]
	# A chat's run that the agent has taken over has the same key as the agent's, which is the later one.
	return frappe.db.get_value("Agent Run", sent, fields, as_dict=True, order_by="creation desc")


def follow_sent_run(run) -> Iterator[RunEvent | None]:
	"""The events of a run from `find_sent_run`, as its first request got them."""
	if run.status == RunStatus.QUEUED.value:
		yield RunEvent(EventKind.RUN_QUEUED, run.name, {"conversation": run.conversation, "agent": run.agent})
	else:
		yield from follow_run_events(run.name)


def wait_for_sent_run(idempotency_key: str) -> dict | None:
	"""What `run_agent_sync` returned for the session user's request with this key, once its run has ended,
	waits or is queued; None if there was no such request.
	"""
	run = find_sent_run(idempotency_key)
	return read_last_result(follow_sent_run(run)) if run else None


def wait_for_run(run: str) -> dict:
	"""What `run_agent_sync` returns for a run that another worker has, once it has ended or waits."""
	return read_last_result(follow_run_events(run))


def read_last_result(events: Iterable[RunEvent | None]) -> dict:
	*_earlier, last = filter(None, events)
	status = last.data.get("status", RunStatus.QUEUED.value)
	result = {**last.data, "run": last.run, "status": status, "success": status == RunStatus.SUCCESS.value}
	if status == RunStatus.WAITING.value:
		# The event only names them.
		drafts = [describe_draft(each) for each in read_pending_drafts(last.run)]
		result |= {"draft": next(iter(drafts), None), "drafts": drafts}
	return result
