"""Reads the history of a conversation for a model: a summary up to a watermark, and the messages after it.

The watermark is the sequence of the last message that the summary covers. Both change together by
compare-and-set, so that nothing is summarised twice. A line counts the messages that are neither sent nor
summarised. The only writer of both; nothing here commits.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import frappe

from huf.ai.core.attachments import read_message_files
from huf.ai.core.stored_text import clip_line
from huf.ai.core.types import PAST
from huf.ai.storage.message_rows import (
	message_filters,
	read_message_rows,
	sort_by_run,
	to_model_messages,
)
from huf.ai.storage.rows import update_row

SUMMARY_GONE = "The beginning of the conversation is no longer stored."
MAX_QUOTED_MESSAGES = 5
MAX_QUOTE_CHARS = 60
MIN_MESSAGE_CHARS = 80
SPEAKERS = {"user": "Person", "agent": "Agent", "system": "Note"}


@dataclass(frozen=True)
class History:
	"""`messages` in OpenAI's format, from rows with these `sequences`; `earlier` stands in for older ones.

	`is_long`: a summary is due.
	"""

	messages: list[dict] = field(default_factory=list)
	sequences: list[int] = field(default_factory=list)
	earlier: str = ""
	is_long: bool = False

	def append_to(self, instructions: str | None) -> str:
		"""The instructions, followed by the text that stands in for older messages."""
		earlier = self.earlier and f"{PAST}\n{self.earlier}"
		return "\n\n".join(part for part in (instructions, earlier) if part)


def read_history(conversation: str, limit: int, without: Sequence[str] = ()) -> History:
	"""The summary and the messages after it, up to twice `limit`, except those of the runs `without`.

	If there are more, the last ones (at least `limit`) and a line about the omitted ones.
	"""
	summary, until = read_summary(conversation)
	rows = read_message_rows(conversation, until, without, "sequence desc", 2 * limit + 1)[::-1]
	is_long = len(rows) > 2 * limit
	if is_long:
		rows = rows[find_cut(rows, len(rows) - limit) :]
	earlier = [summary or (SUMMARY_GONE if until else "")]
	if is_long:
		earlier.append(describe_skipped_messages(conversation, until, rows[0].sequence, without))
	# Leave out messages that the retention policy has blanked.
	rows = sort_by_run([row for row in rows if row.content is not None])
	return History(
		to_model_messages(rows, with_files=True),
		[row.sequence for row in rows],
		"\n\n".join(filter(None, earlier)),
		is_long,
	)


def read_summary(conversation: str) -> tuple[str | None, int]:
	"""(summary of the earlier messages, sequence number of the last one it covers)."""
	row = frappe.db.get_value("Agent Conversation", conversation, ["summary", "summarised_until"])
	return (row[0], row[1] or 0) if row else (None, 0)


def find_cut(rows: list, max_place: int) -> int:
	"""Where to cut, at or before `max_place`: at a person's message, else between a tool result and the next
	call.

	0 means nowhere.
	"""
	for fits in (lambda row: row.role == "user", lambda row: row.kind != "Tool Result"):
		if place := next((place for place in range(max_place, 0, -1) if fits(rows[place])), 0):
			return place
	return 0


def describe_skipped_messages(conversation: str, after: int, before: int, without: Sequence[str]) -> str:
	"""A line about omitted messages: their number, and how the last ones begin."""
	filters = [*message_filters(conversation, after, without), ["sequence", "<", before]]
	count = frappe.db.count("Agent Message", filters)
	asked = frappe.get_all(
		"Agent Message",
		[*filters, ["role", "=", "user"]],
		pluck="content",
		order_by="sequence desc",
		limit=MAX_QUOTED_MESSAGES,
	)
	words = " / ".join(clip_line(text, MAX_QUOTE_CHARS) for text in asked[::-1] if text)
	return f"{count} earlier messages are not shown: {words}"


def read_unsummarised(
	conversation: str, limit: int, without: Sequence[str], max_chars: int
) -> tuple[list, int]:
	"""(the oldest messages to summarise, the current watermark).

	At most as many as `max_chars` characters can describe. Excludes the last `limit` messages, and all from
	the first message of a run in `without` on, because such a run has not begun yet.
	"""
	_, until = read_summary(conversation)
	rows = read_message_rows(conversation, until, without, "sequence asc", max_chars // MIN_MESSAGE_CHARS)
	waiting = frappe.get_all(
		"Agent Message",
		{"conversation": conversation, "run": ["in", list(without)]},
		pluck="sequence",
		order_by="sequence asc",
		limit=1,
	)
	total = frappe.db.count("Agent Message", message_filters(conversation, until, without))
	max_place = min(total - limit, len(rows) - 1)
	if waiting:
		max_place = min(max_place, sum(row.sequence < waiting[0] for row in rows))
	return (rows[: find_cut(rows, max_place)] if max_place > 0 else []), until


def render_for_summary(rows: list, max_chars: int) -> str:
	"""Messages as lines, in `max_chars` characters; each line gets the same share."""
	share = max_chars // len(rows)
	return "\n".join(clip_line(render_message_line(row), share) for row in sort_by_run(rows))


def render_message_line(row) -> str:
	if row.content is None:
		return "(no longer stored)"
	if row.kind == "Tool Call":
		call = json.loads(row.content)
		return f"Agent calls {call['name']}: {json.dumps(call['arguments'], ensure_ascii=False)}"
	if row.kind == "Tool Result":
		return f"{row.tool_name} returns: {row.content}"
	return f"{SPEAKERS[row.role]}: {read_message_files(row).to_message(row.content)['content']}"


def move_watermark(conversation: str, before: int, until: int, summary: str) -> bool:
	"""Store a summary that covers everything up to `until`; False if another worker moved the watermark
	first.
	"""
	frappe.db.sql(
		"""update `tabAgent Conversation` set summary = %s, summarised_until = %s
		where name = %s and coalesce(summarised_until, 0) = %s""",
		(summary, until, conversation, before),
	)
	return read_summary(conversation) == (summary, until)


def drop_summary(conversation: str, sequence: int) -> None:
	"""Have a conversation summarised anew if its summary covers this message, which is being deleted."""
	_, until = read_summary(conversation)
	if sequence <= until:
		update_row("Agent Conversation", conversation, {"summary": None, "summarised_until": 0})


def blank_summaries(doctype: str, filters: dict) -> None:
	"""Blank the summaries that may quote matching runs or messages; the watermark stays."""
	named = frappe.get_all(doctype, filters, pluck="conversation", distinct=True, order_by="conversation asc")
	for conversation in filter(None, named):
		update_row("Agent Conversation", conversation, {"summary": None})
