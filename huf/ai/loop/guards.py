"""Guards: small objects that decide, before a step and while the run waits, whether it must stop.

They see only the transcript of a run, so resumed and replayed runs are treated alike.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Protocol

from huf.ai.core.types import CallStatus, Effect, StopReason, ToolResult

NUDGE = (
	"You are not making progress: you repeat calls, or learn nothing new from them. "
	"Give your best answer now with what you have so far, and call no more tools."
)
SUM_UP = (
	"You have used up your steps. Sum up for the person, in their language, what you have found and done "
	"so far and what is still missing. Call no more tools."
)


@dataclass(frozen=True)
class Progress:
	"""The state of a run that guards see.

	`step` counts from 1. `waiting`: the step has begun, and a model or a tool that changes no documents is
	running. `turns`: the results of each turn's calls.
	"""

	step: int
	waiting: bool = False
	turns: Sequence[Sequence[ToolResult]] = ()


@dataclass(frozen=True)
class Verdict:
	"""Why a run must stop. `why` explains it to the person, if the reason alone does not.

	`nudge`: a message that first asks the model for its answer; any reply ends the run.
	"""

	reason: StopReason
	why: str | None = None
	nudge: str | None = None


class Guard(Protocol):
	def verdict(self, progress: Progress) -> Verdict | None: ...


@dataclass(frozen=True)
class StepCap:
	"""Limits a run to `steps`; with a `nudge`, the model is then asked once for a summary."""

	steps: int
	nudge: str | None = None

	def verdict(self, progress: Progress) -> Verdict | None:
		if progress.waiting or progress.step <= self.steps:
			return None
		return Verdict(StopReason.MAX_STEPS, nudge=self.nudge)


@dataclass(frozen=True)
class Cancelled:
	"""Stops a run that a person cancelled; `requested` receives whether the run is waiting."""

	requested: Callable[[bool], bool]

	def verdict(self, progress: Progress) -> Verdict | None:
		return Verdict(StopReason.CANCELLED) if self.requested(progress.waiting) else None


@dataclass(frozen=True)
class Deadline:
	"""Limits a run to `seconds` from `started`, a time of `clock`."""

	seconds: float
	started: float
	clock: Callable[[], float] = time.monotonic

	def verdict(self, progress: Progress) -> Verdict | None:
		if self.clock() - self.started < self.seconds:
			return None
		return Verdict(StopReason.TIMEOUT, f"The run exceeded its time limit of {self.seconds:g} seconds.")


@dataclass(frozen=True)
class ToolFailures:
	"""Stops a run in which a tool failed in `maximum` turns in a row.

	The calls of a turn fail together: the model has read no error before it made the second.
	"""

	maximum: int

	def verdict(self, progress: Progress) -> Verdict | None:
		turns = [[o for o in turn if o.status is not CallStatus.REFUSED] for turn in progress.turns[::-1]]
		for name in dict.fromkeys(o.call.request.name for turn in turns for o in turn[::-1]):
			own = ([o.ok for o in turn if o.call.request.name == name] for turn in turns)
			failed = len(list(takewhile(lambda ended: not any(ended), filter(None, own))))
			if failed >= self.maximum:
				why = f"Tool {name} failed {failed} consecutive times. Aborting run."
				return Verdict(StopReason.TOOL_FAILURES, why)
		return None


@dataclass(frozen=True)
class Stall:
	"""Stops a run that repeats a call, or makes `patience` turns without a new result."""

	nudge: str = NUDGE
	patience: int = 3

	def verdict(self, progress: Progress) -> Verdict | None:
		if progress.waiting or not (repeats(progress.turns) or self.has_no_news(progress.turns)):
			return None
		return Verdict(StopReason.STALLED, "The agent repeated itself without making progress.", self.nudge)

	def has_no_news(self, turns: Sequence[Sequence[ToolResult]]) -> bool:
		"""Whether none of the last turns had a new result, or made or was refused a new change.

		An empty result does not count as new.
		"""
		seen: set[str] = set()
		news = []
		for turn in turns:
			learned = {o.text for o in turn if o.ok and not o.is_empty}
			learned |= {o.call.key for o in turn if changes_something(o)}
			news.append(bool(learned - seen))
			seen |= learned
		return len(news) >= self.patience and not any(news[-self.patience :])


def repeats(turns: Sequence[Sequence[ToolResult]]) -> bool:
	"""Whether the last turn repeats a successful call although nothing has happened in between."""
	known: set[str] = set()
	again = False
	for turn in turns:
		given: set[str] = set()
		again = False
		for tool_result in turn:
			again = again or tool_result.call.key in known
			if changes_something(tool_result):
				known, given = set(), set()
			if tool_result.ok:
				given.add(tool_result.call.key)
		known |= given
	return again


def changes_something(tool_result: ToolResult) -> bool:
	"""Whether a later read may differ because of a call: it changed something, here or outside, or was
	refused.
	"""
	is_change = tool_result.ok and tool_result.call.effect is not Effect.READ
	return is_change or is_refusal(tool_result)


def is_refusal(tool_result: ToolResult) -> bool:
	"""Whether a valid call was not made, for example because a person rejected it."""
	return tool_result.status is CallStatus.REFUSED and tool_result.call.arguments is not None


def first_verdict(guards: Iterable[Guard], progress: Progress) -> Verdict | None:
	"""The verdict of the first guard that has one."""
	return next((verdict for guard in guards if (verdict := guard.verdict(progress))), None)
