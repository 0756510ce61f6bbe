"""Regular expressions of users and imported documents, with limits of memory and time.

`re` has no time limit, and blocks all threads while it searches.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

SEARCH_TIMEOUT_S = 1
MAX_ITEMS = 100_000
"""Limit for a pattern with its repetitions written out: compiling does so, and a{1000000000} fills memory."""
COUNT = re.compile(r"(?P<after>[)?*+}])?\{\s*(?P<count>\d+)")
VERBOSE = re.compile(r"\(\?[a-zA-Z]*x")


class PatternError(ValueError):
	"""The pattern cannot be compiled; the message says why."""


@dataclass(frozen=True)
class TimedPattern:
	"""A compiled pattern whose searches raise TimeoutError after `timeout_s` seconds."""

	compiled: Any
	timeout_s: float

	@property
	def groupindex(self) -> dict[str, int]:
		return self.compiled.groupindex

	def finditer(self, text: str, start: int = 0, end: int | None = None) -> Iterator[Any]:
		return self.compiled.finditer(text, start, end, timeout=self.timeout_s, concurrent=True)

	def occurs_in(self, text: str) -> bool:
		return next(self.finditer(text), None) is not None


def compile_pattern(
	pattern: str, *, ignore_case: bool = False, dot_all: bool = False, timeout_s: float = SEARCH_TIMEOUT_S
) -> TimedPattern:
	"""Raises PatternError."""
	# Imported here, because few requests need it.
	import regex

	if count_expanded_items(pattern) > MAX_ITEMS:
		raise PatternError("it repeats too much")
	flags = ignore_case * regex.IGNORECASE | dot_all * regex.DOTALL
	try:
		return TimedPattern(regex.compile(pattern, flags), timeout_s)
	except (regex.error, RecursionError) as error:
		raise PatternError(str(error)) from None


def count_expanded_items(pattern: str) -> int:
	"""At least the number of items with repetitions written out: counts of groups multiply, others add up."""
	counts = [(found["after"], int(found["count"][:9])) for found in COUNT.finditer(pattern)]
	# Blanks and comments may stand between a group and its count.
	is_verbose = bool(VERBOSE.search(pattern))
	groups = prod(max(1, count) for after, count in counts if after or is_verbose)
	return groups * (len(pattern) + sum(count for after, count in counts if not after))
