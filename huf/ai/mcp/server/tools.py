"""The tools of a server for the session user: agents as tools, and tools of the server's agent.

A call of either becomes an `AgentRequest`, so it is a normal run with all checks and records.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

import frappe
from frappe.utils import nowdate
from mcp_types import Tool, ToolAnnotations

from huf.ai.core.route_choice import RouteChoice
from huf.ai.core.types import DIRECT, AgentRequest, Effect, Mode
from huf.ai.mcp.server.output_schemas import find_output_schema
from huf.ai.mcp.server.servers import IF_POSSIBLE, NEVER, ServerOffer, list_agents
from huf.ai.providers.direct import write_prompt
from huf.ai.runs import admission
from huf.ai.runs.entry import read_route_choice
from huf.ai.tools.schemas import closed_object, text_schema

CHANNEL = "mcp"
MAX_NAME_CHARS = 64
ASK_SCHEMA = closed_object(
	{
		"message": text_schema("What the agent should do or answer"),
		"conversation": text_schema("Of an earlier answer, to continue its conversation"),
		"route": {
			"type": "string",
			"enum": [choice.value for choice in RouteChoice],
			"default": RouteChoice.AGENT.value,
			"description": "agent: with its tools; chat: without; auto: Huf decides, and says so in `route`",
		},
	},
	["message"],
)
ANSWER_SCHEMA = {
	"type": "object",
	"properties": {
		"answer": text_schema("The agent's answer, or the part of it there was"),
		"status": text_schema("Success, Stopped, Failed, Cancelled or Waiting"),
		"conversation": text_schema("Pass it with the next message"),
		"run": text_schema("The record of this run"),
		"error": {"type": ["string", "null"]},
		"approval": {"type": ["object", "null"], "description": "What a person is asked to approve"},
		"route": {"type": ["object", "null"], "description": "What the router decided, how sure and why"},
	},
	"required": ["answer", "status", "conversation", "run"],
}
ADDING_TYPES = ("Create Document", "Create Multiple Documents", "Attach File to Document")
"""Tool types that add records without overwriting any."""


@dataclass(frozen=True)
class OfferedTool:
	"""A tool and how a call of it starts: (arguments, name of the client) -> AgentRequest.

	`background`: whether a call becomes a task.
	"""

	spec: Tool
	background: str
	build_request: Callable[[dict, str], AgentRequest]

	@property
	def name(self) -> str:
		return self.spec.name


def list_tools(offer: ServerOffer) -> list[OfferedTool]:
	"""The tools that the user may use, in a stable order."""
	return [*map(offer_agent, list_agents(offer)), *list_agent_tools(offer)]


def offer_agent(agent) -> OfferedTool:
	def build_request(arguments: dict, client: str) -> AgentRequest:
		conversation = arguments.get("conversation") or None
		return AgentRequest(
			agent.name,
			arguments["message"],
			frappe.session.user,
			conversation,
			CHANNEL,
			None if conversation else frappe.generate_hash(length=10),
			choice=read_route_choice(arguments.get("route")),
		)

	spec = Tool(
		name=name_of_agent(agent.name),
		title=f"Ask {agent.name}",
		description=agent.description or f"Ask the agent {agent.name}.",
		input_schema=ASK_SCHEMA,
		output_schema=ANSWER_SCHEMA,
		annotations=annotate_agent(agent),
	)
	return OfferedTool(spec, IF_POSSIBLE, build_request)


def name_of_agent(agent: str) -> str:
	"""ask_ and the agent's name in characters that clients accept, or a part of its digest if letters would
	be lost.
	"""
	plain = re.sub(r"[^a-z0-9]+", "_", agent.lower()).strip("_")
	if plain.replace("_", " ") != agent.lower() or len(plain) > MAX_NAME_CHARS - 4:
		plain = f"{plain[: MAX_NAME_CHARS - 13]}_{sha256(agent.encode()).hexdigest()[:8]}".lstrip("_")
	return f"ask_{plain}"


def annotate_agent(agent) -> ToolAnnotations:
	"""Annotations of an agent: those of its most dangerous tool."""
	effects = {frappe.get_cached_doc("Agent Tool Function", slot.tool).effect for slot in agent.agent_tool}
	reads_only = effects <= {Effect.READ.value}
	return ToolAnnotations(
		read_only_hint=reads_only,
		destructive_hint=not reads_only,
		idempotent_hint=False,
		open_world_hint=Effect.EXTERNAL.value in effects,
	)


def list_agent_tools(offer: ServerOffer) -> list[OfferedTool]:
	"""The offered tools of the server's agent; none if the user may not use the agent or it is not
	available.
	"""
	if not offer.tools or not offer.agent:
		return []
	if admission.find_admission_error(offer.agent, frappe.session.user) is not None:
		return []
	agent = frappe.get_cached_doc("Agent", offer.agent)
	from huf.ai.agents.tool_factory import create_agent_tools, create_tools

	usable = {tool.name: tool for tool in create_agent_tools(agent)}
	rows = [frappe.get_cached_doc("Agent Tool Function", name) for name in offer.tools]
	names = {tool.name: row.name for row in rows for tool in create_tools(row, agent)}
	return [
		offer_tool(offer.agent, usable[name], offer.background.get(row) or NEVER)
		for name, row in names.items()
		if name in usable
	]


def offer_tool(agent: str, tool, background: str) -> OfferedTool:
	def build_request(arguments: dict, client: str) -> AgentRequest:
		return AgentRequest(
			agent,
			write_prompt(tool.name, arguments),
			frappe.session.user,
			channel=CHANNEL,
			external_id=f"{client} {nowdate()}",
			model=DIRECT,
			mode=Mode.INLINE,
			history=(),
		)

	spec = Tool(
		name=tool.name,
		description=tool.description,
		input_schema=tool.params_json_schema,
		output_schema=find_output_schema(tool.types),
		annotations=annotate_tool(tool.effect, tool.types),
	)
	return OfferedTool(spec, background, build_request)


def annotate_tool(effect: Effect, types: str) -> ToolAnnotations:
	reads_only = effect is Effect.READ
	return ToolAnnotations(
		read_only_hint=reads_only,
		destructive_hint=not reads_only and types not in ADDING_TYPES,
		idempotent_hint=reads_only,
		open_world_hint=effect is Effect.EXTERNAL,
	)
