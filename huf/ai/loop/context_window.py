"""Fits what a model is sent into its context window, without changing the transcript itself.

The oldest tool results are shortened first, then only named; then the oldest exchanges of earlier runs
are dropped. System messages, this run's prompt and the results of its last step stay whole as long as
anything else can be cut. A call and its result stay together. The same transcript is always fitted in the
same way.
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
"""Of a window; the rest is for the answer and for inexact counting."""
DEFAULT_WINDOW = 32_768
"""Tokens, where a model's window is unknown."""
CHARS_PER_TOKEN = 4

Cut = dict[int, dict | None]
"""Messages by position, and what is sent instead; None: nothing."""


class Count(Protocol):
	"""Counts the tokens of messages; where there are more than `limit`, it may return any number above it."""

	def __call__(self, messages: list[dict], limit: float = inf) -> int: ...


def estimate(messages: list[dict], limit: float = inf) -> int:
	"""Tokens of messages, without a tokenizer."""
	words = sum(len(str(message)) for message in messages) // CHARS_PER_TOKEN
	return words + IMAGE_TOKENS * count_images(messages)


@dataclass(frozen=True)
class Room:
	"""How much a model can be sent. `window` is in tokens; `count` returns those of messages."""

	window: int = DEFAULT_WINDOW
	count: Count = estimate
	share: float = INPUT_SHARE

	@property
	def allowed(self) -> int:
		return int(self.window * self.share)


@dataclass(frozen=True)
class Fitted:
	"""What to send. `is_partial`: results of this run are not sent whole, so `read_more` is of use."""

	messages: list[dict]
	is_partial: bool = False


@dataclass(frozen=True)
class TooLong:
	"""The messages do not fit, whatever is left out; counts are tokens."""

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
		"""Nothing is replaced by a longer text."""
		shorter = len(text) < len(self.message["content"])
		return {self.place: {**self.message, "content": text}} if shorter else {}


def fit(messages: list[dict], prompt_at: int, room: Room) -> Fitted | TooLong:
	"""The messages as they can be sent; the same list where nothing has to change.

	`prompt_at` is the position of this run's prompt; messages before it belong to earlier runs.
	"""
	results = list(read_results(messages, prompt_at))
	steps = [first_cut(results)]

	def after(number: int) -> list[dict]:
		return apply(messages, steps[: number + 1])

	def fits(number: int) -> bool:
		return room.count(after(number), room.allowed) <= room.allowed

	number = 0
	if not fits(0):
		steps += further_cuts(messages, prompt_at, results, room.allowed)
		number = bisect_left(range(len(steps)), True, key=fits)
	if number == len(steps):
		return TooLong(room.count(after(number)), room.allowed)
	changed = {place for step in steps[: number + 1] for place in step}
	if not changed:
		return Fitted(messages)
	return Fitted(after(number), any(result.number and result.place in changed for result in results))


def apply(messages: list[dict], cuts: list[Cut]) -> list[dict]:
	changes = {place: message for cut in cuts for place, message in cut.items()}
	if not changes:
		return messages
	sent = (changes.get(place, message) for place, message in enumerate(messages))
	return [message for message in sent if message is not None]


def read_results(messages: list[dict], prompt_at: int) -> Iterator[ResultMessage]:
	places = reversed(range(len(messages)))
	last = next((place for place in places if messages[place].get("tool_calls")), 0)
	number = 0
	for place, message in enumerate(messages):
		if message["role"] == "tool":
			number += place > prompt_at
			yield ResultMessage(place, message, number or None, prompt_at < last < place)


def first_cut(results: list[ResultMessage]) -> Cut:
	"""Made even where there is room: no model reads a book at once."""
	return {
		place: message for result in results for place, message in result.cut_to(MAX_RESULT_CHARS).items()
	}


def further_cuts(
	messages: list[dict], prompt_at: int, results: list[ResultMessage], allowed: int
) -> Iterator[Cut]:
	"""Made one after the other until it fits; what is least missed comes first."""
	old = [result for result in results if not result.is_last]
	last = [result for result in results if result.is_last]
	# As many characters as there may be tokens: a longer result takes about a quarter of the room by
	# itself.
	yield from (result.cut_to(allowed) for result in results)
	yield from (result.cut_to(MIN_EXCERPT_CHARS) for result in old)
	yield from (result.replace_by(stub(result.number)) for result in old)
	yield from exchanges(messages, prompt_at)
	size = allowed // 2
	while size > MIN_EXCERPT_CHARS:
		yield from (result.cut_to(size) for result in last)
		size //= 2
	yield from (result.cut_to(MIN_EXCERPT_CHARS) for result in last)
	yield from (result.replace_by(stub(result.number)) for result in last)


def exchanges(messages: list[dict], prompt_at: int) -> Iterator[Cut]:
	"""Earlier messages, each group from one user message to the next; system messages stay."""
	exchange: Cut = {}
	for place, message in enumerate(messages[:prompt_at]):
		if message["role"] == "user" and exchange:
			yield exchange
			exchange = {}
		if message["role"] != "system":
			exchange[place] = None
	if exchange:
		yield exchange
