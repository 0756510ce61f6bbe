"""Turns a request to see records into filters, order and limit. Pure; says which words it could not use."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from huf.ai.providers.offline_planner.arguments import strip_ends
from huf.ai.providers.offline_planner.dates import PERIODS, find_date
from huf.ai.providers.offline_planner.lexicon import Word, stem
from huf.ai.providers.offline_planner.matching import Match
from huf.ai.providers.offline_planner.reading import (
	FIELDS,
	FUNCTION_WORDS,
	MINE,
	NEGATIONS,
	ORDERS,
	POLITE,
	SEARCH_CUES,
	SMALLTALK,
	VALUES,
	VERBS,
	Clause,
)
from huf.ai.providers.offline_planner.tools import Facts, is_date
from huf.ai.providers.offline_planner.values import looks_like_id, pick

DEFAULT_LIMIT = 20
COUNT_LIMIT = 1000
"""Rows asked for to count them, where the tool's schema does not say how many it gives at most."""


@dataclass
class Search:
	"""What of a request became a search. `unused` are its words that no filter could be made of."""

	filters: dict[str, Any] = field(default_factory=dict)
	order_by: str | None = None
	limit: int | None = None
	unused: list[str] = field(default_factory=list)
	mine: bool = False


def read_search(clause: Clause, match: Match, facts: Facts, today: date) -> Search:
	search = Search()
	used = set(range(clause.verb_at, clause.verb_end)) | set(range(match.at, match.end))
	used |= read_order(clause, search)
	used |= read_dates(clause, facts, search, used, today)
	used |= read_text(clause, facts, search, used)
	used |= read_options(clause, facts, search, used)
	search.mine = any(word.key in MINE for word in clause.words)
	search.unused = [word.text for at, word in enumerate(clause.words) if at not in used and is_content(word)]
	return search


def is_content(word: Word) -> bool:
	if word.is_quoted:
		return True
	known = (FUNCTION_WORDS, MINE, POLITE, NEGATIONS, VERBS, SMALLTALK)
	return not word.is_mark and not any(word.key in lexicon for lexicon in known)


def read_order(clause: Clause, search: Search) -> set[int]:
	""" "last 5": newest first, five of them."""
	used = set()
	for at, word in enumerate(clause.words):
		order, length = ORDERS.at(clause.words, at)
		following = clause.words[at + length] if at + length < len(clause.words) else word
		if order and not search.order_by and following.key not in PERIODS:
			search.order_by = order
			used |= set(range(at, at + length))
		elif word.key.isdigit() and len(word.key) <= 4 and int(word.key) > 0 and not search.limit:
			search.limit = int(word.key)
			used.add(at)
	return used


def read_dates(clause: Clause, facts: Facts, search: Search, used: set[int], today: date) -> set[int]:
	found = find_date(clause.words, today)
	name = next((name for name, schema in facts.fields.items() if is_date(name, schema)), None)
	if not found or not name or used & set(range(found[1], found[2])):
		return set()
	search.filters[name] = found[0]
	due = {at for at, word in enumerate(clause.words) if FIELDS.get(word.key) == "date"}
	return set(range(found[1], found[2])) | due


def read_options(clause: Clause, facts: Facts, search: Search, used: set[int]) -> set[int]:
	"""Words that are options of a field: open, high, disabled; "not closed" turns one around."""
	taken = set()
	for at, word in enumerate(clause.words):
		if at in used or word.is_mark or word.is_quoted:
			continue
		for name in sorted(facts.fields, key=lambda name: name != "status"):
			value = option_of(word, name, facts.fields[name])
			if value is not None and name not in search.filters:
				negated = at > 0 and clause.words[at - 1].key in NEGATIONS
				search.filters[name] = ["!=", value] if negated else value
				taken |= {at} | {near for near in (at - 1, at + 1) if names_field(clause.words, near, name)}
				break
	return taken


def option_of(word: Word, name: str, schema: dict) -> Any:
	if word.key in FUNCTION_WORDS and word.key not in VALUES:
		return None
	if schema.get("enum"):
		return pick(word.key, name, schema["enum"])
	if name in ("enabled", "disabled") and word.key in VALUES:
		return pick(word.key, name, [0, 1])
	return None


def names_field(sequence: Sequence[Word], at: int, name: str) -> bool:
	return 0 <= at < len(sequence) and (
		stem(sequence[at].key) == stem(name) or FIELDS.get(sequence[at].key) == name
	)


def read_text(clause: Clause, facts: Facts, search: Search, used: set[int]) -> set[int]:
	"""Text to look for: in quotes, or after "about" and "named"."""
	if not facts.title:
		return set()
	for at, word in enumerate(clause.words):
		if at in used:
			continue
		if word.is_quoted:
			search.filters[facts.title] = ["like", f"%{word.text}%"]
			return {at}
		rest = strip_ends(clause.words[at + 1 :])
		if (
			word.key in SEARCH_CUES[clause.language]
			and rest
			and not used & set(range(at, at + 1 + len(rest)))
		):
			if any(word.key in VALUES for word in rest):
				continue  # "with high priority" is an option, not a text
			search.filters[facts.title] = ["like", f"%{clause.slice(rest)}%"]
			return set(range(at, len(clause.words)))
	return set()


def as_arguments(search: Search, match: Match, counting: bool) -> dict[str, Any]:
	"""A list tool's arguments for a search; what it has no argument for is left out and becomes `unused`."""
	properties = match.tool.properties
	arguments: dict[str, Any] = {}
	if search.filters and "filters" in properties:
		arguments["filters"] = search.filters
	elif search.filters:
		arguments |= {name: value for name, value in search.filters.items() if name in properties}
		search.unused += [str(value) for name, value in search.filters.items() if name not in properties]
	most = (properties.get("limit") or {}).get("maximum") or COUNT_LIMIT
	if "limit" in properties:
		wanted = most if counting else search.limit or DEFAULT_LIMIT
		arguments["limit"] = min(wanted, most)
	if counting and "fields" in properties:
		arguments["fields"] = ["name"]
	if search.order_by and "order_by" in properties and not counting:
		arguments["order_by"] = search.order_by
	return arguments


def document_named(clause: Clause, match: Match) -> str | None:
	"""The name right after the noun: "todo a1b2c3", "user Administrator". None if what follows is no name."""
	after = strip_ends(clause.words[match.end :])
	if len(after) != 1 or match.end <= clause.verb_at:
		return None
	word, noun = after[0], clause.words[match.end - 1]
	plural = stem(noun.key) != noun.key
	capital = clause.language != "de" and word.text[0].isupper()
	if looks_like_id(word) or (capital and not plural and is_content(word) and word.key not in VALUES):
		return word.text
	return None
