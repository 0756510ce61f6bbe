"""Reads the patterns for what is plain at a glance; whoever calls may hand in rows of their own, which come first.

Patterns are matched without regard to capitals and accents. A row of the table that speaks for the chat does not count where
the message also asks for something only tools can give (`BLOCKING`), unless it is sure of itself.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from huf.ai.routing.complexity import MAX_MESSAGE_CHARS, read_concepts, without_accents
from huf.ai.routing.lexicon import Concept
from huf.ai.routing.patterns import PATTERNS, SURE, Pattern
from huf.ai.routing.safe_pattern import MESSAGE
from huf.ai.routing.types import Route

BLOCKING = {Concept.OWN, Concept.NOW, Concept.WORLD, Concept.WEB, Concept.FILE, Concept.ATTACHED, "numbered"}


@dataclass(frozen=True)
class Match:
	"""The rows that agree with the strongest one, strongest first."""

	rows: tuple[Pattern, ...]

	@property
	def strongest(self) -> Pattern:
		return self.rows[0]


def find_match(message: str, own: Iterable[Pattern] = ()) -> Match | None:
	"""What the site's `own` rows say of a message, else what the table says.

	None where no row speaks, or two of equal strength contradict each other.
	"""
	text = without_accents(message.strip()[:MAX_MESSAGE_CHARS])
	return strongest_of(matching(own, text[:MESSAGE])) or strongest_of(
		allowed(matching(PATTERNS, text), message)
	)


def matching(rows: Iterable[Pattern], text: str) -> list[Pattern]:
	return [row for row in rows if compiled(row.pattern).search(text)]


def allowed(rows: list[Pattern], message: str) -> list[Pattern]:
	"""Without the rows for the chat that what the message holds forbids."""
	doubtful = [row for row in rows if row.route is Route.CHAT and row.confidence < SURE]
	return [row for row in rows if row not in doubtful] if doubtful and is_blocked(message) else rows


def strongest_of(rows: Sequence[Pattern]) -> Match | None:
	if not rows:
		return None
	ordered = sorted(rows, key=lambda row: -row.confidence)
	rivals = [row for row in ordered if row.route is not ordered[0].route]
	if rivals and rivals[0].confidence == ordered[0].confidence:
		return None
	return Match(tuple(row for row in ordered if row.route is ordered[0].route))


def is_blocked(message: str) -> bool:
	# What comes behind a colon is a text to work on, whatever it speaks of.
	return any(BLOCKING & set(group) for group in read_concepts(message.partition(":")[0]))


@lru_cache(maxsize=1_000)
def compiled(pattern: str) -> re.Pattern:
	return re.compile(without_accents(pattern), re.IGNORECASE | re.DOTALL)
