"""Fits what a model is sent into its window. The transcript itself is never changed: a copy is made of what must change.

The oldest results of tools are shortened first, then only named; then the oldest exchanges of earlier runs go. The system's
messages, what this run was asked and its last step's results stay whole as long as anything else can give way. A call and
its result stay together. The same transcript is always fitted in the same way.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from huf.ai.core.attachments import IMAGE_TOKENS, count_images
from huf.ai.core.types import MAX_SHOWN
from huf.ai.loop.tool_results import MIN_SHOWN_CHARS, excerpt, stub

SHARE = 0.75
"""Of a window: the rest is for the answer, and for counting that is not exact."""
DEFAULT_WINDOW = 32_768
"""Tokens, where nobody says how large a model's window is."""
CHARACTERS_PER_TOKEN = 4

Cut = dict[int, dict | None]
"""Messages by their place, and what is sent instead; None: nothing."""


def estimate(messages: list[dict]) -> int:
	"""Tokens of messages, where there is no tokenizer to ask."""
	words = sum(len(str(message)) for message in messages) // CHARACTERS_PER_TOKEN
	return words + IMAGE_TOKENS * count_images(messages)


@dataclass(frozen=True)
class Room:
	"""How much a model can be sent. `window` is in tokens, `count` gives those of messages."""

	window: int = DEFAULT_WINDOW
	count: Callable[[list[dict]], int] = estimate
	share: float = SHARE

	@property
	def allowed(self) -> int:
		return int(self.window * self.share)


@dataclass(frozen=True)
class Fitted:
	"""What to send. `partial`: results of this run are not shown whole, so that `read_more` is of use."""

	messages: list[dict]
	partial: bool = False


@dataclass(frozen=True)
class TooLong:
	"""What has to be sent does not fit, whatever is left out."""

	needed: int
	allowed: int

	def __str__(self) -> str:
		return (
			f"What the model has to be told takes {self.needed:,} tokens, and there is room for {self.allowed:,}. "
			"Shorten the instructions or the request, give the agent fewer tools, or choose a model with a larger window."
		)


@dataclass(frozen=True)
class Result:
	"""A tool's message; `number` counts those of this run from 1 and is None for older ones. `last`: of the last step."""

	place: int
	message: dict
	number: int | None
	last: bool

	def shown_in(self, most: int) -> Cut:
		if len(self.message["content"]) <= most:
			return {}
		return self.shown_as(excerpt(self.message["content"], most, self.number))

	def shown_as(self, text: str) -> Cut:
		"""Nothing is replaced by what is longer."""
		shorter = len(text) < len(self.message["content"])
		return {self.place: {**self.message, "content": text}} if shorter else {}


def fit(messages: list[dict], asked: int, room: Room) -> Fitted | TooLong:
	"""The messages as they can be sent: the same list where nothing has to change.

	`asked` is the place of the message that this run is about; what stands before it was said earlier.
	"""
	results = list(read_results(messages, asked))
	steps = [first_cut(results)]

	def after(number: int) -> list[dict]:
		return apply(messages, steps[: number + 1])

	def fits(number: int) -> bool:
		return room.count(after(number)) <= room.allowed

	number = 0
	if not fits(0):
		steps += further_cuts(messages, asked, results, room.allowed)
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


def read_results(messages: list[dict], asked: int) -> Iterator[Result]:
	places = reversed(range(len(messages)))
	last = next((place for place in places if messages[place].get("tool_calls")), 0)
	number = 0
	for place, message in enumerate(messages):
		if message["role"] == "tool":
			number += place > asked
			yield Result(place, message, number or None, asked < last < place)


def first_cut(results: list[Result]) -> Cut:
	"""What is done even where there is room: no model reads a book at once."""
	return {place: message for result in results for place, message in result.shown_in(MAX_SHOWN).items()}


def further_cuts(messages: list[dict], asked: int, results: list[Result], allowed: int) -> Iterator[Cut]:
	"""One after the other until it fits: what is least missed comes first."""
	old = [result for result in results if not result.last]
	last = [result for result in results if result.last]
	# As many characters as there may be tokens: a result that is longer takes about a quarter of the room by itself.
	yield from (result.shown_in(allowed) for result in results)
	yield from (result.shown_in(MIN_SHOWN_CHARS) for result in old)
	yield from (result.shown_as(stub(result.number)) for result in old)
	yield from exchanges(messages, asked)
	size = allowed // 2
	while size > MIN_SHOWN_CHARS:
		yield from (result.shown_in(size) for result in last)
		size //= 2
	yield from (result.shown_in(MIN_SHOWN_CHARS) for result in last)
	yield from (result.shown_as(stub(result.number)) for result in last)


def exchanges(messages: list[dict], asked: int) -> Iterator[Cut]:
	"""What was said before this run, from one thing a person said to the next; the system's messages stay."""
	exchange: Cut = {}
	for place, message in enumerate(messages[:asked]):
		if message["role"] == "user" and exchange:
			yield exchange
			exchange = {}
		if message["role"] != "system":
			exchange[place] = None
	if exchange:
		yield exchange
