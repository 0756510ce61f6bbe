"""Describes the parameters of a function as a JSON schema, and converts a call's arguments to what their
annotations name.

Values of JSON's own types are passed as they are. All others, such as dates, enums, dataclasses and models,
are described and converted by pydantic, which is imported with the first function that has one.
"""

import inspect
import json
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from inspect import Parameter, unwrap
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import docstring_parser

from huf.ai.core.errors import ToolError

JSON_TYPES: dict[Any, str] = {
	str: "string",
	int: "integer",
	float: "number",
	bool: "boolean",
	dict: "object",
	list: "array",
	NoneType: "null",
}
ANYTHING = (Any, Parameter.empty)
REFERENCE = "#/$defs/"


@dataclass(frozen=True)
class ParameterType:
	"""The JSON schema of an annotation. `adapter`: pydantic's, of a type that JSON does not have."""

	schema: dict
	adapter: Any = None

	def convert(self, value: Any) -> Any:
		"""Raises pydantic's ValidationError, a ValueError."""
		if self.adapter:
			return self.adapter.validate_python(value)
		# 5.0 is an integer in JSON Schema.
		return int(value) if self.schema.get("type") == "integer" and isinstance(value, float) else value


@lru_cache(maxsize=512)
def get_signature(function: Callable) -> inspect.Signature:
	"""Cached, because reading a signature takes longer than most calls."""
	if sys.version_info < (3, 14):
		return inspect.signature(function)
	from annotationlib import Format

	# Names that are imported only for type checkers are not defined; `read_types` says so.
	return inspect.signature(function, annotation_format=Format.FORWARDREF)


def takes_context(function: Callable) -> bool:
	"""Whether it is `async (args, user_context)`."""
	names = list(get_signature(function).parameters)
	return inspect.iscoroutinefunction(function) and names == ["args", "user_context"]


def describe_function(function: Callable) -> str:
	"""What the docstring says before it lists parameters, results and errors; "" without one."""
	return (docstring_parser.parse(inspect.getdoc(function) or "").description or "").strip()


def build_schema(function: Callable) -> dict:
	"""A JSON schema of the function's parameters: types from annotations, descriptions from the docstring in
	the style of Google, NumPy or Sphinx; without a default, required.
	"""
	if takes_context(function):
		return {"type": "object", "properties": {}}
	signature, types, descriptions = (
		get_signature(function),
		read_types(function),
		read_descriptions(function),
	)
	definitions: dict[str, dict] = {}
	for each in types.values():
		definitions |= each.schema.get("$defs", {})
	properties = {
		name: describe_parameter(signature.parameters[name], each.schema, descriptions.get(name))
		for name, each in types.items()
	}
	kinds = [each.kind for each in signature.parameters.values()]
	return {
		"type": "object",
		"properties": properties,
		"required": [name for name in types if signature.parameters[name].default is Parameter.empty],
		"additionalProperties": Parameter.VAR_KEYWORD in kinds,
		**({"$defs": definitions} if definitions else {}),
	}


def read_descriptions(function: Callable) -> dict[str, str]:
	"""What the docstring says about each parameter, on one line."""
	found = docstring_parser.parse(inspect.getdoc(function) or "").params
	texts = [(each.arg_name.split(", "), " ".join((each.description or "").split())) for each in found]
	return {name: text for names, text in texts for name in names if text}


def describe_parameter(parameter: Parameter, schema: dict, description: str | None) -> dict:
	"""The schema of a parameter with its description and default, if it has them."""
	described = {key: value for key, value in schema.items() if key != "$defs"}
	if description:
		described["description"] = description
	default = parameter.default.value if isinstance(parameter.default, Enum) else parameter.default
	return {**described, "default": default} if is_json_scalar(default) else described


def is_json_scalar(value: Any) -> bool:
	return isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))


def convert_arguments(function: Callable, arguments: Mapping[str, Any]) -> dict:
	"""The arguments as their annotations say. Raises ToolError that names all wrong ones."""
	try:
		types = read_types(function)
	except ValueError:  # not marked as a tool: `check_annotations` refuses those that are
		return dict(arguments)
	converted, errors = dict(arguments), []
	for name in [each for each in types if each in arguments]:
		try:
			converted[name] = types[name].convert(arguments[name])
		except ValueError as error:
			errors += [f"{name}: {each['msg']}" for each in error.errors()]  # type: ignore[attr-defined]
	if errors:
		raise ToolError(f"The arguments do not fit the tool ({'; '.join(errors)}). The tool was not run.")
	return converted


def check_annotations(function: Callable) -> None:
	"""Raises ValueError for parameters that a model cannot fill in as they are written, with advice."""
	for parameter in get_signature(function).parameters.values():
		if parameter.kind is Parameter.POSITIONAL_ONLY:
			raise ValueError(f"{parameter.name} takes no name. Remove the / from the parameters.")
		if type(parameter.default).__name__ == "FieldInfo":
			raise ValueError(f"Write Annotated[..., Field(...)] as the annotation of {parameter.name}.")
	read_types(function)


@lru_cache(maxsize=512)
def read_types(function: Callable) -> dict[str, ParameterType]:
	"""The types of the parameters that a model may fill in. Raises ValueError for an annotation that cannot
	be read.
	"""
	every = get_signature(function).parameters.values()
	found = [each for each in every if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
	annotations = SimpleNamespace(__annotations__={each.name: each.annotation for each in found})
	names = getattr(unwrap(getattr(function, "__func__", function)), "__globals__", {})
	try:
		hints = get_type_hints(annotations, names, include_extras=True)
	except (NameError, AttributeError, SyntaxError, TypeError) as error:
		raise ValueError(
			f"An annotation of {function.__name__} cannot be read: {error}. "
			"Import what it names, and not only under TYPE_CHECKING."
		) from None
	return {each.name: read_type(hints[each.name], each.default) for each in found}


def read_type(hint: Any, default: Any) -> ParameterType:
	if (schema := build_type_schema(hint)) is not None:
		return ParameterType(schema)
	from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter

	# To leave an optional value out is the same as null, and simpler for a model.
	if default is None and get_origin(hint) in (Union, UnionType):
		hint = Union[tuple(each for each in get_args(hint) if each is not NoneType)]  # noqa: UP007
	texts = [each for each in getattr(hint, "__metadata__", ()) if isinstance(each, str)]
	try:
		adapter: Any = TypeAdapter(hint)
		schema = resolve_references(adapter.json_schema())
		return ParameterType({**schema, "description": texts[0]} if texts else schema, adapter)
	except PydanticSchemaGenerationError:  # a class such as Document
		return ParameterType({})
	except PydanticUserError as error:
		raise ValueError(str(error)) from None


def build_type_schema(hint: Any) -> dict | None:
	"""The JSON schema of an annotation that needs no conversion; {} accepts anything. None for others."""
	if hint in ANYTHING:
		return {}
	if get_origin(hint) is Literal:
		choices = get_args(hint)
		types = {JSON_TYPES.get(type(each)) for each in choices}
		return ({"type": types.pop()} if len(types) == 1 else {}) | {"enum": list(choices)}
	parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
	kinds = [JSON_TYPES.get(get_origin(part) or part) for part in parts]
	if None in kinds:
		return None
	schema: dict = {"type": kinds[0] if len(kinds) == 1 else kinds}
	if "array" in kinds:
		# OpenAI refuses lists without an item type.
		of = get_args(parts[kinds.index("array")])
		schema["items"] = build_type_schema(of[0]) if of else {}
	if "object" in kinds and (of := get_args(parts[kinds.index("object")])):
		schema["additionalProperties"] = build_type_schema(of[1])
	return None if None in schema.values() else schema


def resolve_references(schema: dict) -> dict:
	"""Pydantic's schema with what it refers to in place, for models that read no references. A type that
	contains itself keeps its `$defs`.
	"""
	definitions = schema.pop("$defs", {})
	resolved = resolve_node(schema, definitions)
	if "$ref" in json.dumps(resolved):
		resolved["$defs"] = {name: resolve_node(each, {}) for name, each in definitions.items()}
	return resolved


def resolve_node(node: Any, definitions: Mapping[str, dict], within: tuple[str, ...] = ()) -> Any:
	"""`within`: names of the definitions in which the node stands."""
	if isinstance(node, list):
		return [resolve_node(each, definitions, within) for each in node]
	if not isinstance(node, dict):
		return node
	name = node.get("$ref", "").removeprefix(REFERENCE)
	if name in definitions and name not in within:
		others = {key: value for key, value in node.items() if key != "$ref"}
		return resolve_node({**definitions[name], **others}, definitions, (*within, name))
	# A title is text; a property of this name is a schema.
	kept = {key: value for key, value in node.items() if key != "title" or isinstance(value, dict)}
	if kept.get("type") == "array":
		kept.setdefault("items", {})
	return {key: resolve_node(value, definitions, within) for key, value in kept.items()}
