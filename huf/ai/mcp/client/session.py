"""Sessions with MCP servers by the official SDK: lists tools and calls one. Independent of records.

Whatever the server does, a session ends within the target's limits of time and size, with a result or a
ToolError.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from contextvars import Context, copy_context
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from huf.ai.core.errors import OutcomeUnknown, ToolError
from huf.ai.core.json_text import MAX_VALUES, has_many_values
from huf.ai.core.progress import report_progress
from huf.ai.mcp.client.call_results import read_call_result
from huf.ai.mcp.client.definitions import MAX_TOOLS, ToolDefinition
from huf.ai.tools.schema_cleaning import UnusableTool, strip_invisible

if TYPE_CHECKING:
	import httpx2  # importing it with the SDK takes a second
	from mcp import Client

MAX_PAGES = 50
MAX_SESSION_S = 3600
"""Limit for a session, however often the server reports progress."""
CLOSE_TIMEOUT_S = 2.0
"""How long to wait for a session to close after the result has arrived."""
UNANSWERED_CODES = (-32700, -32603, -32600, -32000, -32001)
"""PARSE_ERROR, INTERNAL_ERROR, INVALID_REQUEST, CONNECTION_CLOSED and REQUEST_TIMEOUT: the SDK reports them
for an answer that is lost or cannot be read.
"""
REFUSED = "huf/refused"
"""Key in the `_meta` of a tool: why the SDK refuses it."""
MAX_SERVER_TEXT_CHARS = 500
"""Limit for errors and names that a server sends."""
T = TypeVar("T")
Renew = Callable[[], None]


class Faulty(Protocol):
	"""An object that may know why a session failed, which the SDK does not report."""

	@property
	def fault(self) -> str | None: ...


Open = Callable[["ServerTarget", list[Faulty]], AbstractAsyncContextManager["Client"]]
"""Opens a session, and appends to the list the objects that may know why it failed."""


@dataclass(frozen=True)
class ServerTarget:
	"""The address of a server, which is a URL or a command of the site's configuration, and limits for its
	use.

	`headers` and `auth` contain credentials and appear in no message. `timeout_s` applies to a whole session
	and restarts with each progress notification, up to MAX_SESSION_S. `statuses` gets the status of each
	answer to a POST. `context`: where contacts, traces and progress are recorded; by default the current one.
	"""

	name: str
	url: str = ""
	command: Mapping[str, Any] | None = None
	headers: Mapping[str, str] = field(default_factory=dict, repr=False)
	auth: "httpx2.Auth | None" = field(default=None, repr=False)
	allow_private: bool = False
	timeout_s: float = 30
	max_bytes: int = 2_000_000
	statuses: list[int] = field(default_factory=list, repr=False)
	context: Context | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Offer:
	"""A server's description of itself and its tools. `faults`: why tools were left out."""

	server: str
	protocol: str
	tools: tuple[ToolDefinition, ...]
	faults: tuple[str, ...] = ()


async def read_offer(target: ServerTarget, on_step: Callable[[str], None] | None = None) -> Offer:
	"""Connect and list the tools. Raises ToolError. `on_step` is called once the session is open."""

	async def read(client: "Client", renew: Renew) -> Offer:
		if on_step:
			on_step("initialize")
		tools, faults = await fetch_tools(client)
		info = client.server_info
		server = strip_invisible(f"{info.name} {info.version}" if info else "").strip()
		return Offer(server, client.protocol_version, tools, faults)

	return await within_limits(target, read)


async def call_tool(
	target: ServerTarget,
	accepted: ToolDefinition,
	arguments: dict,
	open_for_call: Open | None = None,
	on_call: Callable[[], None] | None = None,
) -> dict:
	"""Call a tool and return its result, if the server still describes the tool as accepted.

	`on_call` is called before the arguments are sent. Raises ToolError, ToolChanged with the current
	definition, or OutcomeUnknown where the server may have made the call nevertheless.
	"""
	from huf.ai.mcp.client.oauth import SignInNeeded

	call = ServerCall(replace(target, statuses=[]), accepted, arguments, on_call)
	try:
		return await within_limits(call.target, call.make, open_for_call)
	except ToolError as error:
		if call.is_unanswered and not isinstance(error, SignInNeeded):
			raise OutcomeUnknown(str(error)) from None
		raise


class ServerCall:
	"""A call of a server's tool. `is_unanswered`: the arguments were sent, and no answer says what came of
	them.
	"""

	def __init__(
		self,
		target: ServerTarget,
		accepted: ToolDefinition,
		arguments: dict,
		on_call: Callable[[], None] | None,
	):
		self.target, self.accepted, self.arguments, self.on_call = target, accepted, arguments, on_call
		self.context = target.context or copy_context()
		self.is_unanswered = False

	async def make(self, client: "Client", renew: Renew) -> dict:
		offered = await find_server_tool(client, self.accepted.name)
		if offered != self.accepted:
			raise ToolChanged(offered)
		if self.on_call:
			self.on_call()
		result = await self.send(client, renew)
		# Over HTTP, the transport counts what it receives.
		if self.target.command is not None and len(result.model_dump_json()) > self.target.max_bytes:
			raise ToolError(f"{self.target.name} sent more than {self.target.max_bytes:,} bytes.")
		self.is_unanswered = False
		return read_call_result(result)

	async def send(self, client: "Client", renew: Renew) -> Any:
		from mcp import MCPError

		async def report(progress: float, total: float | None, message: str | None) -> None:
			renew()
			text = strip_invisible(message or self.accepted.name)
			self.context.run(report_progress, text, progress / total if total else None)

		statuses = self.target.statuses
		statuses.clear()
		self.is_unanswered = True
		try:
			return await client.call_tool(self.accepted.name, self.arguments, progress_callback=report)
		except MCPError as error:
			is_refused = bool(statuses) and 400 <= statuses[-1] < 500
			self.is_unanswered = error.code in UNANSWERED_CODES and not is_refused
			raise


class ToolChanged(ToolError):
	"""The server's description of a tool differs from the accepted one; `offered` is None if the tool is
	gone.
	"""

	def __init__(self, offered: ToolDefinition | None):
		what = "changed the description of this tool" if offered else "no longer offers this tool"
		super().__init__(f"The server {what}, so it was not called. A Huf Manager has to accept the change.")
		self.offered = offered


async def within_limits(
	target: ServerTarget, work: Callable[["Client", Renew], Awaitable[T]], open_for_work: Open | None = None
) -> T:
	"""Run `work` in a session, by default a new one. `work` calls `renew` to restart the time-out.

	Raises ToolError for any failure.
	"""
	import anyio

	faulty: list[Faulty] = []
	results: list[T] = []
	last = anyio.current_time() + MAX_SESSION_S
	try:
		with anyio.fail_after(target.timeout_s) as limit:

			def renew() -> None:
				limit.deadline = min(anyio.current_time() + target.timeout_s, last)

			async with (open_for_work or open_session)(target, faulty) as client:
				results.append(await work(client, renew))
				limit.deadline = min(limit.deadline, anyio.current_time() + CLOSE_TIMEOUT_S)
	except Exception as error:  # the boundary around a server and the SDK, which raises groups of anything
		# With a result, only closing the session has failed.
		if not results:
			seconds = MAX_SESSION_S if anyio.current_time() >= last else target.timeout_s
			raise to_session_error(error, target, faulty, seconds) from None
	return results[0]


def to_session_error(
	error: Exception, target: ServerTarget, faulty: list[Faulty], seconds: float
) -> ToolError:
	"""Why a session failed; `seconds`: its time limit."""
	if isinstance(error, TimeoutError):
		return ToolError(f"{target.name} did not answer within {seconds:g} seconds.")
	if known := find_error(error, ToolError):
		return known
	fault = next((each.fault for each in faulty if each.fault), None)
	return ToolError(f"{target.name} failed: {fault or describe_failure(error, target.statuses)}")


@asynccontextmanager
async def open_session(target: ServerTarget, faulty: list[Faulty]) -> AsyncIterator["Client"]:
	"""A client that is connected within the block; see `Open`."""
	import httpx2
	from mcp import Client, StdioServerParameters
	from mcp.client.stdio import stdio_client
	from mcp.client.streamable_http import streamable_http_client
	from mcp_types import Implementation

	from huf import __version__
	from huf.ai.mcp.client.http_transport import GuardedTransport
	from huf.ai.mcp.client.program_output import limited_stderr

	async with AsyncExitStack() as stack:
		if target.command is not None:
			stderr = stack.enter_context(limited_stderr(target.name))
			server: Any = stdio_client(StdioServerParameters(**target.command), stderr)
		else:
			guard = GuardedTransport(
				target.allow_private,
				target.max_bytes,
				target.timeout_s,
				by_silence=True,
				statuses=target.statuses,
				context=target.context,
			)
			faulty.append(guard)
			http = httpx2.AsyncClient(
				transport=guard, headers=dict(target.headers), auth=target.auth, timeout=target.timeout_s
			)
			await stack.enter_async_context(http)
			server = streamable_http_client(target.url, http_client=http, max_sse_event_size=target.max_bytes)
		client = Client(
			server, client_info=Implementation(name="huf", version=__version__), elicitation_callback=decline
		)
		await stack.enter_async_context(client)
		client.session.validate_tool_result = accept_result  # type: ignore[method-assign]
		mark_refused_tools(client)
		yield client


async def decline(context: Any, params: Any) -> Any:
	"""Decline a server's questions during a call: only Huf's approvals ask people."""
	from mcp_types import ElicitResult

	return ElicitResult(action="decline")


async def accept_result(name: str, result: Any) -> None:
	"""Replaces the SDK's validation against the server's output schema, in which a hostile pattern could
	block the process.
	"""


def mark_refused_tools(client: "Client") -> None:
	"""Put a tool of that name in place of each one that the SDK refuses: it would refuse the whole list."""
	from mcp_types.methods import validate_server_result
	from pydantic import ValidationError

	# This part of the SDK is private. Without it, one refused tool makes the whole list fail.
	dispatcher, version = getattr(client.session, "_dispatcher", None), client.protocol_version
	if not dispatcher:
		return
	send = dispatcher.send_raw_request

	async def send_raw_request(method: str, *args: Any, **options: Any) -> dict[str, Any]:
		page = await send(method, *args, **options)
		# Of a call's result, the structured content is not validated.
		others = {key: value for key, value in page.items() if key not in ("structuredContent", "tools")}
		if has_many_values(others):
			raise ToolError(f"The server's answer has more than {MAX_VALUES:,} values.")
		if method == "tools/list" and isinstance(page.get("tools"), list):
			page["tools"] = [mark_refused(page, tool) for tool in page["tools"]]
		return page

	def mark_refused(page: dict[str, Any], tool: Any) -> Any:
		if has_many_values(tool):
			return make_refused(tool, f"It has more than {MAX_VALUES:,} values.")
		try:
			validate_server_result("tools/list", version, {**page, "tools": [tool]})
		except ValidationError as error:
			first = error.errors()[0]
			reason = ": ".join(filter(None, (".".join(map(str, first["loc"][2:])), first["msg"])))
			return make_refused(tool, f"The SDK refuses it ({reason}).")
		return tool

	dispatcher.send_raw_request = send_raw_request  # type: ignore[method-assign, assignment]


def make_refused(tool: Any, reason: str) -> dict:
	name = tool.get("name") if isinstance(tool, dict) else None
	return {
		"name": str(name or "?")[:MAX_SERVER_TEXT_CHARS],
		"inputSchema": {"type": "object"},
		"_meta": {REFUSED: reason},
	}


async def fetch_tools(client: "Client") -> tuple[tuple[ToolDefinition, ...], tuple[str, ...]]:
	"""All usable tools, and why others are not."""
	found: dict[str, ToolDefinition] = {}
	faults: list[str] = []
	async for tool in iterate_tools(client):
		if len(found) + len(faults) >= MAX_TOOLS:
			faults.append(f"The server has more than {MAX_TOOLS} tools; the others are left out.")
			break
		try:
			definition = to_definition(tool)
		except UnusableTool as error:
			faults.append(f"{strip_invisible(tool.name)[:MAX_SERVER_TEXT_CHARS]}: {error}")
		else:
			found.setdefault(definition.name, definition)
	return tuple(found.values()), tuple(faults)


async def find_server_tool(client: "Client", name: str) -> ToolDefinition | None:
	async for tool in iterate_tools(client):
		if tool.name == name:
			try:
				return to_definition(tool)
			except UnusableTool:
				return None
	return None


async def iterate_tools(client: "Client") -> AsyncIterator[Any]:
	cursor = None
	for _ in range(MAX_PAGES):
		# Bypass the SDK's cache, whatever lifetime the server claims: changes must be noticed.
		page = await client.list_tools(cursor=cursor, cache_mode="bypass")
		for tool in page.tools:
			yield tool
		cursor = page.next_cursor
		if cursor is None:
			return


def to_definition(tool: Any) -> ToolDefinition:
	if reason := (tool.meta or {}).get(REFUSED):
		raise UnusableTool(strip_invisible(str(reason))[:MAX_SERVER_TEXT_CHARS])
	annotations = tool.annotations.model_dump(by_alias=True, exclude_none=True) if tool.annotations else {}
	return ToolDefinition.clean(tool.name, tool.description, tool.input_schema, annotations)


def find_error(error: BaseException, kind: type[T]) -> T | None:
	"""The first error of a kind, including those inside exception groups."""
	if isinstance(error, kind):
		return error
	found = (find_error(each, kind) for each in getattr(error, "exceptions", ()))
	return next((each for each in found if each is not None), None)


def describe_failure(error: BaseException, statuses: list[int]) -> str:
	"""One line for the model and the manager. The server's text is bounded."""
	inner = error
	while nested := getattr(inner, "exceptions", ()):
		inner = nested[0]
	# What follows is pydantic's: a copy of the input and a link to its manual.
	text = " ".join(strip_invisible(str(inner)).split()).partition(" [type=")[0][:MAX_SERVER_TEXT_CHARS]
	refused = f" (HTTP {statuses[-1]})" if statuses and statuses[-1] >= 400 else ""
	return (text or type(inner).__name__) + refused
