"""Counts the tokens of what a model is sent, each message once in a run. Pure: a tokenizer is handed to it."""

import json
from collections.abc import Callable
from functools import cached_property
from hashlib import blake2b

from huf.ai.core.attachments import IMAGE_TOKENS, count_images
from huf.ai.core.types import Tool

AROUND = 16
"""Tokens around a message, and around a call in it."""


class TokenCount:
	"""Tokens of messages together with the tools, rather a few too many than one too few.

	Messages of at most `enough` bytes are not counted: no tokenizer makes more tokens than there are bytes.
	"""

	def __init__(self, count: Callable[[str], int], tools: list[Tool], enough: int):
		self.count, self.enough = count, enough
		self.specs = json.dumps([tool.as_spec() for tool in tools], ensure_ascii=False)
		self.seen: tuple[list[dict], int] = ([], 0)
		self.known: dict[bytes, int] = {}

	def __call__(self, messages: list[dict]) -> int:
		most = len(self.specs.encode()) + self.most(messages)
		return most if most <= self.enough else self.tools + sum(map(self.tokens, messages))

	def most(self, messages: list[dict]) -> int:
		"""Tokens of messages, of which all but the last few are mostly those of the step before."""
		seen, most = self.seen
		if messages[: len(seen)] != seen:
			seen, most = [], 0
		most += sum(map(most_of, messages[len(seen) :]))
		self.seen = list(messages), most
		return most

	@cached_property
	def tools(self) -> int:
		return self.count(self.specs)

	def tokens(self, message: dict) -> int:
		text = text_of(message)
		key = blake2b(text, digest_size=16).digest()
		if key not in self.known:
			self.known[key] = self.count(text.decode())
		return self.known[key] + around(message)


def most_of(message: dict) -> int:
	return len(text_of(message)) + around(message)


def around(message: dict) -> int:
	"""Tokens of what is no text."""
	return AROUND * (1 + len(message.get("tool_calls") or ())) + IMAGE_TOKENS * count_images((message,))


def text_of(message: dict) -> bytes:
	"""Whatever of a message a tokenizer has to read."""
	said = message.get("content") or ""
	for call in message.get("tool_calls") or ():
		said += f"\n{call['function']['name']} {call['function']['arguments']}"
	return said.encode("utf-8", "replace")
