"""A session with an MCP server by the official SDK: list its tools, call one. Knows no records.

Whatever a server does ends within the target's time and size as a result or a ToolError.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from huf.ai.core.errors import ToolError
from huf.ai.core.progress import report_progress
from huf.ai.mcp.client.definitions import MAX_TOOLS, ToolDefinition, UnusableTool, strip_invisible

if TYPE_CHECKING:
	import httpx2  # with the SDK it takes a second to load
	from mcp import Client

MAX_PAGES = 50
MAX_SESSION_S = 3600
"""However often a server reports progress."""
CLOSE_TIMEOUT_S = 2.0
"""How long the end of a session is waited for once the result is there."""
MAX_SERVER_TEXT_CHARS = 500
"""Of an error or a name that a server sends."""
T = TypeVar("T")
Renew = Callable[[], None]


class Faulty(Protocol):
	"""Something that may know why a session failed; the SDK reports only that it did."""

	@property
	def fault(self) -> str | None: ...


Open = Callable[["ServerTarget", list[Faulty]], AbstractAsyncContextManager["Client"]]
"""Opens a session, and appends to the list whatever may know why it failed."""


@dataclass(frozen=True)
class ServerTarget:
	"""Where a server is and how it may be used: a URL, or a command from the site's configuration.

	`headers` and `auth` hold credentials and appear in no message. `timeout_s` is for a whole session,
	and begins anew with each progress that the server reports, up to MAX_SESSION_S. `on_status` gets the
	status of each answer. `context`: where contacts, traces and progress are recorded; the present one by
	default.
	"""

	name: str
	url: str = ""
	command: Mapping[str, Any] | None = None
	headers: Mapping[str, str] = field(default_factory=dict, repr=False)
	auth: "httpx2.Auth | None" = field(default=None, repr=False)
	allow_private: bool = False
	timeout_s: float = 30
	max_bytes: int = 2_000_000
	on_status: Callable[[int], None] | None = field(default=None, repr=False)
	context: Context | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Offer:
	"""What a server says about itself. `faults`: why tools were left out."""

	server: str
	protocol: str
	tools: tuple[ToolDefinition, ...]
	faults: tuple[str, ...] = ()


async def read_offer(target: ServerTarget, on_step: Callable[[str], None] | None = None) -> Offer:
	"""Connect and list the tools. Raises ToolError. `on_step` is called once the session is open."""

	async def read(client: "Client", renew: Renew) -> Offer:
		if on_step:
			on_step("initialize")
		tools, faults = await list_tools(client)
		info = client.server_info
		server = strip_invisible(f"{info.name} {info.version}" if info else "")[:140]
		return Offer(server, client.protocol_version, tools, faults)

	return await within_limits(target, read)


async def call_tool(
	target: ServerTarget,
	accepted: ToolDefinition,
	arguments: dict,
	open_for_call: Open | None = None,
	on_call: Callable[[], None] | None = None,
) -> dict:
	"""The result of a call, if the server still describes the tool as it was accepted.

	`on_call` is called before the arguments are sent. Raises ToolError, and ToolChanged with the present
	definition.
	"""
	from huf.ai.mcp.client.results import read_result

	context = target.context or copy_context()

	async def call(client: "Client", renew: Renew) -> dict:
		async def report(progress: float, total: float | None, message: str | None) -> None:
			renew()
			text = strip_invisible(message or accepted.name)
			context.run(report_progress, text, progress / total if total else None)

		offered = await find_tool(client, accepted.name)
		if offered != accepted:
			raise ToolChanged(offered)
		if on_call:
			on_call()
		return read_result(await client.call_tool(accepted.name, arguments, progress_callback=report))

	return await within_limits(target, call, open_for_call)


class ToolChanged(ToolError):
	"""The server describes a tool in another way than a person accepted; `offered` is None if it is gone."""

	def __init__(self, offered: ToolDefinition | None):
		what = "changed the description of this tool" if offered else "does not offer this tool any more"
		super().__init__(f"The server {what}, so it was not called. A Huf Manager has to accept the change.")
		self.offered = offered


async def within_limits(
	target: ServerTarget, work: Callable[["Client", Renew], Awaitable[T]], open_for_work: Open | None = None
) -> T:
	"""Run `work` in a session, a new one by default; each sign of life renews its time-out by `renew`.

	Raises ToolError for whatever goes wrong.
	"""
	import anyio

	faulty: list[Faulty] = []
	results: list[T] = []
	try:
		with anyio.fail_after(target.timeout_s) as limit:
			last = anyio.current_time() + MAX_SESSION_S

			def renew() -> None:
				limit.deadline = min(anyio.current_time() + target.timeout_s, last)

			async with (open_for_work or open_session)(target, faulty) as client:
				results.append(await work(client, renew))
				limit.deadline = min(limit.deadline, anyio.current_time() + CLOSE_TIMEOUT_S)
	except TimeoutError:
		if results:
			return results[0]
		seconds = MAX_SESSION_S if anyio.current_time() >= last else target.timeout_s
		message = f"{target.name} did not answer within {seconds:g} seconds."
		raise ToolError(f"{message} Whether it did anything is not known.") from None
	except Exception as error:  # the boundary around a server and the SDK, which raises groups of anything
		if results:
			return results[0]
		known = find_error(error, ToolError)
		if known is not None:
			raise known from None
		reason = next((each.fault for each in faulty if each.fault), None) or describe_failure(error)
		raise ToolError(f"{target.name} failed: {reason}") from None
	return results[0]


@asynccontextmanager
async def open_session(target: ServerTarget, faulty: list[Faulty]) -> AsyncIterator["Client"]:
	import httpx2
	from mcp import Client, StdioServerParameters
	from mcp.client.streamable_http import streamable_http_client
	from mcp_types import Implementation

	from huf import __version__
	from huf.ai.mcp.client.http_transport import GuardedTransport

	async with AsyncExitStack() as stack:
		if target.command is not None:
			server: Any = StdioServerParameters(**target.command)
		else:
			guard = GuardedTransport(
				target.allow_private,
				target.max_bytes,
				target.timeout_s,
				by_silence=True,
				on_status=target.on_status,
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
		yield client


async def decline(context: Any, params: Any) -> Any:
	"""Answers a server's questions in the middle of a call: people are asked by Huf's own approvals only."""
	from mcp_types import ElicitResult

	return ElicitResult(action="decline")


async def accept_result(name: str, result: Any) -> None:
	"""Replaces the SDK's check against the server's output schema: a pattern could block the process."""


async def list_tools(client: "Client") -> tuple[tuple[ToolDefinition, ...], tuple[str, ...]]:
	"""All tools that can be used, and why others cannot."""
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


async def find_tool(client: "Client", name: str) -> ToolDefinition | None:
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
		# Not from the SDK's cache, whatever lifetime the server claims: a change must be noticed.
		page = await client.list_tools(cursor=cursor, cache_mode="bypass")
		for tool in page.tools:
			yield tool
		cursor = page.next_cursor
		if cursor is None:
			return


def to_definition(tool: Any) -> ToolDefinition:
	annotations = tool.annotations.model_dump(by_alias=True, exclude_none=True) if tool.annotations else {}
	return ToolDefinition.clean(tool.name, tool.description, tool.input_schema, annotations)


def find_error(error: BaseException, kind: type[T]) -> T | None:
	"""The first error of a kind, also inside exception groups."""
	if isinstance(error, kind):
		return error
	found = (find_error(each, kind) for each in getattr(error, "exceptions", ()))
	return next((each for each in found if each is not None), None)


def describe_failure(error: BaseException) -> str:
	"""One line for the model and the manager; a server's own words are bounded."""
	inner = error
	while nested := getattr(inner, "exceptions", ()):
		inner = nested[0]
	text = " ".join(strip_invisible(str(inner)).split())[:MAX_SERVER_TEXT_CHARS]
	return text or type(inner).__name__
