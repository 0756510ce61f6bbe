"""Guards: small objects that say, before a step begins, why the run must not go on."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from huf.ai.types import StopReason


@dataclass(frozen=True)
class Progress:
	"""What a guard may look at: `step` is the number of the step, from 1; `waiting`: it has begun, a model thinks."""

	step: int
	waiting: bool = False


class Guard(Protocol):
	def verdict(self, progress: Progress) -> StopReason | None: ...


@dataclass(frozen=True)
class StepCap:
	steps: int

	def verdict(self, progress: Progress) -> StopReason | None:
		return StopReason.MAX_STEPS if progress.step > self.steps else None


@dataclass(frozen=True)
class Cancelled:
	"""Asks whether a person wanted the run to end; `requested` is told whether the run is waiting."""

	requested: Callable[[bool], bool]

	def verdict(self, progress: Progress) -> StopReason | None:
		return StopReason.CANCELLED if self.requested(progress.waiting) else None


def first_verdict(guards: Iterable[Guard], progress: Progress) -> StopReason | None:
	return next((reason for guard in guards if (reason := guard.verdict(progress))), None)
