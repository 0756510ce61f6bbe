"""Context variables, in which frappe keeps its state, between a coroutine, its tasks and a thread that works for it."""

import contextvars
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple


class Carried:
	"""Context variables as a coroutine left them: what is waited for in a task of its own has a copy of them."""

	def __init__(self):
		self.context: contextvars.Context | None = None

	async def run(self, awaitable: Awaitable) -> Any:
		try:
			return await awaitable
		finally:
			self.context = contextvars.copy_context()

	def restore(self) -> None:
		carry_back(self.context or {})


def carry_back(context: Mapping[contextvars.ContextVar, Any]) -> None:
	"""Make this context's variables what they are in another."""
	for variable, value in context.items():
		if variable.get(None) is not value:
			variable.set(value)


class Ended(NamedTuple):
	"""How something ended: what it gave, or what it raised."""

	value: Any = None
	error: BaseException | None = None

	def result(self) -> Any:
		if self.error:
			raise self.error
		return self.value


def ended(function: Callable[[], Any]) -> Ended:
	try:
		return Ended(function())
	except BaseException as error:
		return Ended(error=error)
