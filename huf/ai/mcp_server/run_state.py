"""A run as its client gets it, read from its record: any worker may have executed it."""

import json
from dataclasses import dataclass
from typing import Any

import frappe
from frappe.utils import get_url
from mcp_types import CallToolResult, TextContent
from pydantic import ValidationError

from huf.ai.core.types import DIRECT, CallStatus, DraftStatus, RunStatus
from huf.ai.mcp_server.output_schemas import SHAPES, find_tool_type, structure_result
from huf.ai.storage import drafts, route_decisions

RUN = "Agent Run"
FIELDS = ("status", "conversation", "response", "error_message", "model", "creation", "modified")
WAITS = "A person has to approve this first: {url}"
WORKS = "The agent is still working on it: {url}"
OPEN = (RunStatus.QUEUED.value, RunStatus.STARTED.value)


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
	def is_open(self) -> bool:
		"""Whether a worker has it or will have it."""
		return self.row.status in OPEN

	@property
	def url(self) -> str:
		return get_url(f"/huf/runs/{self.run}")

	@property
	def notice(self) -> str | None:
		if self.draft:
			return WAITS.format(url=self.url)
		return WORKS.format(url=self.url) if self.is_open else None


def read_state(run: str) -> RunState:
	"""The state on record. Raises PermissionError for a run the user may not see, or that does not exist."""
	frappe.db.rollback()
	if not frappe.db.exists(RUN, run) or not frappe.has_permission(RUN, "read", doc=frappe.get_doc(RUN, run)):
		raise frappe.PermissionError(f"There is no run {run!r}.")
	row = frappe.db.get_value(RUN, run, FIELDS, as_dict=True)
	pending = {"run": run, "status": DraftStatus.PENDING.value}
	name = frappe.db.get_value(drafts.DRAFT, pending) if row.status == RunStatus.WAITING.value else None
	return RunState(run, row, drafts.read_draft(name) if name else None)


def describe_result(state: RunState) -> CallToolResult:
	"""The result of the tool call that the run was started for."""
	return describe_tool_result(state) if state.row.model == DIRECT else describe_answer(state)


def describe_answer(state: RunState) -> CallToolResult:
	"""The answer of an agent. A run that a guard stopped has a part of one, and is no error."""
	row = state.row
	lines = [row.response, row.error_message, state.notice]
	return CallToolResult(
		content=[TextContent(text="\n\n".join(filter(None, lines)))],
		structured_content={
			"answer": row.response or "",
			"status": row.status,
			"conversation": row.conversation,
			"run": state.run,
			"error": row.error_message,
			"approval": describe_approval(state),
			"route": route_decisions.read_decisions([state.run]).get(state.run),
		},
		is_error=state.status is RunStatus.FAILED,
	)


def describe_tool_result(state: RunState) -> CallToolResult:
	"""The result of the run's one tool call. A result with `content` as MCP has it is passed on as it is."""
	call = frappe.db.get_value(
		"Agent Tool Call", {"run": state.run}, ["tool", "status", "result"], order_by="step asc", as_dict=True
	)
	if call is None or state.notice:
		text = state.notice or state.row.error_message or "The tool was not called."
		structured = describe_approval(state) or {"result": text}
		return CallToolResult(
			content=[TextContent(text=text)], structured_content=structured, is_error=not state.notice
		)
	is_error = call.status != CallStatus.SUCCESS.value
	value, types = parse(call.result), find_tool_type(call.tool)
	if types not in SHAPES and isinstance(value, dict) and isinstance(value.get("content"), list):
		try:
			return CallToolResult.model_validate({**value, "isError": is_error})
		except ValidationError:
			pass  # a document with a field of that name
	structured = structure_result(types, value, call.result or "")
	return CallToolResult(
		content=[TextContent(text=call.result or "")], structured_content=structured, is_error=is_error
	)


def parse(text: str) -> Any:
	try:
		return json.loads(text)
	except ValueError:
		return text


def describe_approval(state: RunState) -> dict | None:
	"""What a waiting run waits for, with the page where it can be answered."""
	if not state.draft:
		return None
	described = drafts.describe_draft(state.draft)
	kept = {key: described[key] for key in ("draft", "tool", "arguments", "difference", "digest")}
	return json.loads(json.dumps({**kept, "run": state.run, "url": state.url}, default=str))
