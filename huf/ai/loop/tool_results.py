"""Shortens tool results for the model: to an excerpt, or a stub that says how to read them.

The journal has every result whole; the tool `read_more` returns the rest.
"""

import re

from huf.ai.core.errors import ToolError
from huf.ai.core.types import Effect, Outcome, Tool

MIN_EXCERPT_CHARS = 400
"""Shorter excerpts are replaced by a stub."""
PIECE_CHARS = 8_000
"""Characters that `read_more` returns per call."""
LEAD_CHARS = 200
"""Text before a match of `find`."""
READ_MORE = "read_more"
DESCRIPTION = (
	"Read more of a result that was truncated. Results are numbered in order, from 1. "
	"Returns the text from `offset` on; with `find`, from the next match at or after `offset`."
)
PARAMETERS = {
	"type": "object",
	"properties": {
		"result": {"type": "integer", "minimum": 1, "description": "Number of the result"},
		"offset": {"type": "integer", "minimum": 0, "description": "Character to begin at; 0 if left out"},
		"find": {"type": "string", "description": "Words to look for"},
	},
	"required": ["result"],
	"additionalProperties": False,
}


def excerpt(text: str, max_chars: int, number: int | None) -> str:
	"""The text in at most `max_chars` characters (at least MIN_EXCERPT_CHARS); a cut one ends in a line
	on how to read on.

	`number` is None for a result of an earlier run, which can no longer be read.
	"""
	max_chars = max(max_chars, MIN_EXCERPT_CHARS)
	if len(text) <= max_chars:
		return text
	# Measured with the largest figures the line can have.
	head = max_chars - len(cut_notice(len(text), len(text), number))
	return text[:head] + cut_notice(head, len(text), number)


def cut_notice(end: int, whole: int, number: int | None) -> str:
	more = f" Call {READ_MORE} with result {number} and offset {end} for more." if number else ""
	return f"\n[Truncated: the first {end:,} of {whole:,} characters.{more}]"


def stub(number: int | None) -> str:
	"""Replaces a result for which there is no room."""
	more = f" Call {READ_MORE} with result {number} for it." if number else ""
	return f"[Result omitted: there is no room for it.{more}]"


class ResultReader:
	"""The tool `read_more` over the results of one run, in pieces of `piece_chars`."""

	def __init__(self, outcome: Outcome):
		self.outcome, self.piece_chars = outcome, PIECE_CHARS

	def as_tool(self) -> Tool:
		return Tool(READ_MORE, DESCRIPTION, PARAMETERS, Effect.READ, self.run)

	async def run(self, arguments: dict) -> str:
		return self.read(**arguments)

	def read(self, result: int, offset: int = 0, find: str = "") -> str:
		"""Raises ToolError if there is no such result, or no more of it."""
		results = self.outcome.tool_results
		if result > len(results):
			raise ToolError(f"There is no result {result}. The last one is {len(results)}.")
		return read_rest(f"Result {result}", results[result - 1].text, self.piece_chars, offset, find)


def read_rest(what: str, text: str, piece_chars: int, offset: int = 0, find: str = "") -> str:
	"""A piece of a text with its position. Raises ToolError where there is no more, or no match."""
	if find:
		found = re.compile(re.escape(find), re.IGNORECASE).search(text, offset)
		if not found:
			raise ToolError(f"{what} has no {find!r} at or after {offset}.")
		offset = max(offset, found.start() - LEAD_CHARS)
	elif offset >= len(text):
		raise ToolError(f"{what} ends at {len(text)}.")
	end = min(offset + piece_chars, len(text))
	rest = f"continue with offset {end}" if end < len(text) else "end of the text"
	return f"[{what}, characters {offset:,} to {end:,} of {len(text):,}; {rest}]\n{text[offset:end]}"
