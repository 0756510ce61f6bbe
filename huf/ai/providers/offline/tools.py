"""Describes an agent's tools and selects the tool that a request names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from huf.ai.providers.offline.language import Language, Token, fold_key, singular
from huf.ai.providers.offline.requests import Request

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
		texts = [name for name in self.fields if self.is_free_text(name)]
		required = [name for name in texts if name in self.required]
		ranked = [name for name in TITLE_FIELDS if name in (required or texts)] + required
		return ranked[0] if ranked else None

	@cached_property
	def date_field(self) -> str | None:
		return next(filter(self.is_date, self.fields), None)

	def is_free_text(self, name: str) -> bool:
		schema = self.fields[name]
		is_chosen = (
			schema.get("enum") or schema.get("examples") or "name of a " in schema.get("description", "")
		)
		return schema.get("type") == "string" and not is_chosen and not self.is_date(name)

	def is_date(self, name: str) -> bool:
		schema = self.fields[name]
		about = (schema.get("description") or "").lower()
		return schema.get("format") == "date" or name == "date" or about.endswith("yyyy-mm-dd")


@dataclass(frozen=True)
class Command:
	"""A request and the tool that serves it. The tokens from `at` to `end` name the tool's object."""

	request: Request
	tool: OfflineTool
	at: int
	end: int

	@property
	def operation(self) -> str:
		"""What the tool is called for: "count", or what it does."""
		is_count = self.tool.operation == "list" and self.request.operation == "count"
		return "count" if is_count else self.tool.operation

	@property
	def before(self) -> Sequence[Token]:
		"""The tokens between the verb and the object."""
		return self.request.tokens[self.request.verb_end : self.at]

	@property
	def after(self) -> Sequence[Token]:
		"""The tokens after both."""
		return self.request.tokens[max(self.end, self.request.verb_end) :]


def find_command(request: Request, tools: Sequence[OfflineTool]) -> Command | None:
	"""The first tool in the request that is named by all of its words and performs the operation."""
	serving = {"count": ("call", "list"), "list": ("call", "list", "get")}
	operations = serving.get(request.operation, ("call", request.operation))
	able = [tool for operation in operations for tool in tools if operation and tool.operation == operation]
	found = [command for tool in able if (command := find_object(request, tool))]
	return min(found, key=lambda command: (command.at, -len(command.tool.subject)), default=None)


def find_object(request: Request, tool: OfflineTool) -> Command | None:
	if request.language.get("reminders", request.verb) is not None and tool.subject == {"todo"}:
		return Command(request, tool, request.verb_end, request.verb_end)
	places: dict[str, int] = {}
	for at, token in enumerate(request.tokens[:MAX_NOUN_POSITION]):
		words = {singular(token.key), request.language.get("nouns", token.key) or ""} & tool.subject
		if words and not request.verb_at <= at < request.verb_end:
			places.setdefault(words.pop(), at)
	is_named = bool(places) and len(places) == len(tool.subject)
	return Command(request, tool, min(places.values()), max(places.values()) + 1) if is_named else None


def describe_abilities(tools: Sequence[OfflineTool], language: Language) -> str:
	"""What the tools can do: a line per DocType and function."""
	abilities: dict[str, list[str]] = {}
	for tool in tools:
		if tool.operation:
			about = tool.description.partition(". ")[0]
			text = about if tool.operation == "call" else language.say(f"can_{tool.operation}")
			abilities.setdefault(tool.thing, []).append(text)
	lines = [f"- **{thing}**: {', '.join(dict.fromkeys(texts))}" for thing, texts in abilities.items()]
	return "\n".join([language.say("abilities"), "", *lines]) if lines else language.say("no_tools")
