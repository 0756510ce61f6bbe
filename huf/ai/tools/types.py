"""The types of Agent Tool Function: the effect, the required field and the JSON schema of each.

One table, read by the DocType's controller and by `agents/tool_factory.py`; `agents/tool_handlers.py` runs
them.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import frappe

from huf.ai.core.field_values import split_lines
from huf.ai.core.types import Effect
from huf.ai.tools.schemas import (
	closed_object,
	field_schema,
	is_named_by_user,
	join_field_names,
	join_row_fields,
	limit_schema,
	list_form_fields,
	list_required,
	text_schema,
	texts_schema,
)
from huf.ai.tools.workflows import state_property

SCALAR_SCHEMA = {"type": ["string", "number", "integer", "boolean", "null"]}


NAME_PROPERTY = {"name": text_schema("The document's name (its ID)")}
NEW_NAME = {"name": text_schema("Name (ID) of the new document")}
NAMES_PROPERTY = {"names": {**texts_schema("Names (IDs)"), "minItems": 1}}
READ_DOCUMENT, DETAIL_SUFFIX = "Read Document", "_detail"
"""The type that makes two tools, and the suffix of the second tool's name."""
KNOWLEDGE = "Search Knowledge"
RUN_AGENT = "Run Agent"
MCP_TOOL = "MCP Tool"
HTTP_TYPES = ("GET", "POST")
SEND_MAIL, NOTIFY = "Send Mail", "Notify"
REMEMBER, RECALL = "Remember", "Recall"
MEMORY_TYPES = frozenset([REMEMBER, RECALL])
SINGLE_TYPES = frozenset(
	["Get Document", "Get Multiple Documents", "Update Document", "Update Multiple Documents", "Set Value"]
)
"""Types that fit a DocType with one document, which cannot be listed and is not created."""
CUSTOM_FUNCTION = "Custom Function"
CODE_TYPES = (CUSTOM_FUNCTION, "App Provided")
"""Types whose calls run an app's own code."""
NO_PARAMETERS = "-"
"""A value of Sensitive Parameters that means none; blank means all."""
TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Names that all models accept."""
FILTERS = (
	'{"field": value} or {"field": [operator, value]}, or a list of [field, operator, value]. Operators: =, '
	"!=, >, >=, <, <=, like, not like, in, not in, between, is (value: set or not set)"
)
FILTERS_SCHEMA = {"type": ["object", "array"], "description": FILTERS}


Schema = tuple[dict, list[str]]
"""(properties, names of the required ones)."""
NO_ARGUMENTS: Schema = {}, []
NAME: Schema = NAME_PROPERTY, ["name"]
NAMES: Schema = NAMES_PROPERTY, ["names"]


def filters_schema(tool, *about: str) -> dict:
	rows = join_row_fields(tool)
	parts = (FILTERS, *about, f"Fields of table rows: {rows}" if rows else "")
	return {**FILTERS_SCHEMA, "description": ". ".join(filter(None, parts))}


def list_schema(tool) -> Schema:
	return {
		"filters": filters_schema(tool),
		"fields": texts_schema(f"Of: {join_field_names(tool)}"),
		"order_by": text_schema("A field, then asc or desc"),
		"limit": limit_schema(500, "Rows at most; 20 unless given"),
		"start": {"type": "integer", "minimum": 0, "description": "Rows to skip"},
		"group_by": texts_schema(
			"Instead of a list, one row per value of these fields, with the count of documents; [] counts"
			' all. A date may have day, week, month or year after it: "creation month"'
		),
		"sum": texts_schema("Number fields to add up per group, or over all"),
	}, []


def summary_schema(tool) -> Schema:
	properties, required = list_schema(tool)
	filters = filters_schema(tool, f"Fields: {join_field_names(tool)}")
	return {"filters": filters, "limit": properties["limit"], "start": properties["start"]}, required


def create_schema(tool) -> Schema:
	properties = {df.fieldname: field_schema(df) for df in list_form_fields(tool.reference_doctype)}
	required = list_required(tool.reference_doctype, tool.reference_doctype)
	if is_named_by_user(tool.reference_doctype):
		return {**NEW_NAME, **properties}, ["name", *required]
	return properties, required


def update_schema(tool) -> Schema:
	fields = list_form_fields(tool.reference_doctype)
	values = {df.fieldname: field_schema(df, is_stored=True) for df in fields}
	values |= state_property(tool.reference_doctype)
	return {**NAME_PROPERTY, "values": closed_object(values, [], "The fields to change")}, ["name", "values"]


def amend_schema(tool) -> Schema:
	values = {df.fieldname: field_schema(df) for df in list_form_fields(tool.reference_doctype)}
	return {**NAME_PROPERTY, "values": closed_object(values, [], "Fields that differ from the original")}, [
		"name"
	]


def create_many_schema(tool) -> Schema:
	return documents_schema(*create_schema(tool))


def update_many_schema(tool) -> Schema:
	return documents_schema(*update_schema(tool))


def documents_schema(properties: dict, required: list[str]) -> Schema:
	items = closed_object(properties, required)
	return {"documents": {"type": "array", "minItems": 1, "items": items}}, ["documents"]


def get_value_schema(tool) -> Schema:
	fieldname = {"type": ["string", "array"], "items": {"type": "string"}}
	fieldname["description"] = f"One field or several, of: {join_field_names(tool)}"
	return {**NAME_PROPERTY, "filters": FILTERS_SCHEMA, "fieldname": fieldname}, ["fieldname"]


SET_VALUE: Schema = (
	{**NAME_PROPERTY, "fieldname": text_schema("The field to set"), "value": SCALAR_SCHEMA},
	["name", "fieldname", "value"],
)


def attach_schema(tool) -> Schema:
	properties = {
		**NAME_PROPERTY,
		"file_name": text_schema("Name of the file, with its ending"),
		"content": text_schema("The text of the file"),
		"file_url": text_schema("Or: the URL of a file that is already on the site"),
	}
	if tool.reference_doctype:
		return properties, ["name"]
	return {"doctype": text_schema("DocType of the document"), **properties}, ["doctype", "name"]


def get_schema(tool) -> Schema:
	where = f"Path below {tool.base_url}" if tool.base_url else "The whole URL"
	params = {"type": "object", "description": "Query parameters"}
	return {"url": text_schema(where), "params": params}, [] if tool.base_url else ["url"]


def post_schema(tool) -> Schema:
	properties, required = get_schema(tool)
	body = {"type": ["object", "array"], "description": "Sent as JSON"}
	return {**properties, "body": body}, required


RECIPIENTS = {"type": ["array", "string"], "items": {"type": "string"}}
RECORD_PROPERTIES = {
	"doctype": text_schema("DocType of the record that the fact is about"),
	"name": text_schema("Name (ID) of that record"),
}
REPORT: Schema = {"filters": {"type": "object", "description": "The report's filters"}}, []
PROMPT: Schema = (
	{"prompt": text_schema("What the other agent should do, with all it needs to know")},
	["prompt"],
)
SPEECH: Schema = {"file_url": text_schema("URL of the audio file on this site")}, ["file_url"]
SEARCH: Schema = (
	{
		"query": text_schema(
			'What to look for: the words that matter. "In quotes" they stand together; begin* is a beginning'
		),
		"limit": limit_schema(20, "Passages at most; 6 unless given"),
	},
	["query"],
)
MAIL: Schema = (
	{
		"to": {**RECIPIENTS, "description": "Addresses, or names of users and contacts"},
		"subject": text_schema("The subject"),
		"body": text_schema("The text, plain"),
	},
	["to", "subject", "body"],
)
NOTIFICATION: Schema = (
	{
		"to": {**RECIPIENTS, "description": "Users: their addresses or full names"},
		"subject": text_schema("One line"),
		"text": text_schema("More, if needed"),
	},
	["to", "subject"],
)
FACT: Schema = (
	{
		"fact": text_schema("One short sentence that is useful later, without passwords"),
		"role": text_schema("For everyone with this role; without role and record, for the user alone"),
		**RECORD_PROPERTIES,
		"expires_on": text_schema("The last day it is true, YYYY-MM-DD; leave out if it stays true"),
	},
	["fact"],
)
RECALLED: Schema = (
	{
		"query": text_schema("The words that matter; leave out for the newest facts"),
		**RECORD_PROPERTIES,
		"limit": limit_schema(50, "Facts at most; 10 unless given"),
	},
	[],
)


@dataclass(frozen=True)
class ToolType:
	"""`schema`: that of the arguments, or a function of the row that returns it. `needs` names the field that
	a row of this type must fill in.
	"""

	effect: Effect
	schema: Schema | Callable[[Any], Schema]
	needs: str | None = None


READ, WRITE, EXTERNAL = Effect.READ, Effect.WRITE, Effect.EXTERNAL
DOCTYPE_FIELD = "reference_doctype"
TOOL_TYPES = {
	"Get Document": ToolType(READ, NAME, DOCTYPE_FIELD),
	"Get Multiple Documents": ToolType(READ, NAMES, DOCTYPE_FIELD),
	"Get List": ToolType(READ, list_schema, DOCTYPE_FIELD),
	READ_DOCUMENT: ToolType(READ, summary_schema, DOCTYPE_FIELD),
	"Create Document": ToolType(WRITE, create_schema, DOCTYPE_FIELD),
	"Create Multiple Documents": ToolType(WRITE, create_many_schema, DOCTYPE_FIELD),
	"Update Document": ToolType(WRITE, update_schema, DOCTYPE_FIELD),
	"Update Multiple Documents": ToolType(WRITE, update_many_schema, DOCTYPE_FIELD),
	"Delete Document": ToolType(WRITE, NAME, DOCTYPE_FIELD),
	"Delete Multiple Documents": ToolType(WRITE, NAMES, DOCTYPE_FIELD),
	"Submit Document": ToolType(WRITE, NAME, DOCTYPE_FIELD),
	"Cancel Document": ToolType(WRITE, NAME, DOCTYPE_FIELD),
	"Amend Document": ToolType(WRITE, amend_schema, DOCTYPE_FIELD),
	"Get Amended Document": ToolType(READ, NAME, DOCTYPE_FIELD),
	"Custom Function": ToolType(EXTERNAL, NO_ARGUMENTS, "function_path"),
	"App Provided": ToolType(EXTERNAL, NO_ARGUMENTS, "provider_app"),
	"Attach File to Document": ToolType(WRITE, attach_schema),
	"Get Report Result": ToolType(READ, REPORT, "report"),
	"Get Value": ToolType(READ, get_value_schema, DOCTYPE_FIELD),
	"Set Value": ToolType(WRITE, SET_VALUE, DOCTYPE_FIELD),
	"GET": ToolType(EXTERNAL, get_schema),
	"POST": ToolType(EXTERNAL, post_schema),
	RUN_AGENT: ToolType(EXTERNAL, PROMPT, "agent"),
	KNOWLEDGE: ToolType(READ, SEARCH),
	"Speech to Text": ToolType(EXTERNAL, SPEECH, "model"),
	MCP_TOOL: ToolType(EXTERNAL, NO_ARGUMENTS, "mcp_connection"),
	SEND_MAIL: ToolType(EXTERNAL, MAIL),
	NOTIFY: ToolType(EXTERNAL, NOTIFICATION),
	REMEMBER: ToolType(WRITE, FACT),
	RECALL: ToolType(READ, RECALLED),
}


def list_tool_names(tool_name: str, types: str) -> list[str]:
	"""The names of a record's tools for the model: a Read Document makes two."""
	return [tool_name, f"{tool_name}{DETAIL_SUFFIX}"] if types == READ_DOCUMENT else [tool_name]


def build_description(tool) -> str:
	if tool.types != READ_DOCUMENT:
		return tool.description
	detail = f"{tool.tool_name}{DETAIL_SUFFIX}"
	return f"{tool.description.rstrip('.')}. Returns key fields; {detail} returns a whole document."


def build_parameters(tool) -> dict:
	"""JSON schema of the arguments. Rows under Parameters add to or replace the type's own properties."""
	schema = TOOL_TYPES[tool.types].schema
	properties, required = schema(tool) if callable(schema) else schema
	rows = {row.fieldname: row_schema(row) for row in tool.parameters}
	own = {row.fieldname for row in tool.parameters if row.required}
	if rows and schema is create_schema:
		# The rows of a Create tool list all of its fields.
		return closed_object(rows, sorted(own, key=list(rows).index))
	return closed_object(
		{**properties, **rows}, list(dict.fromkeys([*required, *(n for n in rows if n in own)]))
	)


def row_schema(row) -> dict:
	schema: dict[str, Any] = {"type": get_json_type(row)}
	if row.description:
		schema["description"] = row.description
	if options := split_lines(row.options):
		schema["enum"] = [parse_row_value(row, option) for option in options]
	if row.default_value:
		schema["default"] = parse_row_value(row, row.default_value)
	return schema


def get_json_type(row) -> str:
	return "number" if row.type == "float" else row.type or "string"


def parse_row_value(row, text: str) -> Any:
	"""An option or the default of a parameter, as its type has it; the text if that is not possible."""
	if row.type == "boolean" and text in ("0", "1"):
		return text == "1"
	try:
		return text if row.type == "string" else frappe.parse_json(text)
	except ValueError:
		return text
