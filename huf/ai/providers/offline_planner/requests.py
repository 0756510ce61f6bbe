"""From one clause to what it comes to: a call, a question back, or nothing that is understood (None).

The rules of caution live here: what cannot be undone needs an exact name, what is missing is asked for, and
what reads like a question about a change changes nothing.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from typing import Any

from huf.ai.providers.offline_planner.answers import deeds_by_thing, thing_of
from huf.ai.providers.offline_planner.arguments import fill_fields
from huf.ai.providers.offline_planner.filters import (
	Search,
	as_arguments,
	document_named,
	is_content,
	read_search,
)
from huf.ai.providers.offline_planner.intents import Ask, Call, Intent, Say
from huf.ai.providers.offline_planner.lexicon import Word, fold, read_words, stem
from huf.ai.providers.offline_planner.matching import Match, find_matches
from huf.ai.providers.offline_planner.phrases import say
from huf.ai.providers.offline_planner.reading import FUNCTION_WORDS, NOUNS, OF, Clause
from huf.ai.providers.offline_planner.tools import Tool, Toolbox
from huf.ai.providers.offline_planner.values import looks_like_id, pick, read_value
from huf.ai.providers.offline_planner.words import Operation
from huf.ai.providers.offline_planner.writing import ask_names, dispose, update

DOES = {
	Operation.COUNT: (Operation.COUNT, Operation.LIST),
	Operation.LIST: (Operation.LIST, Operation.GET),
	Operation.CREATE: (Operation.CREATE,),
	Operation.UPDATE: (Operation.UPDATE,),
	Operation.DELETE: (Operation.DELETE,),
	Operation.SUBMIT: (Operation.SUBMIT,),
	Operation.CANCEL: (Operation.CANCEL, Operation.UPDATE),
}
"""Which tools serve a verb."""
SURE = 0.8
"""Share of a tool's words a request must have before a tool of its own kind that changes something is called."""
UNVERBED = 8
"""A request without a verb is read as "list ..." up to this many words; longer ones are somebody's text."""


def understand(clause: Clause, toolbox: Toolbox, today: date) -> Intent | None:
	"""What a clause comes to; None where no tool fits it."""
	operation = clause.operation or (Operation.LIST if len(clause.words) <= UNVERBED else None)
	matches = find_matches(toolbox, clause, DOES[operation]) if operation else []
	special = find_special(clause, toolbox)
	if special and (not matches or special.hits > matches[0].hits):
		return call_special(clause, special, today)
	if not matches and operation is Operation.UPDATE:
		matches = only_tool(clause, toolbox, Operation.UPDATE)
	if not matches:
		return name_other_deeds(clause, toolbox)
	told = operation in TO_THE_POINT and not clause.opens_with(min(clause.verb_at, matches[0].at))
	if told or (operation not in READING and clause.is_doubtful):
		return Say(say("not_done", clause.language))
	if rivals := find_rivals(matches):
		options = say("or", clause.language).join(f"**{thing_of(match.tool, {})}**" for match in rivals)
		return Say(say("ask_tool", clause.language, options=options))
	return HANDLERS[operation](clause, matches[0], toolbox, today)


READING = (Operation.COUNT, Operation.LIST)
TO_THE_POINT = (Operation.UPDATE, Operation.DELETE, Operation.SUBMIT, Operation.CANCEL)
"""What a sentence must begin with, so that "Bob said to delete ..." deletes nothing."""


def name_other_deeds(clause: Clause, toolbox: Toolbox) -> Say | None:
	"""What can be done with the thing a clause names, where the verb is none of it."""
	matches = find_matches(toolbox, clause, tuple(Operation)) if clause.operation else []
	if not matches or matches[0].share < SURE:
		return None
	thing = thing_of(matches[0].tool, {})
	deeds = ", ".join(deeds_by_thing(toolbox, clause.language).get(thing, ()))
	return Say(say("cannot", clause.language, thing=thing, deeds=deeds), unable=True) if deeds else None


def find_special(clause: Clause, toolbox: Toolbox) -> Match | None:
	"""The tool of its own kind (a function, a report, an agent ...) that the clause names or describes."""
	for match in find_matches(toolbox, clause, (None,)):
		if match.tool.is_reading or is_ordered(clause, match):
			return match
	said = {
		stem(word.key): at
		for at, word in enumerate(clause.words)
		if word.key not in FUNCTION_WORDS and not word.is_mark
	}
	for tool in toolbox.tools:
		told = {stem(word.key) for word in read_words(tool.description) if word.key not in FUNCTION_WORDS}
		shared = sorted(said[key] for key in told & set(said) if len(key) > 2)
		if tool.operation is None and tool.is_reading and len(shared) >= 2:
			return Match(tool, 0.5, shared[0], shared[-1] + 1, 0)
	return None


def is_ordered(clause: Clause, match: Match) -> bool:
	"""Whether a tool that changes something is called by its full name, and not told or asked about."""
	asked = clause.operation in READING and not match.tool.sounds_reading
	return match.share >= SURE and not asked and clause.opens_with(match.at)


def only_tool(clause: Clause, toolbox: Toolbox, operation: Operation) -> list[Match]:
	"""The one tool that does this, for requests like "close a1b2c3" that name no kind of document."""
	able = [tool for tool in toolbox.tools if tool.operation is operation]
	if any(word.key in NOUNS for word in clause.words[clause.verb_end :]):
		return []
	named = any(looks_like_id(word) for word in clause.words[clause.verb_end :])
	return [Match(able[0], 0, clause.verb_end, clause.verb_end, 0)] if len(able) == 1 and named else []


def find_rivals(matches: Sequence[Match]) -> list[Match]:
	"""Tools that fit equally well but work on different things."""
	first = matches[0]
	same = [m for m in matches if (m.at, m.share, m.into) == (first.at, first.share, first.into)]
	things = {thing_of(match.tool, {}): match for match in reversed(same)}
	return list(reversed(things.values())) if len(things) > 1 else []


def look(clause: Clause, match: Match, toolbox: Toolbox, today: date) -> Intent:
	"""List, count, or show one document."""
	counting = clause.operation is Operation.COUNT
	name = None if counting else document_named(clause, match)
	if name and (shown := show_one(clause, match, toolbox, name)):
		return shown
	wanted = (Operation.COUNT, Operation.LIST) if counting else (Operation.LIST,)
	tool = match.tool if match.tool.operation in wanted else toolbox.sister(match.tool, *wanted)
	if tool is None:
		return ask_names(clause, match, lambda names: read_one(clause, match.tool, names[0]))
	match = replace(match, tool=tool)
	search = read_search(clause, match, toolbox.facts(tool), today)
	arguments = tool.with_doctype(as_arguments(search, match, counting))
	return Call(tool, (arguments,), clause.language, Operation.COUNT if counting else Operation.LIST, search)


def show_one(clause: Clause, match: Match, toolbox: Toolbox, name: str) -> Call | None:
	getters = [tool for tool in toolbox.sisters(match.tool, Operation.GET) if tool.name_argument]
	before = clause.words[: match.at]
	of = max((at for at, word in enumerate(before) if word.key in OF[clause.language]), default=0)
	field = [word.key for word in before[clause.verb_end : of] if word.key not in FUNCTION_WORDS]
	for tool in getters:
		if bool(field) == ("fieldname" in tool.properties):
			return read_one(clause, tool, name, "_".join(field))
	plain = [tool for tool in getters if "fieldname" not in tool.properties]
	if plain:
		return read_one(clause, plain[0], name)
	lister = toolbox.sister(match.tool, Operation.LIST)
	if lister and "filters" in lister.properties:
		return Call(
			lister, (lister.with_doctype({"filters": {"name": name}}),), clause.language, Operation.LIST
		)
	return None


def read_one(clause: Clause, tool: Tool, name: str, field: str = "") -> Call:
	value = [name] if tool.name_argument == "names" else name
	arguments = {tool.name_argument: value} | ({"fieldname": field} if field else {})
	return Call(tool, (tool.with_doctype(arguments),), clause.language, Operation.GET)


def create(clause: Clause, match: Match, toolbox: Toolbox, today: date) -> Intent:
	values = fill_fields(clause, match, today)
	before = () if match.into else clause.words[clause.verb_end : match.at]
	unused = [word.text for word in before if is_content(word) and not is_used(word, match.tool, values)]
	return Filling(clause, match.tool, values, today, Operation.CREATE, Search(unused=unused)).intent()


def is_used(word: Word, tool: Tool, values: dict[str, Any]) -> bool:
	"""Whether a word before the noun became the value of a field, or names one that has a value."""
	meanings = [pick(word.key, name, tool.fields[name].get("enum") or ()) for name in values]
	return any(meaning is not None for meaning in meanings) or any(word.key in name for name in values)


def call_special(clause: Clause, match: Match, today: date) -> Intent:
	if not match.tool.is_reading and clause.is_doubtful:
		return Say(say("not_done", clause.language))
	values = fill_fields(clause, match, today)
	used = fold(json.dumps(list(values.values()), ensure_ascii=False))
	after = [word.text for word in clause.words[match.end :] if is_content(word)]
	search = Search(unused=[text for text in after if fold(text) not in used])
	return Filling(clause, match.tool, values, today, search=search).intent()


@dataclass(frozen=True)
class Filling:
	"""A call in the making: the values so far, and what is needed to ask for the rest."""

	clause: Clause
	tool: Tool
	values: dict[str, Any]
	today: date
	operation: Operation | None = None
	search: Search | None = None

	def intent(self) -> Call | Ask:
		"""The call, if nothing required is missing; else the question for the first thing that is."""
		name = next((name for name in self.tool.required_fields if self.is_missing(name)), None)
		if name is None:
			arguments = self.tool.with_doctype(self.tool.hold(self.values))
			return Call(self.tool, (arguments,), self.clause.language, self.operation, self.search)
		options = ", ".join(
			str(option) for option in self.tool.fields[name].get("enum") or () if option != ""
		)
		told = {"field": name.replace("_", " "), "thing": thing_of(self.tool, {}), "options": options}
		text = say("ask_option" if options else "ask_field", self.clause.language, **told)
		return Ask(text, partial(self.resume, name))

	def is_missing(self, name: str) -> bool:
		return name not in self.values and "default" not in self.tool.fields[name]

	def resume(self, name: str, reply: str) -> Intent:
		words = read_words(reply)
		text = words[0].text if len(words) == 1 else reply
		value = read_value(text, name, self.tool.fields[name], self.today)
		return replace(self, values=self.values if value is None else self.values | {name: value}).intent()


HANDLERS = {
	Operation.COUNT: look,
	Operation.LIST: look,
	Operation.CREATE: create,
	Operation.UPDATE: update,
	Operation.DELETE: dispose,
	Operation.SUBMIT: dispose,
	Operation.CANCEL: dispose,
}
