"""Puts an answer together in OpenAI's form, whole or chunk by chunk."""

import json
from collections.abc import AsyncIterator, Callable

from huf.ai.types import CallRequest, ModelReply, Usage


class Answer:
	"""An answer as it grows. `usage` is the provider's own, None until it is told."""

	def __init__(self):
		self.parts: list[str] = []
		self.calls: dict[int, dict[str, str]] = {}
		self.finish_reason = ""
		self.usage = None

	@property
	def is_empty(self) -> bool:
		return not self.calls and not "".join(self.parts).strip()

	async def take(self, stream: AsyncIterator, on_text: Callable[[str], None]) -> None:
		async for chunk in stream:
			self.usage = getattr(chunk, "usage", None) or self.usage
			for choice in chunk.choices[:1]:
				self.finish_reason = choice.finish_reason or self.finish_reason
				if choice.delta.content:
					self.parts.append(choice.delta.content)
					on_text(choice.delta.content)
				for part in choice.delta.tool_calls or ():
					self.add_call(part, part.index or 0)

	def take_whole(self, response, on_text: Callable[[str], None]) -> None:
		self.usage = getattr(response, "usage", None)
		for choice in response.choices[:1]:
			self.finish_reason = choice.finish_reason or ""
			if choice.message.content:
				self.parts.append(choice.message.content)
				on_text(choice.message.content)
			for index, part in enumerate(choice.message.tool_calls or ()):
				self.add_call(part, index)

	def add_call(self, part, index: int) -> None:
		call = self.calls.setdefault(index, {"id": "", "name": "", "arguments": ""})
		call["id"] = part.id or call["id"]
		call["name"] += part.function.name or ""
		arguments = part.function.arguments or ""
		# Some local servers send an object where text belongs.
		call["arguments"] += arguments if isinstance(arguments, str) else json.dumps(arguments)

	def reply(self, model: str, usage: Usage) -> ModelReply:
		calls = tuple(
			CallRequest(call["id"] or f"call_{index}", call["name"], call["arguments"])
			for index, call in sorted(self.calls.items())
		)
		return ModelReply("".join(self.parts), calls, usage, self.finish_reason, model)
