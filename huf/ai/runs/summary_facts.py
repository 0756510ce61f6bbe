"""Compares a summary with its source by names and numbers, and shortens text without a model. Pure."""

import re

NUMBER = re.compile(r"\d[\w.,:/-]*\w|\b[A-Z]{2,}[\w-]*\d\w*")
NAME = re.compile(r"(?<=[\w,;] )[^\W\d_a-zà-ž][\w-]+")
"""A capitalised word inside a sentence; in German, every noun."""
MAX_FACTS = 40
MIN_KEPT_SHARE = 0.5
TRIMMED = "Earlier messages, shortened:"


def loses_facts(summary: str, text: str) -> bool:
	"""Whether a summary lacks more than half of a text's latest names and numbers."""
	facts = find_facts(text)
	kept = sum(fact in summary.lower() for fact in facts)
	return kept < MIN_KEPT_SHARE * len(facts)


def find_facts(text: str) -> list[str]:
	"""The latest distinct names and numbers, in lower case; numbers have two digits at least."""
	found = (each.lower() for pattern in (NUMBER, NAME) for each in pattern.findall(text)[::-1])
	return list(dict.fromkeys(found))[:MAX_FACTS]


def trim(before: str | None, lines: str, max_chars: int) -> str:
	"""As many of the last whole lines as fit, after those of an earlier trim."""
	kept: list[str] = []
	size = len(TRIMMED)
	for line in [*(before or "").removeprefix(TRIMMED).strip().splitlines(), *lines.splitlines()][::-1]:
		size += len(line) + 1
		if size > max_chars:
			break
		kept.append(line)
	return "\n".join([TRIMMED, *kept[::-1]])
