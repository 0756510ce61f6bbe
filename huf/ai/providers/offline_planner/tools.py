"""Reads an agent's tools: what each does, to which DocType, and by which arguments. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from huf.ai.providers.offline_planner.doctypes import DOCTYPES, KNOWN_DOCTYPES
from huf.ai.providers.offline_planner.lexicon import fold, stem
from huf.ai.providers.offline_planner.reading import NOUNS, VERBS
from huf.ai.providers.offline_planner.words import Operation

OPERATIONS = {
	"Get List": Operation.LIST,
	"Read Document": Operation.LIST,
	"Get Document": Operation.GET,
	"Get Multiple Documents": Operation.GET,
	"Get Value": Operation.GET,
	"Create Document": Operation.CREATE,
	"Create Multiple Documents": Operation.CREATE,
	"Update Document": Operation.UPDATE,
	"Update Multiple Documents": Operation.UPDATE,
	"Set Value": Operation.UPDATE,
	"Delete Document": Operation.DELETE,
	"Delete Multiple Documents": Operation.DELETE,
	"Submit Document": Operation.SUBMIT,
	"Cancel Document": Operation.CANCEL,
}
NAME_ARGUMENTS = ("name", "document_id", "docname", "document_name", "id", "names")
DOCTYPE_ARGUMENTS = ("doctype", "reference_doctype", "document_type")
FIELD_LIST = re.compile(r"\bof: ([\w, ]+)", re.IGNORECASE)
FILLER = {"tool", "function", "document", "documents", "doc", "record", "records", "the", "a", "all", "value"}


@dataclass(frozen=True)
class Tool:
	"""One tool. `type`, `doctype` and `effect` come from the key x-huf, and are "" where it is absent."""

	name: str
	description: str
	parameters: dict
	type: str = ""
	doctype: str = ""
	effect: str = ""

	@cached_property
	def properties(self) -> dict[str, dict]:
		return self.parameters.get("properties") or {}

	@cached_property
	def required(self) -> list[str]:
		return list(self.parameters.get("required") or ())

	@cached_property
	def operation(self) -> Operation | None:
		"""What it does to documents; by its name where its type does not say. None: something of its own."""
		if self.type in OPERATIONS:
			return OPERATIONS[self.type]
		head, _, rest = self.name.lower().partition("_")
		operation = VERBS.get(head)
		if operation is Operation.LIST and head in ("get", "fetch", "show", "view"):
			operation = Operation.LIST if rest.startswith(("list", "all")) else Operation.GET
		if operation in (Operation.GET, Operation.LIST) and not self.looks_like(operation):
			return None
		return operation

	def looks_like(self, operation: Operation) -> bool:
		if operation is Operation.GET:
			return self.name_argument is not None
		return not set(self.required) - set(DOCTYPE_ARGUMENTS)

	@cached_property
	def is_reading(self) -> bool:
		reads = self.effect == "read" or self.type in ("Get Report Result", "GET")
		return reads or (not self.effect and self.sounds_reading)

	@cached_property
	def sounds_reading(self) -> bool:
		return self.name.lower().startswith(
			("get_", "list_", "find_", "search_", "look_up_", "lookup_", "check_")
		)

	@cached_property
	def name_argument(self) -> str | None:
		return next((name for name in NAME_ARGUMENTS if name in self.properties), None)

	@cached_property
	def field_holder(self) -> str | None:
		"""The argument that holds a document's fields, where they are not arguments themselves."""
		for name in ("values", "data", "document", "documents"):
			schema = self.properties.get(name) or {}
			if schema.get("type") == "object" or (schema.get("items") or {}).get("properties"):
				return name
		return None

	@cached_property
	def field_schema(self) -> dict:
		"""The object schema that the fields are properties of; what is known of the DocType where it says nothing."""
		if self.field_holder is None:
			return self.parameters
		schema = self.properties[self.field_holder]
		schema = schema.get("items") or schema
		inner = schema.get("properties") or {}
		if "values" in inner and "name" in inner:
			schema = inner["values"]
		if schema.get("properties"):
			return schema
		known = KNOWN_DOCTYPES.get(self.doctype, {})
		return {"properties": known.get("fields", {}), "required": [known["title"]] if known else []}

	@cached_property
	def fields(self) -> dict[str, dict]:
		"""Schemas of what a person would fill in."""
		names = NAME_ARGUMENTS if self.operation is Operation.UPDATE and self.field_holder is None else ()
		skipped = (*DOCTYPE_ARGUMENTS, *names)
		properties = self.field_schema.get("properties") or {}
		return {name: schema for name, schema in properties.items() if name not in skipped}

	@cached_property
	def required_fields(self) -> list[str]:
		return [name for name in self.field_schema.get("required") or () if name in self.fields]

	def hold(self, values: dict, **others: object) -> dict:
		"""Arguments of the tool from a document's fields and, beside them, its name or DocType."""
		if self.field_holder is None:
			return {**others, **values}
		if self.properties[self.field_holder].get("type") != "array":
			return {**others, self.field_holder: values}
		return {self.field_holder: [{**others, "values": values} if others else values]}

	def with_doctype(self, arguments: dict) -> dict:
		"""The arguments, with the DocType for a tool that wants to be told."""
		name = next((name for name in DOCTYPE_ARGUMENTS if name in self.properties), None)
		return {name: self.doctype, **arguments} if name and self.doctype else arguments

	@cached_property
	def subjects(self) -> list[list[str]]:
		"""The ways a request may name what it works on: its DocType, or its own name without the verb."""
		own = [part for part in re.split(r"[\W_]+", fold(self.name)) if part and part not in FILLER]
		if own and own[0] in VERBS and len(own) > 1:
			own = own[1:]
		if len(own) > 1 and own[0] == "list":
			own = own[1:]
		doctype = [part for part in re.split(r"[\W_]+", fold(self.doctype)) if part]
		return [part for part in (doctype, own) if part]


@dataclass(frozen=True)
class Facts:
	"""What the tools tell of a DocType: its fields' schemas ({} where only the name is known) and its title."""

	fields: dict[str, dict]
	title: str | None


@dataclass(frozen=True)
class Toolbox:
	tools: tuple[Tool, ...]

	@classmethod
	def read(cls, specs: Sequence[dict]) -> "Toolbox":
		return cls(tuple(read_tool(spec) for spec in specs))

	def get(self, name: str) -> Tool | None:
		return next((tool for tool in self.tools if tool.name == name), None)

	def sister(self, tool: Tool, *operations: Operation) -> Tool | None:
		"""Another tool for the same DocType that does one of these, in the order given."""
		return next(iter(self.sisters(tool, *operations)), None)

	def sisters(self, tool: Tool, *operations: Operation) -> list[Tool]:
		same = [one for one in self.tools if subject_of(one) == subject_of(tool)]
		return [one for operation in operations for one in same if one.operation is operation]

	def facts(self, tool: Tool) -> Facts:
		known = KNOWN_DOCTYPES.get(tool.doctype or DOCTYPES.get(subject_of(tool), ""), {})
		fields = dict(known.get("fields", {}))
		named = {
			name for listed in (tool, *self.sisters(tool, Operation.LIST)) for name in listed_fields(listed)
		}
		if named:
			fields = {name: schema for name, schema in fields.items() if name in named}
		writers = self.sisters(tool, Operation.CREATE, Operation.UPDATE) if tool.doctype else []
		for writer in writers:
			fields |= writer.fields
		fields = {**{name: {} for name in sorted(named - set(fields))}, **fields}
		title = known.get("title") or next(
			(main_text(writer.fields, writer.required_fields) for writer in writers), None
		)
		return Facts(fields, title if title in fields or not fields else None)


def read_tool(spec: dict) -> Tool:
	function = spec.get("function") or spec
	extra = function.get("x-huf") or spec.get("x-huf") or {}
	return Tool(
		function["name"],
		function.get("description") or "",
		function.get("parameters") or {},
		extra.get("type") or "",
		extra.get("doctype") or "",
		extra.get("effect") or "",
	)


def subject_of(tool: Tool) -> str:
	"""One word or DocType for what a tool works on, the same for all tools that work on it."""
	if tool.doctype:
		return NOUNS.get(fold(tool.doctype)) or fold(tool.doctype)
	own = tool.subjects[0] if tool.subjects else []
	return " ".join(NOUNS.get(part) or stem(part) for part in own)


def listed_fields(tool: Tool) -> list[str]:
	"""Field names from a description such as "Of: name, title, status"."""
	listed = FIELD_LIST.search((tool.properties.get("fields") or {}).get("description") or "")
	return [name.strip() for name in listed[1].split(",")] if listed else []


def main_text(fields: dict[str, dict], required: Sequence[str] = ()) -> str | None:
	"""The field that a request's free text belongs in: a required one before the others."""
	texts = [name for name, schema in fields.items() if is_free_text(name, schema)]
	preferred = (
		"description",
		"title",
		"subject",
		"prompt",
		"query",
		"question",
		"content",
		"text",
		"message",
	)
	ranked = sorted(texts, key=lambda name: preferred.index(name) if name in preferred else len(preferred))
	first = [name for name in ranked if name in required] or [name for name in ranked if name in preferred]
	return first[0] if first else None


def is_free_text(name: str, schema: dict) -> bool:
	about = (schema.get("description") or "").lower()
	special = schema.get("enum") or schema.get("format") or "yyyy-mm-dd" in about or is_email(name, schema)
	linked = "name of a " in about or name in (*NAME_ARGUMENTS, *DOCTYPE_ARGUMENTS)
	return (
		schema.get("type", "string") == "string" and not special and not linked and not is_date(name, schema)
	)


def is_date(name: str, schema: dict) -> bool:
	about = (schema.get("description") or "").lower()
	return (
		schema.get("type", "string") == "string"
		and not schema.get("enum")
		and (
			schema.get("format") in ("date", "date-time")
			or "yyyy-mm-dd" in about
			or name == "date"
			or name.endswith("_date")
		)
	)


def is_email(name: str, schema: dict) -> bool:
	return schema.get("format") == "email" or "email" in name or name in ("to", "recipient", "recipients")
