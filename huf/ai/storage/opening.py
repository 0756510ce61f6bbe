"""The messages that begin a run, as its record keeps them.

Earlier messages of the conversation are not copied into each record. A reference says which they are.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from frappe import _

from huf.ai.core.errors import UsageError
from huf.ai.storage.conversations import to_model_messages
from huf.ai.storage.history import History, read_message_rows


@dataclass(frozen=True)
class Opening:
	"""`messages` in OpenAI's format, and as they are `stored`. `is_long`: a summary is due.

	`stored` is a list of messages, or {messages, earlier}: the latter refers to messages that go before the
	last one. Only this module makes that form, so that no message from outside can be a reference.
	"""

	messages: list[dict]
	stored: list[dict] | dict
	is_long: bool = False


def open_with_history(
	messages: list[dict], conversation: str, past: History, without_runs: Sequence[str]
) -> Opening:
	"""The opening of a run with that history of its conversation, none of which is of `without_runs`."""
	if not past.messages:
		return Opening(messages, messages, past.is_long)
	first, last = past.sequences[0], past.sequences[-1]
	earlier = {"conversation": conversation, "first": first, "last": last, "count": len(past.sequences)}
	stored = {"messages": messages, "earlier": {**earlier, "without_runs": [*without_runs]}}
	return Opening([*messages[:-1], *past.messages, messages[-1]], stored, past.is_long)


def read_opening(stored: str | None, is_exact: bool = False) -> list[dict]:
	"""The messages of an Agent Run's field `opening`, without those that were deleted or blanked since.

	Raises UsageError if there are such and `is_exact`.
	"""
	opening = json.loads(stored or "[]")
	if isinstance(opening, list):
		return opening
	*before, prompt = opening["messages"]
	return [*before, *read_earlier(**opening["earlier"], is_exact=is_exact), prompt]


def read_earlier(
	conversation: str, first: int, last: int, count: int, without_runs: list[str], is_exact: bool
) -> list[dict]:
	"""Messages `first` to `last` of a conversation in OpenAI's format. `is_exact`: raises UsageError if one
	is missing.
	"""
	found = read_message_rows(conversation, first - 1, without_runs, "sequence asc", last - first + 1)
	rows = [row for row in found if row.sequence <= last and row.content is not None]
	if is_exact and len(rows) != count:
		raise UsageError(_("Earlier messages of the conversation of this run are no longer stored."))
	return to_model_messages(rows, with_files=True)
