"""The interface between the loop and the journal of a run."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from huf.ai.core.costs import Grant, WorstCase
from huf.ai.core.types import Call, ModelReply, ToolResult, Usage

MeasureCost = Callable[[], WorstCase | None]


class Journal(Protocol):
	"""Records each step before the next begins; rows of calls that are safe to repeat may be written with the
	next one.

	`provider` and `model` are those of the current model. An interrupted run is resumed by calling
	`find_reply` and `find_tool_result` first.
	"""

	provider: str | None
	model: str

	def find_reply(self, step: int) -> ModelReply | None: ...
	def find_tool_result(self, step: int, call: Call) -> ToolResult | None:
		"""The recorded result of a call, or None. Called once for each call of a turn, in order, before the
		first is made.
		"""

	def start_model_call(self, step: int, measure_cost: MeasureCost) -> Grant | None:
		"""Record the call and, if limits apply, reserve its worst case. Raises BudgetReserved, RunStopped."""

	def finish_model_call(self, step: int, reply: ModelReply) -> None: ...

	def fail_model_call(self, step: int, why: str, partial: str, usage: Usage | None) -> None:
		"""`usage`: that of the failed call; None if unknown."""

	def waiting(self) -> AbstractContextManager[None]:
		"""Entered while the run waits for its model, or before it calls it again."""

	def start_tool_call(self, step: int, call: Call) -> None: ...

	def finish_tool_call(self, step: int, tool_result: ToolResult) -> None: ...

	def withdraw_tool_call(self, call: Call) -> None:
		"""Delete the record of a started call: it waits for a person, and is made again when the run
		resumes.
		"""

	def finish_step(self, step: int, reply: ModelReply, tool_results: list[ToolResult]) -> None: ...


class NoJournal:
	"""A journal that records nothing, for uses of the loop without a run."""

	provider: str | None = None
	model: str = ""

	def find_reply(self, step: int) -> ModelReply | None:
		return None

	def find_tool_result(self, step: int, call: Call) -> ToolResult | None:
		return None

	def start_model_call(self, step: int, measure_cost: MeasureCost) -> Grant | None:
		return None

	def waiting(self) -> AbstractContextManager[None]:
		return nullcontext()

	def finish_model_call(self, step: int, reply: ModelReply) -> None: ...
	def fail_model_call(self, step: int, why: str, partial: str, usage: Usage | None) -> None: ...
	def start_tool_call(self, step: int, call: Call) -> None: ...
	def finish_tool_call(self, step: int, tool_result: ToolResult) -> None: ...
	def withdraw_tool_call(self, call: Call) -> None: ...
	def finish_step(self, step: int, reply: ModelReply, tool_results: list[ToolResult]) -> None: ...
