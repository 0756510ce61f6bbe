"""The call that takes back an external effect, where the tool declares one.

`compensate` of an Agent Tool Function is a JSON object whose texts may refer to the call, such as {"method":
"DELETE", "url": "/orders/{result.id}"}. A person makes the call; Huf fills it in.
"""

import re
from typing import Any

import frappe

from huf.ai.core.json_text import map_values

PLACE = re.compile(r"\{(result|arguments)((?:\.[A-Za-z0-9_-]+)*)\}")


def describe_compensation(tool: str, arguments: Any, result: Any) -> dict | None:
	"""The compensating call with its places filled in; None if the tool declares none."""
	template = frappe.db.get_value("Agent Tool Function", tool, "compensate")
	if not template:
		return None
	values = {"arguments": arguments, "result": result}

	def fill(value: Any) -> Any:
		return PLACE.sub(lambda place: look_up(place, values), value) if isinstance(value, str) else value

	return map_values(fill, frappe.parse_json(template))


def look_up(place: re.Match, values: dict) -> str:
	"""The value of `{result.path}` or `{arguments.path}`; what is missing stays as written."""
	value = values[place[1]]
	for key in filter(None, place[2].split(".")):
		# An HTTP result has the service's own answer below "body".
		inner = value.get("body") if isinstance(value, dict) and key not in value else value
		value = inner.get(key) if isinstance(inner, dict) else None
	return place[0] if value is None or isinstance(value, dict | list) else str(value)
