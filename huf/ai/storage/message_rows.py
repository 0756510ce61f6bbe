"""Reads rows of Agent Message, and turns them into messages for a model."""

import json
from collections.abc import Sequence

import frappe

from huf.ai.core.attachments import read_message_files

MESSAGE_FIELDS = [
	"sequence",
	"role",
	"kind",
	"content",
	"run",
	"step",
	"tool_name",
	"tool_call_id",
	"attachments",
	"attached_text",
]
ROLES = {"user": "user", "agent": "assistant", "system": "system"}


def read_message_rows(
	conversation: str, after: int, without: Sequence[str], order_by: str, limit: int
) -> list:
	"""Agent Message rows after a sequence number, without those of the runs `without`."""
	return frappe.get_all(
		"Agent Message",
		message_filters(conversation, after, without),
		MESSAGE_FIELDS,
		order_by=order_by,
		limit=limit,
	)


def message_filters(conversation: str, after: int, without: Sequence[str]) -> list[list]:
	"""Filters for messages after a sequence number. Excludes errors: a model that reads about its failures
	keeps mentioning them.
	"""
	filters: list[list] = [
		["conversation", "=", conversation],
		["kind", "!=", "Error"],
		["sequence", ">", after],
	]
	return [*filters, ["run", "not in", list(without)]] if without else filters


def to_model_messages(rows: list, with_files: bool = False) -> list[dict]:
	"""Agent Message rows in OpenAI's format; `with_files` adds the text of attached files.

	The tool calls of one step become one assistant message followed by the results. A call or result without
	its counterpart is left out: providers reject those.
	"""
	results = {
		(row.run, row.step, row.tool_call_id): row.content for row in rows if row.kind == "Tool Result"
	}
	history: list[dict] = []
	open_step = spoken_step = None
	pending: list[dict] = []
	for row in rows:
		step = (row.run, row.step)
		if row.kind == "Message":
			history += pending
			pending, open_step, spoken_step = [], None, step
			has_files = with_files and (row.attachments or row.attached_text)
			message = (
				read_message_files(row).to_message(row.content) if has_files else {"content": row.content}
			)
			history.append({**message, "role": ROLES[row.role]})
		elif row.kind == "Tool Call" and (call := (*step, row.tool_call_id)) in results:
			if open_step != step:
				# The text of the step, if it has one, stands directly before its first call.
				text = history.pop()["content"] if spoken_step == step else None
				history += pending
				pending, open_step, spoken_step = [], step, None
				history.append({"role": "assistant", "content": text, "tool_calls": []})
			history[-1]["tool_calls"].append(to_openai_call(row))
			pending.append({"role": "tool", "tool_call_id": row.tool_call_id, "content": results[call]})
	return history + pending


def sort_by_run(rows: list) -> list:
	"""Each prompt directly before the answers of its run: one that was queued is stored before the answers
	of the runs before it.
	"""
	ordered: list = []
	waiting: list = []
	for row in rows:
		if row.role == "user":
			waiting.append(row)
			continue
		place = next((place for place, prompt in enumerate(waiting, 1) if prompt.run == row.run), 0)
		ordered += [*waiting[:place], row]
		waiting = waiting[place:]
	return ordered + waiting


def to_openai_call(row) -> dict:
	call = json.loads(row.content)
	arguments = call["arguments"]
	text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
	# The ID by which the result is stored may be shorter than the model's.
	function = {"name": call["name"], "arguments": text}
	return {"id": row.tool_call_id, "type": "function", "function": function}
