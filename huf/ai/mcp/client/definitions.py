"""Tool definitions of MCP servers: cleans them, and compares them with the accepted ones."""

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from frappe import _

from huf.ai.core.json_text import to_canonical_json
from huf.ai.core.stored_text import digest
from huf.ai.core.types import Effect
from huf.ai.tools.schema_cleaning import UnusableTool, clean_schema, strip_invisible, strip_invisible_json

MAX_TOOLS = 200
MAX_NAME_CHARS = 128
MAX_DESCRIPTION_CHARS = 4_000


@dataclass(frozen=True)
class ToolDefinition:
	"""What a person accepts: everything the model sees of a tool, and the server's annotations."""

	name: str
	description: str
	input_schema: dict
	annotations: dict

	@classmethod
	def clean(cls, name: str, description: str | None, schema: Any, annotations: Mapping) -> "ToolDefinition":
		"""The definition in a server's answer, cleaned. Raises UnusableTool."""
		if not name or len(name) > MAX_NAME_CHARS or strip_invisible(name) != name:
			raise UnusableTool(_("{0} is not a usable name.").format(ascii(name[:MAX_NAME_CHARS])))
		text = strip_invisible(description or "").strip()[:MAX_DESCRIPTION_CHARS]
		hints = {key: value for key, value in annotations.items() if isinstance(value, bool)}
		return cls(name, text or name, clean_schema(schema), hints)

	@classmethod
	def parse(cls, text: str) -> "ToolDefinition":
		return cls(**strip_invisible_json(json.loads(text)))

	def as_json(self) -> str:
		return json.dumps(vars(self), ensure_ascii=False, indent=1, sort_keys=True)

	@property
	def digest(self) -> str:
		return digest(to_canonical_json(vars(self)))

	@property
	def proposed_effect(self) -> Effect:
		"""The effect that the server claims; only a proposal."""
		return Effect.READ if self.annotations.get("readOnlyHint") is True else Effect.EXTERNAL


def diff_definitions(accepted: ToolDefinition | None, offered: ToolDefinition | None) -> str:
	"""A unified diff of two definitions; empty if they are equal."""
	before, after = (each.as_json().splitlines() if each else [] for each in (accepted, offered))
	return "\n".join(difflib.unified_diff(before, after, "accepted", "offered", lineterm="", n=2))
