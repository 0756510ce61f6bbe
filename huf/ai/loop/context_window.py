"""Fits a transcript into a model's context window, without changing the transcript itself.

The oldest tool results are shortened first, then replaced by stubs; then the oldest exchanges of earlier runs
are dropped, and the results of this run's last step are shortened last. System messages and this run's prompt
are never cut. A call and its result stay together. Fitting is deterministic.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Protocol

from huf.ai.core.attachments import IMAGE_TOKENS, count_images
from huf.ai.core.types import MAX_RESULT_CHARS
from huf.ai.loop.tool_results import MIN_EXCERPT_CHARS, excerpt, stub

INPUT_SHARE = 0.75
"""Share of the window for input; the rest is for the answer and for inexact counting."""
DEFAULT_WINDOW = 32_768
"""Tokens, for models whose window is unknown."""
CHARS_PER_TOKEN = 4

Cut = dict[int, dict | None]
"""Messages by position, and their replacements; None removes a message."""


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
