"""Tool calls as runs: starts them, waits for them, and continues them after a person has answered."""

import asyncio
import json
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property, partial

import frappe
from mcp.server.apps import client_supports_apps
from mcp.server.context import HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
	INVALID_PARAMS,
	CallToolRequestParams,
	InputRequiredResult,
	Tool,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from huf.ai.chat.approvals import cancel_run
from huf.ai.chat.run_states import RunState, continue_run, read_state
from huf.ai.core.arguments import check_arguments, drop_nulls
from huf.ai.core.errors import ConversationBusy, RunLost, ToolError, UsageError
from huf.ai.core.events import EventKind, Listener, RunEvent
from huf.ai.core.tool_threads import run_in_thread
from huf.ai.core.types import AgentRequest
from huf.ai.mcp.server import tasks
from huf.ai.mcp.server.approvals import answer_draft, build_question, is_put_off, may_ask
from huf.ai.mcp.server.catalog import Catalog
from huf.ai.mcp.server.results import build_refusal, describe_result
from huf.ai.mcp.server.servers import ALWAYS, NEVER
from huf.ai.mcp.server.tools import OfferedTool, list_tools
from huf.ai.runs.entry import run_to_end

POLL_S = 0.5
"""How often a call looks whether its client has left."""


class Tools(Catalog):
	"""Offers agents as tools, and the tools of the server's agent."""

	@cached_property
	def offered(self) -> dict[str, OfferedTool]:
		"""By name. Fixed within a request; the run checks the user's permissions again."""
		return {tool.name: tool for tool in list_tools(self.offer)}

	def list_tools(self) -> list[Tool]:
		return [each.spec for each in self.offered.values()]

	async def call_tool(self, ctx: ServerRequestContext, params: CallToolRequestParams) -> HandlerResult:
		tool = self.offered.get(params.name)
		if tool is None:
			return None
		try:
			if params.request_state:
				return await resume(ctx, params)
			arguments = drop_nulls(params.arguments or {}, tool.spec.input_schema)
			check_arguments(arguments, tool.spec.input_schema)
			return await start(ctx, tool, arguments)
		except (ToolError, UsageError, frappe.PermissionError) as error:
			return build_refusal(error)


async def start(ctx: ServerRequestContext, tool: OfferedTool, arguments: dict) -> HandlerResult:
	request = tool.build_request(arguments, find_client_name(ctx))
	if tool.background == ALWAYS:
		tasks.check_supported(ctx)
	if tool.background != NEVER and tasks.is_supported(ctx):
		# A task may wait for a person for days; in a separate conversation it blocks no other run.
		return tasks.create_task(separate(request))
	progress = ProgressReporter(ctx)
	# The response begins here, before any tool uses the database connection.
	await progress.report(f"{tool.name} begins")
	watching = asyncio.ensure_future(cancel_if_left(ctx, progress))
	try:
		run = await run_or_follow(request, progress.listeners)
	except ConversationBusy:
		# A client may make several calls at once, but a conversation has one active run.
		if request.conversation:
			raise
		run = await run_or_follow(separate(request), progress.listeners)
	finally:
		watching.cancel()
	await progress.flush()
	return describe_state(ctx, read_state(run))


async def run_or_follow(request: AgentRequest, listeners: Iterable[Listener]) -> str:
	"""The run of a request, once it has ended or waits: here, or in the worker that goes on with it."""
	try:
		return (await run_to_end(request, listeners)).run
	except RunLost as lost:
		return (await continue_run(lost.run)).run


def separate(request: AgentRequest) -> AgentRequest:
	"""The request in a new conversation, unless it names one."""
	return request if request.conversation else replace(request, external_id=frappe.generate_hash(length=10))


async def cancel_if_left(ctx: ServerRequestContext, progress: "ProgressReporter") -> None:
	"""Cancel the run of a call once the client has closed its stream.

	In the newest revision, closing the stream cancels the call; in earlier ones, the call continues.
	"""
	left = getattr(ctx.request.state, "left", None) if ctx.request else None
	if left is None or ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
		return
	while not (left.is_set() and progress.run):
		await asyncio.sleep(POLL_S)
	await run_in_thread(partial(cancel_run, progress.run), has_own_connection=True)


async def resume(ctx: ServerRequestContext, params: CallToolRequestParams) -> HandlerResult:
	"""Continue the run that an earlier response named in its state, with the user's answer."""
	try:
		run = json.loads(params.request_state or "")["run"]
	except (ValueError, KeyError, TypeError):
		raise MCPError(code=INVALID_PARAMS, message="Invalid or expired requestState") from None
	state = read_state(run)
	if is_put_off(state, params.input_responses):
		return describe_result(state)
	answer_draft(state, params.input_responses)
	return describe_state(ctx, await continue_run(run))


def describe_state(ctx: ServerRequestContext, state: RunState) -> HandlerResult:
	if may_ask(ctx, state) and not client_supports_apps(ctx):
		return InputRequiredResult(
			input_requests=build_question(state), request_state=json.dumps({"run": state.run})
		)
	return describe_result(state)


def find_client_name(ctx: ServerRequestContext) -> str:
	params = ctx.session.client_params
	return params.client_info.name if params and params.client_info else "client"


class ProgressReporter:
	"""Reports a run's events to a client that requested progress; otherwise it has no listeners."""

	def __init__(self, ctx: ServerRequestContext):
		self.session = ctx.session
		self.count = 0
		self.run: str | None = None
		self.reports: list[asyncio.Task] = []
		self.is_wanted = "progress_token" in (ctx.meta or {}) or "progressToken" in (ctx.meta or {})
		self.listeners = [self.listen] if self.is_wanted else []

	def listen(self, event: RunEvent) -> None:
		if event.kind is EventKind.RUN_STARTED:
			self.run = event.run
		if event.kind is EventKind.PROGRESS:
			self.reports.append(asyncio.ensure_future(self.report(str(event.data.get("text") or ""))))

	async def report(self, message: str) -> None:
		self.count += 1
		if self.is_wanted:
			await self.session.report_progress(self.count, message=message)

	async def flush(self) -> None:
		await asyncio.gather(*self.reports)
