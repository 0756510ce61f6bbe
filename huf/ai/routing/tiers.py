"""Chooses the mode (inline or background) and the model tier for a task. Pure."""

import re
from typing import NamedTuple

from huf.ai.core.types import Mode
from huf.ai.routing.complexity import measure_complexity, normalize_text

MIN_SCORE = 0.5
"""The score from which a dimension of a message counts."""
HIGH_SCORE = 0.8
"""The score from which a dimension needs a large model."""
SHORT_WORDS = 30
LONG_WORDS = 50
MIN_INFLECTED_CHARS = 5
"""Shorter words, such as IT, match without endings only."""
SMALL, LARGE, CLOUD = 1, 2, 3
"""Tiers: a small local model, a large local model, a cloud provider's model."""


class Task(NamedTuple):
	mode: Mode
	tier: int


def choose_task(text: str, cloud_tasks: tuple[str, ...] = ()) -> Task:
	"""Several steps or a long request run in the background on a large model; a look-up runs inline on a
	small one.

	`cloud_tasks`: phrases that mark tasks which may be sent to a cloud provider.
	"""
	complexity, word_count = measure_complexity(text), len(text.split())
	several = (
		complexity.steps >= MIN_SCORE
		and max(complexity.changes, complexity.sends, complexity.own, complexity.web) >= MIN_SCORE
	)
	mode = Mode.BACKGROUND if several or word_count >= LONG_WORDS else Mode.INLINE
	words = normalize_text(text)
	if any(names_task(words, normalize_text(task)) for task in cloud_tasks):
		return Task(mode, CLOUD)
	simple = (
		mode is Mode.INLINE
		and complexity.steps < MIN_SCORE
		and complexity.changes < HIGH_SCORE
		and word_count < SHORT_WORDS
	)
	return Task(mode, SMALL if simple else LARGE)


def names_task(text: str, phrase: str) -> bool:
	"""Whether a normalized text contains the phrase as whole words, with a short ending allowed."""
	if not phrase.isascii():
		# Chinese, for example, has no spaces between words.
		return phrase in text
	ending = r"\w{0,2}" if len(phrase) >= MIN_INFLECTED_CHARS else ""
	return bool(re.search(rf"(?<!\w){re.escape(phrase)}{ending}(?!\w)", text))
