"""REST about agents, for people who use them."""

import json

import frappe

from huf.ai import admission
from huf.ai.providers.models import choose_model
from huf.ai.types import OFFLINE


@frappe.whitelist(methods=["GET"])
def get_agents():
	"""Agents the user may chat with.

	[{name, description, provider, model, is_offline, tools: [{name, description, effect}], starters: [text]}]
	"""
	names = frappe.get_list(
		"Agent",
		filters={"disabled": 0, "allow_chat": 1},
		pluck="name",
		order_by="agent_name asc",
		limit_page_length=0,
	)
	docs = [frappe.get_cached_doc("Agent", name) for name in names]
	return [describe(doc) for doc in docs if admission.may_use(doc, frappe.session.user)]


def describe(doc) -> dict:
	provider, model = choose_model(doc)
	return {
		"name": doc.name,
		"description": doc.description,
		"provider": provider,
		"model": model,
		"is_offline": model == OFFLINE,
		"tools": [
			describe_tool(frappe.get_cached_doc("Agent Tool Function", row.tool)) for row in doc.agent_tool
		],
		"starters": [line.strip() for line in (doc.starters or "").split("\n") if line.strip()],
	}


def describe_tool(tool) -> dict:
	definition = json.loads(tool.function_definition)
	return {"name": tool.name, "description": definition["description"], "effect": tool.effect}
