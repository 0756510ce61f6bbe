"""Guards: small objects that say, before a step and while one is waited for, why the run must not go on."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from huf.ai.types import StopReason


@dataclass(frozen=True)
class Progress:
	"""What a guard may look at.

	`step` is the number of the step, from 1. `waiting`: it has begun, and a model or a tool is at work that changes
	nothing here.
	"""

	step: int
	waiting: bool = False


@dataclass(frozen=True)
class Verdict:
	"""Why a run must not go on; `why` is for the person, where the reason alone does not say it."""

	reason: StopReason
	why: str | None = None


class Guard(Protocol):
	def verdict(self, progress: Progress) -> Verdict | None: ...


@dataclass(frozen=True)
class StepCap:
	steps: int

	def verdict(self, progress: Progress) -> Verdict | None:
		return Verdict(StopReason.MAX_STEPS) if progress.step > self.steps else None


@dataclass(frozen=True)
class Cancelled:
	"""Asks whether a person wanted the run to end; `requested` is told whether the run is waiting."""

	requested: Callable[[bool], bool]

	def verdict(self, progress: Progress) -> Verdict | None:
		return Verdict(StopReason.CANCELLED) if self.requested(progress.waiting) else None


@dataclass(frozen=True)
class Deadline:
	"""A run has so many seconds; `elapsed` says how long it was worked on, by whomever."""

	seconds: float
	elapsed: Callable[[], float]

	def verdict(self, progress: Progress) -> Verdict | None:
		if self.elapsed() < self.seconds:
			return None
		return Verdict(StopReason.TIMEOUT, f"The run was not done within its {self.seconds:g} seconds.")


def first_verdict(guards: Iterable[Guard], progress: Progress) -> Verdict | None:
	return next((verdict for guard in guards if (verdict := guard.verdict(progress))), None)
