"""The tool `undo`, for servers that offer it: undoes runs as the session user."""

import json
from collections.abc import Sequence
from typing import Any

import frappe
from mcp.server.context import HandlerResult, ServerRequestContext
from mcp_types import CallToolRequestParams, CallToolResult, TextContent, Tool, ToolAnnotations

from huf.ai.core.arguments import check_arguments
from huf.ai.core.errors import ToolError, UsageError
from huf.ai.mcp.server.catalog import Catalog
from huf.ai.mcp.server.results import build_refusal
from huf.ai.tools.schemas import closed_object, text_schema, texts_schema
from huf.ai.undo.scope import parse_scope
from huf.ai.undo.undo import apply_undo, preview_undo

NAME = "undo"
DESCRIPTION = (
	"Take back what agents changed on this site. Name runs, or an agent, a trigger or a record, with since. "
	"Call it first without digest: it changes nothing and returns the difference, conflicts and a digest. "
	"Show the difference to the user. If they agree, call it again with the same arguments and the digest."
)
SCHEMA = closed_object(
	{
		"runs": texts_schema("Names of runs"),
		"agent": text_schema("All that this agent did"),
		"trigger": text_schema("All that the runs of this trigger did"),
		"doctype": text_schema("With name: what runs changed on this record"),
		"name": text_schema("With doctype: the record's name (its ID)"),
		"since": text_schema("YYYY-MM-DD HH:MM, in the site's time zone; needed unless runs are named"),
		"decisions": {
			"type": "object",
			"additionalProperties": {"type": "string", "enum": ["keep", "restore"]},
			"description": "By key of a conflict or a problem of the preview",
		},
		"digest": text_schema("Of the preview that the user agreed to"),
	},
	[],
)


class Undo(Catalog):
	def list_tools(self) -> Sequence[Tool]:
		if not self.offer.undo:
			return ()
		annotations = ToolAnnotations(
			read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
		)
		return [Tool(name=NAME, description=DESCRIPTION, input_schema=SCHEMA, annotations=annotations)]

	async def call_tool(self, ctx: ServerRequestContext, params: CallToolRequestParams) -> HandlerResult:
		if params.name != NAME or not self.offer.undo:
			return None
		try:
			result = undo(params.arguments or {})
		except (ToolError, UsageError, frappe.PermissionError) as error:
			return build_refusal(error)
		text = json.dumps(result, ensure_ascii=False, default=str)
		return CallToolResult(content=[TextContent(text=text)], structured_content=json.loads(text))


def undo(arguments: dict[str, Any]) -> dict:
	"""Preview an undo, or apply the one with this digest. Returns what `preview_undo` or `apply_undo`
	returns.
	"""
	check_arguments(arguments, SCHEMA)
	scope = {key: value for key, value in arguments.items() if key not in ("decisions", "digest")}
	decisions, digest = arguments.get("decisions"), arguments.get("digest")
	if digest:
		return apply_undo(parse_scope(**scope), digest, decisions)
	return preview_undo(parse_scope(**scope), decisions)
