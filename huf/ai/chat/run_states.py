"""A run as programs of other protocols get it, read from its record: any worker may have executed it."""

import asyncio
import json
import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import frappe
from frappe.utils import get_url

from huf.ai.core.times import to_utc
from huf.ai.core.types import ACTIVE_STATUSES, DraftStatus, RunStatus
from huf.ai.queries.event_stream import read_run_state
from huf.ai.runs.queue import work_on
from huf.ai.storage import drafts

RUN = "Agent Run"
FIELDS = ("status", "conversation", "prompt", "response", "error_message", "model", "creation", "modified")
WAITS = "A person has to approve this first: {url}"
WORKS = "The agent is still working on it: {url}"
WAIT_S, POLL_S = 300, 0.1
"""How long a request waits for a run that another worker has, and how often it looks."""


@dataclass(frozen=True)
class RunState:
	"""An Agent Run with the draft it waits for, if it does (a row of `drafts.FIELDS`)."""

	run: str
	row: Any
	draft: Any = None

	@property
	def status(self) -> RunStatus:
		return RunStatus(self.row.status)

	@property
	def is_active(self) -> bool:
		"""Whether a worker has it or will have it."""
		return self.status in ACTIVE_STATUSES

	@property
	def has_ended(self) -> bool:
		return not self.is_active and self.status is not RunStatus.WAITING

	@property
	def created_at(self) -> datetime:
		return to_utc(self.row.creation)

	@property
	def changed_at(self) -> datetime:
		return to_utc(self.row.modified)

	@property
	def url(self) -> str:
		return get_url(f"/huf/runs/{self.run}")

	@property
	def thread(self) -> str:
		"""The front end's name of the conversation."""
		return str(frappe.db.get_value("Agent Conversation", self.row.conversation, "external_id") or "")

	@property
	def notice(self) -> str | None:
		if self.draft:
			return WAITS.format(url=self.url)
		if self.status is RunStatus.WAITING and (below := drafts.read_pending_below(self.run)):
			return WAITS.format(url=get_url(f"/huf/runs/{below[0].run}"))
		return None if self.has_ended else WORKS.format(url=self.url)


def may_read_run(run: str) -> bool:
	"""Whether there is such a run and the user may read it. An approver may not read the runs of others."""
	return bool(
		frappe.db.exists(RUN, run) and frappe.has_permission(RUN, "read", doc=frappe.get_doc(RUN, run))
	)


def read_state(run: str) -> RunState:
	"""The state on record. Raises PermissionError for a run the user may not see, or that does not exist."""
	frappe.db.rollback()
	if not may_read_run(run):
		raise frappe.PermissionError(f"There is no run {run!r}.")
	row = frappe.db.get_value(RUN, run, FIELDS, as_dict=True)
	pending = {"run": run, "status": DraftStatus.PENDING.value}
	name = frappe.db.get_value(drafts.DRAFT, pending) if row.status == RunStatus.WAITING.value else None
	return RunState(run, row, drafts.read_draft(name) if name else None)


async def continue_run(run: str) -> RunState:
	"""Execute a run that was resumed, or wait for the worker that does."""
	deadline = time.monotonic() + WAIT_S
	if read_state(run).is_active:
		work_on(run)
	while read_run_state(run)[0] in ACTIVE_STATUSES and time.monotonic() < deadline:
		await asyncio.sleep(POLL_S)
	return read_state(run)


def describe_approval(state: RunState) -> dict | None:
	"""What a waiting run waits for, with the page where it can be answered."""
	if not state.draft:
		return None
	described = drafts.describe_draft(state.draft)
	kept = {key: described[key] for key in ("draft", "tool", "arguments", "difference", "digest")}
	return json.loads(json.dumps({**kept, "run": state.run, "url": state.url}, default=str))
