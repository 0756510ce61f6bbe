"""Parses tool calls that a model wrote as text, in the styles of local models.

Pure. Only names of known tools count. Broken JSON is repaired if it is unambiguous; otherwise the text
becomes the call's arguments, so that the loop refuses it and tells the model why.
"""

import ast
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from huf.ai.core.arguments import repair_json, strip_fence
from huf.ai.core.json_text import read_json_or_text

ToolSchemas = Mapping[str, dict]
"""Parameters (a JSON schema) by the tool's name."""
TextCall = tuple[str, str]
"""(tool name, arguments as text)."""

NAME_KEYS = ("name", "tool", "function", "tool_name", "function_name", "action", "recipient_name")
ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "tool_input", "action_input", "params", "kwargs")
WRAPPER_KEYS = ("function", "function_call", "tool_call")
LIST_KEYS = ("tool_calls", "calls", "function_calls", "tool_uses")
EXTRA_KEYS = {"type", "id", "index", "call_id", "tool_call_id", "thought", "thoughts", "reasoning"}
"""Keys allowed beside a call; with any other key the object is not a call."""
CALL_KEYS = {*NAME_KEYS, *ARGUMENT_KEYS, *WRAPPER_KEYS, *LIST_KEYS, *EXTRA_KEYS}

NAME = r"[A-Za-z0-9_.-]{1,80}"
TAGS = re.compile(
	r"</?(?:tool_calls?|function_calls?|tools)>|\[TOOL_CALLS\]|\[/?ARGS\]|\[CALL_ID\]\w+|```\w*"
)
DEEPSEEK_SEPARATOR = re.compile(r"(?:function)?<｜tool▁sep｜>")
SPECIAL_TOKEN = re.compile(r"<[|｜][^|｜<>]{1,40}[|｜]>")
NAMED_BODY = re.compile(rf"\s*(?:functions\.)?({NAME})(?::\d+)?\s*(?=\{{)")
XML_CALL = re.compile(
	rf"<(?:function=|invoke name=\"?)({NAME})\"?>(.*?)(?:</(?:function|invoke)>|$)", re.DOTALL
)
XML_PARAMETER = re.compile(
	r"<parameter(?:=| name=\"?)([^>\"]+)\"?>\n?(.*?)\n?</parameter>"
	r"|<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>",
	re.DOTALL,
)
GLM_CALL = re.compile(rf"(?:^|<tool_call>)\s*({NAME})\s*(<arg_key>.*)", re.DOTALL)
MAX_XML_PARAMETERS = 200
MAX_PYTHON_CHARS = 20_000
"""Python's parser takes the square of the length for some texts, and holds up all threads meanwhile."""
SEPARATOR = re.compile(r"[\s,;]*")
NAME_PAIR = re.compile(rf"""["']?\b(?:{"|".join(NAME_KEYS)})["']?\s*[:=]\s*["']({NAME})["']""")
CONSTANTS = {"true": True, "false": False, "null": None}


def parse_calls(text: str, tools: ToolSchemas, marked: bool) -> list[TextCall]:
	"""The calls that a text consists of; an empty list if it is anything else.

	`marked`: a marker announced calls, so that an object without arguments counts as well.
	"""
	text = strip_fence(text)
	plain = SPECIAL_TOKEN.sub(" ", DEEPSEEK_SEPARATOR.sub(" ", TAGS.sub(" ", text))).strip()
	try:
		if (values := parse_first(text, EXACT_PARSERS) or parse_first(plain, EXACT_PARSERS)) is not None:
			return to_calls(values, tools, marked)
		found = read_xml(text, tools) or read_named_bodies(plain, tools) or read_python(plain, tools)
		if not found and (
			values := parse_first(text, [parse_repaired]) or parse_first(plain, [parse_repaired])
		):
			return to_calls(values, tools, marked)
		return found or read_broken(text, tools)
	except RecursionError:
		return []


def parse_first(text: str, readers: Iterable[Callable[[str], Any]]) -> list | None:
	"""The result of the first reader that can read an object or a list; None if none can."""
	for read in readers if text.startswith(("{", "[")) else ():
		try:
			value = read(text)
		except (ValueError, SyntaxError, TypeError, MemoryError):
			continue
		if isinstance(value, list | dict):
			return value if isinstance(value, list) else [value]
	return None


def parse_json_values(text: str) -> list:
	"""Parse consecutive JSON values, whatever separates them. Raises ValueError."""
	values, place = [], 0
	while place < len(text):
		value, place = json.JSONDecoder().raw_decode(text, place)
		values += value if isinstance(value, list) else [value]
		separator = SEPARATOR.match(text, place)
		place = separator.end() if separator else len(text)
	return values


def parse_repaired(text: str) -> dict | None:
	return repair_json(f'{{"calls": {text}}}' if text.startswith("[") else text)


def parse_python_value(text: str) -> Any:
	if len(text) > MAX_PYTHON_CHARS:
		raise ValueError("too long")
	return ast.literal_eval(text)


EXACT_PARSERS = (parse_json_values, parse_python_value)


def to_calls(values: list, tools: ToolSchemas, marked: bool) -> list[TextCall]:
	"""All values as calls, or an empty list."""
	return all_or_none([to_call(each, tools, marked) for value in values for each in unwrap_calls(value)])


def all_or_none(found: list[TextCall | None]) -> list[TextCall]:
	calls = [call for call in found if call is not None]
	return calls if len(calls) == len(found) else []


def unwrap_calls(value: Any) -> list:
	"""The calls in a wrapper object, or the object."""
	known = value if isinstance(value, dict) else {}
	return next((known[key] for key in LIST_KEYS if isinstance(known.get(key), list)), [value])


def to_call(value: Any, tools: ToolSchemas, marked: bool) -> TextCall | None:
	"""An object as a call; None if it is not one, such as a tool's description."""
	if not isinstance(value, dict):
		return None
	for key in WRAPPER_KEYS:
		if isinstance(value.get(key), dict):
			value = {**{k: v for k, v in value.items() if k != key}, **value[key]}
	names = ((key, find_tool_name(value.get(key), tools)) for key in NAME_KEYS)
	named, tool = next(((key, name) for key, name in names if name), ("", None))
	given = next((key for key in ARGUMENT_KEYS if key in value), None)
	if not tool or not (given or marked) or set(value) - {named, given} - EXTRA_KEYS:
		return None
	arguments = value.get(given)
	if isinstance(arguments, dict) and {"type", "properties"} <= set(arguments):
		return None
	if isinstance(arguments, str):
		return tool, arguments
	if arguments is None or isinstance(arguments, dict):
		return tool, json.dumps(arguments or {}, ensure_ascii=False)
	return None


def find_tool_name(name: Any, tools: ToolSchemas) -> str | None:
	"""The tool with this name; some models prefix it with a module."""
	if not isinstance(name, str):
		return None
	bare = re.sub(r"^(?:functions|tools|default_api)\.", "", name.strip()).removesuffix(".call")
	return bare if bare in tools else None


def read_xml(text: str, tools: ToolSchemas) -> list[TextCall]:
	found = [(name, read_xml_parameters(body)) for name, body in XML_CALL.findall(text)]
	if not found and (glm := GLM_CALL.search(text)):
		found = [(glm[1], read_xml_parameters(glm[2]))]
	return all_or_none([to_xml_call(name, body, tools) for name, body in found])


def read_named_bodies(text: str, tools: ToolSchemas) -> list[TextCall]:
	"""Read names that are each followed by an object."""
	found, place = [], 0
	while head := NAMED_BODY.match(text, place):
		try:
			_, place = json.JSONDecoder().raw_decode(text, head.end())
		except ValueError:
			place = len(text)
		tool = find_tool_name(head[1], tools)
		if not tool:
			return []
		found.append((tool, text[head.end() : place].strip()))
	return [] if text[place:].strip() else found


def read_xml_parameters(body: str) -> dict[str, str] | str:
	if body.count("<parameter") + body.count("<arg_key>") > MAX_XML_PARAMETERS:
		# Limited, because the pattern searches the whole text for the end of each.
		return body.strip()
	found = {a or c: b or d for a, b, c, d in XML_PARAMETER.findall(body)}
	return found or body.strip()


def to_xml_call(name: str, body: dict[str, str] | str, tools: ToolSchemas) -> TextCall | None:
	tool = find_tool_name(name, tools)
	if not tool:
		return None
	if isinstance(body, str):
		return tool, body or "{}"
	fields = tools[tool].get("properties") or {}
	typed = {key: convert_xml_value(value, fields.get(key) or {}) for key, value in body.items()}
	return tool, json.dumps(typed, ensure_ascii=False)


def convert_xml_value(text: str, schema: dict) -> Any:
	"""Convert XML text to the type that the tool's schema asks for, by parsing it as JSON."""
	return text if schema.get("type", "string") == "string" else read_json_or_text(text)


def read_python(text: str, tools: ToolSchemas) -> list[TextCall]:
	"""Read `[look(limit=1), find(words="x")]`, or the same as statements. Named arguments only."""
	if len(text) > MAX_PYTHON_CHARS:
		return []
	try:
		statements = ast.parse(text).body
	except (SyntaxError, ValueError, MemoryError):
		return []
	nodes = [node for statement in statements for node in list_expressions(statement)]
	return all_or_none([to_python_call(node, tools) for node in nodes])


def list_expressions(statement: ast.stmt) -> Sequence[ast.expr | None]:
	value = getattr(statement, "value", None)
	if isinstance(value, ast.Call) and getattr(value.func, "id", "") == "print" and len(value.args) == 1:
		value = value.args[0]
	return value.elts if isinstance(value, ast.List | ast.Tuple) else [value]


def to_python_call(node: ast.expr | None, tools: ToolSchemas) -> TextCall | None:
	if not isinstance(node, ast.Call) or node.args:
		return None
	name = find_tool_name(ast.unparse(node.func), tools)
	try:
		arguments = {word.arg: evaluate_literal(word.value) for word in node.keywords}
		return (name, json.dumps(arguments, ensure_ascii=False)) if name and None not in arguments else None
	except (ValueError, TypeError):
		return None


def evaluate_literal(node: ast.expr) -> Any:
	return (
		CONSTANTS[node.id] if isinstance(node, ast.Name) and node.id in CONSTANTS else ast.literal_eval(node)
	)


def read_broken(text: str, tools: ToolSchemas) -> list[TextCall]:
	"""Read ambiguous JSON that names its tool."""
	match = NAME_PAIR.search(text)
	return [(name, text.strip())] if match and (name := find_tool_name(match[1], tools)) else []
