"""Fills a tool's arguments from the tokens of a request. Arguments that the request does not mention are
omitted, and no value is guessed.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from typing import Any

from huf.ai.providers.offline.language import Token, fold_key, singular
from huf.ai.providers.offline.requests import Request
from huf.ai.providers.offline.tools import Command, OfflineTool

DEFAULT_LIMIT, MAX_LIMIT = 20, 500
NUMBER = re.compile(r"-?\d{1,15}(\.\d+)?")
SMALL_WORDS = ("filler", "polite", "openers", "verbs", "mine", "orders", "date_leads")


def fill_fields(command: Command) -> tuple[dict, list[str]]:
	"""Values for a new record or a function, and the words that were not used."""
	request, tool, before, body = command.request, command.tool, command.before, command.after
	if is_addition(request, before):
		before, body = (), before[:-2]
	values, rest = read_named_fields(request, tool, body)
	options, unused = read_options(request, tool, before)
	examples = read_examples(tool, rest) if tool.operation == "call" else {}
	values = examples | options | values
	day, head, tail = split_at_date(request, rest)
	if day and tool.date_field and tool.date_field not in values:
		values[tool.date_field] = day
		head, tail = request.strip(head, "leads"), request.strip(tail)
		rest = rest if head and tail else head or tail
	text = request.slice(request.strip(rest, "leads"))
	if text and tool.title_field:
		values.setdefault(tool.title_field, text)
	return values, unused


def is_addition(request: Request, before: Sequence[Token]) -> bool:
	"""Whether the words before the noun are as in "add buy milk to my todos"."""
	has = request.language.has
	return len(before) > 2 and has(before[-2], "markers") and has(before[-1], "mine", "articles")


def read_change(command: Command) -> tuple[dict, list[str]]:
	"""The values of "mark todo a1 as closed", "set the priority of todo a1 to high" or "close todo a1"; and
	other words.
	"""
	request, tool = command.request, command.tool
	start = request.verb_at if request.language.get("fields", request.verb) else request.verb_end
	tokens = [*request.tokens[start : command.at], *request.tokens[command.end + 1 :]]
	values, rest = read_named_fields(request, tool, tokens)
	options, unused = read_options(request, tool, rest)
	goal = (request.language.get("goals", request.verb) or "").capitalize()
	goals = {name: goal for name, choices in tool.choices.items() if goal in choices}
	return goals | options | values, unused


def read_filters(command: Command, writer: OfflineTool) -> tuple[dict, list[str]]:
	"""Arguments of a list tool, and the words that were not used.

	`writer`: a tool whose schema describes the fields.
	"""
	request, language = command.request, command.request.language
	named = (*range(request.verb_at, request.verb_end), *range(command.at, command.end))
	tokens = [token for at, token in enumerate(request.tokens) if at not in named]
	filters: dict[str, Any] = {}
	day, head, tail = split_at_date(request, tokens)
	if day and writer.date_field:
		filters[writer.date_field] = day
		tokens = [*head, *tail]
	places = [at for at, token in enumerate(tokens) if token.is_quoted or language.has(token, "about")]
	if places and writer.title_field:
		text = request.slice(request.strip(tokens[places[0] :], "about", "articles"))
		filters[writer.title_field] = ["like", f"%{text}%"]
		del tokens[places[0] :]
	options, unused = read_options(request, writer, tokens)
	numbers = [int(token.key) for token in tokens if token.key.isdecimal()]
	orders = [order for token in tokens if (order := language.get("orders", token.key))]
	is_count = request.operation == "count"
	arguments = {
		"filters": filters | options,
		"fields": ["name"] if is_count else None,
		"order_by": orders[0] if orders and not is_count else None,
		"limit": MAX_LIMIT if is_count else min([MAX_LIMIT, *(numbers or [DEFAULT_LIMIT])]),
	}
	return {name: value for name, value in arguments.items() if value and name in command.tool.fields}, unused


def read_options(request: Request, tool: OfflineTool, tokens: Sequence[Token]) -> tuple[dict, list[str]]:
	"""Fields for which a word is an option, as in {"status": "Open"}, and the words that were not used."""
	language, unused = request.language, []
	values: dict[str, Any] = {}
	field_words = {word for name in tool.fields for word in name.split("_")}
	for at, token in enumerate(tokens):
		options = {name: pick_option(request, tool, name, token.text) for name in tool.choices}
		found = {name: option for name, option in options.items() if option is not None}
		name = next(iter(found), "")
		is_negated = at > 0 and language.has(tokens[at - 1], "negations")
		names_field = bool(field_words & {token.key, language.get("fields", token.key)})
		is_small = token.is_mark or token.key.isdecimal() or language.has(token, *SMALL_WORDS)
		if found and not is_negated and values.get(name, found[name]) == found[name]:
			values[name] = found[name]
		elif found or not (is_small or names_field):
			unused.append(token.text)
	return values, unused


def read_named_fields(
	request: Request, tool: OfflineTool, tokens: Sequence[Token]
) -> tuple[dict, Sequence[Token]]:
	"""Values of fields named as in "call Anna, high priority, with status open", and the remaining tokens."""
	values: dict[str, Any] = {}
	parts: list[list[Token]] = [[]]  # each but the first begins with a field's name
	for at, segment in enumerate(split_segments(request, tokens)):
		inner = request.strip(segment, "joiners", "articles")
		options, unused = read_options(request, tool, inner) if at else ({}, [])
		if match_field(request, tool, inner)[0]:
			parts.append(segment)
		elif options and not unused:
			values |= options
		else:
			parts[-1] += segment
	rest: list[Token] = []
	for part in parts:
		inner = request.strip(part, "joiners", "articles")
		name, length = match_field(request, tool, inner)
		value = parse_value(request, tool, name, inner[length:]) if name else None
		if value is None:
			rest += part
		else:
			values[name] = value
	return values, rest


def split_segments(request: Request, tokens: Sequence[Token]) -> list[list[Token]]:
	"""Split before each comma and each word such as "with" and "and"."""
	segments: list[list[Token]] = [[]]
	for token in tokens:
		if token.key == "," or request.language.has(token, "joiners"):
			segments.append([])
		segments[-1].append(token)
	return segments


def match_field(request: Request, tool: OfflineTool, tokens: Sequence[Token]) -> tuple[str, int]:
	"""The field whose name or synonym begins a text: (field, length), or ("", 0)."""
	for name in tool.fields:
		words = name.split("_")
		if [token.key for token in tokens[: len(words)]] == words:
			return name, len(words)
	meaning = request.language.get("fields", tokens[0].key) if tokens else None
	fitting = [name for name in tool.fields if meaning in (name, *name.split("_"))]
	meant = min(fitting, key=len, default=tool.title_field if meaning == "title" else None)
	return (meant, 1) if meant else ("", 0)


def parse_value(request: Request, tool: OfflineTool, name: str, tokens: Sequence[Token]) -> Any:
	"""Tokens as a value of a field; None if they are not one."""
	schema, text = tool.fields[name], request.slice(request.strip(tokens, "joiners", "markers"))
	if "enum" in schema:
		return pick_option(request, tool, name, text)
	if tool.is_date(name):
		return split_at_date(request, tokens)[0] or None
	kind = schema.get("type", "string")
	if kind in ("integer", "number"):
		return (float(text) if "." in text else int(text)) if NUMBER.fullmatch(text) else None
	return text if kind == "string" and text else None


def pick_option(request: Request, tool: OfflineTool, name: str, text: str) -> Any:
	"""The option of a field that a word means, by its name or a synonym in the language; None without one."""
	key, options = fold_key(text), tool.choices[name]
	meaning = request.language.get("values", key)
	for option in options:
		if fold_key(str(option)) in (key, singular(key), meaning):
			return option
	return 1 if set(options) == {0, 1} and name in (key, meaning) else None


def read_examples(tool: OfflineTool, tokens: Sequence[Token]) -> dict[str, Any]:
	"""Values of fields: a word that the schema lists as an example, or the only number for an integer."""
	values = {}
	for name, schema in tool.fields.items():
		examples = {fold_key(str(example)): example for example in schema.get("examples") or ()}
		if schema.get("type") == "integer":
			examples = {token.key: int(token.key) for token in tokens if token.key.isdecimal()}
		found = [examples[token.key] for token in tokens if token.key in examples]
		if len(found) == 1:
			values[name] = found[0]
	return values


def split_at_date(request: Request, tokens: Sequence[Token]) -> tuple[str, Sequence[Token], Sequence[Token]]:
	"""The first date as an ISO date, the tokens before it, without prepositions, and those after it.

	("", tokens, ()) without a date.
	"""
	for at, token in enumerate(tokens):
		if day := parse_day(request, token):
			start = at
			while start and request.language.has(tokens[start - 1], "date_leads"):
				start -= 1
			return day.isoformat(), tokens[:start], tokens[at + 1 :]
	return "", tokens, ()


def parse_day(request: Request, token: Token) -> date | None:
	if offset := request.language.get("days", token.key):
		return request.today + timedelta(days=int(offset))
	if weekday := request.language.get("weekdays", token.key):
		return request.today + timedelta(days=(int(weekday) - request.today.weekday() - 1) % 7 + 1)
	for form in ("%Y-%m-%d", "%d.%m.%Y"):
		with suppress(ValueError):  # such as 2026-02-31
			return datetime.strptime(token.key, form).date()
	return None


def read_name(command: Command) -> str | None:
	"""The name right after the noun: quoted, with a digit or an @, or a word that can be nothing else."""
	after = command.after[:1]
	if not after or after[0].is_mark:
		return None
	is_name = after[0].is_id or not command.request.language.has(after[0], "vocabulary")
	return after[0].text if is_name else None
