"""Fits a transcript into a model's context window, without changing the transcript itself.

The oldest tool results are shortened first, then replaced by stubs; then the oldest exchanges of earlier runs
are dropped, and the results of this run's last step are shortened last. System messages and this run's prompt
are never cut. A call and its result stay together. Fitting is deterministic.

The journal has every result whole; the tool `read_more` returns what was cut off.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Protocol

from huf.ai.core.attachments import IMAGE_TOKENS, count_images
from huf.ai.core.errors import ToolError
from huf.ai.core.types import MAX_RESULT_CHARS, Effect, Outcome, Tool

MIN_EXCERPT_CHARS = 400
"""Shorter excerpts are replaced by a stub."""
PIECE_CHARS = 8_000
"""Characters that `read_more` returns per call."""
LEAD_CHARS = 200
"""Text before a match of `find`."""
READ_MORE = "read_more"
DESCRIPTION = (
	"Read more of a result that was truncated. Results are numbered in order, from 1. "
	"Returns the text from `offset` on; with `find`, from the next match at or after `offset`."
)
PLACE_PROPERTIES = {
	"offset": {"type": "integer", "minimum": 0, "description": "Character to begin at; 0 if left out"},
	"find": {"type": "string", "description": "Words to look for"},
}
"""Arguments of `read_rest` in the schema of a tool."""
PARAMETERS = {
	"type": "object",
	"properties": {
		"result": {"type": "integer", "minimum": 1, "description": "Number of the result"},
		**PLACE_PROPERTIES,
	},
	"required": ["result"],
	"additionalProperties": False,
}
INPUT_SHARE = 0.75
"""Share of the window for input; the rest is for the answer and for inexact counting."""
DEFAULT_WINDOW = 32_768
"""Tokens, for models whose window is unknown."""
CHARS_PER_TOKEN = 4
Cut = dict[int, dict | None]
"""Messages by position, and their replacements; None removes a message."""


def excerpt(text: str, max_chars: int, number: int | None) -> str:
	"""The text in at most `max_chars` characters (at least MIN_EXCERPT_CHARS); a cut one ends in a line
	on how to read on.

	`number` is None for a result of an earlier run, which can no longer be read.
	"""
	max_chars = max(max_chars, MIN_EXCERPT_CHARS)
	if len(text) <= max_chars:
		return text
	# Measured with the largest figures the line can have.
	head = max_chars - len(cut_notice(len(text), len(text), number))
	return text[:head] + cut_notice(head, len(text), number)


def cut_notice(end: int, whole: int, number: int | None) -> str:
	more = f" Call {READ_MORE} with result {number} and offset {end} for more." if number else ""
	return f"\n[Truncated: the first {end:,} of {whole:,} characters.{more}]"


def stub(number: int | None) -> str:
	"""Replaces a result for which there is no room."""
	more = f" Call {READ_MORE} with result {number} for it." if number else ""
	return f"[Result omitted: there is no room for it.{more}]"


class ResultReader:
	"""The tool `read_more` over the results of one run, in pieces of `piece_chars`."""

	def __init__(self, outcome: Outcome):
		self.outcome, self.piece_chars = outcome, PIECE_CHARS

	def as_tool(self) -> Tool:
		return Tool(READ_MORE, DESCRIPTION, PARAMETERS, Effect.READ, self.run)

	async def run(self, arguments: dict) -> str:
		return self.read(**arguments)

	def read(self, result: int, offset: int = 0, find: str = "") -> str:
		"""Raises ToolError if there is no such result, or no more of it."""
		results = self.outcome.tool_results
		if result > len(results):
			raise ToolError(f"There is no result {result}. The last one is {len(results)}.")
		return read_rest(f"Result {result}", results[result - 1].text, self.piece_chars, offset, find)


def read_rest(what: str, text: str, piece_chars: int, offset: int, find: str) -> str:
	"""A piece of a text with its position. Raises ToolError where there is no more, or no match."""
	if find:
		found = re.compile(re.escape(find), re.IGNORECASE).search(text, offset)
		if not found:
			raise ToolError(f"{what} has no {find!r} at or after {offset}.")
		offset = max(offset, found.start() - LEAD_CHARS)
	elif offset >= len(text):
		raise ToolError(f"{what} ends at {len(text)}.")
	end = min(offset + piece_chars, len(text))
	rest = f"continue with offset {end}" if end < len(text) else "end of the text"
	return f"[{what}, characters {offset:,} to {end:,} of {len(text):,}; {rest}]\n{text[offset:end]}"


class Count(Protocol):
	"""Counts the tokens of messages; above `limit` it may return any larger number."""

	def __call__(self, messages: list[dict], limit: float = inf) -> int: ...


def estimate(messages: list[dict], limit: float = inf) -> int:
	"""Tokens of messages, without a tokenizer."""
	words = sum(len(str(message)) for message in messages) // CHARS_PER_TOKEN
	return words + IMAGE_TOKENS * count_images(messages)


@dataclass(frozen=True)
class Room:
	"""The room for input. `window` is in tokens; `count` counts the tokens of messages."""

	window: int = DEFAULT_WINDOW
	count: Count = estimate
	share: float = INPUT_SHARE

	@property
	def allowed(self) -> int:
		return int(self.window * self.share)


@dataclass(frozen=True)
class Fitted:
	"""The fitted messages. `is_partial`: results of this run are cut, so `read_more` is useful."""

	messages: list[dict]
	is_partial: bool = False


@dataclass(frozen=True)
class TooLong:
	"""The messages do not fit, even after all cuts. Counts are tokens."""

	needed: int
	allowed: int

	def __str__(self) -> str:
		return (
			f"The model has to be sent {self.needed:,} tokens, and there is room for {self.allowed:,}. "
			"Shorten the instructions or the request, give the agent fewer tools, or choose a model with a "
			"larger window."
		)


@dataclass(frozen=True)
class ResultMessage:
	"""A tool message.

	`number` counts those of this run from 1, None for older ones. `is_last`: of the last step.
	"""

	place: int
	message: dict
	number: int | None
	is_last: bool

	def cut_to(self, max_chars: int) -> Cut:
		if len(self.message["content"]) <= max_chars:
			return {}
		return self.replace_by(excerpt(self.message["content"], max_chars, self.number))

	def replace_by(self, text: str) -> Cut:
		"""The cut, unless the replacement would be longer."""
		shorter = len(text) < len(self.message["content"])
		return {self.place: {**self.message, "content": text}} if shorter else {}


def fit(messages: list[dict], prompt_at: int, room: Room) -> Fitted | TooLong:
	"""The messages that can be sent; the same list if nothing must be cut.

	`prompt_at` is the position of this run's prompt; messages before it belong to earlier runs.
	"""
	results, allowed = list(read_results(messages, prompt_at)), room.allowed
	steps = [first_cut(results)]

	def after(number: int) -> list[dict]:
		return apply(messages, steps[: number + 1])

	def fits(number: int) -> bool:
		return room.count(after(number), allowed) <= allowed

	number = 0
	if not fits(0):
		steps += further_cuts(messages, prompt_at, results, allowed)
		number = bisect_left(range(len(steps)), True, key=fits)
	if number == len(steps):
		return TooLong(room.count(after(number)), allowed)
	if not any(steps[: number + 1]):
		return Fitted(messages)
	changed = {place for step in steps[: number + 1] for place in step}
	return Fitted(after(number), any(result.number and result.place in changed for result in results))


def apply(messages: list[dict], cuts: list[Cut]) -> list[dict]:
	"""A copy of the messages with these cuts applied."""
	sent: list[dict | None] = [*messages]
	for cut in cuts:
		for place, message in cut.items():
			sent[place] = message
	return list(filter(None, sent))


def read_results(messages: list[dict], prompt_at: int) -> Iterator[ResultMessage]:
	places = reversed(range(len(messages)))
	last = next((place for place in places if messages[place].get("tool_calls")), 0)
	number = 0
	for place, message in enumerate(messages):
		if message["role"] == "tool":
			number += place > prompt_at
			yield ResultMessage(place, message, number or None, prompt_at < last < place)


def first_cut(results: list[ResultMessage]) -> Cut:
	"""A cut that is made even if there is room: very long results are always shortened."""
	return {
		place: message for result in results for place, message in result.cut_to(MAX_RESULT_CHARS).items()
	}


def further_cuts(
	messages: list[dict], prompt_at: int, results: list[ResultMessage], allowed: int
) -> Iterator[Cut]:
	"""Further cuts, made in order until the messages fit, least important first."""
	old = [result for result in results if not result.is_last]
	last = [result for result in results if result.is_last]
	# As many characters as tokens: a longer result alone takes about a quarter of the room.
	yield from (result.cut_to(allowed) for result in results)
	yield from excerpts_then_stubs(old)
	yield from exchanges(messages, prompt_at)
	size = allowed // 2
	while size > MIN_EXCERPT_CHARS:
		yield from (result.cut_to(size) for result in last)
		size //= 2
	yield from excerpts_then_stubs(last)


def excerpts_then_stubs(results: list[ResultMessage]) -> Iterator[Cut]:
	yield from (result.cut_to(MIN_EXCERPT_CHARS) for result in results)
	yield from (result.replace_by(stub(result.number)) for result in results)


def exchanges(messages: list[dict], prompt_at: int) -> Iterator[Cut]:
	"""Earlier messages in groups, each from one user message to the next, without system messages."""
	exchange: Cut = {}
	for place, message in enumerate(messages[:prompt_at]):
		if message["role"] == "user" and exchange:
			yield exchange
			exchange = {}
		if message["role"] != "system":
			exchange[place] = None
	if exchange:
		yield exchange
