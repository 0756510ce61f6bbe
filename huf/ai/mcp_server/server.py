"""The MCP server of one request: the SDK's server with Huf's handlers, acting as the session user."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import frappe
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
	INTERNAL_ERROR,
	INVALID_PARAMS,
	CallToolRequestParams,
	CallToolResult,
	ListToolsResult,
	PaginatedRequestParams,
	TextContent,
)

import huf
from huf.ai.concurrency.event_loops import CarriedContext
from huf.ai.core.arguments import check_arguments
from huf.ai.core.errors import ToolError, UsageError
from huf.ai.core.types import RunEvent
from huf.ai.mcp_server.results import describe_answer, describe_tool_result
from huf.ai.mcp_server.servers import ServerOffer
from huf.ai.mcp_server.tools import OfferedTool, find_tool, list_tools
from huf.ai.runs.entry import run_to_end

PAGE_SIZE = 100
LIST_TTL_MS = 60_000
"""How long a client may keep a list: rights and records change."""
CACHE_HINTS: dict[CacheableMethod, CacheHint] = {
	"tools/list": CacheHint(LIST_TTL_MS),
	"server/discover": CacheHint(LIST_TTL_MS),
}


def create_server(offer: ServerOffer, carried: CarriedContext) -> Server:
	"""`carried` brings what a handler changed in `frappe.local` back to the request."""
	handlers = Handlers(offer)

	def guard(handler: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
		async def guarded(ctx: ServerRequestContext, params: Any) -> Any:
			return await carried.run(answer(handler, ctx, params))

		return guarded

	return Server(
		offer.name,
		version=huf.__version__,
		instructions=offer.instructions,
		cache_hints=CACHE_HINTS,
		on_list_tools=guard(handlers.list_tools),
		on_call_tool=guard(handlers.call_tool),
	)


async def answer(handler: Callable[..., Awaitable[Any]], ctx: ServerRequestContext, params: Any) -> Any:
	"""The handler's result. An unforeseen error goes to the Error Log, and a plain one to the client."""
	try:
		return await handler(ctx, params)
	except MCPError:
		raise
	except (UsageError, frappe.PermissionError) as error:
		raise MCPError(code=INVALID_PARAMS, message=str(error)) from None
	except Exception:  # the boundary around a request
		frappe.db.rollback()
		frappe.log_error(f"MCP request {ctx.method} failed")
		raise MCPError(code=INTERNAL_ERROR, message="Internal error") from None


class Handlers:
	"""The requests of one server's clients."""

	def __init__(self, offer: ServerOffer):
		self.offer = offer

	async def list_tools(self, ctx: ServerRequestContext, params: PaginatedRequestParams) -> ListToolsResult:
		page, cursor = cut_page([each.spec for each in list_tools(self.offer)], params)
		return ListToolsResult(tools=page, next_cursor=cursor)

	async def call_tool(self, ctx: ServerRequestContext, params: CallToolRequestParams) -> CallToolResult:
		tool = find_tool(self.offer, params.name)
		if tool is None:
			raise MCPError(code=INVALID_PARAMS, message=f"There is no tool {params.name!r}.")
		try:
			arguments = params.arguments or {}
			check_arguments(arguments, tool.spec.input_schema)
			return await run_tool(ctx, tool, arguments)
		except (ToolError, UsageError, frappe.PermissionError) as error:
			return CallToolResult(content=[TextContent(text=str(error))], is_error=True)


async def run_tool(ctx: ServerRequestContext, tool: OfferedTool, arguments: dict) -> CallToolResult:
	request = tool.build_request(arguments, find_client_name(ctx))

	def ignore(event: RunEvent) -> None:
		return None

	result = await run_to_end(request, [ignore])
	return describe_answer(result) if tool.is_agent else describe_tool_result(result)


def find_client_name(ctx: ServerRequestContext) -> str:
	params = ctx.session.client_params
	return params.client_info.name if params and params.client_info else "client"


def cut_page(items: Sequence[Any], params: PaginatedRequestParams | None) -> tuple[list, str | None]:
	"""A page and the cursor of the next one, which is the number of items before it."""
	cursor = (params.cursor if params else None) or "0"
	if not cursor.isascii() or not cursor.isdigit() or int(cursor) > len(items):
		raise MCPError(code=INVALID_PARAMS, message="Invalid cursor")
	end = int(cursor) + PAGE_SIZE
	return list(items[int(cursor) : end]), str(end) if end < len(items) else None
