"""Parts a message into the requests in it, and tells small talk from requests. Pure."""

from collections.abc import Iterator

from huf.ai.providers.offline_planner.lexicon import Word, read_words
from huf.ai.providers.offline_planner.matching import find_matches
from huf.ai.providers.offline_planner.reading import (
	AND,
	FUNCTION_WORDS,
	POLITE,
	SMALLTALK,
	THEN,
	Clause,
	detect_language,
	read_clause,
)
from huf.ai.providers.offline_planner.requests import DOES
from huf.ai.providers.offline_planner.tools import Toolbox
from huf.ai.providers.offline_planner.words import Operation

STRONG = (".", ";", "!", "?", "\n")
HARMLESS = (Operation.COUNT, Operation.LIST, Operation.CREATE, Operation.UPDATE)
NEAR = 6
"""Words within which a new request must name what it is about."""
LOOK_AHEAD = 20
READ_WITHIN = 300
"""Words of a message in which a second request is looked for."""
CHAT_LENGTH = 8
"""Small talk is no longer than this many words."""


def split_request(text: str, toolbox: Toolbox) -> list[Clause]:
	"""The requests in a message, in order; what is neither a request nor the only sentence is left out."""
	words = read_words(text)
	language = detect_language(words)
	clauses, start = [], 0
	for cut, begins in find_cuts(text, words, language, toolbox):
		clauses.append(read_clause(text[start:cut], language))
		start = begins
	clauses.append(read_clause(text[start:], language))
	wanted = [clause for clause in clauses if clause.operation and not chat_about(clause)]
	return wanted or clauses[:1]


def find_cuts(text: str, words: list[Word], language: str, toolbox: Toolbox) -> Iterator[tuple[int, int]]:
	"""Where a new request begins after a full stop, "and then", or "and"."""
	colon = False
	for at, word in enumerate(words[:READ_WITHIN]):
		colon = (colon or word.key == ":") and word.key not in STRONG
		_, then = THEN.at(words, at)
		strong = bool(then) or word.key in STRONG
		weak = word.key in AND[language] or word.key == ","
		following = words[at + (then or 1) :]
		if not at or not following or not (strong or (weak and not colon)):
			continue
		clause = read_clause(text[following[0].start : following[:LOOK_AHEAD][-1].end], language)
		if begins_request(clause, toolbox, strong):
			yield word.start, following[0].start


def begins_request(clause: Clause, toolbox: Toolbox, strong: bool) -> bool:
	if not clause.operation or (not strong and clause.operation not in HARMLESS):
		return False  # "... call Anna and delete user bob" may well be one text
	if any(not is_small(word) for word in clause.words[: clause.verb_at]):
		return False
	matches = find_matches(toolbox, clause, DOES[clause.operation])
	return any(match.at <= clause.verb_end + NEAR for match in matches)


def is_small(word: Word) -> bool:
	return word.is_mark or word.key in FUNCTION_WORDS or word.key in POLITE or word.key in THEN


def chat_about(clause: Clause) -> str | None:
	"""The kind of small talk a clause is; None for everything else."""
	words = [word for word in clause.words if not word.is_mark]
	for at in range(len(words) if len(words) <= CHAT_LENGTH else 0):
		kind, length = SMALLTALK.at(words, at)
		if not kind:
			continue
		if length > 2 or (length == 2 and kind in ("help", "identity")):
			return kind
		rest = [word for place, word in enumerate(words) if not at <= place < at + length]
		if at == 0 and len(rest) <= 2 and not clause.operation:
			return kind
	return None
