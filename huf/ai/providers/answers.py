"""Assembles a model's answer from a response, or a stream of chunks, in OpenAI's format."""

import asyncio
import contextvars
import json
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from secrets import token_hex
from typing import Any

from huf.ai.core.json_text import make_encodable
from huf.ai.core.types import CallRequest, ModelReply, Usage
from huf.ai.loop.model import OnText
from huf.ai.providers.failures import BROKEN_OFF, AnswerTooLarge
from huf.ai.providers.repetition import RepetitionWatch
from huf.ai.providers.response_guard import ResponseGuard
from huf.ai.providers.text_tool_calls import ToolSchemas

MAX_ANSWER_CHARS = 2_000_000
"""Text and arguments together. More than any model writes at once, and the most that the journal stores of a
call.
"""
CALL_CHARS = 1_000
"""Added to the length of a call's name and arguments, because each call is recorded."""
MAX_REASONING_CHARS = 50_000
"""Reasoning beyond this is neither streamed nor stored: it serves people only, and they read no more."""


class TextRelay:
	"""Passes text to `on_text` in order, on the event loop and in the context that created the relay.

	Any thread may add text. Text added while the loop is busy is passed on in one piece, which is cheaper.
	"""

	def __init__(self, on_text: OnText):
		self.on_text = on_text
		self.waiting: deque[tuple[str, bool]] = deque()
		self.loop, self.context = asyncio.get_running_loop(), contextvars.copy_context()

	def add(self, text: str, is_reasoning: bool = False) -> None:
		self.waiting.append((text, is_reasoning))
		if len(self.waiting) == 1:
			self.loop.call_soon_threadsafe(self.flush, context=self.context)

	def flush(self) -> None:
		parts = []
		while self.waiting:
			parts.append(self.waiting.popleft())
		for is_reasoning, pieces in groupby(parts, key=itemgetter(1)):
			self.on_text("".join(text for text, _ in pieces), is_reasoning=is_reasoning)


class AnswerBuilder:
	"""An answer under construction. `on_text` receives its text; `usage` is None until the provider reports
	it.

	`tools` marks the answer of a local model: it goes through the response guard, and ends when it repeats
	itself.
	"""

	def __init__(self, on_text: OnText, tools: ToolSchemas | None = None):
		self.parts: list[str] = []
		self.reasoning = ""
		self.calls: dict[tuple[int, int], dict[str, str]] = {}
		self.newest: dict[int, int] = {}
		self.chars = 0
		self.finish_reason = ""
		self.usage: Any = None
		self.guard = None if tools is None else ResponseGuard(tools, on_text, self.keep_reasoning)
		self.repetition = None if tools is None else RepetitionWatch()
		self.on_text = on_text
		self.began = time.perf_counter()

	def begin(self) -> None:
		"""The request is sent now: learning how to call the model, which can take seconds, has ended."""
		self.began = time.perf_counter()

	@property
	def text(self) -> str:
		"""The text so far, in which a character may be in two halves."""
		return self.guard.text if self.guard else "".join(self.parts)

	@property
	def fault(self) -> str | None:
		"""Why a complete answer is unusable, or None."""
		if not self.finish_reason:
			return BROKEN_OFF
		if self.finish_reason == "content_filter":
			return "The provider's content filter stopped the answer. Word the request differently."
		if self.is_empty and self.finish_reason != "length":
			return "The model sent an empty answer. Try again."
		return None

	@property
	def is_empty(self) -> bool:
		return not self.calls and not (self.guard and self.guard.calls) and not self.text.strip()

	async def read_stream(self, stream: AsyncIterator) -> None:
		async for chunk in stream:
			self.usage = getattr(chunk, "usage", None) or self.usage
			for choice in chunk.choices[:1]:
				self.finish_reason = choice.finish_reason or self.finish_reason
				self.add_reasoning(choice.delta)
				self.add_text(choice.delta.content or find_refusal(choice.delta))
				for part in choice.delta.tool_calls or ():
					self.add_call(part, part.index or 0)
			if self.repetition and self.repetition.is_endless:
				self.finish_reason = "repetition"
				break
		self.finish()

	def read_response(self, response) -> None:
		self.usage = getattr(response, "usage", None)
		for choice in response.choices[:1]:
			self.finish_reason = choice.finish_reason or ""
			self.add_reasoning(choice.message)
			self.add_text(choice.message.content or find_refusal(choice.message))
			for index, part in enumerate(choice.message.tool_calls or ()):
				self.add_call(part, index)
		self.finish()

	def count(self, chars: int) -> None:
		"""Add to the length of the answer. Raises AnswerTooLarge."""
		self.chars += chars
		if self.chars > MAX_ANSWER_CHARS:
			raise AnswerTooLarge(MAX_ANSWER_CHARS, "characters")

	def add_text(self, content: str | list | None) -> None:
		text = join_content(content)
		self.count(len(text))
		if text and self.repetition:
			self.repetition.feed(text)
		if text and self.guard:
			self.guard.feed(make_encodable(text))
		elif text:
			self.parts.append(text)
			self.on_text(make_encodable(text))

	def add_reasoning(self, message) -> None:
		"""LiteLLM puts every provider's reasoning into this field; messages without reasoning lack it."""
		if text := getattr(message, "reasoning_content", None):
			self.count(len(text))
			self.keep_reasoning(text)

	def keep_reasoning(self, text: str) -> None:
		text = text[: MAX_REASONING_CHARS - len(self.reasoning)]
		if text:
			self.reasoning += text
			self.on_text(make_encodable(text), is_reasoning=True)

	def finish(self) -> None:
		if self.guard:
			self.guard.finish()

	def add_call(self, part, index: int) -> None:
		name, arguments = part.function.name or "", part.function.arguments or ""
		if not isinstance(arguments, str):
			# Some local servers send an object where text belongs.
			arguments = json.dumps(arguments)
		call = self.find_call(index, str(part.id or ""), name)
		self.count(len(name) + len(arguments))
		# Some servers repeat the whole name with each piece of the arguments.
		call["name"] += name if name != call["name"] else ""
		call["arguments"] += arguments

	def find_call(self, index: int, call_id: str, name: str) -> dict[str, str]:
		"""The call that a part belongs to. Some servers use one index for all calls: another ID with a name
		begins another call.
		"""
		newest = self.calls.get((index, self.newest.get(index, 0)))
		is_other = newest and newest["name"] and name and newest["id"] and call_id not in ("", newest["id"])
		if newest is None or is_other:
			self.count(CALL_CHARS)
			self.newest[index] = self.newest.get(index, -1) + 1
			newest = self.calls[index, self.newest[index]] = {"id": "", "name": "", "arguments": ""}
		newest["id"] = call_id or newest["id"]
		return newest

	def list_calls(self) -> Iterator[CallRequest]:
		for _, call in sorted(self.calls.items()):
			known = (call["id"] or new_call_id(), call["name"], call["arguments"])
			yield CallRequest(*map(make_encodable, known))

	def to_reply(self, model: str, usage: Usage) -> ModelReply:
		calls = tuple(self.list_calls())
		text, reasoning = map(make_encodable, (self.text, self.reasoning.strip()))
		took_s, reason = time.perf_counter() - self.began, self.finish_reason
		reply = ModelReply(text, calls, usage, reason, model, reasoning=reasoning, took_s=took_s)
		return add_text_calls(reply, self.guard) if self.guard else reply


def join_content(content: Any) -> str:
	"""The text of a message's content; none if it is neither text nor parts of one."""
	if not isinstance(content, list):
		return content if isinstance(content, str) else ""
	texts = (part.get("text") for part in content if isinstance(part, dict))
	return "".join(text for text in texts if isinstance(text, str))


def find_refusal(message) -> str:
	"""The model's reason for refusing, which OpenAI's models send in a field of its own, without content.

	LiteLLM keeps the field of a whole message among `provider_specific_fields`.
	"""
	fields = getattr(message, "provider_specific_fields", None) or {}
	refusal = getattr(message, "refusal", None) or fields.get("refusal")
	return refusal if isinstance(refusal, str) else ""


def add_text_calls(reply: ModelReply, guard: ResponseGuard) -> ModelReply:
	"""Add calls found in the text, unless the model also made real calls: then only those count."""
	written = () if reply.calls else tuple(CallRequest(new_call_id(), *call) for call in guard.calls)
	original = guard.raw if guard.raw != guard.text else None
	return replace(reply, calls=reply.calls or written, original_text=original, corrected=bool(written))


def new_call_id() -> str:
	"""An ID for a call that has none. Nine characters: Mistral accepts no other length."""
	return token_hex(5)[:9]
