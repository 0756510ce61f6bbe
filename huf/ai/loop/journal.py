"""What the loop expects of the record of a run."""

from collections.abc import Callable
from typing import Protocol

from huf.ai.core.costs import Grant, WorstCase
from huf.ai.core.types import Call, ModelReply, ToolResult, Usage

MeasureCost = Callable[[], WorstCase | None]


class Journal(Protocol):
	"""Records each step before the next begins; what can be repeated without harm may wait for the next
	record.

	`provider` and `model` are those of the model that answers now. A run that broke off is resumed by asking
	`find_reply` and `find_tool_result` first.
	"""

	provider: str | None
	model: str

	def find_reply(self, step: int) -> ModelReply | None: ...
	def find_tool_result(self, step: int, call: Call) -> ToolResult | None:
		"""Asked once for each call of a turn, in order, before the first of them is made."""

	def start_model_call(self, step: int, measure_cost: MeasureCost) -> Grant | None:
		"""Where a limit holds, reserve what the call may cost. Raises BudgetReserved, RunStopped."""

	def finish_model_call(self, step: int, reply: ModelReply) -> None: ...

	def fail_model_call(self, step: int, why: str, partial: str, usage: Usage | None) -> None:
		"""`usage`: what the failed call has used; None: unknown."""

	def start_tool_call(self, step: int, call: Call) -> None: ...

	def finish_tool_call(self, step: int, tool_result: ToolResult) -> None: ...

	def withdraw_tool_call(self, call: Call) -> None:
		"""Forget that a call has begun: it waits for a person, and is made again when the run resumes."""

	def finish_step(self, step: int, reply: ModelReply, tool_results: list[ToolResult]) -> None: ...


class NoJournal:
	"""Records nothing: for uses of the loop that nobody needs to find again."""

	provider: str | None = None
	model: str = ""

	def find_reply(self, step: int) -> ModelReply | None:
		return None

	def find_tool_result(self, step: int, call: Call) -> ToolResult | None:
		return None

	def start_model_call(self, step: int, measure_cost: MeasureCost) -> Grant | None:
		return None

	def finish_model_call(self, step: int, reply: ModelReply) -> None: ...
	def fail_model_call(self, step: int, why: str, partial: str, usage: Usage | None) -> None: ...
	def start_tool_call(self, step: int, call: Call) -> None: ...
	def finish_tool_call(self, step: int, tool_result: ToolResult) -> None: ...
	def withdraw_tool_call(self, call: Call) -> None: ...
	def finish_step(self, step: int, reply: ModelReply, tool_results: list[ToolResult]) -> None: ...
