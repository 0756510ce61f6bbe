"""JSON schemas of tools' structured results, declared in `outputSchema`; every result conforms to its schema.

Each schema also admits `{"result": text}` for cut results and stopped runs and, for tools that change
something, the draft that waits for a person.
"""

from functools import cache
from typing import Any

import frappe

from huf.ai.core.types import Effect
from huf.ai.tools.schemas import text_schema
from huf.ai.tools.types import DETAIL_SUFFIX, READ_DOCUMENT, TOOL_TYPES

TOOL = "Agent Tool Function"


def shape(properties: dict, *optional: str) -> dict:
	"""The schema of an object with these properties, which are required unless listed as optional. Others are
	allowed.
	"""
	required = [name for name in properties if name not in optional]
	return {"type": "object", "properties": properties, "required": required}


NAME = {"type": ["string", "integer"], "description": "The document's name (its ID)"}
DOCUMENT = shape({"doctype": text_schema("Its DocType"), "name": NAME})
DOCUMENTS = shape({"result": {"type": "array", "items": DOCUMENT}})
DELETED = shape({**DOCUMENT["properties"], "deleted": {"type": "boolean"}})
COUNTS = {
	"count": {"type": "integer", "description": "Rows in this result"},
	"more": {"type": "boolean", "description": "Whether rows were left out"},
}
ROWS = shape(
	{
		"doctype": text_schema("DocType of the rows"),
		"rows": {"type": "array", "items": {"type": "object"}},
		**COUNTS,
	}
)
REPORT = shape(
	{
		"name": text_schema("The report"),
		"columns": {"type": "array"},
		"rows": {"type": "array", "items": {"type": ["object", "array"]}},
		**COUNTS,
	}
)
FILE = shape({key: {"type": "string"} for key in ("name", "file_name", "file_url", "attached_to")})
TEXT = shape({"result": text_schema("The result as text, where it was cut or the tool was not called")})
APPROVAL = shape(
	{
		"draft": text_schema("The call that waits for a person"),
		"run": text_schema("The record of this run"),
		"url": text_schema("The page where the call is approved or rejected"),
	}
)
SHAPES = {
	"Get Document": DOCUMENT,
	"Get Multiple Documents": DOCUMENTS,
	"Get List": ROWS,
	READ_DOCUMENT: ROWS,
	"Create Document": DOCUMENT,
	"Create Multiple Documents": DOCUMENTS,
	"Update Document": DOCUMENT,
	"Update Multiple Documents": DOCUMENTS,
	"Set Value": DOCUMENT,
	"Get Value": DOCUMENT,
	"Delete Document": DELETED,
	"Delete Multiple Documents": shape({"result": {"type": "array", "items": DELETED}}),
	"Submit Document": DOCUMENT,
	"Cancel Document": DOCUMENT,
	"Amend Document": DOCUMENT,
	"Get Amended Document": DOCUMENT,
	"Get Report Result": REPORT,
	"Attach File to Document": FILE,
}
"""By tool type. Types that are missing return arbitrary answers of a service or function."""


def find_output_schema(types: str) -> dict[str, Any] | None:
	"""The output schema of a tool type; None if its results have no fixed form."""
	if types not in SHAPES:
		return None
	waiting = [] if TOOL_TYPES[types].effect is Effect.READ else [APPROVAL]
	return {"type": "object", "anyOf": [SHAPES[types], TEXT, *waiting]}


def structure_result(types: str | None, value: Any, text: str) -> dict[str, Any]:
	"""A tool's result as structured content that conforms to the declared schema."""
	structured = value if isinstance(value, dict) else {"result": value}
	if types not in SHAPES or make_validator(types).is_valid(structured):
		return structured
	return {"result": text}


@cache
def make_validator(types: str):
	from jsonschema import Draft202012Validator

	return Draft202012Validator(SHAPES[types])


def find_tool_type(tool: str) -> str | None:
	"""The type of a tool by its name for models; the detail tool of a Read Document counts as Get
	Document.
	"""
	types = frappe.db.get_value(TOOL, tool, "types")
	if not types and tool.endswith(DETAIL_SUFFIX):
		parent = frappe.db.get_value(TOOL, tool.removesuffix(DETAIL_SUFFIX), "types")
		return "Get Document" if parent == READ_DOCUMENT else None
	return types
