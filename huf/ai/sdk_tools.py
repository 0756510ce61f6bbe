"""Agent Tool Function rows become tools a model can call.

`create_agent_tools` builds them; each `handle_*` runs one type. Handlers check nothing about documents themselves:
that is `tool_functions`' work.
"""

import json
from dataclasses import replace
from functools import partial

import frappe

from huf.ai import custom_functions, tool_functions
from huf.ai.errors import ToolError
from huf.ai.function_tools import EffectTool, create_function_tool
from huf.ai.knowledge.search import search
from huf.ai.records.sources import number_results
from huf.ai.settings import get_settings
from huf.ai.tool_types import DETAIL, KNOWLEDGE, NAME, TIERED, TOOL_TYPES, closed
from huf.ai.tools import registry
from huf.ai.tools.exits import why_person
from huf.ai.types import Effect


def create_agent_tools(agent) -> list[EffectTool]:
	"""The tools of an Agent document (or of an agent by name) that the user may use, in its order."""
	doc = frappe.get_cached_doc("Agent", agent) if isinstance(agent, str) else agent
	slots = [(frappe.get_cached_doc("Agent Tool Function", slot.tool), slot) for slot in doc.agent_tool]
	return [
		replace(
			tool,
			most_calls=slot.max_calls or 0,
			needs_approval=needs_approval(tool, row, slot),
			progress=slot.progress or "",
			why_person=partial(why_person, row, doc),
		)
		for row, slot in slots
		if may_use_tool(row, doc)
		for tool in create_tools(row, doc)
	]


def create_tools(row, agent=None) -> list[EffectTool]:
	"""What a row makes: one tool, or a summary and its detail."""
	made = (create_tool, create_detail_tool) if row.types == TIERED else (create_tool,)
	return [create(row, agent) for create in made]


def create_tool(row, agent=None) -> EffectTool:
	definition = json.loads(row.function_definition)
	return create_function_tool(
		row.tool_name,
		definition["description"],
		definition["parameters"],
		partial(globals()[TOOL_TYPES[row.types].handler], row, **settled(row, agent)),
		admit=partial(check_role, row, agent),
		timeout=None if row.types == "Run Agent" else get_settings().tool_timeout,
		effect=Effect(row.effect or TOOL_TYPES[row.types].effect),
		types=row.types,
		reference_doctype=row.reference_doctype,
		result_limit=row.result_limit or 0,
		request=partial(describe_http, row) if row.types in ("GET", "POST") else None,
	)


def settled(row, agent) -> dict:
	"""Arguments that the agent's record gives, and no model."""
	if row.types != KNOWLEDGE or not agent or not agent.knowledge:
		return {}
	return {"sources": [each.source for each in agent.knowledge]}


def create_detail_tool(row, agent=None) -> EffectTool:
	return create_function_tool(
		f"{row.tool_name}{DETAIL}",
		f"One whole {row.reference_doctype}, found by {row.tool_name}",
		closed(NAME, ["name"]),
		partial(handle_get_document, row),
		admit=partial(check_role, row, agent),
		timeout=get_settings().tool_timeout,
		types="Get Document",
		reference_doctype=row.reference_doctype,
		result_limit=row.result_limit or 0,
	)


def needs_approval(tool: EffectTool, row, slot) -> bool:
	"""Where the tool or this agent asks for it; never for what only reads."""
	return tool.effect is not Effect.READ and bool(row.requires_approval or slot.requires_approval)


def check_role(row, agent=None) -> None:
	"""Asked again at each call: roles may have changed since. Raises ToolError."""
	if not may_use_tool(row, agent):
		raise ToolError(f"{frappe.session.user} has no role that may use {row.tool_name}. It was not run.")


def may_use_tool(row, agent=None) -> bool:
	"""Whether the user has a role for this tool: one that the tool names, else one that the agent names."""
	if frappe.session.user == "Administrator":
		return True
	roles = set(frappe.get_roles())
	if row.roles:
		return any(each.role in roles for each in row.roles)
	by_role = agent.tool_roles if agent else ()
	return not by_role or any(each.role in roles and each.get(row.effect) for each in by_role)


def handle_get_document(tool, name):
	return tool_functions.get_document(tool.reference_doctype, name)


def handle_get_documents(tool, names):
	return tool_functions.get_documents(tool.reference_doctype, names)


def handle_get_list(tool, filters=None, fields=None, order_by=None, limit=20, start=0):
	return tool_functions.get_list(tool.reference_doctype, filters, fields, order_by, limit, start)


def handle_read_summary(tool, filters=None, limit=20, start=0):
	return tool_functions.get_summaries(tool.reference_doctype, filters, limit, start)


def handle_get_value(tool, fieldname, name=None, filters=None):
	return tool_functions.get_value(tool.reference_doctype, fieldname, name, filters)


def handle_create_document(tool, **values):
	return tool_functions.create_document(tool.reference_doctype, values)


def handle_create_documents(tool, documents):
	return tool_functions.create_documents(tool.reference_doctype, documents)


def handle_update_document(tool, name, values):
	return tool_functions.update_document(tool.reference_doctype, name, values)


def handle_update_documents(tool, documents):
	return tool_functions.update_documents(tool.reference_doctype, documents)


def handle_set_value(tool, name, fieldname, value):
	return tool_functions.set_value(tool.reference_doctype, name, fieldname, value)


def handle_delete_document(tool, name):
	return tool_functions.delete_document(tool.reference_doctype, name)


def handle_delete_documents(tool, names):
	return tool_functions.delete_documents(tool.reference_doctype, names)


def handle_submit_document(tool, name):
	return tool_functions.submit_document(tool.reference_doctype, name)


def handle_cancel_document(tool, name):
	return tool_functions.cancel_document(tool.reference_doctype, name)


def handle_get_amended_document(tool, name):
	return tool_functions.get_amended_document(tool.reference_doctype, name)


def handle_attach_file_to_document(tool, name, doctype=None, **file):
	return tool_functions.attach_file_to_document(tool.reference_doctype or doctype, name, **file)


def handle_get_report_result(tool, filters=None):
	return tool_functions.get_report_result(tool.report, filters)


def handle_custom_function(tool, **arguments):
	return custom_functions.call(custom_functions.find(tool.function_path), arguments)


def handle_app_provided(tool, **arguments):
	offer = registry.find_offer(tool.provider_app, tool.function_path or tool.tool_name)
	return custom_functions.call(offer.function, arguments)


async def handle_get(tool, url="", params=None):
	return await call_http(tool, "GET", url, params)


async def handle_post(tool, url="", params=None, body=None):
	return await call_http(tool, "POST", url, params, body)


def call_http(tool, method, url, params, body=None):
	from huf.ai.tools import http

	return http.request(
		method,
		url,
		base_url=tool.base_url,
		headers=tool_headers(tool),
		once=frappe.flags.huf_call_key if method == "POST" else None,
		params=params,
		body=body,
		allow_private=bool(tool.allow_private_hosts),
		timeout=get_settings().tool_timeout,
	)


def describe_http(tool, url="", params=None, body=None):
	from huf.ai.tools import http

	headers = [row.header for row in tool.headers]
	return http.describe(tool.types, url, base_url=tool.base_url, headers=headers, params=params, body=body)


def tool_headers(tool) -> dict[str, str]:
	return {row.header: row.get_password("value") for row in tool.headers}


def handle_search_knowledge(tool, query, limit=6, sources=None):
	return number_results(search(query, sources, limit), frappe.flags.huf_run)


async def handle_run_agent(tool, prompt):
	from huf.ai.agent_integration import run_child

	return await run_child(tool.agent, prompt)


async def handle_speech_to_text(tool, file_url):
	from huf.ai.providers import services

	source = tool_functions.readable_file(file_url)
	if not source.file_name:
		raise ToolError("That file has no name.")
	return await services.transcribe(tool.model, source.file_name, source.get_content())
