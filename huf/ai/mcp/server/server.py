"""The MCP server of one request: the SDK's server with Huf's catalogs, acting as the session user."""

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from traceback import format_exc
from typing import Any, get_args

import frappe
from frappe.utils.password import get_encryption_key
from mcp.server.apps import EXTENSION_ID as APPS
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.context import HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp_types import (
	INTERNAL_ERROR,
	INVALID_PARAMS,
	CallToolRequestParams,
	CompleteRequestParams,
	CompleteResult,
	Completion,
	GetPromptRequestParams,
	ListPromptsResult,
	ListResourcesResult,
	ListResourceTemplatesResult,
	ListToolsResult,
	PaginatedRequestParams,
	ReadResourceRequestParams,
	Tool,
)

import huf
from huf.ai.core.errors import UsageError
from huf.ai.core.event_loops import PropagatedContext
from huf.ai.core.refusals import read_refusal
from huf.ai.mcp.server.apps import Apps, offer_cards
from huf.ai.mcp.server.calls import Tools
from huf.ai.mcp.server.catalog import load_catalogs
from huf.ai.mcp.server.documents import Documents, Knowledge
from huf.ai.mcp.server.servers import ServerOffer
from huf.ai.mcp.server.skills import EXTENSION as SKILLS
from huf.ai.mcp.server.skills import Skills
from huf.ai.mcp.server.starters import Starters
from huf.ai.mcp.server.tasks import add_tasks
from huf.ai.mcp.server.undo import Undo
from huf.ai.runs.admission import NEEDS_ROLE

CATALOGS = (Undo, Apps, Tools, Documents, Knowledge, Starters, Skills)
"""The first tool of a name counts, so that no record replaces `undo` or the answer to an approval."""
PAGE_SIZE = 100
CURSOR = re.compile("[0-9]{1,9}")
CACHE_TTL_MS = 60_000
"""How long a client may cache a list or a resource privately: permissions and records change."""
CACHE_HINTS: dict[CacheableMethod, CacheHint] = dict.fromkeys(
	get_args(CacheableMethod), CacheHint(CACHE_TTL_MS)
)
CACHED_RESULT = {"resultType": "complete", "ttlMs": CACHE_TTL_MS, "cacheScope": "private"}
"""The same for methods of extensions, whose results are plain dicts."""
STATE_TTL_S = 24 * 3600
"""How long a person's answer may take."""


def create_server(offer: ServerOffer, carried: PropagatedContext) -> Server:
	"""The SDK's server. `carried` transfers a handler's changes of `frappe.local` to the request."""
	handlers = Handlers(load_catalogs(offer, CATALOGS))

	def guard(handler: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
		async def guarded(ctx: ServerRequestContext, params: Any) -> Any:
			return await carried.run(answer(handler, ctx, params))

		return guarded

	server = Server(
		offer.name,
		version=huf.__version__,
		instructions=offer.instructions,
		cache_hints=CACHE_HINTS,
		get_tool_input_schema=handlers.find_input_schema,
		on_list_tools=guard(handlers.list_tools),
		on_call_tool=guard(handlers.call_tool),
		on_list_resources=guard(handlers.list_resources),
		on_list_resource_templates=guard(handlers.list_resource_templates),
		on_read_resource=guard(handlers.read_resource),
		on_list_prompts=guard(handlers.list_prompts),
		on_get_prompt=guard(handlers.get_prompt),
		on_completion=guard(handlers.complete),
	)
	add_tasks(server, guard)
	server.extensions[SKILLS] = {}
	server.extensions[APPS] = {}
	server.add_request_handler("skills/list", PaginatedRequestParams, guard(handlers.list_skills))
	server.add_request_handler("skills/get", ReadResourceRequestParams, guard(handlers.get_skill))
	security = RequestStateSecurity(
		keys=[get_encryption_key()], ttl=STATE_TTL_S, bind_principal=lambda ctx: frappe.session.user
	)
	server.middleware.append(
		RequestStateBoundary(security, default_audience=f"{frappe.local.site}/{offer.name}")
	)
	return server


async def answer(handler: Callable[..., Awaitable[Any]], ctx: ServerRequestContext, params: Any) -> Any:
	"""The handler's result. Unexpected errors go to the Error Log, and the client gets "Internal error"."""
	try:
		return await handler(ctx, params)
	except MCPError:
		raise
	except (UsageError, frappe.PermissionError) as error:
		frappe.db.rollback()
		lacks_role = isinstance(error, frappe.PermissionError) and not frappe.has_permission("Agent")
		message = NEEDS_ROLE if lacks_role else read_refusal(error)
		raise MCPError(code=INVALID_PARAMS, message=message) from None
	except Exception:  # the boundary around a request
		frappe.db.rollback()
		frappe.log_error(f"MCP request {ctx.method} failed", format_exc())
		raise MCPError(code=INTERNAL_ERROR, message="Internal error") from None


class Handlers:
	"""The requests of one server's clients, answered by its catalogs."""

	def __init__(self, catalogs: Sequence[Any]):
		self.catalogs = catalogs

	async def list_tools(self, ctx: ServerRequestContext, params: PaginatedRequestParams) -> ListToolsResult:
		tools: dict[str, Tool] = {}
		for tool in (tool for each in self.catalogs for tool in each.list_tools()):
			tools.setdefault(tool.name, tool)
		items, cursor = cut_page([[*tools.values()]], params)
		return ListToolsResult(tools=offer_cards(ctx, items), next_cursor=cursor)

	def find_input_schema(self, name: str) -> dict[str, Any] | None:
		"""Used by the SDK to check headers that repeat an argument."""
		tools = (tool for each in self.catalogs for tool in each.list_tools())
		return next((tool.input_schema for tool in tools if tool.name == name), None)

	async def list_resources(
		self, ctx: ServerRequestContext, params: PaginatedRequestParams
	) -> ListResourcesResult:
		items, cursor = cut_page((each.list_resources() for each in self.catalogs), params)
		return ListResourcesResult(resources=items, next_cursor=cursor)

	async def list_resource_templates(
		self, ctx: ServerRequestContext, params: PaginatedRequestParams
	) -> ListResourceTemplatesResult:
		items, cursor = cut_page((each.list_resource_templates() for each in self.catalogs), params)
		return ListResourceTemplatesResult(resource_templates=items, next_cursor=cursor)

	async def list_prompts(
		self, ctx: ServerRequestContext, params: PaginatedRequestParams
	) -> ListPromptsResult:
		items, cursor = cut_page((each.list_prompts() for each in self.catalogs), params)
		return ListPromptsResult(prompts=items, next_cursor=cursor)

	async def call_tool(self, ctx: ServerRequestContext, params: CallToolRequestParams) -> HandlerResult:
		answers = (each.call_tool(ctx, params) for each in self.catalogs)
		return await take_first(answers, f"Unknown tool: {params.name}")

	async def read_resource(
		self, ctx: ServerRequestContext, params: ReadResourceRequestParams
	) -> HandlerResult:
		answers = (each.read_resource(ctx, params) for each in self.catalogs)
		return await take_first(answers, "Resource not found", {"uri": params.uri})

	async def get_prompt(self, ctx: ServerRequestContext, params: GetPromptRequestParams) -> HandlerResult:
		answers = (each.get_prompt(ctx, params) for each in self.catalogs)
		return await take_first(answers, f"Unknown prompt: {params.name}")

	async def list_skills(self, ctx: ServerRequestContext, params: PaginatedRequestParams) -> HandlerResult:
		items, cursor = cut_page((each.list_skills() for each in self.catalogs), params)
		skills = [each.describe() for each in items]
		return {"skills": skills, **CACHED_RESULT, **({"nextCursor": cursor} if cursor else {})}

	async def get_skill(self, ctx: ServerRequestContext, params: ReadResourceRequestParams) -> HandlerResult:
		skills = (skill for each in self.catalogs for skill in each.list_skills())
		for skill in skills:
			if skill.uri == params.uri:
				return {"skill": skill.describe(), **CACHED_RESULT}
		raise MCPError(code=INVALID_PARAMS, message="Skill not found", data={"uri": params.uri})

	async def complete(self, ctx: ServerRequestContext, params: CompleteRequestParams) -> CompleteResult:
		found = (catalog.complete(params) for catalog in self.catalogs)
		values = next((each for each in found if each is not None), ())
		return CompleteResult(completion=Completion(values=list(values)))


async def take_first(
	answers: Iterable[Awaitable[HandlerResult]], missing: str, data: dict | None = None
) -> HandlerResult:
	"""The answer of the first catalog that has one. Raises MCPError with the message `missing`."""
	for each in answers:
		if (result := await each) is not None:
			return result
	raise MCPError(code=INVALID_PARAMS, message=missing, data=data)


def cut_page(
	lists: Iterable[Sequence[Any]], params: PaginatedRequestParams | None
) -> tuple[list, str | None]:
	"""(a page of the concatenated lists, the next cursor). A cursor is the number of items before its
	page.
	"""
	items = [item for each in lists for item in each]
	cursor = (params.cursor if params else None) or "0"
	if not CURSOR.fullmatch(cursor) or int(cursor) > len(items):
		raise MCPError(code=INVALID_PARAMS, message="Invalid cursor")
	end = int(cursor) + PAGE_SIZE
	return items[int(cursor) : end], str(end) if end < len(items) else None
