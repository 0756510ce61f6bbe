"""Reconstructs from the journal what a model was sent at a step of an ended run. Calls no model and runs no
tool.
"""

import json
from typing import Any

from frappe import _

from huf.ai.agents.manager import AgentManager
from huf.ai.core.documents import get_permitted
from huf.ai.core.errors import ModelError, UsageError
from huf.ai.core.types import ModelReply
from huf.ai.loop.model import FreeModel
from huf.ai.runs.replay import ReplayJournal, read_ended_run, run_recorded
from huf.ai.storage.recorded_run import RecordedRun, read_recorded


class InputRecorder(FreeModel):
	"""Stands in for a model: returns the recorded replies, and keeps its input by step."""

	def __init__(self, recorded: RecordedRun, journal: ReplayJournal):
		self.recorded, self.journal = recorded, journal
		self.inputs: dict[int, list[dict]] = {}

	async def complete(self, messages: list[dict], *args: Any) -> ModelReply:
		self.inputs[self.journal.step] = json.loads(json.dumps(messages))
		reply = self.recorded.replies.get(self.journal.step)
		if reply is None:
			raise ModelError("The record has no reply to this.")
		return reply


def read_model_input(run: str, step: int) -> dict:
	"""{messages, tools: [{name, description, parameters}]} of a model call.

	Only for users who may change the agent. Long results may have been shortened for the model's window. The
	tools are those the agent has now.
	Raises UsageError if the record does not reach that step, PermissionError.
	"""
	row = read_ended_run(run)
	get_permitted("Agent", row.agent, "write")
	recorded = read_recorded(run)
	journal = ReplayJournal(recorded, replies=False)
	model = InputRecorder(recorded, journal)
	run_recorded(row, recorded, model, journal)
	if step not in model.inputs:
		raise UsageError(_("The record of this run has no model call at step {0}.").format(step))
	manager = AgentManager(row.agent, is_chat=row.route == "chat")
	return {
		"messages": model.inputs[step],
		"tools": [
			{"name": tool.name, "description": tool.description, "parameters": tool.params_json_schema}
			for tool in manager.prepare_agent().tools
		],
	}
