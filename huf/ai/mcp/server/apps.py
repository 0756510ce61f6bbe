"""MCP Apps (extension io.modelcontextprotocol/ui): clients show a call that needs approval as a card.

The card is a `ui://` resource. It shows the draft's difference, and answers through a tool that only it may
call.
"""

import base64
import hashlib
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import frappe
from frappe import _
from mcp.server.apps import APP_MIME_TYPE, client_supports_apps
from mcp.server.context import HandlerResult, ServerRequestContext
from mcp_types import (
	CallToolRequestParams,
	CallToolResult,
	ReadResourceRequestParams,
	ReadResourceResult,
	TextContent,
	TextResourceContents,
	Tool,
)

import huf
from huf.ai.chat import approvals
from huf.ai.chat.run_states import continue_run, describe_approval, may_read_run, read_state
from huf.ai.core.arguments import check_arguments
from huf.ai.core.errors import ToolError, UsageError
from huf.ai.core.refusals import read_refusal
from huf.ai.mcp.server.catalog import Catalog
from huf.ai.mcp.server.results import describe_result
from huf.ai.storage import drafts
from huf.ai.tools.schemas import closed_object, text_schema

CARD = "ui://huf/approval"
ANSWER = "answer_approval"
STORED = "Your answer is stored. The run continues for its user."
SCHEMA = closed_object(
	{
		"draft": text_schema("The call that waits"),
		"digest": text_schema("Of the change that was shown"),
		"approve": {"type": "boolean"},
		"reason": text_schema("Why not; the agent reads it"),
	},
	["draft", "digest", "approve"],
)
POLICY = (
	"default-src 'none'; style-src 'unsafe-inline'; script-src '{hash}'; form-action 'none'; base-uri 'none'"
)


def offer_cards(ctx: ServerRequestContext, tools: Iterable[Tool]) -> list[Tool]:
	"""The tools, with a card for those that may need approval, if the client supports cards."""
	if not client_supports_apps(ctx):
		return [tool for tool in tools if tool.name != ANSWER]
	return [add_card(tool) if may_wait(tool) else tool for tool in tools]


def may_wait(tool: Tool) -> bool:
	return tool.name != ANSWER and not (tool.annotations and tool.annotations.read_only_hint)


def add_card(tool: Tool) -> Tool:
	return tool.model_copy(update={"meta": {**(tool.meta or {}), "ui": {"resourceUri": CARD}}})


class Apps(Catalog):
	"""The card, and the tool with which it answers. Both are offered only to clients that support cards."""

	def list_tools(self) -> list[Tool]:
		description = "Answers a call that waits for a person. Only the card of the call uses it."
		meta = {"ui": {"visibility": ["app"]}}
		return [Tool(name=ANSWER, description=description, input_schema=SCHEMA, _meta=meta)]

	async def read_resource(
		self, ctx: ServerRequestContext, params: ReadResourceRequestParams
	) -> HandlerResult:
		if params.uri != CARD:
			return None
		meta = {"ui": {"csp": {}, "prefersBorder": True}}
		content = TextResourceContents(
			uri=CARD, mime_type=APP_MIME_TYPE, text=build_approval_card(), _meta=meta
		)
		return ReadResourceResult(contents=[content])

	async def call_tool(self, ctx: ServerRequestContext, params: CallToolRequestParams) -> HandlerResult:
		if params.name != ANSWER or not client_supports_apps(ctx):
			return None
		given = params.arguments or {}
		try:
			check_arguments(given, SCHEMA)
			draft, digest = given["draft"], given["digest"]
			run = approvals.get_open_draft(draft, digest).run
			approvals.answer_call(
				approvals.ApprovalResponse(draft, digest, given["approve"], reason=given.get("reason"))
			)
		except (ToolError, UsageError, frappe.PermissionError) as error:
			frappe.db.rollback()
			return describe_refused_answer(str(given.get("draft")), read_refusal(error))
		if not may_read_run(run):
			return CallToolResult(content=[TextContent(text=STORED)])
		return describe_result(await continue_run(run))


def describe_refused_answer(draft: str, reason: str) -> CallToolResult:
	"""Why an answer was not accepted, with the current change if the call still waits."""
	row = drafts.read_draft(draft)
	is_open = row and row.status == drafts.PENDING and approvals.may_answer_draft(row)
	state = read_state(row.run) if row and is_open and may_read_run(row.run) else None
	structured = {"approval": describe_approval(state)} if state and state.draft else {}
	return CallToolResult(content=[TextContent(text=reason)], structured_content=structured, is_error=True)


def build_approval_card() -> str:
	"""The card's HTML in the user's language. Its policy allows only its own script."""
	template, script = read_card_parts()
	digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
	texts = json.dumps(list_texts(), ensure_ascii=False).replace("<", "\\u003c")
	parts = {"{policy}": POLICY.format(hash=f"sha256-{digest}"), "{texts}": texts, "{script}": script}
	for place, value in parts.items():
		template = template.replace(place, value, 1)
	return template


@cache
def read_card_parts() -> tuple[str, str]:
	"""(HTML, JavaScript) of the approval card."""
	here = Path(__file__).with_name("approval_card.html")
	return here.read_text("utf-8"), here.with_suffix(".js").read_text("utf-8")


def list_texts() -> dict:
	return {
		"tool": ANSWER,
		"version": huf.__version__,
		"title": _("Allow the call of {0}?"),
		"done": _("Answered"),
		"approve": _("Approve"),
		"reject": _("Reject"),
		"reason": _("Reason to reject, for the agent"),
		"hidden": _("{0} changes are in fields that you may not see."),
		"actions": {
			"create": _("Create"),
			"update": _("Change"),
			"delete": _("Delete"),
			"submit": _("Submit"),
			"cancel": _("Cancel"),
			"add": _("added"),
			"change": _("changed"),
			"remove": _("removed"),
		},
	}
