"""Builds the messages that begin a run: instructions, summary, history, prompt and files."""

from collections.abc import Sequence

import frappe

from huf.ai.agents.manager import AgentManager
from huf.ai.core.attachments import opening_messages
from huf.ai.core.types import AgentRequest
from huf.ai.knowledge.memory import offer_facts
from huf.ai.storage.history import read_history
from huf.ai.storage.opening import Opening, open_with_history
from huf.ai.tools.taint import CHANNELS
from huf.ai.tools.types import MEMORY_TYPES


def build_messages(
	manager: AgentManager,
	conversation: str,
	request: AgentRequest,
	without_runs: Sequence[str] = (),
	record: tuple[str | None, ...] = (),
	holder: dict | None = None,
) -> Opening:
	"""The messages that begin a run.

	`without_runs`: runs whose messages are omitted, such as queued ones. `record`: the document that the run
	is about, as (DocType, name). `holder`: owner and channel of a conversation that is about to be created.
	"""
	plan = request.routed.plan if request.routed else ()
	instructions = add_plan(manager.agent_doc.instructions, plan)
	slots = manager.agent_doc.agent_tool
	# Agents without memory read nothing.
	if any(frappe.get_cached_doc("Agent Tool Function", slot.tool).types in MEMORY_TYPES for slot in slots):
		holder = holder or read_holder(conversation)
		instructions = add_facts(instructions, manager, holder, record)
	prompt = request.prompt, request.message_files
	if request.history is not None:
		messages = opening_messages(instructions, request.history, *prompt)
		return Opening(messages, messages)
	past = read_history(conversation, manager.history_limit, without_runs)
	messages = opening_messages(past.append_to(instructions), (), *prompt)
	return open_with_history(messages, conversation, past, without_runs)


def add_plan(instructions: str | None, plan: Sequence[str]) -> str | None:
	"""The agent's instructions with the steps suggested for this request."""
	if not plan:
		return instructions
	steps = "\n".join(f"{number}. {step}" for number, step in enumerate(plan, 1))
	return f"{instructions or ''}\n\nSuggested steps; take others where these do not fit:\n{steps}".strip()


def add_facts(
	instructions: str | None, manager: AgentManager, holder: dict | None, record: tuple[str | None, ...]
) -> str | None:
	"""The instructions with the facts that the agent remembers.

	Facts about the user are added only in the user's own conversation, without outsiders.
	"""
	is_private = bool(holder and holder["owner"] == frappe.session.user and holder["channel"] not in CHANNELS)
	facts = offer_facts(manager.agent_doc.name, record, is_private)
	return f"{instructions or ''}\n\n{facts}".strip() if facts else instructions


def read_holder(conversation: str) -> dict | None:
	return frappe.db.get_value("Agent Conversation", conversation, ["owner", "channel"], as_dict=True)
