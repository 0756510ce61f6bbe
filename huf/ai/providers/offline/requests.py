"""Parses a request: its language, operation and verb. Independent of the tools."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from huf.ai.providers.offline.language import Language, Token, detect_request_language

MAX_VERB_POSITION = 10
"""Tokens before the verb; a verb further on is part of quoted text."""
MAX_SHORT_TOKENS = 8
"""A message up to this length may be small talk, or a list without a verb ("open todos")."""


@dataclass(frozen=True)
class Request:
	"""One message. Its verb is at `verb_at` up to `verb_end`; both are 0 without one.

	`today` is the date that "tomorrow" is relative to.
	"""

	text: str
	tokens: tuple[Token, ...]
	language: Language
	today: date
	operation: str = ""
	verb_at: int = 0
	verb_end: int = 0

	@property
	def verb(self) -> str:
		return "".join(token.key for token in self.tokens[self.verb_at : self.verb_end])

	def is_instruction(self, *also_before: str) -> bool:
		"""Whether only words such as "please", "can you" and those of the named lists precede the verb."""
		before = self.tokens[: self.verb_at]
		return all(token.is_mark or self.language.has(token, "openers", *also_before) for token in before)

	def mentions(self, list_name: str) -> bool:
		return any(self.language.has(token, list_name) for token in self.tokens)

	def slice(self, tokens: Sequence[Token]) -> str:
		"""The original text of neighbouring tokens."""
		if len(tokens) == 1:
			return tokens[0].text
		return self.text[tokens[0].start : tokens[-1].end] if tokens else ""

	def strip(self, tokens: Sequence[Token], *leading: str) -> Sequence[Token]:
		"""Strip punctuation and "please" from both ends, and words of the lists `leading` from the
		beginning.
		"""
		start, end = 0, len(tokens)
		while start < end and (tokens[start].is_mark or self.language.has(tokens[start], "polite", *leading)):
			start += 1
		while end > start and (tokens[end - 1].is_mark or self.language.has(tokens[end - 1], "polite")):
			end -= 1
		return tokens[start:end]


def parse_request(text: str, today: date) -> Request:
	language = detect_request_language(text)
	tokens = language.tokenize(text)
	operation, start, end = find_verb(tokens, language)
	if not operation and len(tokens) > 2 and tokens[1].key == ":" and language.has(tokens[0], "nouns"):
		operation = "create"  # "Todo: buy milk"
	elif not operation and 0 < len(tokens) <= MAX_SHORT_TOKENS and language.has(tokens[0], "vocabulary"):
		operation = "list"
	return Request(text, tokens, language, today, operation, start, end)


def find_verb(tokens: Sequence[Token], language: Language) -> tuple[str, int, int]:
	"""The first verb as (operation, start, end). "How many" wins over an earlier "show"."""
	end = next((at for at, token in enumerate(tokens) if token.key == ":"), MAX_VERB_POSITION)
	words = enumerate(tokens[: min(end, MAX_VERB_POSITION)])
	verbs = [(verb, at, at + 1) for at, token in words if (verb := language.get("verbs", token.key))]
	counts = [verb for verb in verbs if verb[0] == "count" and verbs[0][0] == "list"]
	return next(iter(counts + verbs), ("", 0, 0))


def find_chat(request: Request) -> str:
	"""The kind of small talk: greeting, thanks, bye or help; "" for a request."""
	words = [token.key for token in request.tokens if not token.is_mark]
	for at, word in enumerate(words if len(words) <= MAX_SHORT_TOKENS else ()):
		kind = request.language.get("chat", word)
		if kind and ((at == 0 and not request.verb_end) or (kind == "help" and " " in word)):
			return kind
	return ""
