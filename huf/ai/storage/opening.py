"""The messages that begin a run, as its record keeps them.

Earlier messages of the conversation are not copied into each record. A reference says which they are.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from frappe import _

from huf.ai.core.errors import UsageError
from huf.ai.storage.conversations import to_model_messages
from huf.ai.storage.history import History, read_message_rows

EARLIER = "earlier"
"""The role of a reference."""


@dataclass(frozen=True)
class Opening:
	"""`messages` in OpenAI's format, and as they are `stored`. `is_long`: a summary is due."""

	messages: list[dict]
	stored: list[dict]
	is_long: bool = False


def refer_to(conversation: str, past: History, without_runs: Sequence[str]) -> list[dict]:
	"""A reference to these messages of a conversation, which are in order and none of `without_runs`."""
	if not past.messages:
		return []
	first, last = past.sequences[0], past.sequences[-1]
	reference = {"conversation": conversation, "first": first, "last": last, "without_runs": [*without_runs]}
	return [{"role": EARLIER, "count": len(past.sequences), **reference}]


def read_opening(stored: str | None, is_exact: bool = False) -> list[dict]:
	"""The messages of an Agent Run's field `opening`, without those that were deleted or blanked since.

	Raises UsageError if there are such and `is_exact`.
	"""
	return [message for each in json.loads(stored or "[]") for message in resolve(each, is_exact)]


def resolve(message: dict, is_exact: bool) -> Iterator[dict]:
	if message["role"] != EARLIER:
		yield message
		return
	first, last = message["first"], message["last"]
	found = read_message_rows(
		message["conversation"], first - 1, message["without_runs"], "sequence asc", last - first + 1
	)
	rows = [row for row in found if row.sequence <= last and row.content is not None]
	if is_exact and len(rows) != message["count"]:
		raise UsageError(_("Earlier messages of the conversation of this run are no longer stored."))
	yield from to_model_messages(rows, with_files=True)
