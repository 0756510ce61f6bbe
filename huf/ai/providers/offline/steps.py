"""Decides the next step of a conversation: a tool call, a question back, or an answer.

A record is changed or deleted only if it is named exactly; missing values are asked for; a message that is
not an instruction changes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from huf.ai.providers.offline.arguments import fill_fields, read_change, read_filters, read_name, read_options
from huf.ai.providers.offline.requests import Request, find_chat, parse_request
from huf.ai.providers.offline.tools import Command, OfflineTool, describe_abilities, find_command


@dataclass(frozen=True)
class PlannedCall:
	"""A call of a command's tool, and the words of the request that it does not take into account."""

	command: Command
	arguments: dict[str, Any]
	unused: Sequence[str] = ()


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

	def next_step(self, text: str, question: OfflineReply | None = None) -> PlannedCall | OfflineReply:
		"""The step for a message, which may be the reply to an open question."""
		request = parse_request(text, self.today)
		step = self.act(request)
		if question is None or (step and request.verb_end and request.is_instruction()):
			return step or self.introduce(request)
		reply = request.strip(request.tokens)
		if len(reply) == 1 and request.language.has(reply[0], "never_mind"):
			return OfflineReply(request.language.say("never_mind"))
		resumed = self.next_step(f"{question.head}{text.strip()}{question.tail}")
		return question if isinstance(resumed, OfflineReply) and resumed.text == question.text else resumed

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
		command = None if find_chat(request) else find_command(request, self.tools)
		if command is None:
			return None
		if command.tool.operation in ("list", "get"):
			return self.look_up(command)
		if not is_ordered(command):
			return OfflineReply(request.language.say("not_done"))
		return change(command) if command.tool.operation in ("update", "delete") else fill(command)

	def look_up(self, command: Command) -> PlannedCall | OfflineReply:
		"""List or count records, or show the record that is named by its ID."""
		request, tool = command.request, command.tool
		following = request.tokens[command.end : command.end + 1]
		offered = {each.operation: each for each in reversed(self.tools) if each.doctype == tool.doctype}
		if "get" in offered and request.operation == "list" and following and following[0].is_id:
			return PlannedCall(replace(command, tool=offered["get"]), {"name": following[0].text})
		if tool.operation == "get":
			return ask_name(command)
		writer = offered.get("update") or offered.get("create") or OfflineTool("", "", {})
		return PlannedCall(command, *read_filters(command, writer))


def is_ordered(command: Command) -> bool:
	"""Whether the request orders the call, rather than asks about it, reports or forbids it.

	A function that only reads needs no order.
	"""
	request, tool = command.request, command.tool
	if tool.operation == "create":
		is_about_other = any(request.language.has(token, "nouns") for token in command.before)
		return request.is_instruction("articles", "nouns", "values") and not is_about_other
	unused = read_options(request, tool, command.before)[1]
	return tool.operation == "call" or not (
		unused or request.mentions("negations") or not request.is_instruction()
	)


def fill(command: Command) -> PlannedCall | OfflineReply:
	"""Create a record or call a function; ask for the first missing required value."""
	request, tool = command.request, command.tool
	values, unused = fill_fields(command)
	missing = [name for name in tool.required if name not in values]
	if not missing:
		return PlannedCall(command, values, unused)
	field, options = missing[0].replace("_", " "), ", ".join(map(str, tool.choices.get(missing[0], ())))
	sentence = "ask_option" if options else "ask_field"
	text = request.language.say(sentence, field=field, thing=tool.thing, options=options)
	return OfflineReply(text, f"{request.text}, {field}: ")


def change(command: Command) -> PlannedCall | OfflineReply:
	"""Update or delete the named record; ask if the name is missing or may be incomplete."""
	request, tool, name = command.request, command.tool, read_name(command)
	if not name or (tool.operation == "delete" and request.strip(command.after[1:])):
		return ask_name(command)
	if tool.operation == "delete":
		return PlannedCall(command, {"name": name})
	values, unused = read_change(command)
	if values:
		return PlannedCall(command, {"name": name, "values": values}, unused)
	examples = [f"{name} = {options[0]}" for name, options in tool.choices.items()]
	return OfflineReply(request.language.say("ask_change", thing=tool.thing, example=[*examples, "…"][0]))


def ask_name(command: Command) -> OfflineReply:
	"""Ask which record is meant; the name in the reply is inserted after the noun."""
	request, tool = command.request, command.tool
	end = request.tokens[command.end - 1].end
	tail = request.text[end:] if tool.operation == "update" else ""
	return OfflineReply(request.language.say("ask_name", thing=tool.thing), f"{request.text[:end]} ", tail)
