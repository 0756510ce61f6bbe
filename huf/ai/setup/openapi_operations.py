"""Plans a tool for each operation of an OpenAPI document, or says why there can be none. Reads no record."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urljoin, urlsplit

from frappe import _

from huf.ai.core.types import Effect
from huf.ai.tools.operations import METHODS, RESERVED_HEADERS, Operation
from huf.ai.tools.schema_cleaning import (
	SchemaCleaner,
	UnusableTool,
	clean_schema,
	find_reference,
	make_tool_name,
	strip_invisible,
)
from huf.ai.tools.schemas import closed_object

MAX_OPERATIONS = 1_000
MAX_SCHEMA_CHARS = 5_000_000
"""Limit for the schemas of all operations together, references resolved: checking them takes seconds."""
MAX_DESCRIPTION_CHARS = 1_000
MAX_REFERENCES = 10
"""How many references may follow one another."""
HTTP_METHODS = ("get", "post", "put", "patch", "delete", "head", "options", "trace")
KNOWN_METHODS = {method.lower() for methods in METHODS.values() for method in methods}
ANNOTATIONS = {"example", "examples", "xml", "externalDocs", "discriminator"}
"""Keywords of schemas that a model does not need."""
AUTHORIZATION = "Authorization"


@dataclass(frozen=True)
class PlannedTool:
	"""`key`: "METHOD /path". `headers`: what the service wants as credentials. `left_out`: optional parts
	that the tool will not have.
	"""

	key: str
	tool: str
	description: str
	base_url: str
	operation: Operation
	headers: tuple[str, ...] = ()
	left_out: tuple[str, ...] = ()

	@property
	def effect(self) -> Effect:
		return Effect.READ if self.operation.method == "GET" else Effect.EXTERNAL


def plan_tools(
	document: Mapping, source: str = "", base_url: str = "", prefix: str = ""
) -> tuple[list[PlannedTool], list[dict]]:
	"""(plans, refused as [{operation, reason}]) in the document's order.

	Args:
		source: the document's own URL, for relative servers
		base_url: instead of the document's servers
	"""
	plans: list[PlannedTool] = []
	refused: list[dict] = []
	chars = 0
	for path, method, item in iterate_operations(document):
		key = f"{method.upper()} {strip_invisible(path)[:200]}"
		number = len(plans) + len(refused)
		if number >= MAX_OPERATIONS or chars > MAX_SCHEMA_CHARS:
			reason = _("Operations after the first {0} are left out.").format(number)
			refused.append({"operation": key, "reason": reason})
			break
		try:
			builder = PlanBuilder(document, resolve(document, item), method)
			plan = builder.build(key, path, choose_server(builder.sources, source, base_url))
		except UnusableTool as error:
			refused.append({"operation": key, "reason": str(error)})
		except (AttributeError, TypeError, KeyError):
			refused.append({"operation": key, "reason": _("It is not described as OpenAPI requires.")})
		else:
			tool = make_tool_name(prefix, plan.tool, [each.tool for each in plans])
			plans.append(replace(plan, tool=tool))
			chars += len(plan.operation.as_json())
	return plans, refused


def iterate_operations(document: Mapping) -> Iterator[tuple[str, str, Any]]:
	for path, item in document["paths"].items():
		if not isinstance(item, Mapping):
			continue
		methods = HTTP_METHODS if "$ref" in item else [each for each in HTTP_METHODS if each in item]
		for method in methods:
			yield path, method, item


def resolve(document: Mapping, node: Any) -> Any:
	"""The node that a `$ref` leads to. Raises UnusableTool if it is missing or the chain is too long."""
	for _step in range(MAX_REFERENCES):
		if not isinstance(node, Mapping) or "$ref" not in node:
			return node
		node = find_reference(document, node["$ref"])
	raise UnusableTool(_("Its references do not end."))


def choose_server(sources: Iterable[Mapping], source: str, base_url: str) -> str:
	"""The base URL of an operation: the given one, else the first server named nearest to it."""
	named = next((each["servers"] for each in sources if each.get("servers")), None)
	server: Mapping[str, Any] = {"url": base_url} if base_url else named[0] if named else {"url": "/"}
	url = server["url"]
	for name, variable in (server.get("variables") or {}).items():
		url = url.replace(f"{{{name}}}", str(variable.get("default", "")))
	try:
		url = urljoin(source, url) if source else url
		parts = urlsplit(url)
		_port = parts.port  # ValueError for one that there cannot be
	except ValueError:
		raise UnusableTool(_("{0} is not an address.").format(strip_invisible(url)[:200])) from None
	if parts.scheme not in ("http", "https") or not parts.hostname or "{" in url:
		raise UnusableTool(_("The document does not say which server it is for. Enter a base URL."))
	if parts.username or parts.query or parts.fragment:
		raise UnusableTool(_("The server's URL has credentials or a query. Enter a base URL without them."))
	return url.rstrip("/")


class PlanBuilder:
	"""Collects the parts of one operation."""

	def __init__(self, document: Mapping, item: Mapping, method: str):
		if method not in item:
			raise UnusableTool(_("There is no such operation."))
		self.document, self.item, self.spec, self.method = document, item, item[method], method
		self.sources = (self.spec, item, document)
		self.properties: dict[str, Any] = {}
		self.required: list[str] = []
		self.parameters: dict[str, dict] = {}
		self.left_out: list[str] = []

	def build(self, key: str, path: str, base_url: str) -> PlannedTool:
		if self.method not in KNOWN_METHODS:
			raise UnusableTool(_("Tools do not send {0}.").format(self.method.upper()))
		headers = self.find_credentials()
		for each in self.list_parameters():
			if each["in"] != "header" or each["name"] not in headers:
				self.add_parameter(each)
		self.check_path(path)
		body, content_type = self.add_body()
		schema = closed_object(self.properties, self.required)
		operation = Operation(
			self.method.upper(), path, self.parameters, self.clean(schema), body, content_type
		)
		try:
			operation.check()
		except ValueError:
			raise UnusableTool(
				_("Its path does not begin with /, or has characters that a path cannot have.")
			) from None
		name = self.spec.get("operationId") or re.sub(r"[\W_]+", "_", f"{self.method}_{path}").strip("_")
		return PlannedTool(key, name, self.describe(key), base_url, operation, headers, tuple(self.left_out))

	def describe(self, key: str) -> str:
		texts = [self.spec.get("summary"), self.spec.get("description")]
		given = list(dict.fromkeys(strip_invisible(text).strip() for text in texts if text))
		return ". ".join(text.rstrip(".") for text in given if text)[:MAX_DESCRIPTION_CHARS] or key

	def clean(self, schema: dict) -> dict:
		return clean_schema(schema, OpenApiSchemaCleaner(self.document))

	def list_parameters(self) -> list[Mapping]:
		"""Those of the path and of the operation, which replace them."""
		rows = [*(self.item.get("parameters") or []), *(self.spec.get("parameters") or [])]
		resolved = [resolve(self.document, row) for row in rows]
		return list({(row["name"], row["in"]): row for row in resolved}.values())

	def add_parameter(self, parameter: Mapping) -> None:
		name, place = parameter["name"], parameter["in"]
		is_required = parameter.get("required") is True or place == "path"
		if place == "header" and name.lower() in RESERVED_HEADERS:
			return
		schema = resolve(self.document, parameter.get("schema"))
		if reason := find_unsupported(parameter, schema):
			self.omit(_("parameter {0} ({1})").format(name, place), reason, is_required)
			return
		argument = self.add_argument(name, parameter["schema"], parameter.get("description"), is_required)
		self.parameters[argument] = {
			"name": name,
			"in": place,
			"explode": parameter.get("explode") is not False,
		}

	def add_argument(self, name: str, schema: Any, description: str | None, is_required: bool) -> str:
		argument = make_tool_name("", name, self.properties)
		self.properties[argument] = {"description": description, **schema} if description else dict(schema)
		if is_required:
			self.required.append(argument)
		return argument

	def omit(self, part: str, reason: str, is_required: bool) -> None:
		if is_required:
			raise UnusableTool(_("A required part cannot be sent: {0}.").format(f"{part}, {reason}"))
		self.left_out.append(f"{part}, {reason}")

	def check_path(self, path: str) -> None:
		described = {each["name"] for each in self.parameters.values() if each["in"] == "path"}
		if missing := set(re.findall(r"\{([^}]*)\}", path)) - described:
			raise UnusableTool(
				_("The document does not describe this part of the path: {0}.").format(
					", ".join(sorted(missing))
				)
			)

	def add_body(self) -> tuple[str | None, str]:
		"""(argument, content type) of a body in JSON."""
		default = "application/json"
		request_body = resolve(self.document, self.spec.get("requestBody"))
		if not request_body or self.method == "get":
			return None, default
		content, is_required = request_body.get("content") or {}, request_body.get("required") is True
		kinds = [
			kind
			for kind in content
			if re.fullmatch(r"application/([\w.-]+\+)?json", kind.partition(";")[0].strip())
		]
		if not kinds:
			reason = _("which is {0}, not JSON").format(", ".join(content) or _("of no type"))
			self.omit(_("body"), reason, is_required)
			return None, default
		schema = content[kinds[0]].get("schema") or {}
		return self.add_argument("body", schema, request_body.get("description"), is_required), kinds[0]

	def find_credentials(self) -> tuple[str, ...]:
		"""The headers of the first way to sign in that needs only headers."""
		ways = self.spec.get("security", self.document.get("security")) or [{}]
		schemes = (self.document.get("components") or {}).get("securitySchemes") or {}
		for way in ways:
			headers = [find_header(resolve(self.document, schemes.get(name) or {})) for name in way]
			if all(headers):
				return tuple(dict.fromkeys(filter(None, headers)))
		raise UnusableTool(
			_("It expects a key in the query, a cookie or a certificate. Tools send keys in headers.")
		)


def find_header(scheme: Mapping) -> str | None:
	if scheme.get("type") == "apiKey":
		return strip_invisible(scheme["name"]) if scheme.get("in") == "header" else None
	return AUTHORIZATION if scheme.get("type") in ("http", "oauth2", "openIdConnect") else None


def find_unsupported(parameter: Mapping, schema: Any) -> str | None:
	place, styles = parameter["in"], {"path": "simple", "query": "form", "header": "simple"}
	if place not in styles:
		return _("which is not sent")
	if parameter.get("style", styles[place]) != styles[place]:
		return _("which is written in the style {0}").format(parameter["style"])
	if not isinstance(schema, Mapping) or schema.get("type") == "object" or "properties" in schema:
		return _("which is not a plain value or list")
	return _("which may contain reserved characters") if parameter.get("allowReserved") else None


class OpenApiSchemaCleaner(SchemaCleaner):
	"""Also translates the keywords of OpenAPI 3.0, and drops properties that only responses have."""

	def clean_object(self, node: Mapping, depth: int, inlined: tuple[str, ...]) -> dict:
		kept = {
			key: value for key, value in node.items() if key not in ANNOTATIONS and not key.startswith("x-")
		}
		found = super().clean_object(kept, depth, inlined)
		if found.pop("nullable", None) is True and isinstance(found.get("type"), str):
			found["type"] = [found["type"], "null"]
			if "enum" in found and None not in found["enum"]:
				found["enum"] = [*found["enum"], None]
		return drop_read_only(found)


def drop_read_only(schema: dict) -> dict:
	"""Without the properties that a service sets itself."""
	properties = schema.get("properties")
	if not isinstance(properties, dict):
		return schema
	kept = {
		name: each
		for name, each in properties.items()
		if not (isinstance(each, dict) and each.get("readOnly") is True)
	}
	if isinstance(schema.get("required"), list):
		schema["required"] = [name for name in schema["required"] if name in kept or name not in properties]
	return {**schema, "properties": kept}
