"""What a model is shown of a tool's result: all of it, its beginning, or a line that says where it is.

Every result is on record whole; `read_more` gives a model the rest. Pure: reads what the loop holds, and no record.
"""

import re
from collections.abc import Callable, Sequence

from huf.ai.core.errors import ToolError
from huf.ai.core.types import Effect, Tool, ToolResult

MIN_SHOWN_CHARS = 400
"""No result is shown in less than that, but as a stub."""
PIECE = 8_000
"""Characters that `read_more` gives at a time."""
AROUND = 200
"""Characters before a place that was looked for."""
READ_MORE = "read_more"
DESCRIPTION = (
	"Read on in a result that was shown to you in part. Results are numbered as they came, from 1. "
	"Gives the text from `offset` on; with `find`, from the next place at or after `offset` that has these words."
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


def excerpt(text: str, most: int, number: int | None) -> str:
	"""Text of `most` characters at most (LEAST_SHOWN at least); a longer one ends in a line on how to read the rest.

	`number` is None for a result that can no longer be read: one of an earlier run.
	"""
	most = max(most, MIN_SHOWN_CHARS)
	if len(text) <= most:
		return text
	# The line is as long with the real figure as with the largest it can have.
	head = most - len(ending(len(text), len(text), number))
	return text[:head] + ending(head, len(text), number)


def ending(shown: int, whole: int, number: int | None) -> str:
	more = f" {READ_MORE} with result {number} and offset {shown} goes on." if number else ""
	return f"\n[Cut off: the first {shown:,} of {whole:,} characters.{more}]"


def stub(number: int | None) -> str:
	"""What stands in the place of a result that there is no room for."""
	more = f" {READ_MORE} with result {number} gives it again." if number else ""
	return f"[This result is no longer shown.{more}]"


def reader(tool_results: Callable[[], Sequence[ToolResult]], piece: int = PIECE) -> Tool:
	"""The tool `read_more` over the results of one run; `piece`: characters it gives at a time."""

	async def run(arguments: dict) -> str:
		return read_piece(tool_results(), piece, **arguments)

	return Tool(READ_MORE, DESCRIPTION, PARAMETERS, Effect.READ, run)


def read_piece(
	tool_results: Sequence[ToolResult], piece: int, result: int, offset: int = 0, find: str = ""
) -> str:
	"""Raises ToolError where there is no such result, or nothing (more) in it."""
	if result > len(tool_results):
		raise ToolError(f"There is no result {result}. The last one is {len(tool_results)}.")
	return read_on(f"Result {result}", tool_results[result - 1].text, piece, offset, find)


def read_on(what: str, text: str, piece: int, offset: int = 0, find: str = "") -> str:
	"""A piece of a text, and where it stands. Raises ToolError where there is nothing (more)."""
	if find:
		found = re.compile(re.escape(find), re.IGNORECASE).search(text, offset)
		if not found:
			raise ToolError(f"{what} has no {find!r} at or after {offset}.")
		offset = max(offset, found.start() - AROUND)
	elif offset >= len(text):
		raise ToolError(f"{what} ends at {len(text)}.")
	end = min(offset + piece, len(text))
	rest = f"offset {end} goes on" if end < len(text) else "this is its end"
	return f"[{what}, characters {offset:,} to {end:,} of {len(text):,}; {rest}]\n{text[offset:end]}"
