"""YAML whose mappings know the lines of their keys, so that what is wrong is told with its line. Nothing of a file is run."""

from collections.abc import Mapping
from typing import Any

import yaml

from huf.ai.core.errors import UsageError

KINDS = {
	str: "text",
	int: "a whole number",
	(int, float): "a number",
	bool: "true or false",
	list: "a list",
	dict: "a mapping",
}


class Lines(yaml.SafeLoader):
	"""A loader whose mappings know the lines of their keys, and have each key once."""


class Lined(dict):
	def __init__(self, line: int):
		super().__init__()
		self.line, self.lines = line, {}


def construct_mapping(loader: Lines, node: yaml.MappingNode) -> Lined:
	mapping = Lined(node.start_mark.line + 1)
	for key_node, value_node in node.value:
		key, line = loader.construct_object(key_node, deep=True), key_node.start_mark.line + 1
		if not isinstance(key, str):
			raise wrong(line, f"{key!r} is no name.")
		if key in mapping:
			raise wrong(line, f"{key} is there twice.")
		mapping[key], mapping.lines[key] = loader.construct_object(value_node, deep=True), line
	return mapping


Lines.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, construct_mapping)


def load(text: str) -> Any:
	"""What a file holds. Raises UsageError with the line of what is no YAML."""
	try:
		# A SafeLoader: nothing of the file is run.
		return yaml.load(text, Loader=Lines)  # noqa: S506
	except yaml.MarkedYAMLError as error:
		mark = error.problem_mark or error.context_mark
		raise wrong(mark.line + 1 if mark else 1, f"this is not YAML: {error.problem}.") from None
	except yaml.YAMLError as error:
		raise wrong(1, f"this is not YAML: {error}.") from None


def wrong(line: int, what: str) -> UsageError:
	return UsageError(f"Line {line}: {what}")


def known(value: Any, keys: Mapping[str, Any], what: str, line: int) -> Lined:
	"""The mapping, if it has only these keys with values of these kinds."""
	if not isinstance(value, Lined):
		raise wrong(line, f"{what} must be a mapping.")
	for key, each in value.items():
		if key not in keys:
			raise wrong(value.lines[key], f"{key!r} is not known in {what}. There are: {', '.join(keys)}.")
		if not isinstance(each, keys[key]) or (isinstance(each, bool) and keys[key] is not bool):
			raise wrong(value.lines[key], f"{key} must be {KINDS[keys[key]]}.")
	return value
