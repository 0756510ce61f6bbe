"""A call's arguments, from the model's text to checked values, and results back to text.

Mends only what has one reading; never guesses.
"""

import json
import re
from functools import lru_cache
from itertools import accumulate
from typing import Any

from huf.ai.core.errors import ToolError

HIDDEN = "•••"
KEY_SHAPE = re.compile(r"\b(?:sk|pk|gsk|xai|AIza)[-_][-_A-Za-z0-9*]{8,}|(?<=Bearer )[-._~+/A-Za-z0-9]{8,}=*")
NAMED_SECRET = re.compile(
	r"""(["']?\b(?:password|passwd|api_?key|api_?secret|client_?secret|access_?token|refresh_?token|private_?key|authorization)"""
	r"""["']?\s*[:=]\s*["'])[^"']+""",
	re.IGNORECASE,
)
FENCE = re.compile(r"^```(?:json)?\s*(.*?)\s*```$", re.DOTALL)


def parse_arguments(raw: str) -> dict:
	"""Read a call's arguments; broken JSON is mended only where one reading is possible.

	Raises ToolError otherwise: running a tool with guessed (or no) arguments does harm.
	"""
	text = (raw or "").strip()
	if not text:
		return {}
	try:
		value = json.loads(text)
	except ValueError as error:
		value = repair(text)
		if value is None:
			raise ToolError(
				f"The arguments are not valid JSON ({error}). The tool was not run. Send one JSON object."
			) from None
	if not isinstance(value, dict):
		raise ToolError("The arguments must be one JSON object. The tool was not run.")
	return value


def repair(text: str) -> dict | None:
	"""Mend quotes, commas and fences; None where letters or digits would change or the end is missing."""
	from json_repair import loads

	text = FENCE.sub(r"\1", text)
	if not (text.startswith("{") and text.endswith("}")):
		return None
	value = loads(text)
	if not isinstance(value, dict) or bare(text) != bare(json.dumps(value, ensure_ascii=False)):
		return None
	return value


def bare(text: str) -> str:
	return "".join(filter(str.isalnum, text)).casefold()


def check_arguments(arguments: dict, schema: dict) -> None:
	"""Raise ToolError with every fault at once, so that the model can mend them in one go."""
	errors = sorted(validator(Itself(schema)).iter_errors(arguments), key=lambda e: list(e.absolute_path))
	if errors:
		faults = "; ".join(
			f"{'.'.join(map(str, error.absolute_path)) or 'arguments'}: {error.message}"
			for error in errors[:8]
		)
		raise ToolError(f"The arguments do not fit the tool ({faults}). The tool was not run.")


class Itself:
	"""Something without a hash as a key: it equals nothing but itself."""

	def __init__(self, value: Any):
		self.value = value

	def __hash__(self) -> int:
		return id(self.value)

	def __eq__(self, other: Any) -> bool:
		return self.value is other.value


@lru_cache(maxsize=512)
def validator(schema: Itself) -> Any:
	"""Of a schema that nobody changes: to make one takes longer than to use it."""
	from jsonschema import Draft202012Validator

	return Draft202012Validator(schema.value)


def as_text(result: Any) -> str:
	return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)


def fit(result: Any, limit: int = 0) -> str:
	"""A result as text of about `limit` characters at most (0: any length), which says so where something is left out.

	Of an object with rows the last ones go, so that it stays whole; any other text is cut.
	"""
	text = as_text(result)
	if not limit or len(text) <= limit:
		return text
	if isinstance(result, dict) and (rows := rows_that_fit(result, limit)):
		return as_text({**result, "rows": rows, "count": len(rows), "more": True})
	left = len(text) - limit
	return f"{text[:limit]}… [{left:,} more characters are left out: this tool gives {limit:,} at most. Ask for less.]"


def rows_that_fit(result: dict, limit: int) -> list:
	rows = result["rows"] if isinstance(result.get("rows"), list) else []
	sizes = accumulate((len(as_text(row)) + 2 for row in rows), initial=len(as_text({**result, "rows": []})))
	return [row for row, size in zip(rows, list(sizes)[1:], strict=True) if size <= limit]


def mask_secrets(text: str) -> str:
	"""Text without what looks like a key or a password; for whatever a tool brings in from elsewhere."""
	return KEY_SHAPE.sub(HIDDEN, NAMED_SECRET.sub(rf"\g<1>{HIDDEN}", text))
