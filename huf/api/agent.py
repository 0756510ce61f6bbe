"""Endpoints about agents: lists, proposals, and runs for other front ends (/agent/chat, /agent/stream)."""

from collections.abc import Iterator

import frappe

from huf.ai.chat.agents import list_all_agents, list_chat_agents
from huf.ai.chat.external import build_external_request, follow_request
from huf.ai.core.documents import get_permitted
from huf.ai.core.errors import UsageError
from huf.ai.core.events import EventKind, RunEvent
from huf.ai.core.request_values import read_json_object, read_text_list
from huf.ai.core.types import OPEN_STATUSES, AgentRequest
from huf.ai.queries.versions import list_instruction_versions
from huf.ai.runs.entry import parse_names, run_once
from huf.ai.setup.agents import create_proposed, make_agent
from huf.ai.setup.proposals import propose_agent
from huf.api.wire.agui import describe_finished
from huf.api.wire.json_body import json_response, read_string, refusing
from huf.api.wire.sse import stream_events

CHANNEL = "agent"


@frappe.whitelist(methods=["GET"])
def get_agents():
	"""Agents the user may chat with.

	[{name, description, provider, model, is_offline, hears, sees, models: [{name, sees}], tools: [{name,
	description, effect}], starters: [text], is_default}]. `models` may be chosen instead of `model`. The
	default is the user's own, else the site's, else the oldest agent.
	"""
	return list_chat_agents()


@frappe.whitelist(methods=["GET"])
def get_overview():
	"""All agents for people who may change them, for others what they may use: [{name, description, disabled,
	allow_chat, last_run, total_run, model, is_offline, tools, triggers}]; `tools` and `triggers` are counts.
	"""
	return list_all_agents()


@frappe.whitelist(methods=["GET"])
def get_versions(agent: str):
	"""Versions of an agent's instructions, for users who may change them: [{at, by, text}], newest first."""
	doc = get_permitted("Agent", agent, "write")
	return list_instruction_versions(doc)


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
def chat(
	message=None,
	agent=None,
	conversation=None,
	thread=None,
	attachments=None,
	route=None,
	idempotency_key=None,
):
	"""Send a message and wait for the answer. Also at /agent/chat.

	Args:
		thread: the caller's name for a conversation.
		attachments: Files, by name or URL.
		route: auto, chat or agent (the default).
		idempotency_key: a repeated call gets the run of the first, as in `run_agent_sync`.

	Returns what `run_agent_sync` returns, with `tool_results`: [{tool, arguments, result}]; status 202 if the
	run waits for a person, or is queued.
	"""
	request = build_agent_request(message, agent, conversation, thread, attachments, route, idempotency_key)
	result = run_once(request)
	return json_response(describe_finished(result), 202 if result["status"] in OPEN_STATUSES else 200)


@frappe.whitelist(methods=["POST"])
@refusing
def stream(
	message=None,
	agent=None,
	conversation=None,
	thread=None,
	attachments=None,
	route=None,
	idempotency_key=None,
):
	"""Send a message; streams the run's events, which `huf.api.chat.rejoin` can resume.

	Also at /agent/stream.
	"""
	request = build_agent_request(message, agent, conversation, thread, attachments, route, idempotency_key)
	return stream_events(skip_start(follow_request(request, can_void=True)))


def skip_start(events: Iterator[RunEvent | None]) -> Iterator[RunEvent | None]:
	"""The events without the RUN_QUEUED of the beginning: readers take it for the end, and here the run is
	followed.
	"""
	for position, each in enumerate(events):
		if position or not each or each.number or each.kind is not EventKind.RUN_QUEUED:
			yield each


def build_agent_request(
	message, agent, conversation, thread, attachments, route, idempotency_key
) -> AgentRequest:
	named = {
		"agent": agent,
		"conversation": conversation,
		"thread": thread,
		"route": route,
		"idempotency_key": idempotency_key,
	}
	named = {key: read_string(value, key, required=False) or None for key, value in named.items()}
	files = parse_names(attachments)
	return build_external_request(CHANNEL, prompt=read_string(message, "message"), attachments=files, **named)
