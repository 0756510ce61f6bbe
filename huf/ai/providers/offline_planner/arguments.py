"""Fills a tool's arguments from the words of a request. Pure; leaves out what it is not told, never guesses."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from huf.ai.providers.offline_planner.dates import find_date
from huf.ai.providers.offline_planner.lexicon import Word, fold, stem
from huf.ai.providers.offline_planner.matching import Match
from huf.ai.providers.offline_planner.reading import (
	ARTICLES,
	FIELDS,
	FUNCTION_WORDS,
	JOINERS,
	LEADS,
	MARKERS,
	OF,
	POLITE,
	TEXT_CUES,
	Clause,
)
from huf.ai.providers.offline_planner.tools import Tool, is_date, is_email, main_text
from huf.ai.providers.offline_planner.values import READERS, pick, read_value, with_clock

YEAR = re.compile(r"(19|20)\d\d")
DUE = ("date", "due_date", "schedule_date", "start_date", "starts_on")
"""Date fields that a date in passing may be put into; any other has to be named."""


@dataclass(frozen=True)
class Cue:
	"""Words that announce a field's value."""

	field: str
	length: int
	alone: bool  # announces it without a "with" before it


def field_meaning(name: str, tool: Tool | None = None) -> str | None:
	"""The row of FIELDS a field belongs to: due_date is a date, customer_name a title, reference_name neither."""
	parts = name.split("_")
	if len(parts) == 1:
		return FIELDS.get(name)
	if parts[-1] == "name":
		own = {stem(part) for subject in (tool.subjects if tool else ()) for part in subject}
		return "title" if set(map(stem, parts[:-1])) <= own | {"first", "full"} else None
	meaning = FIELDS.get(parts[0])
	return meaning if meaning in ("assignee", "date", "email") and len(parts) == 2 else None


def cue_at(sequence: Sequence[Word], at: int, fields: dict[str, dict], tool: Tool) -> Cue | None:
	"""The field that is named at a place: by its own name, its label, or a word that means it."""
	if sequence[at].is_mark or sequence[at].is_quoted:
		return None
	for name, schema in fields.items():
		label = fold((schema.get("description") or "").split(":")[0])
		for phrase in {name.replace("_", " "), name, label}:
			length = len(phrase.split())
			if phrase and [word.key for word in sequence[at : at + length]] == phrase.split():
				return Cue(name, length, False)
		if schema.get("enum") and sequence[at].key == name.rsplit("_", 1)[-1]:
			return Cue(name, 1, False)
	meaning = FIELDS.get(sequence[at].key)
	alone = sequence[at].key in TEXT_CUES or meaning == "assignee"
	for name in fields:
		if meaning and meaning == field_meaning(name, tool):
			return Cue(name, 1, alone)
	return None


def fill_fields(clause: Clause, match: Match, today: date) -> dict[str, Any]:
	"""Values of a tool's fields from a request such as "create a todo to call Anna, high priority"."""
	tool = match.tool
	body = body_of(clause, match)
	named: dict[str, list[Word]] = {}
	fields = dict(tool.fields)
	while True:
		rest, named = cut_out_named(clause, body, fields, tool)
		values = {
			name: read_value(clause.slice(part), name, fields[name], today) for name, part in named.items()
		}
		if not (unread := [name for name, value in values.items() if value is None]):
			break
		for name in unread:
			del fields[name]  # the word was no cue: it is part of the text
	values |= fill_from_adjectives(clause, match, values)
	values |= fill_kinds(rest, tool, values)
	if tool.operation is None:
		values |= fill_examples(rest, tool, values)
	return values | fill_rest(clause, rest, tool, values, today)


def body_of(clause: Clause, match: Match) -> Sequence[Word]:
	"""The words that say what the new document holds: after the noun, or between the verb and "to my todos"."""
	sequence = clause.words
	if match.into:
		return sequence[clause.verb_end : match.at - match.into]
	if clause.verb_at < match.end:
		return sequence[max(match.end, clause.verb_end) :]
	after = [word for word in sequence[clause.verb_end :] if not word.is_mark and word.key not in POLITE]
	return sequence[clause.verb_end :] if after else sequence[match.end : clause.verb_at]


def cut_out_named(
	clause: Clause, body: Sequence[Word], fields: dict[str, dict], tool: Tool
) -> tuple[list[Word], dict[str, list[Word]]]:
	"""Part the words into free text and the values of fields that are named in it."""
	text: list[Word] = []
	named: dict[str, list[Word]] = {}
	into, at = text, 0
	while at < len(body):
		if into is not text and body[at].key == ":" and not text:
			into = text  # "assigned to Anna: call Bob" goes on with the text
		cue = cue_at(body, at, {name: field for name, field in fields.items() if name not in named}, tool)
		opens = may_open(clause, body, at, bool(cue and fields[cue.field].get("enum")))
		if cue and is_cue(cue, body, at, opens, bool(text)):
			drop_opening(clause, into)
			into = named.setdefault(cue.field, [])
			at += cue.length
			while at < len(body) and (body[at].key in (":", "=") or body[at].key in MARKERS[clause.language]):
				at += 1
		elif opens and (pair := value_before_cue(body, at, fields, tool)):
			drop_opening(clause, into)
			named[pair] = [body[at]]
			at += 2
		else:
			into.append(body[at])
			at += 1
	for part in (text, *named.values()):
		drop_tail(part, POLITE)
	return text, named


def may_open(clause: Clause, body: Sequence[Word], at: int, named_options: bool = False) -> bool:
	"""Whether a field may be named here: at the start, after a comma, "with" or "with the"; "of" for options."""
	before = list(body[:at])
	while before and before[-1].key in ARTICLES[clause.language]:
		before.pop()
	if not before or before[-1].is_mark:
		return True
	openers = (JOINERS, OF) if named_options else (JOINERS,)
	return any(before[-1].key in lexicons[clause.language] for lexicons in openers)


def drop_opening(clause: Clause, part: list[Word]) -> None:
	while part and part[-1].key in ARTICLES[clause.language]:
		part.pop()
	drop_tail(part, JOINERS[clause.language])
	drop_tail(part, OF[clause.language])


def is_cue(cue: Cue, body: Sequence[Word], at: int, opens: bool, has_text: bool) -> bool:
	if at + cue.length >= len(body):
		return False
	if body[at + cue.length].key in (":", "="):
		return True
	return opens or (cue.alone and not has_text) or (cue.alone and body[at].key not in TEXT_CUES)


def value_before_cue(body: Sequence[Word], at: int, fields: dict[str, dict], tool: Tool) -> str | None:
	""" "high priority": the field whose option stands before its name."""
	cue = cue_at(body, at + 1, fields, tool) if at + 1 < len(body) else None
	options = fields[cue.field].get("enum") if cue else None
	return cue.field if options and pick(body[at].key, cue.field, options) is not None else None


def drop_tail(part: list[Word], lexicon: Any) -> None:
	while part and not part[-1].is_quoted and (part[-1].is_mark or part[-1].key in lexicon):
		part.pop()


def fill_from_adjectives(clause: Clause, match: Match, values: dict) -> dict[str, Any]:
	"""Options before the noun: "a high priority todo", "a public note"."""
	if match.into:
		return {}
	found = {}
	before = clause.words[clause.verb_end : max(match.at, clause.verb_end)]
	keys = [word.key for word in before if not word.is_quoted and word.key not in FUNCTION_WORDS]
	for name, schema in match.tool.fields.items():
		options = [pick(key, name, schema.get("enum") or ()) for key in keys]
		meant = [option for option in options if option not in (None, 0, "")]
		if meant and name not in values:
			found[name] = meant[0]
	return found


def fill_kinds(rest: Sequence[Word], tool: Tool, values: dict) -> dict[str, Any]:
	"""Required fields that a word fits by its kind: an address, a URL, the only number."""
	found = {}
	for name in tool.required_fields:
		schema = tool.fields[name]
		if name in values or schema.get("enum"):
			continue
		if is_email(name, schema):
			fitting = [word.text for word in rest if "@" in word.text]
		elif name in ("url", "link"):
			fitting = [word.text for word in rest if word.kind == "url"]
		elif schema.get("type") in ("integer", "number"):
			numbers = [READERS[schema["type"]](word.text) for word in rest]
			fitting = [number for number in numbers if number is not None]
		else:
			continue
		if len(fitting) == 1:
			found[name] = fitting[0]
	return found


def fill_examples(rest: Sequence[Word], tool: Tool, values: dict) -> dict[str, Any]:
	"""What a function may be told: a word that its schema gives as an example, and the only year."""
	found = {}
	for name, schema in tool.fields.items():
		examples = {fold(str(each)): each for each in schema.get("examples") or ()}
		fitting = [examples[word.key] for word in rest if word.key in examples]
		if name == "year" and schema.get("type") == "integer":
			fitting = [int(word.text) for word in rest if YEAR.fullmatch(word.text)]
		if len(fitting) == 1 and name not in values:
			found[name] = fitting[0]
	return found


def fill_rest(clause: Clause, rest: Sequence[Word], tool: Tool, values: dict, today: date) -> dict[str, Any]:
	"""What no field claimed: a date goes to the date field, the words to the main text."""
	found: dict[str, Any] = {}
	rest = [word for word in rest if "@" not in word.text or word.text not in values.values()]
	day_field = next((name for name in DUE if name in tool.fields and name not in values), None)
	if day_field and is_date(day_field, tool.fields[day_field]) and (seen := find_date(rest, today)):
		day, start, end = seen
		found[day_field] = with_clock(day, clause.text, tool.fields[day_field])
		if not strip_ends(rest[end:]):
			rest = rest[:start]
		elif not strip_ends(rest[:start]):
			rest = rest[end:]
	left = {name: schema for name, schema in tool.fields.items() if name not in {*values, *found}}
	name = main_text(left, tool.required_fields)
	if tool.operation is None:
		while rest and rest[0].kind == "word" and rest[0].key in FUNCTION_WORDS:
			rest = rest[1:]  # "the weather in Prague": a function is asked about Prague
	if name and (text := free_text(clause, rest)):
		found[name] = text
	return found


def strip_ends(part: Sequence[Word]) -> list[Word]:
	"""Without marks and politeness around it."""
	stripped = list(part)
	drop_tail(stripped, POLITE)
	while stripped and not stripped[0].is_quoted and (stripped[0].is_mark or stripped[0].key in POLITE):
		stripped.pop(0)
	return stripped


def free_text(clause: Clause, part: Sequence[Word]) -> str:
	"""The words as written, without what leads up to them ("to", "that says:")."""
	rest, led = list(part), False
	while rest and not rest[0].is_quoted:
		if rest[0].key == ":":
			return clause.slice(strip_ends(rest[1:]))  # meant word for word
		if not (rest[0].is_mark or is_lead(clause, rest[0])):
			break
		led = led or not rest[0].is_mark
		rest.pop(0)
	rest = strip_ends(rest)
	text = clause.slice(rest)
	spoken = led and rest and rest[0].kind == "word" and rest[0].text.islower()
	return text[0].upper() + text[1:] if spoken else text


def is_lead(clause: Clause, word: Word) -> bool:
	return word.key in LEADS[clause.language] or word.key in TEXT_CUES or word.key in POLITE
