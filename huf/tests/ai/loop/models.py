"""A model for tests of the loop alone, made from an async function of (messages, tools, on_text)."""

from huf.ai.loop.model import FreeModel


class FunctionModel(FreeModel):
	def __init__(self, function):
		self.function = function

	async def complete(self, messages, tools, on_text, max_tokens=None):
		return await self.function(messages, tools, on_text)
