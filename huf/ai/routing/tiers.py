"""How much a wish asks for: whether somebody waits for its run, and how large a model it needs. One look for both."""

from typing import NamedTuple

from huf.ai.core.types import Mode
from huf.ai.routing.complexity import measure, plain

LITTLE = 0.5
"""Below it a dimension of a message does not count."""
MUCH = 0.8
"""At it a dimension counts for a lot."""
SHORT, LONG = 30, 50
"""Words of a message."""
SMALL, LARGE, CLOUD = 1, 2, 3
"""Tiers: a small local model, a large local one, one of a cloud provider."""


class Task(NamedTuple):
	mode: Mode
	tier: int


def judge(text: str, cloud_tasks: tuple[str, ...] = ()) -> Task:
	"""Several steps, or a long order, are worked on in the background by a large model; a look-up by a small one.

	`cloud_tasks` are words of tasks that may leave the house.
	"""
	seen, length = measure(text), len(text.split())
	several = seen.steps >= LITTLE and max(seen.deeds, seen.sends, seen.own, seen.web) >= LITTLE
	mode = Mode.BACKGROUND if several or length >= LONG else Mode.INLINE
	words = plain(text)
	if any(plain(task) in words for task in cloud_tasks):
		return Task(mode, CLOUD)
	simple = mode is Mode.INLINE and seen.steps < LITTLE and seen.deeds < MUCH and length < SHORT
	return Task(mode, SMALL if simple else LARGE)
