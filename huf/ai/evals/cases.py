"""Eval cases as YAML: the input of an agent and the checks on its output. Pure; errors name the source line.

- case: a short name
  agent: the agent under test
  prompt: the user's message; or mail: a raw mail with its headers
  untrusted: where untrusted content in the case came from
  roles: [roles of a temporary user the agent acts for; without them, the user who runs the case]
  records: [documents that exist during the case only]
  history: [earlier messages, as OpenAI chat messages]
  results: {tool: its result, for tools that reach outside; a list: one result for each call;
    {error: text, type: Refused}: the call fails}
  answers: [recorded model output, one entry a turn: {call: tool, with: {..}}, {calls: [..]} or {say: text}]
  expect: [checks, see `CHECKS`]
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from huf.ai.core.json_text import map_values
from huf.ai.core.timed_pattern import PatternError, compile_pattern
from huf.ai.core.yaml_lines import LineMapping, check_mapping, line_error, load_yaml

CHECKS: dict[str, tuple[Any, dict[str, Any]]] = {
	"says": (str, {}),
	"says_not": (str, {}),
	"matches": (str, {}),
	"calls": (str, {"with": dict, "times": int}),
	"calls_not": (str, {}),
	"fails": (str, {"with": dict, "error": str}),
	"record": (str, {"where": dict, "values": dict, "count": int}),
	"ends": (str, {}),
	"judge": (str, {}),
	"differs": (bool, {}),
}
"""Kinds of checks: the type of the value, and the other keys that the check may have."""
DEFINITION = {
	"mail": str,
	"roles": list,
	"records": list,
	"history": list,
	"results": dict,
	"answers": list,
	"expect": list,
}
CASE = {"case": str, "agent": str, "prompt": str, "untrusted": str, **DEFINITION}
TURN = {"call": str, "with": dict, "calls": list, "say": str}


@dataclass(frozen=True)
class RecordedTurn:
	"""What a model wrote and called in one turn; `calls`: (tool, arguments)."""

	text: str
	calls: list[tuple[str, dict]]


@dataclass(frozen=True)
class EvalCase:
	"""A parsed case. `expect`: each mapping has one kind of `CHECKS`."""

	name: str
	agent: str
	prompt: str
	mail: str | None = None
	roles: tuple[str, ...] = ()
	records: tuple[dict, ...] = ()
	history: tuple[dict, ...] = ()
	results: Mapping[str, Any] = field(default_factory=dict)
	answers: tuple[RecordedTurn, ...] = ()
	expect: tuple[dict, ...] = ()


def parse_cases(text: str) -> list[LineMapping]:
	"""Parse a YAML list of cases and validate each; returns their mappings. Raises UsageError that names the
	line.
	"""
	found = load_yaml(text) or []
	if not isinstance(found, list):
		raise line_error(1, "the file must be a list of cases.")
	names: set[tuple] = set()
	for values in found:
		check_mapping(values, CASE, "a case", getattr(values, "line", 1), ("case", "agent"))
		if (values["agent"], values["case"]) in names:
			raise line_error(values.line, f"there are two cases of the name {values['case']}.")
		names.add((values["agent"], values["case"]))
		build_case(values["case"], values["agent"], values.get("prompt", ""), values)
	return found


def dump_definition(values: Mapping) -> str:
	"""YAML for the field `definition` of Agent Eval Case: all of a case but its name, agent and prompt."""
	definition = {key: strip_lines(values[key]) for key in DEFINITION if values.get(key)}
	if not definition:
		return ""
	return yaml.safe_dump(definition, sort_keys=False, allow_unicode=True, width=110)


def strip_lines(value: Any) -> Any:
	"""Plain dicts and lists instead of line-aware mappings."""
	return map_values(lambda each: each, value)


def parse_case(name: str, agent: str, prompt: str, definition: str) -> EvalCase:
	"""The case of an Agent Eval Case record. Raises UsageError."""
	values = check_mapping(load_yaml(definition or "{}"), DEFINITION, "a case", 1)
	return build_case(name, agent, prompt, values)


def parse_definition(definition: str) -> dict:
	"""Plain values of what `dump_definition` wrote."""
	return strip_lines(load_yaml(definition or "{}"))


def build_case(name: str, agent: str, prompt: str, values: LineMapping) -> EvalCase:
	if not (prompt or values.get("mail")):
		raise line_error(values.line, f"the case {name} needs a prompt or a mail.")
	if not values.get("expect"):
		raise line_error(values.line, f"the case {name} expects nothing.")
	for each in values.get("records", ()):
		if not isinstance(each, dict) or not each.get("doctype"):
			raise line_error(values.lines["records"], "records must be documents with a doctype.")
	return EvalCase(
		name,
		agent,
		prompt,
		values.get("mail"),
		tuple(values.get("roles", ())),
		tuple(strip_lines(each) for each in values.get("records", ())),
		tuple(strip_lines(values.get("history", ()))),
		strip_lines(values.get("results", {})),
		tuple(parse_turn(each, values.lines["answers"]) for each in values.get("answers", ())),
		tuple(strip_lines(parse_check(each, values.lines["expect"])) for each in values["expect"]),
	)


def parse_turn(value: Any, line: int) -> RecordedTurn:
	turn = check_mapping(value, TURN, "an answer", getattr(value, "line", line))
	calls = turn.get("calls") or ([turn] if turn.get("call") else [])
	for call in calls:
		if not isinstance(call, dict) or not isinstance(call.get("call"), str):
			raise line_error(turn.line, "calls must be a list of {call: tool, with: {..}}.")
	if not calls and "say" not in turn:
		raise line_error(turn.line, "an answer needs call, calls or say.")
	made = [(call["call"], strip_lines(call.get("with") or {})) for call in calls]
	return RecordedTurn(turn.get("say", ""), made)


def parse_check(value: Any, line: int) -> LineMapping:
	line = getattr(value, "line", line)
	kinds = [key for key in value if key in CHECKS] if isinstance(value, dict) else []
	if len(kinds) != 1:
		raise line_error(line, f"expect one of these in each entry: {', '.join(CHECKS)}.")
	kind, more = kinds[0], CHECKS[kinds[0]][1]
	check_mapping(value, {kind: CHECKS[kind][0], **more}, f"the check {kind}", line)
	if isinstance(value[kind], str) and not value[kind].strip():
		raise line_error(value.lines[kind], f"the check {kind} is empty, so it would check nothing.")
	if kind == "matches":
		try:
			compile_pattern(value[kind])
		except PatternError as error:
			raise line_error(value.lines[kind], f"this is not a regular expression: {error}.") from None
	return value
