"""YAML with source lines: mappings know the line of each key, so that error messages can name it."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from huf.ai.core.errors import UsageError

MAX_VALUES = 200_000
SURROGATE = re.compile(r"[\ud800-\udfff]")
TEXT_TAG, DATE_TAG = "tag:yaml.org,2002:str", "tag:yaml.org,2002:timestamp"
NUMBER_TAGS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
TYPE_NAMES = {
	str: "text",
	int: "a whole number",
	(int, float): "a number",
	bool: "true or false",
	list: "a list",
	dict: "a mapping",
}


class LineLoader(yaml.SafeLoader):
	"""Loads mappings as LineMapping and rejects duplicate keys; runs nothing from the file."""

	def resolve(self, kind: type, value: str, implicit: Any) -> str:
		"""The tag of a value. YAML 1.1 reads 10:30 as 630 and 2027-02-01 as a date; here they stay text."""
		tag = super().resolve(kind, value, implicit)
		is_clock_time = kind is yaml.ScalarNode and tag in NUMBER_TAGS and ":" in value
		return TEXT_TAG if is_clock_time or tag == DATE_TAG else tag


class LineMapping(dict):
	"""A mapping with the `line` it begins on and the `lines` of its keys (from 1)."""

	def __init__(self, line: int):
		super().__init__()
		self.line = line
		self.lines: dict[str, int] = {}


def construct_mapping(loader: LineLoader, node: yaml.MappingNode) -> LineMapping:
	mapping = LineMapping(node.start_mark.line + 1)
	for key_node, value_node in node.value:
		key, line = loader.construct_object(key_node, deep=True), key_node.start_mark.line + 1
		if not isinstance(key, str):
			raise line_error(line, f"{key!r} is not a name.")
		if key in mapping:
			raise line_error(line, f"{key} appears twice.")
		mapping[key], mapping.lines[key] = loader.construct_object(value_node, deep=True), line
	return mapping


LineLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, construct_mapping)


def load_yaml(text: str) -> Any:
	"""Parse YAML; mappings are LineMapping. Raises UsageError that names the line of a syntax error."""
	try:
		value = yaml.load(text, Loader=LineLoader)  # noqa: S506 (a SafeLoader)
	except yaml.MarkedYAMLError as error:
		mark = error.problem_mark or error.context_mark
		raise line_error(mark.line + 1 if mark else 1, f"this is not YAML: {error.problem}.") from None
	except yaml.YAMLError as error:
		raise line_error(1, f"this is not YAML: {error}.") from None
	except RecursionError:
		raise line_error(1, "this is nested too deeply.") from None
	except ValueError as error:
		raise line_error(1, f"a value cannot be read: {error}.") from None
	check_value_count(value)
	return value


def check_value_count(value: Any) -> None:
	"""Raises UsageError for more than MAX_VALUES; a few lines of aliases (*name) can stand for billions. Also
	for a text that cannot be stored, such as "\\ud800".
	"""
	left, count = [value], 0
	while left:
		each = left.pop()
		count += 1
		if isinstance(each, str) and SURROGATE.search(each):
			raise line_error(1, f"{each[:40]!a} has half of a character.")
		left += each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
		if count + len(left) > MAX_VALUES:
			raise line_error(1, f"this has more than {MAX_VALUES:,} values.")


def line_error(line: int, message: str) -> UsageError:
	return UsageError(f"Line {line}: {message}")


def check_mapping(
	value: Any, types: Mapping[str, Any], what: str, line: int, needs: Iterable[str] = ()
) -> LineMapping:
	"""Return `value` if it is a mapping with no other keys than those of `types`, and values of these types.

	Raises UsageError that names the line; `what` is what messages call the mapping, `line` where it should
	be, `needs` the keys that must have a value.
	"""
	if not isinstance(value, LineMapping):
		raise line_error(line, f"{what} must be a mapping.")
	for key, each in value.items():
		if key not in types:
			raise line_error(value.lines[key], f"{key!r} is not known in {what}. Known: {', '.join(types)}.")
		if not isinstance(each, types[key]) or (isinstance(each, bool) and types[key] is not bool):
			is_plain = types[key] is str and isinstance(each, bool | int | float)
			hint = " Put the value into quotes." if is_plain else ""
			raise line_error(value.lines[key], f"{key} must be {TYPE_NAMES[types[key]]}.{hint}")
	for key in needs:
		if not value.get(key):
			raise line_error(value.line, f"{what} needs {key}.")
	return value
