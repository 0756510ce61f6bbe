"""Matches a message against the site's patterns, then against the built-in table. Pure.

Case and accents are ignored. A built-in pattern for the chat does not count if the message also asks for
something that only tools can do (`BLOCKING_CONCEPTS`), unless the pattern is sure enough.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from huf.ai.core.timed_pattern import TimedPattern, compile_pattern
from huf.ai.core.tokenizer import remove_accents
from huf.ai.routing.complexity import MAX_MESSAGE_CHARS, read_concepts
from huf.ai.routing.lexicon import Concept
from huf.ai.routing.patterns import SURE, Pattern, read_builtin_patterns
from huf.ai.routing.types import Route

PATTERN_TIMEOUT_S = 0.1
MAX_OWN_CHARS = 300
"""The site's patterns are matched against this much of a message: even quadratic ones take little time."""
BLOCKING_CONCEPTS = {
	Concept.OWN,
	Concept.NOW,
	Concept.WORLD,
	Concept.WEB,
	Concept.FILE,
	Concept.ATTACHED,
	"numbered",
}


@dataclass(frozen=True)
class PatternMatch:
	"""The matching rows that agree with the strongest one, strongest first."""

	rows: tuple[Pattern, ...]

	@property
	def strongest(self) -> Pattern:
		return self.rows[0]


def find_match(message: str, own: Iterable[Pattern] = ()) -> PatternMatch | None:
	"""Match a message against the site's patterns (`own`), else against the built-in table.

	None if nothing matches, or if two rows of equal confidence contradict each other.
	"""
	text = remove_accents(message.strip()[:MAX_MESSAGE_CHARS])
	return select_strongest(match_patterns(own, text[:MAX_OWN_CHARS])) or select_strongest(
		drop_blocked(match_patterns(read_builtin_patterns(), text), message)
	)


def match_patterns(rows: Iterable[Pattern], text: str) -> list[Pattern]:
	return [row for row in rows if occurs_in_time(row.pattern, text)]


def occurs_in_time(pattern: str, text: str) -> bool:
	"""Whether a pattern occurs in a text; False if the search takes too long."""
	try:
		return compile_unaccented(pattern).occurs_in(text)
	except TimeoutError:
		return False


def drop_blocked(rows: list[Pattern], message: str) -> list[Pattern]:
	"""Drop unsure rows for the chat if the message also asks for something that needs tools."""
	doubtful = [row for row in rows if row.route is Route.CHAT and row.confidence < SURE]
	return [row for row in rows if row not in doubtful] if doubtful and is_blocked(message) else rows


def select_strongest(rows: Sequence[Pattern]) -> PatternMatch | None:
	if not rows:
		return None
	ordered = sorted(rows, key=lambda row: -row.confidence)
	rivals = [row for row in ordered if row.route is not ordered[0].route]
	if rivals and rivals[0].confidence == ordered[0].confidence:
		return None
	return PatternMatch(tuple(row for row in ordered if row.route is ordered[0].route))


def is_blocked(message: str) -> bool:
	# After a colon comes a text to work on, whose content does not matter.
	return any(BLOCKING_CONCEPTS & set(group) for group in read_concepts(message.partition(":")[0]))


@lru_cache(maxsize=1_000)
def compile_unaccented(pattern: str) -> TimedPattern:
	return compile_pattern(
		remove_accents(pattern), ignore_case=True, dot_all=True, timeout_s=PATTERN_TIMEOUT_S
	)
