"""Extraction of typed fields by another agent, so that a run itself reads no untrusted text.

A value of a closed type (number, boolean, one of listed texts, date, an e-mail address on record) cannot
carry instructions. A stranger may still have decided it, see `core/flow.py`.
"""

import json
import re
from datetime import date
from typing import Any

import frappe

from huf.ai.core.arguments import find_errors, has_name_patterns, parse_arguments
from huf.ai.core.errors import ToolError, UsageError

FORM = "\n\nAnswer only with one JSON object that matches this JSON schema:\n{schema}"
NO_FIT = "{agent} returned no values of the expected types{fields}. Its answer was discarded."
CLOSED_TYPES = {"integer", "number", "boolean"}
CLOSED_FORMATS = {"date", "email"}
DATE = re.compile(r"\d{4}-\d\d-\d\d")


def parse_schema(text: str) -> dict:
	"""A Result Schema as a JSON schema that allows no other fields. Raises UsageError."""
	from jsonschema import Draft202012Validator, SchemaError

	try:
		schema = json.loads(text)
		Draft202012Validator.check_schema(schema)
	except (ValueError, SchemaError, RecursionError) as error:
		raise UsageError(f"Result Schema is not a JSON schema: {str(error).splitlines()[0]}") from None
	if not isinstance(schema, dict) or not isinstance(schema.get("properties"), dict):
		raise UsageError("Result Schema must be a JSON schema with properties.")
	if has_name_patterns(schema):
		raise UsageError("Result Schema has patternProperties. Name each property under properties.")
	return {**schema, "type": "object", "additionalProperties": False}


def is_closed(schema: dict) -> bool:
	"""Whether the schema admits only values that cannot carry instructions."""
	return all(is_closed_type(each) for each in schema["properties"].values())


def is_closed_type(field: Any) -> bool:
	if not isinstance(field, dict):
		return False
	is_scalar = isinstance(field.get("type"), str) and field["type"] in CLOSED_TYPES
	return is_scalar or "enum" in field or field.get("format") in CLOSED_FORMATS


def build_prompt(prompt: str, schema: dict) -> str:
	return prompt + FORM.format(schema=json.dumps(schema, ensure_ascii=False))


def extract_fields(result: dict, agent: str, schema: dict) -> dict:
	"""The result of `RunChild` with `fields` in place of its answer. Raises ToolError, without quoting the
	answer.
	"""
	if result["status"] != "Success":
		raise ToolError(f"{agent} ended as {result['status']}, so there are no values.")
	try:
		values = parse_arguments(result["response"] or "")
	except ToolError:
		raise ToolError(NO_FIT.format(agent=agent, fields="")) from None
	faults = [error.absolute_path for error in find_errors(values, schema)]
	wrong = {path[0] for path in faults if path} | (set(values) - set(schema["properties"]))
	wrong |= {name for name, field in schema["properties"].items() if not has_format(values.get(name), field)}
	if faults or wrong:
		known = ", ".join(sorted(wrong & set(schema["properties"])))
		raise ToolError(NO_FIT.format(agent=agent, fields=known and f": {known}"))
	return {"run": result["run"], "fields": values}


def has_format(value: Any, field: Any) -> bool:
	"""Whether a text has its schema's format: a date, or the address of a user or contact."""
	form = field.get("format") if isinstance(field, dict) else None
	if value is None or form not in CLOSED_FORMATS or "enum" in field:
		return True
	if not isinstance(value, str):
		return False
	return is_date(value) if form == "date" else is_on_record(value)


def is_date(value: str) -> bool:
	try:
		return bool(DATE.fullmatch(value) and date.fromisoformat(value))
	except ValueError:
		return False


def is_on_record(address: str) -> bool:
	places = {"User": "email", "Contact": "email_id"}
	return any(
		frappe.db.exists("DocType", doctype) and frappe.db.exists(doctype, {field: address})
		for doctype, field in places.items()
	)
