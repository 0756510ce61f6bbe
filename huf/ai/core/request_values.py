"""Values of requests, which forms and URLs send as JSON text and JSON bodies as they are."""

from typing import Any

import frappe

from huf.ai.core.errors import UsageError


def read_json(given: Any, name: str) -> Any:
	"""Parse an argument that may be JSON text; other values are returned as they are. Raises UsageError."""
	try:
		return frappe.parse_json(given)
	except ValueError:
		raise UsageError(f"{name} is not valid JSON. Correct it and send it again.") from None
