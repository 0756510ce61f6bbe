"""The call that takes back an external effect, where the tool declares one.

`compensate` of an Agent Tool Function is a JSON object whose texts may refer to the call, such as {"method":
"DELETE", "url": "/orders/{result.id}"}. A person makes the call; Huf fills it in.
"""

import re
from typing import Any

import frappe

PLACE = re.compile(r"\{(result|arguments)((?:\.[A-Za-z0-9_-]+)*)\}")


def describe_compensation(tool: str, arguments: Any, result: Any) -> dict | None:
	"""The compensating call with its places filled in; None if the tool declares none."""
	template = frappe.db.get_value("Agent Tool Function", tool, "compensate")
	if not template:
		return None
	return fill(frappe.parse_json(template), {"arguments": arguments, "result": result})


def fill(template: Any, values: dict) -> Any:
	"""The template with `{result.path}` and `{arguments.path}` replaced; what is missing stays as written."""
	if isinstance(template, dict):
		return {key: fill(value, values) for key, value in template.items()}
	if isinstance(template, list):
		return [fill(each, values) for each in template]
	if isinstance(template, str):
		return PLACE.sub(lambda place: look_up(place, values), template)
	return template


def look_up(place: re.Match, values: dict) -> str:
	value = values[place[1]]
	for key in filter(None, place[2].split(".")):
		# An HTTP result has the service's own answer below "body".
		inner = value.get("body") if isinstance(value, dict) and key not in value else value
		value = inner.get(key) if isinstance(inner, dict) else None
	return place[0] if value is None or isinstance(value, dict | list) else str(value)
