"""Parses and validates a tool call's arguments.

Broken JSON is repaired only if there is one way to read it; nothing is guessed.
"""

import json
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any

from huf.ai.core.errors import ToolError
from huf.ai.core.json_text import (
	MAX_JSON_LEVELS,
	is_deeper,
	make_encodable,
	parse_json,
	to_canonical_json,
)
from huf.ai.core.timed_pattern import PatternError, compile_pattern

FENCE = "```"
MAX_REPORTED_ERRORS = 8
MAX_FOUND_ERRORS = 100
"""An error takes 3 KB, and a list of a megabyte may have half a million wrong items."""


def parse_arguments(raw: str) -> dict:
	"""Parse the JSON object that a model sent as arguments; empty text and `null` are `{}`.

	Raises ToolError if it is neither valid nor repairable: a tool run with guessed or missing arguments does
	harm.
	"""
	text = (raw or "").strip()
	if text in ("", "null"):
		return {}
	try:
		value = parse_json(text)
		if isinstance(value, str):
			# Some servers encode the object twice.
			value = parse_json(value)
	except ValueError as error:
		value = repair_json(text)
		if value is None:
			raise ToolError(
				f"The arguments are not valid JSON ({error}). The tool was not run. Send one JSON object."
			) from None
	if not isinstance(value, dict):
		raise ToolError("The arguments must be one JSON object. The tool was not run.")
	if "\\ud" in text.lower():
		# JSON can escape half of a character, which no database and no service takes.
		value = json.loads(make_encodable(json.dumps(value, ensure_ascii=False)))
	return value


MAX_REPAIRED_CHARS = 20_000
"""For some texts the time of the repair grows with the square of their length."""


def repair_json(text: str) -> dict | None:
	"""Repair quotes, commas and code fences; None if letters or digits would change or the end is missing."""
	from json_repair import loads

	text = strip_fence(text)
	if len(text) > MAX_REPAIRED_CHARS or not (text.startswith("{") and text.endswith("}")):
		return None
	try:
		value = loads(text)
	except (ValueError, RecursionError):
		return None
	if not isinstance(value, dict) or is_deeper(value, MAX_JSON_LEVELS):
		return None
	is_same = keep_alphanumerics(text) == keep_alphanumerics(json.dumps(value, ensure_ascii=False))
	return value if is_same else None


def strip_fence(text: str) -> str:
	"""What a Markdown code fence around the whole text contains; other text unchanged."""
	text = text.strip()
	is_fenced = len(text) >= 2 * len(FENCE) and text.startswith(FENCE) and text.endswith(FENCE)
	return text[len(FENCE) : -len(FENCE)].removeprefix("json").strip() if is_fenced else text


def keep_alphanumerics(text: str) -> str:
	return "".join(filter(str.isalnum, text)).casefold()


def drop_nulls(arguments: dict, schema: dict) -> dict:
	"""Leave out null for optional arguments that do not allow it: some models send every argument."""
	properties, required = schema.get("properties") or {}, schema.get("required") or ()
	optional = {name: each for name, each in properties.items() if name not in required}
	return {
		name: value
		for name, value in arguments.items()
		if value is not None or not refuses_null(optional.get(name))
	}


def refuses_null(schema: Any) -> bool:
	kinds = schema.get("type") if isinstance(schema, dict) else None
	return "null" not in ([kinds] if isinstance(kinds, str) else kinds or ["null"])


def check_arguments(arguments: dict, schema: dict) -> None:
	"""Validate arguments against a JSON Schema.

	Raises ToolError that lists the errors together, so that the model can correct them in one turn.
	"""
	errors = sorted(find_errors(arguments, schema), key=lambda e: list(e.absolute_path))
	if errors:
		reasons = "; ".join(
			f"{'.'.join(map(str, error.absolute_path)) or 'arguments'}: {error.message}"
			for error in errors[:MAX_REPORTED_ERRORS]
		)
		raise ToolError(f"The arguments do not fit the tool ({reasons}). The tool was not run.")


def find_errors(value: Any, schema: dict) -> list:
	"""The first jsonschema errors of a value. Raises ToolError for a schema that refers to another document.

	By default jsonschema fetches such a document, from any address.
	"""
	from referencing import Registry
	from referencing.exceptions import Unresolvable

	try:
		errors = load_validator()(schema, registry=Registry()).iter_errors(value)
		return list(islice(errors, MAX_FOUND_ERRORS))
	except Unresolvable as error:
		raise ToolError(f"The schema refers to something outside of it: {error}") from None


def has_name_patterns(schema: Any) -> bool:
	"""Whether a schema has patterns for the names of properties: jsonschema matches these without a time
	limit, and a slow one would stop the whole process. No schema that people write may have any.
	"""
	return '"patternProperties":' in to_canonical_json(schema)


@cache
def load_validator() -> Any:
	"""A validator class of JSON Schema that no value keeps busy, loaded with the first call that needs it."""
	from jsonschema import Draft202012Validator, validators

	checks = {
		"anyOf": check_any_of,
		"oneOf": check_one_of,
		"pattern": check_pattern,
		"uniqueItems": check_unique_items,
	}
	return validators.extend(Draft202012Validator, checks)


def check_any_of(validator: Any, schemas: list, value: Any, schema: dict) -> Iterator[Exception]:
	"""The keyword `anyOf`; the library collects all errors below it."""
	from jsonschema import ValidationError

	if next(find_fitting(validator, schemas, value), None) is None:
		yield ValidationError(f"{value!r} is not valid under any of the given schemas")


def check_one_of(validator: Any, schemas: list, value: Any, schema: dict) -> Iterator[Exception]:
	"""The keyword `oneOf`; see `check_any_of`."""
	from jsonschema import ValidationError

	yield from check_any_of(validator, schemas, value, schema)
	if len(fitting := list(islice(find_fitting(validator, schemas, value), 2))) > 1:
		yield ValidationError(f"{value!r} is valid under each of {', '.join(map(repr, fitting))}")


def find_fitting(validator: Any, schemas: list, value: Any) -> Iterator[Any]:
	return (each for each in schemas if validator.evolve(schema=each).is_valid(value))


def check_pattern(validator: Any, pattern: str, value: Any, schema: dict) -> Iterator[Exception]:
	"""The keyword `pattern`, with a time limit: schemas come from imported documents, values from models."""
	from jsonschema import ValidationError

	if not validator.is_type(value, "string"):
		return
	try:
		if not compile_pattern(pattern).occurs_in(value):
			yield ValidationError(f"{value!r} does not match {pattern!r}")
	except TimeoutError:
		yield ValidationError(f"it takes too long to match {pattern!r}")
	except PatternError:
		return  # of another dialect or too large: only the service itself can check it


def check_unique_items(validator: Any, is_wanted: bool, value: Any, schema: dict) -> Iterator[Exception]:
	"""The keyword `uniqueItems`; the library compares each object with each other, in quadratic time."""
	from jsonschema import ValidationError

	if is_wanted and validator.is_type(value, "array"):
		if len({json.dumps(each, sort_keys=True) for each in value}) < len(value):
			yield ValidationError("has equal items")
