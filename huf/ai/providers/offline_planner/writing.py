"""Changes of documents: update, delete, submit, cancel. Nothing is called here; each gives an intent.

What cannot be undone needs an exact name; where a document is only described, it is looked up first.
"""

from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

from huf.ai.providers.offline_planner.answers import thing_of, word_row
from huf.ai.providers.offline_planner.changes import Change, Target, read_change, read_target, words_after
from huf.ai.providers.offline_planner.intents import Ask, Call, Intent, Result, Say
from huf.ai.providers.offline_planner.lexicon import fold, read_words, stem
from huf.ai.providers.offline_planner.matching import Match
from huf.ai.providers.offline_planner.phrases import say
from huf.ai.providers.offline_planner.reading import FUNCTION_WORDS, Clause
from huf.ai.providers.offline_planner.tools import Tool, Toolbox
from huf.ai.providers.offline_planner.values import may_be_name
from huf.ai.providers.offline_planner.words import Operation

SUGGESTIONS = 5


def update(clause: Clause, match: Match, toolbox: Toolbox, today: date) -> Intent:
	tool, facts = match.tool, toolbox.facts(match.tool)
	fields = facts.fields if "fieldname" in tool.properties else tool.fields
	change = read_change(clause, match if match.hits else None, fields, facts.title, today)
	if not change.values:
		return Say(ask_for_change(clause, tool, fields))
	return apply_change(clause, match, toolbox, change)


def ask_for_change(clause: Clause, tool: Tool, fields: dict[str, dict]) -> str:
	name = next((name for name in fields if fields[name].get("enum")), next(iter(fields), "status"))
	option = next((option for option in fields.get(name, {}).get("enum") or () if option != ""), "…")
	return say("ask_change", clause.language, thing=thing_of(tool, {}), example=f"{name} = {option}")


def apply_change(clause: Clause, match: Match, toolbox: Toolbox, change: Change) -> Intent:
	def apply(names: Sequence[str]) -> Call:
		arguments = tuple(change_arguments(match.tool, name, change.values) for name in names)
		return Call(match.tool, arguments, clause.language, Operation.UPDATE)

	target, can_look = change.target, toolbox.sister(match.tool, Operation.LIST)
	if target.names and (target.sure or not can_look):
		return apply(target.names)
	if not target.describes or not can_look:
		return ask_names(clause, match, apply)
	return look_up(clause, match, toolbox, target, apply, only_suggest=False)


def change_arguments(tool: Tool, name: str, values: dict[str, Any]) -> dict[str, Any]:
	argument = tool.name_argument or "name"
	if "fieldname" in tool.properties:
		field, value = next(iter(values.items()))
		return tool.with_doctype({argument: name, "fieldname": field, "value": value})
	return tool.with_doctype(tool.hold(values, **{argument: name}))


def dispose(clause: Clause, match: Match, toolbox: Toolbox, today: date) -> Intent:
	"""Delete, submit or cancel: only what is named exactly."""
	tool = match.tool
	target = read_target(clause, words_after(clause, match))
	values = read_change(clause, match, tool.fields, None, today).values

	def act(names: Sequence[str]) -> Intent:
		if tool.operation is Operation.UPDATE:
			return apply_change(clause, match, toolbox, Change(Target(tuple(names), sure=True), values))
		many = tool.name_argument == "names"
		arguments = ({"names": list(names)},) if many else tuple({tool.name_argument: name} for name in names)
		return Call(tool, tuple(tool.with_doctype(one) for one in arguments), clause.language, tool.operation)

	if tool.operation is Operation.UPDATE and not values:
		return Say(ask_for_change(clause, tool, tool.fields))
	if not tool.name_argument:
		return Say(say("ask_name", clause.language, thing=thing_of(tool, {})))
	if target.names:
		return act(target.names)
	if not target.describes:
		return ask_names(clause, match, act)
	return look_up(clause, match, toolbox, target, act, only_suggest=True)


def ask_names(clause: Clause, match: Match, act: Callable[[Sequence[str]], Intent], text: str = "") -> Ask:
	"""Asks for a document's exact name. A reply that is no name is asked again."""
	text = text or say("ask_name", clause.language, thing=thing_of(match.tool, {}))

	def resume(reply: str) -> Intent:
		names = [word for word in read_words(reply) if not word.is_mark]
		if len(names) == 1 and may_be_name(names[0]):
			return act([names[0].text])
		return ask_names(clause, match, act, text)

	return Ask(text, resume)


def look_up(
	clause: Clause,
	match: Match,
	toolbox: Toolbox,
	target: Target,
	act: Callable[[Sequence[str]], Intent],
	only_suggest: bool,
) -> Intent:
	"""Finds by a list which document is described. `only_suggest`: even the one that fits is only suggested."""
	lister = toolbox.sister(match.tool, Operation.LIST)
	if lister is None:
		return ask_names(clause, match, act)
	thing = thing_of(match.tool, {})

	def choose(result: Result) -> Intent:
		rows = result.data.get("rows") if isinstance(result.data, dict) else result.data
		fitting = find_rows(rows if isinstance(rows, list) else [], target.describes)
		if not fitting:
			return Say(say("none_fits", clause.language, thing=thing, text=target.describes))
		seen_all = not (isinstance(result.data, dict) and result.data.get("more"))
		if len(fitting) == 1 and seen_all and not only_suggest:
			return act([fitting[0]["name"]])
		key = "ask_exact" if only_suggest else "ask_which"
		shown = "\n".join(word_row(row, thing) for row in fitting[:SUGGESTIONS])
		return ask_names(clause, match, act, f"{say(key, clause.language)}\n\n{shown}")

	arguments = {}
	if "limit" in lister.properties:
		arguments["limit"] = lister.properties["limit"].get("maximum") or 500
	return Call(lister, (lister.with_doctype(arguments),), clause.language, Operation.LIST, then=choose)


def find_rows(rows: Sequence[Any], described: str) -> list[dict]:
	"""The rows of that name, or else those that hold every word of the description."""
	rows = [row for row in rows if isinstance(row, dict) and row.get("name")]
	if exact := [row for row in rows if str(row["name"]) == described]:
		return exact
	wanted = {
		stem(word.key)
		for word in read_words(described)
		if word.kind == "word" and word.key not in FUNCTION_WORDS
	}
	holds = [
		({stem(word.key) for word in read_words(fold(" ".join(map(str, row.values()))))}, row) for row in rows
	]
	return [row for words, row in holds if wanted and wanted <= words]
