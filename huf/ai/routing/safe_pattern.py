"""Whether a pattern that a person wrote may be matched against what anybody says: one that cannot take for ever."""

import re

from huf.ai.core.errors import UsageError

MAX_PATTERN_CHARS = 300
MAX_WAYS = 100_000
"""Ways in which the repetitions of a pattern may share out a message between them, all multiplied."""
MESSAGE = 300
"""Characters of a message that such patterns are matched against; so much counts an open repetition."""
REPETITION = re.compile(r"[*+]|\?|\{(?P<least>\d*)(?P<comma>,)?(?P<most>\d*)\}")
ATOM = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?[a-zA-Z:=!<>-]+|.", re.DOTALL)


def check_pattern(pattern: str) -> None:
	"""Raises UsageError that says what is wrong with it."""
	if len(pattern) > MAX_PATTERN_CHARS:
		raise UsageError(f"A pattern has {MAX_PATTERN_CHARS} characters at most.")
	try:
		re.compile(pattern, re.IGNORECASE)
	except re.error as error:
		raise UsageError(f"The pattern {pattern!r} is no regular expression: {error.msg}.") from None
	if re.search(r"\\[1-9]|\(\?P=|\(\?\(", pattern):
		raise UsageError(f"The pattern {pattern!r} refers back to a group: write it without.")
	check_repetitions(pattern)


def check_repetitions(pattern: str) -> None:
	"""Repeated groups may take for ever, and so may many repetitions side by side."""
	ways, place, after_group = 1, 0, False
	while place < len(pattern):
		found = REPETITION.match(pattern, place)
		if found and place:
			count = ways_of(found)
			if after_group and count > 2:
				raise UsageError(f"The pattern {pattern!r} repeats a group. Repeat single characters only.")
			ways, place = ways * count, found.end()
		else:
			found = ATOM.match(pattern, place)
			after_group, place = found.group() == ")", found.end()
	if ways > MAX_WAYS:
		raise UsageError(f"The pattern {pattern!r} repeats too much. Use * and + at most twice, or {{0,20}}.")


def ways_of(repetition: re.Match) -> int:
	sign = repetition.group()
	if sign == "?":
		return 2
	if sign in "*+" or (repetition["comma"] and not repetition["most"]):
		return MESSAGE
	least = int(repetition["least"] or 0)
	return int(repetition["most"] or least) - least + 1
