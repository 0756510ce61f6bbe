"""Describes an agent's tools and selects the tool that a request names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from huf.ai.providers.offline.language import Language, fold_key, singular
from huf.ai.providers.offline.requests import Request
from huf.ai.providers.offline.values import is_date_field

OPERATIONS = {
	"Get List": "list",
	"Read Document": "list",
	"Get Document": "get",
	"Create Document": "create",
	"Update Document": "update",
	"Delete Document": "delete",
}
TITLE_FIELDS = ("title", "description", "subject", "full_name", "prompt", "query", "content", "text")
GENERIC_WORDS = {"tool", "get", "list", "find", "search", "show", "check", "count"}
MAX_NOUN_POSITION = 25


@dataclass(frozen=True)
class OfflineTool:
	"""One tool. `type`, `doctype` and `effect` are those of its Agent Tool Function, "" where it has none."""

	name: str
	description: str
	parameters: dict
	type: str = ""
	doctype: str = ""
	effect: str = ""

	@property
	def operation(self) -> str:
		"""What the tool does with records; "call" for a function that only reads, such as a report; "" if it
		is not used.
		"""
		is_lookup = not self.doctype and self.effect == "read"
		return OPERATIONS.get(self.type) or ("call" if is_lookup else "")

	@property
	def thing(self) -> str:
		return self.doctype or self.name.replace("_", " ")

	@property
	def required(self) -> list[str]:
		"""The mandatory fields."""
		return [name for name in self.parameters.get("required") or () if name in self.fields]

	@cached_property
	def fields(self) -> dict[str, dict]:
		"""Schemas of the values that a request may contain, by field."""
		schema = self.parameters["properties"]["values"] if self.operation == "update" else self.parameters
		return schema.get("properties") or {}

	@cached_property
	def choices(self) -> dict[str, list]:
		"""The options of the fields that have some."""
		enums = {name: schema.get("enum") or () for name, schema in self.fields.items()}
		return {name: [option for option in enum if option != ""] for name, enum in enums.items() if enum}

	@cached_property
	def subject(self) -> set[str]:
		"""The words that name the tool's object, in the singular."""
		words = {singular(word) for word in re.split(r"[\W_]+", fold_key(self.doctype or self.name)) if word}
		return words if self.doctype else words - GENERIC_WORDS

	@cached_property
	def title_field(self) -> str | None:
		"""The field for free text."""
		texts = [name for name, schema in self.fields.items() if is_free_text(name, schema)]
		required = [name for name in texts if name in self.required]
		ranked = [name for name in TITLE_FIELDS if name in (required or texts)] + required
		return ranked[0] if ranked else None

	@cached_property
	def date_field(self) -> str | None:
		return next((name for name, schema in self.fields.items() if is_date_field(name, schema)), None)


def is_free_text(name: str, schema: dict) -> bool:
	is_chosen = schema.get("enum") or schema.get("examples") or "name of a " in schema.get("description", "")
	return schema.get("type") == "string" and not is_chosen and not is_date_field(name, schema)


def read_tools(specs: Sequence[dict]) -> list[OfflineTool]:
	"""Tools of function specs in OpenAI's form, with "x-huf" beside the name (see `plan`)."""
	tools = []
	for function in [spec["function"] for spec in specs]:
		known = {key: value or "" for key, value in function.get("x-huf", {}).items()}
		about = function.get("description") or ""
		tools.append(OfflineTool(function["name"], about, function.get("parameters") or {}, **known))
	return tools


def find_offered_tool(tools: Sequence[OfflineTool], doctype: str, *operations: str) -> OfflineTool | None:
	fitting = [tool for tool in tools if tool.doctype == doctype and tool.operation in operations]
	return min(fitting, key=lambda tool: operations.index(tool.operation), default=None)


@dataclass(frozen=True)
class ToolMatch:
	"""A tool, and the range `at` to `end` of the tokens that name it."""

	tool: OfflineTool
	at: int
	end: int


def match_tool(request: Request, tools: Sequence[OfflineTool]) -> ToolMatch | None:
	"""The first tool in the request that is named by all of its words and performs the operation."""
	serving = {"count": ("call", "list"), "list": ("call", "list", "get")}
	operations = serving.get(request.operation, ("call", request.operation))
	able = [tool for operation in operations for tool in tools if operation and tool.operation == operation]
	found = [match for tool in able if (match := find_subject(request, tool))]
	return min(found, key=lambda match: (match.at, -len(match.tool.subject)), default=None)


def find_subject(request: Request, tool: OfflineTool) -> ToolMatch | None:
	if request.language.get("reminders", request.verb) is not None and tool.subject == {"todo"}:
		return ToolMatch(tool, request.verb_end, request.verb_end)
	places: dict[str, int] = {}
	for at, token in enumerate(request.tokens[:MAX_NOUN_POSITION]):
		words = {singular(token.key), request.language.get("nouns", token.key) or ""} & tool.subject
		if words and not request.verb_at <= at < request.verb_end:
			places.setdefault(words.pop(), at)
	is_named = bool(places) and len(places) == len(tool.subject)
	return ToolMatch(tool, min(places.values()), max(places.values()) + 1) if is_named else None


def describe_abilities(tools: Sequence[OfflineTool], language: Language) -> str:
	"""What the tools can do: a line per DocType and function."""
	abilities: dict[str, dict[str, None]] = {}
	for tool in tools:
		if tool.operation == "call":
			abilities[tool.thing] = {tool.description.partition(". ")[0]: None}
		elif tool.operation:
			abilities.setdefault(tool.thing, {})[language.say(f"can_{tool.operation}")] = None
	lines = [f"- **{thing}**: {', '.join(texts)}" for thing, texts in abilities.items()]
	return "\n".join([language.say("abilities"), "", *lines]) if lines else language.say("no_tools")
