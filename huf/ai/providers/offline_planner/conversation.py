"""What comes next in a conversation: the parts of the last request in turn, and replies to questions. Pure."""

from collections.abc import Iterator, Sequence
from datetime import date
from itertools import takewhile

from huf.ai.core.attachments import strip_attachments
from huf.ai.providers.offline_planner.answers import describe_tools, word_answer
from huf.ai.providers.offline_planner.clauses import chat_about, split_request
from huf.ai.providers.offline_planner.intents import Ask, Call, Intent, Result, Say, read_result
from huf.ai.providers.offline_planner.lexicon import read_words
from huf.ai.providers.offline_planner.phrases import say
from huf.ai.providers.offline_planner.reading import NEVER_MIND, read_clause
from huf.ai.providers.offline_planner.requests import understand
from huf.ai.providers.offline_planner.tools import Toolbox

MOST_QUESTIONS = 4
"""How far back a chain of questions and replies is followed."""


class Conversation:
	"""The messages so far: the last request, and what has been called for it."""

	def __init__(self, messages: Sequence[dict], toolbox: Toolbox, today: date, depth: int = 0):
		last = max((at for at, message in enumerate(messages) if message["role"] == "user"), default=-1)
		self.before = list(messages[:last]) if last >= 0 else list(messages)
		self.request = read_content(messages[last]) if last >= 0 else ""
		self.rounds = list(read_rounds(messages[last + 1 :]))
		self.toolbox, self.today, self.depth = toolbox, today, depth

	def next_intent(self) -> Intent:
		"""What comes next: the parts of the request are done in turn, and what is done already is skipped."""
		rounds, done = list(self.rounds), []
		for intent in self.intents():
			while isinstance(intent, Call):
				if not rounds:
					return intent
				results = rounds.pop(0)
				failed = any(result.error for result in results)
				if intent.then is None or failed:
					done.append((intent, results))
					break
				intent = intent.then(results[0])
			else:
				return append(done, intent)
			if failed:
				break
		return Say(word_answer(done) or self.answer(None, "en"))

	def intents(self) -> Iterator[Intent]:
		resumed = self.resume_question()
		if resumed:
			yield resumed
			return
		for clause in split_request(self.request, self.toolbox):
			chat = chat_about(clause)
			intent = None if chat else understand(clause, self.toolbox, self.today)
			yield self.advise(intent, clause.language) if intent else Say(self.answer(chat, clause.language))

	def advise(self, intent: Intent, language: str) -> Intent:
		"""Adds the way to a model to a sentence that says "I cannot", the first time."""
		if not isinstance(intent, Say) or not intent.unable or self.is_told(language):
			return intent
		return Say(f"{intent.text}\n\n{say('no_model', language)} {say('add_model', language)}")

	def resume_question(self) -> Intent | None:
		"""The request as a reply to the question just asked; None if there was none, or it is a request of its own."""
		said = self.before[-1] if self.before else {}
		if said.get("role") != "assistant" or said.get("tool_calls") or self.depth >= MOST_QUESTIONS:
			return None
		asked = Conversation(self.before[:-1], self.toolbox, self.today, self.depth + 1).next_intent()
		if not isinstance(asked, Ask) or asked.text.strip() != read_content(said).strip():
			return None
		clause = read_clause(self.request)
		words = [word for word in read_words(self.request) if not word.is_mark]
		if words and NEVER_MIND.at(words, 0)[1] == len(words):
			return Say(say("never_mind", clause.language))
		instead = understand(clause, self.toolbox, self.today) if clause.operation else None
		if instead and not (isinstance(instead, Say) and instead.unable):
			return None
		return asked.resume(self.request.strip())

	def answer(self, chat: str | None, language: str) -> str:
		"""What is said to small talk, or (None) to what was not understood."""
		if chat in ("thanks", "bye", "ok"):
			return say(chat, language)
		first = {"greeting": "greeting", None: "not_understood"}.get(chat)
		told = self.is_told(language) and chat not in ("help", "identity")
		opening = [say(first, language)] if first else []
		note = [] if told else [say("no_model", language)]
		advice = [] if told else [say("add_model", language)]
		return "\n\n".join(
			[" ".join(opening + note), describe_tools(self.toolbox, language), *advice]
		).strip()

	def is_told(self, language: str) -> bool:
		told = say("no_model", language)
		return any(told in read_content(message) for message in self.before if message["role"] == "assistant")


def append(done: list, intent: Intent) -> Intent:
	"""A question or sentence, after the answer to what was done before it."""
	text = "\n\n".join(part for part in (word_answer(done), intent.text) if part)
	return Ask(text, intent.resume) if isinstance(intent, Ask) else Say(text)


def read_content(message: dict) -> str:
	content = message.get("content") or ""
	if isinstance(content, str):
		return strip_attachments(content)
	return "\n".join(part.get("text", "") for part in content if isinstance(part, dict))


def read_rounds(messages: Sequence[dict]) -> Iterator[list[Result]]:
	"""The results of each assistant message that called tools."""
	for at, message in enumerate(messages):
		if message.get("tool_calls"):
			answers = takewhile(lambda one: one["role"] == "tool", messages[at + 1 :])
			yield [read_result(answer.get("content") or "") for answer in answers]
