"""Splits texts into chunks with their position: page, heading, characters. Pure."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

MAX_CHUNK_CHARS = 1200
"""A few paragraphs, about 300 tokens."""
MIN_CHUNK_CHARS = MAX_CHUNK_CHARS // 2
MAX_TITLE_CHARS, MAX_SECTIONS = 200, 10_000
"""Each section repeats the titles above it: 250 KB of long titles and short sections would take 2 GB."""
BREAK_PATTERNS = (re.compile(r"\n\s*\n"), re.compile(r"\n"), re.compile(r"[.!?;:]\s"), re.compile(r"\s"))
"""Where a text may be cut, best first."""
MARK = re.compile(r"^(?:(#{1,6})[ \t]+(\S.*)|(```|~~~)(.*))$", re.MULTILINE)
"""A line with a heading, or one that opens or closes fenced code."""


@dataclass(frozen=True)
class Part:
	"""A piece of a document: of one heading, page or set of fields.

	`start` is its first character in the document, page or field.
	"""

	text: str
	heading: str = ""
	page: int = 0
	start: int = 0
	fields: tuple[str, ...] = ()


def split_into_chunks(parts: Iterable[Part]) -> Iterator[Part]:
	"""Split parts into chunks of at most MAX_CHUNK_CHARS; empty ones are dropped."""
	for part in parts:
		for start, end in find_spans(part.text):
			text = part.text[start:end]
			lead = len(text) - len(text.lstrip())
			if text.strip():
				yield replace(part, text=text.strip(), start=part.start + start + lead)


def find_spans(text: str) -> Iterator[tuple[int, int]]:
	"""(start, end) of the chunks of a text, which follow one another without a gap."""
	start = 0
	while len(text) - start > MAX_CHUNK_CHARS:
		end = start + find_break(text[start : start + MAX_CHUNK_CHARS])
		yield start, end
		start = end
	yield start, len(text)


def find_break(window: str) -> int:
	for pattern in BREAK_PATTERNS:
		ends = [found.end() for found in pattern.finditer(window, MIN_CHUNK_CHARS)]
		if ends:
			return ends[-1]
	return len(window)


def split_markdown(text: str) -> list[Part]:
	"""One part for each section; its heading is the path of headings above it.

	The section after MAX_SECTIONS of them has the rest of the text.
	"""
	titles = find_headings(text)
	edges = [0, *(found.start() for found in titles), len(text)]
	parts = [Part(text[: edges[1]])]
	path: dict[int, str] = {}
	for found, start, end in zip(titles, edges[1:], edges[2:], strict=False):
		level = len(found[1])
		path = {above: title for above, title in path.items() if above < level}
		path[level] = clean_title(found[2])[:MAX_TITLE_CHARS]
		parts.append(Part(text[start:end], " › ".join(path.values()), start=start))
	return [part for part in parts if part.text.strip()]


def find_headings(text: str) -> list[re.Match[str]]:
	"""The first MAX_SECTIONS headings outside fenced code. A fence that is never closed is text."""
	last_closings = {found[3]: found.start() for found in MARK.finditer(text) if is_closing(found)}
	headings: list[re.Match[str]] = []
	fence = ""
	for found in MARK.finditer(text):
		if len(headings) == MAX_SECTIONS:
			break
		if fence:
			fence = "" if found[3] == fence and is_closing(found) else fence
		elif found[3]:
			fence = found[3] if last_closings.get(found[3], -1) > found.start() else ""
		else:
			headings.append(found)
	return headings


def is_closing(mark: re.Match[str]) -> bool:
	return bool(mark[3]) and not mark[4].strip()


def clean_title(text: str) -> str:
	return text.strip().rstrip(" \t#") or text.strip()
