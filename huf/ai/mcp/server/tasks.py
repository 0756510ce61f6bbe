"""Long calls as tasks (extension io.modelcontextprotocol/tasks). A task is an Agent Run, with the same name.

Tasks are queued like any background run, so they survive lost workers, and any process can answer requests
about them.
"""

from typing import Any

import frappe
from mcp.server.context import HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
	HEADER_MISMATCH,
	INTERNAL_ERROR,
	INVALID_PARAMS,
	MISSING_REQUIRED_CLIENT_CAPABILITY,
	RequestParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from huf.ai.chat.approvals import cancel_run
from huf.ai.chat.run_states import RunState, read_state
from huf.ai.core.types import DIRECT, AgentRequest, RunStatus
from huf.ai.mcp.server.approvals import answer_draft, build_question, may_ask
from huf.ai.mcp.server.results import describe_result
from huf.ai.runs.queue import enqueue_run

EXTENSION = "io.modelcontextprotocol/tasks"
POLL_INTERVAL_MS = 1000


class TaskParams(RequestParams):
	model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

	task_id: str


class UpdateTaskParams(TaskParams):
	input_responses: dict[str, Any] | None = None


def add_tasks(server: Server, guard: Any) -> None:
	server.extensions[EXTENSION] = {}
	server.add_request_handler("tasks/get", TaskParams, guard(get_task))
	server.add_request_handler("tasks/update", UpdateTaskParams, guard(update_task))
	server.add_request_handler("tasks/cancel", TaskParams, guard(cancel_task))


def is_supported(ctx: ServerRequestContext) -> bool:
	"""Whether the client supports tasks, which require the newest revision."""
	capabilities = ctx.session.client_capabilities
	extensions = (capabilities and capabilities.extensions) or {}
	return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS and EXTENSION in extensions


def check_supported(ctx: ServerRequestContext) -> None:
	if not is_supported(ctx):
		required: dict = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
		message = f"The client has to declare the extension {EXTENSION}."
		raise MCPError(code=MISSING_REQUIRED_CLIENT_CAPABILITY, message=message, data=required)


def check_routing_header(ctx: ServerRequestContext, task: str) -> None:
	"""Raises MCPError unless Mcp-Name names the task. The SDK checks this header for core methods only."""
	if ctx.request and ctx.request.headers.get("mcp-name") != task:
		message = "mcp-name header does not match the request body's 'taskId' parameter"
		raise MCPError(code=HEADER_MISMATCH, message=message)


def create_task(request: AgentRequest) -> dict:
	"""Queue a run; returns the CreateTaskResult."""
	return {"resultType": "task", **describe_task(read_state(enqueue_run(request).name))}


async def get_task(ctx: ServerRequestContext, params: TaskParams) -> HandlerResult:
	state = find_task(ctx, params)
	task: dict[str, Any] = {"resultType": "complete", **describe_task(state)}
	if may_ask(ctx, state):
		questions = build_question(state)
		task["status"] = "input_required"
		task["inputRequests"] = {key: dump(question) for key, question in questions.items()}
	elif task["status"] == "failed":
		task["error"] = {"code": INTERNAL_ERROR, "message": state.row.error_message or "The run failed."}
	elif task["status"] == "completed":
		task["result"] = dump(describe_result(state))
	return task


async def update_task(ctx: ServerRequestContext, params: UpdateTaskParams) -> HandlerResult:
	"""Store the user's answers. Unknown keys, and answers to drafts that were already answered, are
	ignored.
	"""
	answer_draft(find_task(ctx, params), params.input_responses)
	return {}


async def cancel_task(ctx: ServerRequestContext, params: TaskParams) -> HandlerResult:
	if not find_task(ctx, params).has_ended:
		cancel_run(params.task_id)
	return {}


def find_task(ctx: ServerRequestContext, params: TaskParams) -> RunState:
	"""Raises MCPError if the client does not support tasks, or this user has no such task."""
	check_supported(ctx)
	check_routing_header(ctx, params.task_id)
	try:
		return read_state(params.task_id)
	except frappe.PermissionError:
		raise MCPError(code=INVALID_PARAMS, message="Task not found") from None


def describe_task(state: RunState) -> dict[str, Any]:
	"""A task whose agent fails is `completed`: the failure is the tool's result."""
	status = "completed" if state.has_ended else "working"
	if state.status is RunStatus.CANCELLED:
		status = "cancelled"
	elif state.status is RunStatus.FAILED and state.row.model == DIRECT:
		status = "failed"
	return {
		"taskId": state.run,
		"status": status,
		**({"statusMessage": state.notice} if state.notice else {}),
		"createdAt": state.created_at.isoformat(),
		"lastUpdatedAt": state.changed_at.isoformat(),
		"ttlMs": None,
		"pollIntervalMs": POLL_INTERVAL_MS,
	}


def dump(model: Any) -> dict:
	return model.model_dump(by_alias=True, mode="json", exclude_none=True)
