"""Puts an answer together in OpenAI's form, whole or chunk by chunk."""

import asyncio
import contextvars
import json
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from secrets import token_hex

from huf.ai.core.types import CallRequest, ModelReply, Usage
from huf.ai.providers.response_guard import ResponseGuard
from huf.ai.providers.text_tool_calls import ToolSchemas


class TextRelay:
	"""Text on its way to `function`, which hears it in order, on the loop and in the context in which this was made.

	What is added while that loop is busy, by whatever thread, is told together: each piece by itself would cost more.
	"""

	def __init__(self, function: Callable[[str], None]):
		self.function, self.waiting = function, deque()
		self.loop, self.context = asyncio.get_running_loop(), contextvars.copy_context()

	def add(self, text: str) -> None:
		self.waiting.append(text)
		if len(self.waiting) == 1:
			self.loop.call_soon_threadsafe(self.flush, context=self.context)

	def flush(self) -> None:
		parts = []
		while self.waiting:
			parts.append(self.waiting.popleft())
		if parts:
			self.function("".join(parts))


class AnswerBuilder:
	"""An answer as it grows; `on_text` is told its text. `usage` is the provider's own, None until it is told.

	With `tools` it is a local model's, and passes the response guard.
	"""

	def __init__(self, on_text: Callable[[str], None], tools: ToolSchemas | None = None):
		self.parts: list[str] = []
		self.calls: dict[int, dict[str, str]] = {}
		self.finish_reason = ""
		self.usage = None
		self.guard = None if tools is None else ResponseGuard(tools, on_text)
		self.on_text = on_text

	@property
	def text(self) -> str:
		return self.guard.text if self.guard else "".join(self.parts)

	@property
	def is_empty(self) -> bool:
		return not self.calls and not (self.guard and self.guard.calls) and not self.text.strip()

	async def read_stream(self, stream: AsyncIterator) -> None:
		async for chunk in stream:
			self.usage = getattr(chunk, "usage", None) or self.usage
			for choice in chunk.choices[:1]:
				self.finish_reason = choice.finish_reason or self.finish_reason
				self.add_text(choice.delta.content)
				for part in choice.delta.tool_calls or ():
					self.add_call(part, part.index or 0)
		self.finish()

	def read_response(self, response) -> None:
		self.usage = getattr(response, "usage", None)
		for choice in response.choices[:1]:
			self.finish_reason = choice.finish_reason or ""
			self.add_text(choice.message.content)
			for index, part in enumerate(choice.message.tool_calls or ()):
				self.add_call(part, index)
		self.finish()

	def add_text(self, text: str | None) -> None:
		if text and self.guard:
			self.guard.feed(text)
		elif text:
			self.parts.append(text)
			self.on_text(text)

	def finish(self) -> None:
		if self.guard:
			self.guard.finish()

	def add_call(self, part, index: int) -> None:
		call = self.calls.setdefault(index, {"id": "", "name": "", "arguments": ""})
		call["id"] = part.id or call["id"]
		call["name"] += part.function.name or ""
		arguments = part.function.arguments or ""
		# Some local servers send an object where text belongs.
		call["arguments"] += arguments if isinstance(arguments, str) else json.dumps(arguments)

	def to_reply(self, model: str, usage: Usage) -> ModelReply:
		calls = tuple(
			CallRequest(call["id"] or new_call_id(), call["name"], call["arguments"])
			for _, call in sorted(self.calls.items())
		)
		reply = ModelReply(self.text, calls, usage, self.finish_reason, model)
		return add_text_calls(reply, self.guard) if self.guard else reply


def add_text_calls(reply: ModelReply, guard: ResponseGuard) -> ModelReply:
	"""A reply with the calls that were written as text; where the model has made calls as well, only those count."""
	written = () if reply.calls else tuple(CallRequest(new_call_id(), *call) for call in guard.calls)
	original = guard.raw if guard.raw != guard.text else None
	return replace(reply, calls=reply.calls or written, original_text=original, corrected=bool(written))


def new_call_id() -> str:
	"""For a call that has none; nine characters, as Mistral wants them."""
	return token_hex(5)[:9]
