"""Turns what functions of apps return into JSON values."""

from collections.abc import AsyncIterator, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from frappe.model.document import Document

from huf.ai.tools.fields import to_visible_dict


def to_json_value(value: Any) -> Any:
	"""A result as JSON has it: documents as the fields that the user may read, dates and decimals as text."""
	if value is None or isinstance(value, str | int | float):
		return value
	if isinstance(value, Document):
		return to_visible_dict(value)
	if isinstance(value, Mapping):
		return {str(key): to_json_value(each) for key, each in value.items()}
	if isinstance(value, list | tuple | Iterator):
		return [to_json_value(each) for each in value]
	if isinstance(value, AbstractSet):
		# Their order differs from process to process, and a repeated call should read the same.
		return sorted(map(to_json_value, value), key=str)
	if isinstance(value, Enum):
		return to_json_value(value.value)
	if is_dataclass(value):
		return {each.name: to_json_value(getattr(value, each.name)) for each in fields(value)}
	if callable(dump := getattr(value, "model_dump", None)):
		return to_json_value(dump())
	return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


async def collect_items(items: AsyncIterator) -> list:
	return [each async for each in items]
