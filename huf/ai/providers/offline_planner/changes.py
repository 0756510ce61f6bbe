"""Which document a request means and what is to change in it. Pure; a name is taken as given, never made up."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from huf.ai.providers.offline_planner.arguments import (
	cue_at,
	cut_out_named,
	field_meaning,
	strip_ends,
)
from huf.ai.providers.offline_planner.dates import find_date
from huf.ai.providers.offline_planner.lexicon import Word, read_words
from huf.ai.providers.offline_planner.matching import Match
from huf.ai.providers.offline_planner.reading import (
	ACHIEVEMENTS,
	AND,
	FIELDS,
	FUNCTION_WORDS,
	LEADS,
	MARKERS,
	TEXT_CUES,
	Clause,
)
from huf.ai.providers.offline_planner.tools import is_date
from huf.ai.providers.offline_planner.values import looks_like_id, may_be_name, read_value

RENAMES = {"rename": "title", "umbenennen": "title", "renombra": "title", "prejmenuj": "title"}


@dataclass(frozen=True)
class Target:
	"""The documents a request speaks of: their `names`, if it gives any, and the words that `describe` them.

	`sure`: the names can be nothing else. A quoted one may be a title, a plain word may be anything.
	"""

	names: tuple[str, ...] = ()
	describes: str = ""
	sure: bool = False


@dataclass(frozen=True)
class Change:
	target: Target
	values: dict[str, Any]


def read_target(clause: Clause, part: Sequence[Word]) -> Target:
	"""Target of the words after a noun."""
	rest = strip_ends(part)
	described = bool(rest) and rest[0].key in LEADS[clause.language]
	while rest and not rest[0].is_quoted and (rest[0].key in TEXT_CUES or is_filler(clause, rest[0])):
		rest = strip_ends(rest[1:])
	quoted = [word for word in rest if word.is_quoted]
	groups = [group for group in split_at_and(clause, rest) if group]
	singles = [group[0] for group in groups if len(group) == 1]
	named = quoted or (singles if len(singles) == len(groups) and not described else [])
	if not named or not all(may_be_name(word) for word in named):
		return Target(describes=clause.slice(rest))
	sure = not quoted and all(looks_like_id(word) for word in named)
	return Target(tuple(word.text for word in named), named[0].text if quoted else clause.slice(rest), sure)


def is_filler(clause: Clause, word: Word) -> bool:
	return (
		word.key in LEADS[clause.language]
		or word.key in FUNCTION_WORDS
		or word.key in ("id", "no", "nr", "number")
	)


def split_at_and(clause: Clause, part: Sequence[Word]) -> list[list[Word]]:
	groups: list[list[Word]] = [[]]
	for word in part:
		if word.key == "," or (word.key in AND[clause.language] and not word.is_quoted):
			groups.append([])
		elif not word.is_mark:
			groups[-1].append(word)
	return groups


def words_after(clause: Clause, match: Match | None) -> Sequence[Word]:
	"""What follows the noun, or the verb if the noun is not named; without a verb that closes the sentence."""
	start = max(match.end, 0) if match else clause.verb_end
	if clause.verb_at >= start:
		return clause.words[start : clause.verb_at]
	return clause.words[max(start, clause.verb_end) :]


def read_change(
	clause: Clause, match: Match | None, fields: dict[str, dict], title: str | None, today: date
) -> Change:
	"""What "mark todo abc as closed" or "set the priority of todo abc to high" asks for; no values if unclear."""
	after = words_after(clause, match)
	field = named_field(clause, match, fields, title)
	for name_part, value_part in splits(
		clause, after, first_marker_first=field is not None and "enum" not in fields[field]
	):
		if values := read_values(clause, match, value_part, field, fields, today):
			return Change(read_target(clause, name_part), values)
	if (goal := ACHIEVEMENTS.get(clause.verb)) and (values := read_any(goal, fields, today)):
		return Change(read_target(clause, after), values)
	rest = strip_ends(after)
	if len(rest) > 1 and (values := read_any(rest[-1].text, fields, today)):
		return Change(read_target(clause, rest[:-1]), values)
	name_part = next(splits(clause, after, first_marker_first=True), (after, ()))[0]
	return Change(read_target(clause, name_part), {})


def named_field(
	clause: Clause, match: Match | None, fields: dict[str, dict], title: str | None
) -> str | None:
	"""The field between verb and noun ("set the priority of ..."), or the one that the verb itself speaks of."""
	if clause.verb in RENAMES and title in fields:
		return title
	if FIELDS.get(clause.verb) == "assignee":
		return next((name for name in fields if field_meaning(name) == "assignee"), None)
	if match:
		between = clause.words[clause.verb_end : match.at]
		for at in range(len(between)):
			if cue := cue_at(between, at, fields, match.tool):
				return cue.field
	return None


def splits(
	clause: Clause, after: Sequence[Word], first_marker_first: bool
) -> Iterator[tuple[Sequence[Word], Sequence[Word]]]:
	"""The ways to part "abc as closed" into a name and a value."""
	markers = [
		at
		for at, word in enumerate(after)
		if at and not word.is_quoted and (word.key in MARKERS[clause.language] or word.key in (":", "=", ","))
	]
	for at in markers if first_marker_first else reversed(markers):
		yield after[:at], after[at + 1 :]


def read_values(
	clause: Clause,
	match: Match | None,
	part: Sequence[Word],
	field: str | None,
	fields: dict[str, dict],
	today: date,
) -> dict[str, Any]:
	text = clause.slice(strip_ends(part))
	if field:
		value = read_value(text, field, fields[field], today)
		return {} if value is None else {field: value}
	if match:
		_, named = cut_out_named(clause, part, fields, match.tool)
		values = {
			name: read_value(clause.slice(words), name, fields[name], today) for name, words in named.items()
		}
		if named and None not in values.values():
			return values
	return read_any(text, fields, today)


def read_any(text: str, fields: dict[str, dict], today: date) -> dict[str, Any]:
	"""The one field whose options hold this value; a date goes to the date field."""
	for name in sorted(fields, key=lambda name: name != "status"):
		if fields[name].get("enum") and (value := read_value(text, name, fields[name], today)) is not None:
			return {name: value}
	for name, schema in fields.items():
		if is_date(name, schema) and (value := read_value(text, name, schema, today)) and covers(text, today):
			return {name: value}
	return {}


def covers(text: str, today: date) -> bool:
	"""Whether the text is a date and nothing else."""
	sequence = read_words(text)
	found = find_date(sequence, today)
	return bool(found) and found[1] == 0 and found[2] == len(sequence)
