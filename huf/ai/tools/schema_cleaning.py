"""Cleans tool schemas, texts and names from outside: from MCP servers and OpenAPI documents.

They are untrusted data that goes to the model: they are bounded, and invisible characters and keywords that
would make validation slow or fetch other documents are removed.
"""

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote

from frappe import _

MAX_SCHEMA_CHARS = 30_000
MAX_SCHEMA_DEPTH = 24
NODE_CHARS = 20
"""What an object or a list counts at least: checking an empty one takes as long as a full one."""
MAX_TOOL_NAME_CHARS = 64
NAMED_SCHEMAS = ("properties", "dependentSchemas")
"""Keywords whose keys are names chosen by the server."""
LITERALS = ("enum", "const", "default", "examples", "required", "dependentRequired")
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
DROPPED = {
	"$schema",
	"$id",
	"$anchor",
	"$dynamicAnchor",
	"$recursiveAnchor",
	"$vocabulary",
	"$defs",
	"definitions",
	"pattern",
	"patternProperties",
	"unevaluatedItems",
	"unevaluatedProperties",
}
"""Keywords that are inlined, or left to the server: a hostile pattern can keep a regular expression busy for
hours, and the time for unevaluated values grows exponentially with the depth of a schema.
"""
FILLERS = re.compile(
	"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0d\uffa0\U000e0100-\U000e01ef]"
	"|(?<![\xa9\xae\u203c-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff])[\ufe0e\ufe0f](?!\u20e3)"
)
"""Emoji keep their variation selectors: a tool that edits a text would not find it without them."""
EXCLUSIVE = (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum"))
"""In draft 4 and OpenAPI 3.0, the first is a flag of the second."""


class UnusableTool(ValueError):
	"""A tool that cannot be offered to a model; the message says why."""


def strip_invisible(text: str) -> str:
	"""Remove control, format and private characters, variation selectors outside emoji, and fillers, which
	can hide instructions from people.
	"""
	kept = (char for char in text if char in "\n\t" or unicodedata.category(char)[0] != "C")
	return FILLERS.sub("", "".join(kept))


def strip_invisible_json(value: Any) -> Any:
	if isinstance(value, str):
		return strip_invisible(value)
	if isinstance(value, Mapping):
		return {strip_invisible(key): strip_invisible_json(each) for key, each in value.items()}
	return [strip_invisible_json(each) for each in value] if isinstance(value, list) else value


def clean_schema(schema: Any, cleaner: "SchemaCleaner | None" = None) -> dict:
	"""A schema without references, patterns and invisible characters. Raises UnusableTool.

	`cleaner`: that of the document in which references are resolved, if it is not the schema itself.
	"""
	from jsonschema import Draft202012Validator, SchemaError

	if not isinstance(schema, Mapping):
		raise UnusableTool(_("Its schema is not an object."))
	cleaned = (cleaner or SchemaCleaner(schema)).clean(schema)
	cleaned["type"] = "object"
	try:
		Draft202012Validator.check_schema(cleaned)
		json.dumps(cleaned, allow_nan=False)
	except (SchemaError, ValueError) as error:
		reason = getattr(error, "message", str(error))[:200]
		raise UnusableTool(_("Its schema is not valid: {0}").format(reason)) from None
	return cleaned


class SchemaCleaner:
	"""Copies a schema, and limits the size of the copy, which references could multiply."""

	def __init__(self, root: Mapping):
		self.root, self.size = root, 0

	def clean(self, node: Any, depth: int = 0, inlined: tuple[str, ...] = ()) -> Any:
		if depth > MAX_SCHEMA_DEPTH:
			raise UnusableTool(_("Its schema is nested more than {0} levels deep.").format(MAX_SCHEMA_DEPTH))
		if isinstance(node, Mapping | list):
			self.count(NODE_CHARS)
		if isinstance(node, Mapping):
			return self.clean_object(node, depth, inlined)
		if isinstance(node, list):
			return [self.clean(each, depth + 1, inlined) for each in node]
		text = strip_invisible(node) if isinstance(node, str) else node
		self.count(len(str(text)))
		return text

	def clean_object(self, node: Mapping, depth: int, inlined: tuple[str, ...]) -> dict:
		found: dict[str, Any] = {}
		for key, value in node.items():
			self.count(len(key) + 4)
			if key in NAMED_SCHEMAS and isinstance(value, Mapping):
				named = {
					strip_invisible(name): self.clean(each, depth + 1, inlined)
					for name, each in value.items()
				}
				found[key] = named
			elif key in LITERALS:
				self.count(len(json.dumps(value, ensure_ascii=False)))
				found[key] = strip_invisible_json(value)
			elif key in REFERENCES:
				found = {**self.inline(value, depth, inlined), **found}
			elif key not in DROPPED:
				# Before 2020-12, a list of schemas under `items` was what `prefixItems` is now.
				name = "prefixItems" if key == "items" and isinstance(value, list) else key
				found[name] = self.clean(value, depth + 1, inlined)
		for flag, limit in EXCLUSIVE:
			if isinstance(found.get(flag), bool) and found.pop(flag) and limit in found:
				found[flag] = found.pop(limit)
		return found

	def inline(self, reference: Any, depth: int, inlined: tuple[str, ...]) -> dict:
		"""The target of a reference within the schema; {} (anything) for recursive schemas."""
		if reference in inlined:
			return {}
		return self.clean(find_reference(self.root, reference), depth + 1, (*inlined, reference))

	def count(self, size: int) -> None:
		self.size += size
		if self.size > MAX_SCHEMA_CHARS:
			raise UnusableTool(_("Its schema has more than {0} characters.").format(f"{MAX_SCHEMA_CHARS:,}"))


def find_reference(root: Mapping, reference: Any) -> Mapping:
	"""The target of a JSON pointer within a document (#/a/0). Raises UnusableTool."""
	target: Any = root
	if not isinstance(reference, str) or not reference.startswith("#"):
		raise UnusableTool(_("Its schema refers to another document."))
	for part in filter(None, unquote(reference[1:]).split("/")):
		key = part.replace("~1", "/").replace("~0", "~")
		if isinstance(target, list):
			target = target[int(key)] if key.isdecimal() and int(key) < len(target) else None
		else:
			target = target.get(key) if isinstance(target, Mapping) else None
	if not isinstance(target, Mapping):
		raise UnusableTool(_("Its schema has no {0}.").format(reference[:100]))
	return target


def make_tool_name(prefix: str, name: str, taken: Iterable[str] = ()) -> str:
	"""The name for models: letters, digits, _ and -. A digest is appended if the name was cut or is taken."""
	wanted = re.sub(r"[^A-Za-z0-9_-]", "_", f"{prefix}{name}")
	if len(wanted) <= MAX_TOOL_NAME_CHARS and wanted not in set(taken):
		return wanted
	suffix = hashlib.sha256(name.encode()).hexdigest()[:6]
	return f"{wanted[: MAX_TOOL_NAME_CHARS - 7]}_{suffix}"
