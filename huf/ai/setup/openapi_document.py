"""Reads an OpenAPI 3 document from a text or a URL, within bounds of size, time and address."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from frappe import _

from huf.ai.core.errors import ToolError, UsageError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.json_text import MAX_JSON_LEVELS, parse_json
from huf.ai.core.stored_text import digest

MAX_CHARS = 2_000_000
TIMEOUT_S = 30


class PrivateDocumentAddress(UsageError):
	"""The document is at a private address, which was not allowed."""

	def __init__(self, host: str):
		self.host = host
		text = _("{0} is a private address. If it is a server of your own network, tick {1}.")
		super().__init__(text.format(host, _("Allow Private Addresses")))


def fetch_text(url: str, allow_private: bool = False) -> str:
	"""Raises UsageError with the reason."""
	from huf.ai.tools import http

	try:
		answer = run_coroutine(http.send_request("GET", url, allow_private=allow_private, timeout=TIMEOUT_S))
	except http.PrivateAddressRefused as error:
		raise PrivateDocumentAddress(error.host) from None
	except ToolError as error:
		raise UsageError(_("The document could not be read: {0}").format(error)) from None
	if answer["status"] != 200 or answer["body"] is None:
		raise UsageError(
			_("{0} answered with status {1} and content of the type {2}, not with a document.").format(
				url, answer["status"], answer["content_type"] or "?"
			)
		)
	body = answer["body"]
	return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)


def parse_document(text: str) -> dict:
	"""The document as JSON values. Raises UsageError."""
	if len(text) > MAX_CHARS:
		raise UsageError(_("The document has more than {0} characters.").format(f"{MAX_CHARS:,}"))
	document = parse_text(text)
	if not isinstance(document, dict):
		raise UsageError(_("This is not an OpenAPI document: it is neither JSON nor YAML."))
	if "swagger" in document:
		raise UsageError(_("This is Swagger 2. Convert it to OpenAPI 3, for example with swagger2openapi."))
	if not re.match(r"3\.\d", str(document.get("openapi", ""))) or not isinstance(
		document.get("paths"), dict
	):
		raise UsageError(_("This is not an OpenAPI 3 document: it needs `openapi: 3.x` and `paths`."))
	return document


def parse_text(text: str) -> Any:
	"""The JSON or YAML value of a text. Raises UsageError if it is neither."""
	import yaml

	try:
		return parse_json(text)
	except ValueError:
		pass  # JSON that is nested too deeply is YAML that is
	loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
	try:
		check_events(yaml.parse(text, Loader=loader))
		data = yaml.load(text, Loader=loader)  # noqa: S506 (both are safe loaders)
		return json.loads(json.dumps(data, default=str))
	except (yaml.YAMLError, ValueError, TypeError):
		raise UsageError(_("This is not an OpenAPI document: it is neither JSON nor YAML.")) from None


def check_events(events: Iterable[Any]) -> None:
	"""Raises UsageError before anything is built: deep nesting ends the process inside of the C library, and
	a few lines of aliases can stand for gigabytes.
	"""
	import yaml

	depth = 0
	for event in events:
		if isinstance(event, yaml.AliasEvent):
			raise UsageError(
				_("The document has YAML aliases (*name). Replace them by $ref, or convert it to JSON.")
			)
		depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
		if depth > MAX_JSON_LEVELS:
			raise UsageError(_("The document is nested too deeply."))


def digest_document(document: Mapping) -> str:
	"""Tells a document that has changed since it was listed."""
	return digest(json.dumps(document, sort_keys=True))
