"""Decides the next step of a conversation: a tool call, a question back, or an answer.

A record is changed or deleted only if it is named exactly; missing values are asked for; a message that is
not an instruction changes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from huf.ai.providers.offline.arguments import fill_fields, read_change, read_filters, read_name, read_options
from huf.ai.providers.offline.language import Language
from huf.ai.providers.offline.requests import Request, find_chat, parse_request
from huf.ai.providers.offline.tools import (
	OfflineTool,
	ToolMatch,
	describe_abilities,
	find_offered_tool,
	match_tool,
)

MAX_QUESTIONS = 4
"""Limit for following a chain of questions and replies back."""


@dataclass(frozen=True)
class PlannedCall:
	"""A tool call. `operation` determines how its result is worded; `remarks` are added to the answer."""

	tool: OfflineTool
	arguments: dict[str, Any]
	operation: str
	language: Language
	remarks: Sequence[str] = ()


@dataclass(frozen=True)
class OfflineReply:
	"""A text for the person. If it is a question, `head` + reply + `tail` is the completed request."""

	text: str
	head: str = ""
	tail: str = ""


@dataclass(frozen=True)
class Planner:
	"""Decides the next step with the given tools; `today` is the date that "tomorrow" is relative to."""

	tools: Sequence[OfflineTool]
	today: date

	def next_step(
		self, before: Sequence[tuple[str, str]], text: str, depth: int = 0
	) -> PlannedCall | OfflineReply:
		"""The step for a request; `before`: the earlier messages as (role, text)."""
		request = parse_request(text)
		step = self.act(request)
		question = self.find_question(before, depth)
		if question is None or (step and request.verb_end and request.is_instruction()):
			return step or self.introduce(request)
		reply = request.strip(request.tokens)
		if reply and request.language.find("never_mind", reply, 0)[1] == len(reply):
			return OfflineReply(request.language.say("never_mind"))
		resumed = self.next_step((), f"{question.head}{text.strip()}{question.tail}")
		return question if isinstance(resumed, OfflineReply) and resumed.text == question.text else resumed

	def find_question(self, before: Sequence[tuple[str, str]], depth: int) -> OfflineReply | None:
		"""The question of the last message, or None."""
		users = [at for at, (role, _) in enumerate(before) if role == "user"]
		if not users or depth == MAX_QUESTIONS:
			return None
		step = self.next_step(before[: users[-1]], before[users[-1]][1], depth + 1)
		return step if isinstance(step, OfflineReply) and step.head and step.text == before[-1][1] else None

	def introduce(self, request: Request) -> OfflineReply:
		"""The answer to small talk and to unknown requests: what this is, and how to connect a model."""
		say, chat = request.language.say, find_chat(request)
		if chat in ("thanks", "bye"):
			return OfflineReply(say(chat))
		first = {"help": "", "greeting": say("greeting")}.get(chat, say("not_understood"))
		abilities = describe_abilities(self.tools, request.language)
		return OfflineReply(f"{first} {say('no_model')}\n\n{abilities}\n\n{say('add_model')}".strip())

	def act(self, request: Request) -> PlannedCall | OfflineReply | None:
		"""The step for a request without its history; None if no tool matches."""
		match = None if find_chat(request) else match_tool(request, self.tools)
		if match is None:
			return None
		operation, before = match.tool.operation, request.tokens[request.verb_end : match.at]
		if operation in ("list", "get"):
			return self.look_up(request, match)
		if operation == "create":
			is_other = request.mentions("nouns", before)  # "a note about my todos"
			is_plain = request.is_instruction("articles", "nouns", "values") and not is_other
		else:
			is_other = bool(read_options(request, match.tool, before)[1]) or request.mentions("negations")
			is_plain = operation == "call" or (request.is_instruction() and not is_other)
		if not is_plain:
			return OfflineReply(request.language.say("not_done"))
		return self.change(request, match) if operation in ("update", "delete") else self.fill(request, match)

	def fill(self, request: Request, match: ToolMatch) -> PlannedCall | OfflineReply:
		"""Create a record or call a function; ask for the first missing required value."""
		tool = match.tool
		values, unused = fill_fields(request, match, self.today)
		missing = [name for name in tool.required if name not in values]
		if not missing:
			return self.call(request, tool, values, unused)
		field, options = missing[0].replace("_", " "), ", ".join(map(str, tool.choices.get(missing[0], ())))
		sentence = "ask_option" if options else "ask_field"
		text = request.language.say(sentence, field=field, thing=tool.thing, options=options)
		return OfflineReply(text, f"{request.text}, {field}: ")

	def look_up(self, request: Request, match: ToolMatch) -> PlannedCall | OfflineReply:
		"""List or count records, or show the record that is named by its ID."""
		tool, following = match.tool, request.tokens[match.end : match.end + 1]
		getter = find_offered_tool(self.tools, tool.doctype, "get")
		if getter and request.operation == "list" and following and following[0].is_id:
			return self.call(request, getter, {"name": following[0].text})
		if tool.operation == "get":
			return self.request_name(request, match)
		writer = find_offered_tool(self.tools, tool.doctype, "update", "create") or OfflineTool("", "", {})
		arguments, unused = read_filters(request, match, writer, self.today)
		return self.call(request, tool, arguments, unused)

	def change(self, request: Request, match: ToolMatch) -> PlannedCall | OfflineReply:
		"""Update or delete the named record; ask if the name is missing or may be incomplete."""
		tool, name = match.tool, read_name(request, match)
		is_delete = tool.operation == "delete"
		if not name or (is_delete and request.strip(request.tokens[match.end + 1 :])):
			return self.request_name(request, match)
		values, unused = ({}, []) if is_delete else read_change(request, match, self.today)
		if is_delete or values:
			return self.call(request, tool, {"name": name} | ({"values": values} if values else {}), unused)
		examples = [f"{name} = {options[0]}" for name, options in tool.choices.items()]
		return OfflineReply(request.language.say("ask_change", thing=tool.thing, example=[*examples, "…"][0]))

	def request_name(self, request: Request, match: ToolMatch) -> OfflineReply:
		"""Ask which record is meant; the name in the reply is inserted after the noun."""
		end = request.tokens[match.end - 1].end
		tail = request.text[end:] if match.tool.operation == "update" else ""
		return OfflineReply(
			request.language.say("ask_name", thing=match.tool.thing), f"{request.text[:end]} ", tail
		)

	def call(
		self, request: Request, tool: OfflineTool, arguments: dict, unused: Sequence[str] = ()
	) -> PlannedCall:
		say, is_count = request.language.say, tool.operation == "list" and request.operation == "count"
		remarks = [say("unused", words=", ".join(unused))] if unused else []
		if tool.operation == "list" and request.mentions("mine"):
			remarks.append(say("mine"))
		return PlannedCall(
			tool, arguments, "count" if is_count else tool.operation, request.language, remarks
		)
