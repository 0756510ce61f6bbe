"""Checks regular expressions that people enter: rejects those that could backtrack catastrophically (ReDoS).

Pure.
"""

import re

from huf.ai.core.errors import UsageError

MAX_PATTERN_CHARS = 300
MAX_COMBINATIONS = 100_000
"""Upper bound for the product of all repetition counts in a pattern."""
MAX_MATCHED_CHARS = 300
"""Patterns are matched against this much of a message; an open repetition counts as this many."""
REPETITION = re.compile(r"[*+]|\?|\{(?P<min>\d*)(?P<comma>,)?(?P<max>\d*)\}")
ATOM = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?[a-zA-Z:=!<>-]+|.", re.DOTALL)


def check_safe_pattern(pattern: str) -> None:
	"""Raise UsageError if the pattern is invalid or could be slow; the message says what to change."""
	if len(pattern) > MAX_PATTERN_CHARS:
		raise UsageError(f"A pattern has {MAX_PATTERN_CHARS} characters at most.")
	try:
		re.compile(pattern, re.IGNORECASE)
	except re.error as error:
		raise UsageError(f"The pattern {pattern!r} is not a regular expression: {error.msg}.") from None
	if re.search(r"\\[1-9]|\(\?P=|\(\?\(", pattern):
		raise UsageError(f"The pattern {pattern!r} refers back to a group: write it without.")
	check_repetitions(pattern)


def check_repetitions(pattern: str) -> None:
	"""Refuse repeated groups and too many repetitions: both can take exponential time."""
	combinations, place, after_group = 1, 0, False
	while place < len(pattern):
		found = REPETITION.match(pattern, place)
		if found and place:
			count = count_repetitions(found)
			if after_group and count > 2:
				raise UsageError(f"The pattern {pattern!r} repeats a group. Repeat single characters only.")
			combinations, place = combinations * count, found.end()
		else:
			atom = ATOM.match(pattern, place)
			assert atom, "ATOM matches any character"
			after_group, place = atom.group() == ")", atom.end()
	if combinations > MAX_COMBINATIONS:
		raise UsageError(f"The pattern {pattern!r} repeats too much. Use * and + at most twice, or {{0,20}}.")


def count_repetitions(repetition: re.Match) -> int:
	sign = repetition.group()
	if sign == "?":
		return 2
	if sign in "*+" or (repetition["comma"] and not repetition["max"]):
		return MAX_MATCHED_CHARS
	minimum = int(repetition["min"] or 0)
	return int(repetition["max"] or minimum) - minimum + 1
