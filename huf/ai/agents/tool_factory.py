"""Builds the tools of an agent from its Agent Tool Function rows."""

from dataclasses import replace
from functools import partial

import frappe

from huf.ai.agents.function_tool import EffectTool, create_function_tool
from huf.ai.agents.tool_handlers import (
	HANDLERS,
	REQUESTS,
	RunChild,
	handle_get_document,
	handle_run_agent,
)
from huf.ai.core.errors import ToolError
from huf.ai.core.settings import get_settings
from huf.ai.core.types import Effect
from huf.ai.tools.call_policy import CREATING_TYPES, find_call_concern
from huf.ai.tools.origins import find_result_origins, name_origin
from huf.ai.tools.schemas import closed_object
from huf.ai.tools.second_person import read_approval_rule
from huf.ai.tools.types import (
	CODE_TYPES,
	DETAIL_SUFFIX,
	KNOWLEDGE,
	MEMORY_TYPES,
	NAME_PROPERTY,
	READ_DOCUMENT,
	RUN_AGENT,
	TOOL_TYPES,
)


def create_agent_tools(agent, run_child: RunChild | None = None) -> list[EffectTool]:
	"""The tools of an agent that the user may use, in the agent's order.

	Args:
		agent: an Agent document or its name.
		run_child: starts another agent for the type Run Agent; without it such a tool refuses its calls.
	"""
	doc = frappe.get_cached_doc("Agent", agent) if isinstance(agent, str) else agent
	slots = [(frappe.get_cached_doc("Agent Tool Function", slot.tool), slot) for slot in doc.agent_tool]
	return [
		replace(
			tool,
			max_calls=slot.max_calls or 0,
			needs_approval=needs_approval(tool, row, slot),
			creates=row.types in CREATING_TYPES,
			progress=slot.progress or "",
			find_concern=partial(find_call_concern, row, doc),
			second_person=None if tool.effect is Effect.READ else read_approval_rule(row, slot),
		)
		for row, slot in slots
		if may_use_tool(row, doc)
		for tool in create_tools(row, doc, run_child)
	]


def find_tool(agent, name: str) -> EffectTool | None:
	"""The agent's tool of that name, if the user may use it."""
	return next((tool for tool in create_agent_tools(agent) if tool.name == name), None)


def create_tools(row, agent=None, run_child: RunChild | None = None) -> list[EffectTool]:
	"""One tool, or a summary and its detail for the type Read Document."""
	tool = create_tool(row, agent, run_child)
	return [tool, create_detail_tool(row, agent)] if row.types == READ_DOCUMENT else [tool]


def create_tool(row, agent=None, run_child: RunChild | None = None) -> EffectTool:
	"""The tool of one Agent Tool Function row, for an Agent document or for no agent in particular."""
	definition = frappe.parse_json(row.function_definition)
	handler = partial(handle_run_agent, run_child) if row.types == RUN_AGENT else HANDLERS[row.types]
	return create_function_tool(
		row.tool_name,
		definition["description"],
		definition["parameters"],
		partial(handler, row, **get_fixed_arguments(row, agent)),
		admit=partial(check_role, row, agent),
		timeout=None if row.types == RUN_AGENT else get_settings().tool_timeout,
		effect=Effect(row.effect or TOOL_TYPES[row.types].effect),
		types=row.types,
		reference_doctype=row.reference_doctype,
		result_limit=row.result_limit or 0,
		request=partial(REQUESTS[row.types], row) if row.types in REQUESTS else None,
		can_dry_run=can_dry_run(row),
		label=partial(find_result_origins, row),
		origin=name_origin(row),
	)


def can_dry_run(row) -> bool:
	"""Whether a write can be tried to preview it: Huf's own document tools, and functions that declare it."""
	if row.types in CODE_TYPES:
		return bool(row.documents_only)
	return TOOL_TYPES[row.types].effect is Effect.WRITE


def get_fixed_arguments(row, agent) -> dict:
	"""Arguments that are set by the Agent record; the model neither sees nor chooses them."""
	if row.types in MEMORY_TYPES:
		return {"agent": agent and agent.name}
	if row.types != KNOWLEDGE or not agent or not agent.knowledge:
		return {}
	return {"sources": [each.source for each in agent.knowledge]}


def create_detail_tool(row, agent) -> EffectTool:
	return create_function_tool(
		f"{row.tool_name}{DETAIL_SUFFIX}",
		f"One whole {row.reference_doctype}, found by {row.tool_name}",
		closed_object(NAME_PROPERTY, ["name"]),
		partial(handle_get_document, row),
		admit=partial(check_role, row, agent),
		timeout=get_settings().tool_timeout,
		types="Get Document",
		reference_doctype=row.reference_doctype,
		result_limit=row.result_limit or 0,
	)


def needs_approval(tool: EffectTool, row, slot) -> bool:
	"""Whether the tool, or its row in this Agent, requires approval. Tools that only read never do."""
	return tool.effect is not Effect.READ and bool(row.requires_approval or slot.requires_approval)


def check_role(row, agent) -> None:
	"""Asked again at each call: roles may have changed since. Raises ToolError."""
	if not may_use_tool(row, agent):
		raise ToolError(f"{frappe.session.user} has no role that may use {row.tool_name}. It was not run.")


def may_use_tool(row, agent) -> bool:
	"""Whether the user has a role for this tool: one that the tool names, else one that the agent names.

	Asked before the model sees the tool, and again at each call.
	"""
	if frappe.session.user == "Administrator":
		return True
	roles = set(frappe.get_roles())
	if row.roles:
		return any(each.role in roles for each in row.roles)
	by_role = agent.tool_roles if agent else ()
	return not by_role or any(each.role in roles and each.get(row.effect) for each in by_role)
