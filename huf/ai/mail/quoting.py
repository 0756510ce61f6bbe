"""Extracts the new text of a mail, without quotations. Pure; the whole text is stored elsewhere."""

import re
from functools import lru_cache

LANGUAGES = ("en", "cs", "da", "de", "es", "fr", "it", "ja", "ko", "nl", "pl", "sv", "zh")
MAX_LINES = 400
MAX_LINE_CHARS = 250
"""Only this much is searched for the start of a quote: the parser gets very slow, and a sender could exploit
that.
"""
QUOTED = re.compile(r"^>.*$\n?", re.MULTILINE)
SAYS_WHO = re.compile(r"@|\b(?:19|20)\d\d\b")
RULE = re.compile(r"[_-]{5,}(?:[^_-].{0,60}[_-]{5,})?")
"""A line above what is quoted or forwarded."""


@lru_cache(maxsize=1)
def get_parser():
	from mailparser_reply import EmailReplyParser

	return EmailReplyParser(languages=list(LANGUAGES))


def extract_new_text(text: str) -> str:
	"""The newest part of a thread; the whole text if there is nothing above the quotes, as in a forward."""
	lines = text.split("\n")
	kept = [n for n, line in enumerate(lines) if line.strip() or (n and lines[n - 1].strip())][:MAX_LINES]
	short = "\n".join(" ".join(lines[n].split())[:MAX_LINE_CHARS] for n in kept)
	replies = get_parser().read(short).replies
	if len(replies) > 1:
		own = replies[0].content.rstrip()
		text_above = "\n".join(lines[: kept[own.count("\n")] + 1]) if own else ""
	else:
		text_above = text
	return remove_rule(QUOTED.sub("", remove_attribution(text_above)).strip()) or text


def remove_rule(text: str) -> str:
	"""Remove a rule in the last line."""
	above, _, last = text.rpartition("\n")
	return above.strip() if len(last) <= MAX_LINE_CHARS and RULE.fullmatch(last.strip()) else text


def remove_attribution(text: str) -> str:
	"""Remove the line, in any language, that says who wrote the quote below it."""
	lines = text.split("\n")
	first = next((n for n, line in enumerate(lines) if line.startswith(">")), len(lines))
	above = [n for n in range(first) if lines[n].strip()]
	if not above or first == len(lines) or not lines[above[-1]].rstrip().endswith(":"):
		return text
	begin = above[-1]
	if not SAYS_WHO.search(lines[begin]) and begin - 1 in above:
		begin -= 1
	is_one = SAYS_WHO.search(lines[begin])
	return "\n".join([*lines[:begin], *lines[first:]]) if is_one else text
