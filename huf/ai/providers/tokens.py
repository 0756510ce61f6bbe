"""Counts the tokens of requests to a model, each message once per run.

Pure: the tokenizer is passed in.
"""

import json
from collections.abc import Callable
from functools import cached_property, lru_cache
from math import inf

from huf.ai.core.attachments import IMAGE_TOKENS
from huf.ai.core.types import Tool

OVERHEAD_TOKENS = 16
"""Tokens per message, and per call in it, in addition to their text."""
CACHED_CHARS = 1_000
"""Counts of longer texts are not cached, because the cache keeps the texts as well."""


class TokenCounter:
	"""Counts the tokens of messages and tools; overestimates rather than underestimates.

	Up to `exact_above_tokens` bytes, bytes are counted instead: no tokenizer makes more tokens than there are
	bytes.
	"""

	def __init__(self, count: Callable[[str], int], tools: list[Tool], exact_above_tokens: int):
		self.count, self.exact_above_tokens = count, exact_above_tokens
		self.specs = json.dumps([tool.as_spec() for tool in tools], ensure_ascii=False)
		self.seen: tuple[list[dict], int] = ([], 0)
		self.known: dict[str, int] = {}

	def __call__(self, messages: list[dict], limit: float = inf) -> int:
		"""Count from the newest message back until `limit` is exceeded, so that most of a long history is
		skipped.
		"""
		if not self.known:
			max_tokens = len(self.specs.encode()) + self.estimate(messages)
			if max_tokens <= self.exact_above_tokens:
				return max_tokens
		tokens = self.tools
		for message in reversed(messages):
			tokens += self.tokens(message)
			if tokens > limit:
				break
		return tokens

	def estimate(self, messages: list[dict]) -> int:
		"""An upper bound for messages, or any number above `exact_above_tokens`. Those of the previous call
		are not measured again.
		"""
		seen, max_tokens = self.seen
		if messages[: len(seen)] != seen:
			seen, max_tokens = [], 0
		for message in messages[len(seen) :]:
			max_tokens += count_max_tokens(message)
			if max_tokens > self.exact_above_tokens:
				return max_tokens
		self.seen = list(messages), max_tokens
		return max_tokens

	@cached_property
	def tools(self) -> int:
		return self.count(self.specs)

	def tokens(self, message: dict) -> int:
		text = to_tokenized_text(message)
		if text not in self.known:
			self.known[text] = self.count(text.encode("utf-8", "replace").decode())
		return self.known[text] + count_overhead(message)


def count_text(count: Callable[[str, str], int], model: str, text: str) -> int:
	"""Tokens of a text by `count`, which takes model and text. Short texts are counted once per process."""
	return count_short_text(count, model, text) if len(text) <= CACHED_CHARS else count(model, text)


@lru_cache(maxsize=4_096)
def count_short_text(count: Callable[[str, str], int], model: str, text: str) -> int:
	# Each run of a chat counts the messages of the runs before it again.
	return count(model, text)


def count_max_tokens(message: dict) -> int:
	return len(to_tokenized_text(message).encode("utf-8", "replace")) + count_overhead(message)


def count_overhead(message: dict) -> int:
	"""Tokens of a message in addition to its text."""
	calls, images = message.get("tool_calls") or (), message.get("images") or ()
	return OVERHEAD_TOKENS * (1 + len(calls)) + IMAGE_TOKENS * len(images)


def to_tokenized_text(message: dict) -> str:
	"""The text of a message for the tokenizer: content, and names and arguments of calls."""
	text = message.get("content") or ""
	for call in message.get("tool_calls") or ():
		text += f"\n{call['function']['name']} {call['function']['arguments']}"
	return text
