"""What was said in a conversation before a run: a summary up to a watermark, and the messages behind it.

The watermark is the position of the last message that the summary covers. It is moved by compare-and-set together with the
summary, so that nothing is summarised twice. The only writer of both; nothing here commits.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import frappe

from huf.ai.core.attachments import read_message_files
from huf.ai.core.types import PAST
from huf.ai.storage.conversations import to_model_messages
from huf.ai.storage.rows import update_row

GONE = "What was said at first is no longer kept."
FIELDS = [
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
LINES_OF_DIGEST = 5
LINE = 60
MIN_MESSAGE_CHARS = 80
SPEAKERS = {"user": "Person", "agent": "Agent", "system": "Note"}


@dataclass(frozen=True)
class History:
	"""`messages` in a model's form; `told`: what it is told instead of those before; `is_long`: a summary is due."""

	messages: list[dict] = field(default_factory=list)
	told: str = ""
	is_long: bool = False

	def added_to(self, instructions: str | None) -> str:
		return "\n\n".join(part for part in (instructions, self.told and f"{PAST}\n{self.told}") if part)


def read_history(conversation: str, limit: int, without: Sequence[str] = ()) -> History:
	"""The summary, and all messages that it does not cover: up to twice `limit`, without those of some runs.

	Where there are more, the last ones (`limit` at least), and a line about those between.
	"""
	summary, until = read_summary(conversation)
	rows = read_message_rows(conversation, until, without, "sequence desc", 2 * limit + 1)[::-1]
	is_long = len(rows) > 2 * limit
	if is_long:
		rows = rows[find_cut(rows, len(rows) - limit) :]
	told = [summary or (GONE if until else "")]
	if is_long:
		told.append(describe_skipped_messages(conversation, until, rows[0].sequence, without))
	# What the retention policy has blanked is no message any more.
	return History(
		to_model_messages([row for row in rows if row.content is not None], with_files=True),
		"\n\n".join(filter(None, told)),
		is_long,
	)


def read_summary(conversation: str) -> tuple[str | None, int]:
	row = frappe.db.get_value("Agent Conversation", conversation, ["summary", "summarised_until"])
	return (row[0], row[1] or 0) if row else (None, 0)


def read_message_rows(
	conversation: str, after: int, without: Sequence[str], order_by: str, limit: int
) -> list:
	return frappe.get_all(
		"Agent Message", message_filters(conversation, after, without), FIELDS, order_by=order_by, limit=limit
	)


def message_filters(conversation: str, after: int, without: Sequence[str]) -> list[list]:
	"""Errors are for the reader: a model that saw its failures would go on talking about them."""
	filters = [["conversation", "=", conversation], ["kind", "!=", "Error"], ["sequence", ">", after]]
	return [*filters, ["run", "not in", list(without)]] if without else filters


def find_cut(rows: list, most: int) -> int:
	"""Where to cut, at `most` or before: where a person speaks, else where no call loses its result; 0: nowhere."""
	for fits in (lambda row: row.role == "user", lambda row: row.kind != "Tool Result"):
		if place := next((place for place in range(most, 0, -1) if fits(rows[place])), 0):
			return place
	return 0


def describe_skipped_messages(conversation: str, after: int, before: int, without: Sequence[str]) -> str:
	"""A line that stands for messages nobody has summarised: how many, and how the last of them began."""
	filters = [*message_filters(conversation, after, without), ["sequence", "<", before]]
	count = frappe.db.count("Agent Message", filters)
	asked = frappe.get_all(
		"Agent Message",
		[*filters, ["role", "=", "user"]],
		pluck="content",
		order_by="sequence desc",
		limit=LINES_OF_DIGEST,
	)
	words = " / ".join(shorten_line(text, LINE) for text in asked[::-1] if text)
	return f"{count} earlier messages are not shown: {words}"


def read_unsummarised(conversation: str, limit: int, without: Sequence[str], room: int) -> tuple[list, int]:
	"""(the oldest messages that are to be summarised, the watermark they stand behind); the rest is for the next run.

	As many as `room` characters can tell of. Leaves the last `limit`, and whatever comes after something said for a run
	that is still to begin.
	"""
	_, until = read_summary(conversation)
	rows = read_message_rows(conversation, until, without, "sequence asc", room // MIN_MESSAGE_CHARS)
	waiting = frappe.get_all(
		"Agent Message",
		{"conversation": conversation, "run": ["in", list(without)]},
		pluck="sequence",
		order_by="sequence asc",
		limit=1,
	)
	total = frappe.db.count("Agent Message", message_filters(conversation, until, without))
	most = min(total - limit, len(rows) - 1)
	if waiting:
		most = min(most, sum(row.sequence < waiting[0] for row in rows))
	return (rows[: find_cut(rows, most)] if most > 0 else []), until


def render_for_summary(rows: list, room: int) -> str:
	"""Messages as lines to be summarised, in `room` characters: each is shortened alike."""
	most = room // len(rows)
	return "\n".join(shorten_line(render_message_line(row), most) for row in rows)


def render_message_line(row) -> str:
	if row.content is None:
		return "(no longer kept)"
	if row.kind == "Tool Call":
		call = json.loads(row.content)
		return f"Agent calls {call['name']}: {json.dumps(call['arguments'], ensure_ascii=False)}"
	if row.kind == "Tool Result":
		return f"{row.tool_name} gives: {row.content}"
	return f"{SPEAKERS[row.role]}: {read_message_files(row).to_message(row.content)['content']}"


def shorten_line(text: str, most: int) -> str:
	line = " ".join(text.split())
	return line if len(line) <= most else line[: most - 1] + "…"


def move_watermark(conversation: str, before: int, until: int, summary: str) -> bool:
	"""Keep a summary that covers everything up to `until`; False where another has moved the watermark meanwhile."""
	frappe.db.sql(
		"""update `tabAgent Conversation` set summary = %s, summarised_until = %s
		where name = %s and coalesce(summarised_until, 0) = %s""",
		(summary, until, conversation, before),
	)
	return read_summary(conversation) == (summary, until)


def blank_summaries(runs: Sequence[str]) -> None:
	"""Blank the summaries that may hold what was said in some runs; the watermark stays."""
	named = frappe.get_all("Agent Run", {"name": ["in", list(runs)]}, pluck="conversation", order_by="name")
	for conversation in {name for name in named if name}:
		update_row("Agent Conversation", conversation, {"summary": None})
