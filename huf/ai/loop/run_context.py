"""The context that a run passes to its provider. All fields are optional."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from huf.ai.core.events import Emit, EventKind
from huf.ai.core.types import Call
from huf.ai.loop.guards import Guard, StepCap
from huf.ai.loop.journal import Journal, NoJournal

DEFAULT_STEPS = 10
Approve = Callable[[int, Call, Sequence[Call]], Awaitable[Call]]
"""`(step, call, later)`: returns the call as it may be made, perhaps with an error instead. Raises RunPaused,
for this call and those of the `later` calls of its turn that need a person as well.
"""
LargerModel = Callable[[bool], tuple[str | None, str] | None]
"""Returns the (provider, model) of a larger model, or None.

The argument says whether the current one is unreachable.
"""

Review = Callable[[str], str | None]
"""Returns a message that says why the model must revise its answer, or None."""


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
