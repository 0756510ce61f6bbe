"""Endpoints about agents: lists, proposals, and runs for other front ends (/agent/chat, /agent/stream)."""

from collections.abc import Iterator

import frappe
from frappe import _

from huf.ai.chat.external import build_external_request, follow_request
from huf.ai.chat.transcription import find_transcription_tool
from huf.ai.core.documents import get_permitted
from huf.ai.core.errors import UsageError
from huf.ai.core.events import EventKind, RunEvent
from huf.ai.core.field_values import split_lines
from huf.ai.core.request_values import read_json_object, read_text_list
from huf.ai.core.types import OFFLINE, AgentRequest, RunResult, RunStatus
from huf.ai.providers.masking import masks_for
from huf.ai.providers.models import find_listed_model, is_local_provider, supports_vision
from huf.ai.queries.runs import read_tool_results
from huf.ai.queries.versions import list_instruction_versions
from huf.ai.runs import admission
from huf.ai.runs.entry import parse_names, run_agent
from huf.ai.setup.agents import create_proposed, make_agent
from huf.ai.setup.proposals import propose_agent
from huf.api.wire.agui import EXECUTE, PLAN, STEP, VALIDATE
from huf.api.wire.json_body import json_response, read_string, refusing
from huf.api.wire.sse import stream_events

CHANNEL = "agent"
USER_SETTINGS = "Huf User Settings"


@frappe.whitelist(methods=["GET"])
def get_agents():
	"""Agents the user may chat with.

	[{name, description, provider, model, is_offline, hears, sees, models: [{name, sees}], tools: [{name,
	description, effect}], starters: [text], is_default}]. `models` may be chosen instead of `model`. The
	default is the user's own, else the site's, else the oldest agent.
	"""
	docs = admission.list_usable_agents(frappe.session.user, {"allow_chat": 1})
	default = find_default_agent(docs)
	return [{**describe_agent(doc), "is_default": doc.name == default} for doc in docs]


def find_default_agent(docs: list) -> str | None:
	wanted = (
		frappe.db.get_value(USER_SETTINGS, frappe.session.user, "default_agent"),
		frappe.get_cached_doc("Huf Settings").default_agent,
	)
	names = [doc.name for doc in sorted(docs, key=lambda doc: str(doc.creation))]
	return next((name for name in (*wanted, *names) if name in names), None)


@frappe.whitelist(methods=["GET"])
def get_overview():
	"""All agents for people who may change them, for others what they may use: [{name, description, disabled,
	allow_chat, last_run, total_run, model, is_offline, tools, triggers}]; `tools` and `triggers` are counts.
	"""
	fields = ["name", "last_run", "total_run"]
	agents = frappe.get_list("Agent", fields=fields, order_by="agent_name asc", limit_page_length=0)
	triggers = []
	if frappe.has_permission("Agent Trigger", "read"):
		triggers = frappe.get_list("Agent Trigger", pluck="agent", order_by="name asc", limit_page_length=0)
	user = frappe.session.user
	if not frappe.has_permission("Agent", "write"):
		agents = [row for row in agents if admission.may_use(frappe.get_cached_doc("Agent", row.name), user)]
	return [summarize_agent(agent, triggers.count(agent.name)) for agent in agents]


def summarize_agent(row, triggers: int) -> dict:
	# Run counts are updated in the table, not in the cached document.
	doc = frappe.get_cached_doc("Agent", row.name)
	_provider, model = find_listed_model(doc)
	return {
		**{key: doc.get(key) for key in ("disabled", "allow_chat")},
		"description": translate_shipped_text(doc.description),
		**row,
		"model": model,
		"is_offline": model == OFFLINE,
		"tools": len(doc.agent_tool),
		"triggers": triggers,
	}


@frappe.whitelist(methods=["GET"])
def get_versions(agent: str):
	"""Versions of an agent's instructions, for users who may change them: [{at, by, text}], newest first."""
	doc = get_permitted("Agent", agent, "write")
	return list_instruction_versions(doc)


def describe_agent(doc) -> dict:
	provider, model = find_listed_model(doc)
	return {
		"name": doc.name,
		"description": translate_shipped_text(doc.description),
		"provider": provider,
		"model": model,
		"is_offline": model == OFFLINE,
		"hears": find_transcription_tool(doc) is not None,
		"sees": can_see(doc, provider, model),
		"models": [
			{"name": name, "sees": can_see(doc, frappe.get_cached_value("AI Model", name, "provider"), name)}
			for name in admission.list_chat_models(doc)
		],
		"tools": [
			describe_tool(frappe.get_cached_doc("Agent Tool Function", row.tool)) for row in doc.agent_tool
		],
		"starters": [translate_shipped_text(line) for line in split_lines(doc.starters)],
	}


def translate_shipped_text(text: str | None) -> str | None:
	"""Texts of the agent that Huf brings are in the reader's language, people's own stay as they are."""
	return _(text) if text else text


def can_see(agent, provider: str | None, model: str) -> bool:
	"""Whether the model receives images in a run of the agent."""
	return supports_vision(provider, model) and not masks_for(agent, is_local_provider(provider))


def describe_tool(tool) -> dict:
	definition = frappe.parse_json(tool.function_definition)
	return {"name": tool.name, "description": definition["description"], "effect": tool.effect}


@frappe.whitelist(methods=["POST"])
def create(
	values: dict | str,
	doctypes: dict | str | None = None,
	agents: list | str | None = None,
	needs_approval: bool = False,
):
	"""Create an agent and its tools in one request: {name, tools}.

	`doctypes` such as {"ToDo": ["list", "create"]}; `agents`: names of agents that it may call. See
	`huf.ai.setup.agents.make_agent`.
	"""
	values = read_json_object(values, "values")
	by_doctype = read_json_object(doctypes or {}, "doctypes")
	names = read_text_list(agents or [], "agents")
	for table in frappe.get_meta("Agent").get_table_fields():
		rows = values.get(table.fieldname) or []
		if not (isinstance(rows, list) and all(isinstance(row, dict) for row in rows)):
			raise UsageError(f"{table.fieldname} must be a list of objects.")
	kinds = {doctype: read_text_list(given, doctype) for doctype, given in by_doctype.items()}
	return make_agent(values, kinds, names, bool(needs_approval))


@frappe.whitelist(methods=["POST"])
def propose(sentence: str):
	"""Propose an agent for a sentence, without saving anything; see `huf.ai.setup.proposals`."""
	return propose_agent(sentence)


@frappe.whitelist(methods=["POST"])
def create_from_proposal(proposal: dict | str):
	"""Create the accepted parts of a proposal: {name, tools, trigger, cases}."""
	return create_proposed(read_json_object(proposal, "proposal"))


@frappe.whitelist(methods=["POST"])
@refusing
def chat(message=None, agent=None, conversation=None, thread=None, attachments=None, route=None):
	"""Send a message and wait for the answer. Also at /agent/chat.

	Args:
		thread: the caller's name for a conversation.
		attachments: Files, by name or URL.
		route: auto, chat or agent (the default).

	Returns what `run_agent_sync` returns, with `tool_results`: [{tool, arguments, result}]; status 202 if the
	run waits for a person, or is queued.
	"""
	result = run_agent(build_agent_request(message, agent, conversation, thread, attachments, route))
	return json_response(describe_finished(result), 202 if result.is_open else 200)


def describe_finished(result: RunResult) -> dict:
	"""A run that is queued, waits or has ended, for JSON answers: with its phase and its tools' results."""
	phase = {RunStatus.QUEUED: PLAN, RunStatus.WAITING: EXECUTE}.get(result.status, VALIDATE)
	return {**result.as_dict(), STEP: phase, "tool_results": read_tool_results(result.run)}


@frappe.whitelist(methods=["POST"])
@refusing
def stream(message=None, agent=None, conversation=None, thread=None, attachments=None, route=None):
	"""Send a message; streams the run's events, which `huf.api.chat.rejoin` can resume.

	Also at /agent/stream.
	"""
	request = build_agent_request(message, agent, conversation, thread, attachments, route)
	return stream_events(skip_start(follow_request(request, can_void=True)))


def skip_start(events: Iterator[RunEvent | None]) -> Iterator[RunEvent | None]:
	"""The events without the RUN_QUEUED of the beginning: readers take it for the end, and here the run is
	followed.
	"""
	for position, each in enumerate(events):
		if position or not each or each.number or each.kind is not EventKind.RUN_QUEUED:
			yield each


def build_agent_request(message, agent, conversation, thread, attachments, route) -> AgentRequest:
	named = {"agent": agent, "conversation": conversation, "thread": thread, "route": route}
	named = {key: read_string(value, key, required=False) or None for key, value in named.items()}
	files = parse_names(attachments)
	return build_external_request(CHANNEL, prompt=read_string(message, "message"), attachments=files, **named)
