"""Fills a tool's arguments from the tokens of a request. Arguments that the request does not mention are
omitted.
"""

from collections.abc import Sequence
from datetime import date
from typing import Any

from huf.ai.providers.offline.language import Token, fold_key
from huf.ai.providers.offline.requests import Request
from huf.ai.providers.offline.tools import OfflineTool, ToolMatch
from huf.ai.providers.offline.values import find_date, parse_value, pick_option

DEFAULT_LIMIT, MAX_LIMIT = 20, 500
SMALL_WORDS = ("filler", "polite", "openers", "verbs", "mine", "orders", "date_leads")


def fill_fields(request: Request, match: ToolMatch, today: date) -> tuple[dict, list[str]]:
	"""Values for a new record or a function, and the words that were not used."""
	tool, before = match.tool, request.tokens[request.verb_end : match.at]
	body = request.tokens[max(match.end, request.verb_end) :]
	into = match.at - 2  # "add buy milk to my todos"
	if into > request.verb_end and request.language.find("into", request.tokens, into)[1] == 2:
		body, before = request.tokens[request.verb_end : into], ()
	values, rest = read_named_fields(request, tool, body, today)
	options, unused = read_options(request, tool, before)
	examples = read_examples(tool, rest) if tool.operation == "call" else {}
	values = examples | options | values
	day = find_date(rest, request.language, today)
	if day and tool.date_field and tool.date_field not in values:
		values[tool.date_field] = day[0]
		head, tail = request.strip(rest[: day[1]], "leads"), request.strip(rest[day[2] :])
		rest = rest if head and tail else head or tail
	text = request.slice(request.strip(rest, "leads", "filler" if tool.operation == "call" else "leads"))
	if text and tool.title_field and tool.title_field not in values:
		values[tool.title_field] = text
	return values, unused


def read_change(request: Request, match: ToolMatch, today: date) -> tuple[dict, list[str]]:
	"""The values of "mark todo a1 as closed", "set the priority of todo a1 to high" or "close todo a1"; and
	other words.
	"""
	start = request.verb_at if request.language.get("fields", request.verb) else request.verb_end
	tokens = [*request.tokens[start : match.at], *request.tokens[match.end + 1 :]]
	values, rest = read_named_fields(request, match.tool, tokens, today)
	options, unused = read_options(request, match.tool, rest)
	goal = (request.language.get("goals", request.verb) or "").capitalize()
	goals = {name: goal for name, choices in match.tool.choices.items() if goal in choices}
	return goals | options | values, unused


def read_filters(
	request: Request, match: ToolMatch, writer: OfflineTool, today: date
) -> tuple[dict, list[str]]:
	"""Arguments of a list tool, and the words that were not used.

	`writer`: a tool whose schema describes the fields.
	"""
	language = request.language
	named = (*range(request.verb_at, request.verb_end), *range(match.at, match.end))
	tokens = [token for at, token in enumerate(request.tokens) if at not in named]
	filters: dict[str, Any] = {}
	day = find_date(tokens, language, today)
	if day and writer.date_field:
		filters[writer.date_field] = day[0]
		tokens[day[1] : day[2]] = []
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
		"limit": MAX_LIMIT if is_count else min([*numbers, MAX_LIMIT]) if numbers else DEFAULT_LIMIT,
	}
	return {name: value for name, value in arguments.items() if value and name in match.tool.fields}, unused


def read_options(request: Request, tool: OfflineTool, tokens: Sequence[Token]) -> tuple[dict, list[str]]:
	"""Fields for which a word is an option, as in {"status": "Open"}, and the words that were not used."""
	language, unused = request.language, []
	values: dict[str, Any] = {}
	field_words = {word for name in tool.fields for word in name.split("_")}
	for at, token in enumerate(tokens):
		options = {name: pick_option(token.text, name, tool.choices[name], language) for name in tool.choices}
		found = [(name, option) for name, option in options.items() if option is not None]
		is_negated = at > 0 and language.has(tokens[at - 1], "negations")
		names_field = bool(field_words & {token.key, language.get("fields", token.key)})
		is_small = token.is_mark or token.key.isdecimal() or language.has(token, *SMALL_WORDS)
		if found and not is_negated:
			values.update(found[:1])
		elif found or not (is_small or names_field):
			unused.append(token.text)
	return values, unused


def read_named_fields(
	request: Request, tool: OfflineTool, tokens: Sequence[Token], today: date
) -> tuple[dict, Sequence[Token]]:
	"""Values of fields named as in "call Anna, high priority, with status open", and the remaining tokens."""
	values: dict[str, Any] = {}
	parts: list[tuple[str, list[Token], list[Token]]] = [("", [], [])]
	for at, segment in enumerate(split_segments(request, tokens)):
		inner = request.strip(segment, "joiners", "articles")
		name, length = match_field(request, tool, inner)
		options, unused = read_options(request, tool, inner) if at else ({}, [])
		if name:
			parts.append((name, [*segment], [*inner[length:]]))
		elif options and not unused:
			values |= options
		else:
			parts[-1][1].extend(segment)
			parts[-1][2].extend(segment)
	rest: list[Token] = []
	for name, segment, value in parts:
		text = request.slice(request.strip(value, "joiners", "markers"))
		read = parse_value(text, name, tool.fields.get(name, {}), request.language, today)
		if name == "" or read is None:
			rest += segment
		else:
			values[name] = read
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
	meaning, length = request.language.find("fields", tokens, 0)
	for name in tool.fields if meaning else ():
		is_title = meaning == "title" and "title" not in tool.fields and name == tool.title_field
		if name == meaning or is_title or (meaning in ("date", "email") and meaning in name.split("_")):
			return name, length
	return "", 0


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


def read_name(request: Request, match: ToolMatch) -> str | None:
	"""The name right after the noun: quoted, with a digit or an @, or a word that can be nothing else."""
	after = request.tokens[max(match.end, request.verb_end) :]
	if not after or after[0].is_mark:
		return None
	return after[0].text if after[0].is_id or not request.language.has(after[0], "vocabulary") else None
