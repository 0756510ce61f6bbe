"""Operations of HTTP services as tools: parses their JSON in the tool's record, and builds requests.

`{"method", "path", "parameters": {argument: {"name", "in", "explode"}}, "body", "content_type", "schema"}`:
`path` has `{name}` for path parameters, `body` names the argument that is sent as JSON, `schema` is that of
all arguments.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from huf.ai.core.arguments import has_name_patterns
from huf.ai.core.errors import ToolError, UsageError
from huf.ai.core.json_text import to_text

METHODS = {"GET": ("GET",), "POST": ("POST", "PUT", "PATCH", "DELETE")}
"""By tool type."""
PLACES = ("path", "query", "header")
RESERVED_HEADERS = frozenset(
	[
		"accept",
		"authorization",
		"connection",
		"content-length",
		"content-type",
		"cookie",
		"host",
		"idempotency-key",
		"transfer-encoding",
	]
)
"""Headers that arguments must not set."""
PATH = re.compile(r"/[^\s?#\\]*")


@dataclass(frozen=True)
class Operation:
	method: str
	path: str
	parameters: Mapping[str, Mapping[str, Any]]
	schema: dict
	body: str | None = None
	content_type: str = "application/json"

	@classmethod
	def parse(cls, text: str) -> "Operation":
		"""Raises UsageError for anything but an operation."""
		try:
			operation = cls(**json.loads(text))
			operation.check()
		except (TypeError, ValueError, AttributeError, KeyError) as error:
			raise UsageError(f"Operation is not valid: {error}") from None
		return operation

	def check(self) -> None:
		if self.tool_type is None or not PATH.fullmatch(self.path) or "://" in self.path:
			raise ValueError("give a method and a path that begins with /")
		for name, each in self.parameters.items():
			if each["in"] not in PLACES or not isinstance(each["name"], str):
				raise ValueError(f"{name} has no place in the request")
			if each["in"] == "header" and each["name"].lower() in RESERVED_HEADERS:
				raise ValueError(f"the header {each['name']} is not an argument")
		if not isinstance(self.schema["properties"], dict):
			raise ValueError("the schema has no properties")
		if has_name_patterns(self.schema):
			raise ValueError("the schema has patternProperties, which are not supported")

	def as_json(self) -> str:
		return json.dumps(asdict(self), ensure_ascii=False, indent=1)

	@property
	def tool_type(self) -> str | None:
		return next((types for types, methods in METHODS.items() if self.method in methods), None)

	def build_request(self, base_url: str, arguments: Mapping[str, Any]) -> "OperationRequest":
		"""Raises ToolError for an argument that has no place in a URL or a header."""
		path, headers = self.path, {"Accept": "application/json"}
		query: list[tuple[str, str]] = []
		for argument, each in self.parameters.items():
			value, name = arguments.get(argument), each["name"]
			if each["in"] == "path":
				path = path.replace(f"{{{name}}}", quote_segment(argument, value))
			elif value is None:
				continue
			elif each["in"] == "header":
				headers[name] = to_header(argument, join_values(value))
			elif isinstance(value, list) and each.get("explode", True):
				query.extend((name, to_text(item)) for item in value)
			else:
				query.append((name, join_values(value)))
		body = arguments.get(self.body) if self.body else None
		if body is not None:
			headers["Content-Type"] = self.content_type
		url = f"{base_url.rstrip('/')}{path}{'?' if query else ''}{urlencode(query, quote_via=quote)}"
		return OperationRequest(url, headers, body)


@dataclass(frozen=True)
class OperationRequest:
	url: str
	headers: dict[str, str] = field(repr=False)
	body: Any = None


def quote_segment(argument: str, value: Any) -> str:
	"""Quote a value as one path segment that cannot lead to another path."""
	text = "" if value is None else join_values(value)
	if text in ("", ".", ".."):
		raise ToolError(f"{argument}: {text!r} cannot be part of the address. Nothing was sent.")
	return quote(text, safe="")


def to_header(argument: str, text: str) -> str:
	if not text.isprintable():
		raise ToolError(f"{argument} cannot be sent in a header: it has line breaks or control characters.")
	return text


def join_values(value: Any) -> str:
	return ",".join(map(to_text, value)) if isinstance(value, list) else to_text(value)
