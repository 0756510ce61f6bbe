"""What a run passes to its provider: its context, whose fields are all optional, and the interface of its
journal.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields
from typing import Any, Protocol

from huf.ai.core.costs import Grant, WorstCase
from huf.ai.core.events import Emit, EventKind
from huf.ai.core.types import Call, ModelReply, ToolResult, Usage
from huf.ai.loop.guards import Guard, StepCap

MeasureCost = Callable[[], WorstCase | None]
DEFAULT_STEPS = 10
Approve = Callable[[int, Call, Sequence[Call]], Awaitable[Call]]
"""`(step, call, later)`: returns the call as it may be made, perhaps with an error instead. Raises RunPaused,
for this call and those of the `later` calls of its turn that need a person as well.
"""
LargerModel = Callable[[bool], tuple[str | None, str] | None]
"""Returns the (provider, model) of a larger model, or None.

The argument says whether the current one is unreachable.
"""
Review = Callable[[int, str], str | None]
"""`(step, answer)`: returns a message that says why the model must revise its answer, or None. The same
whenever it is called, because a resumed run calls it again.
"""


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


def ignore(kind: EventKind, data: dict[str, Any]) -> None:
	"""An `Emit` that discards events."""


@dataclass
class RunContext:
	"""A run, as its provider sees it.

	`agent_name` names the Agent record with its settings. `messages` begin the transcript, in OpenAI's form;
	without them the agent's instructions and the prompt do. `is_streamed`: somebody reads along.
	`larger_model` is asked when the run does not get on with its own. `review`: checks the answer before
	anybody reads it.
	"""

	agent_name: str | None = None
	messages: list[dict] | None = None
	guards: Sequence[Guard] = (StepCap(DEFAULT_STEPS),)
	journal: Journal = field(default_factory=NoJournal)
	emit: Emit = ignore
	approve: Approve | None = None
	is_streamed: bool = False
	larger_model: LargerModel | None = None
	review: Review | None = None

	@classmethod
	def of(cls, context: "RunContext | Mapping[str, Any] | None") -> "RunContext":
		"""A context as a caller of the public API passes it: a plain dict with some of these fields is
		enough.
		"""
		if isinstance(context, RunContext):
			return context
		known = {each.name for each in fields(cls)}
		return cls(**{key: value for key, value in (context or {}).items() if key in known})
