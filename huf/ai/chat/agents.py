"""Lists agents, with what a person may choose and ask of them."""

import frappe
from frappe import _

from huf.ai.chat.transcription import find_transcription_tool
from huf.ai.core.field_values import split_lines
from huf.ai.core.types import OFFLINE
from huf.ai.providers.masking import masks_for
from huf.ai.providers.models import find_listed_model, is_local_provider, supports_vision
from huf.ai.runs import admission

USER_SETTINGS = "Huf User Settings"


def list_chat_agents() -> list[dict]:
	"""The agents that the session user may chat with; the shape is at `huf.api.agent.get_agents`."""
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


def can_see(agent, provider: str | None, model: str) -> bool:
	"""Whether the model receives images in a run of the agent."""
	return supports_vision(provider, model) and not masks_for(agent, is_local_provider(provider))


def describe_tool(tool) -> dict:
	definition = frappe.parse_json(tool.function_definition)
	return {"name": tool.name, "description": definition["description"], "effect": tool.effect}


def list_all_agents() -> list[dict]:
	"""The agents that the session user may change or use; the shape is at `huf.api.agent.get_overview`."""
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


def translate_shipped_text(text: str | None) -> str | None:
	"""Texts of the agent that Huf brings are in the reader's language, people's own stay as they are."""
	return _(text) if text else text
