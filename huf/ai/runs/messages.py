"""Builds the messages that begin a run: instructions, summary, history, prompt and files."""

from collections.abc import Sequence

from huf.ai.agents.manager import AgentManager
from huf.ai.core.types import AgentRequest
from huf.ai.loop.messages import opening_messages
from huf.ai.storage.history import read_history


def build_messages(
	manager: AgentManager, conversation: str, request: AgentRequest, without_runs: Sequence[str] = ()
) -> tuple[list[dict], bool]:
	"""The messages in OpenAI's form, and whether the conversation is due for a summary.

	`without_runs`: runs whose messages are left out, such as those that wait in line.
	"""
	plan = request.routed.plan if request.routed else ()
	instructions = add_plan(manager.agent_doc.instructions, plan)
	if request.history is not None:
		return opening_messages(instructions, request.history, request.prompt, request.message_files), False
	past = read_history(conversation, manager.history_limit, without_runs)
	messages = opening_messages(
		past.append_to(instructions), past.messages, request.prompt, request.message_files
	)
	return messages, past.is_long


def add_plan(instructions: str | None, plan: Sequence[str]) -> str | None:
	"""The agent's instructions with the steps suggested for this request."""
	if not plan:
		return instructions
	steps = "\n".join(f"{number}. {step}" for number, step in enumerate(plan, 1))
	return f"{instructions or ''}\n\nSuggested steps; take others where these do not fit:\n{steps}".strip()
