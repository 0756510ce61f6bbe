"""Reads a request: its words, its language, and what it wants done. Pure; knows no tools."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from huf.ai.providers.offline_planner import doctypes, words
from huf.ai.providers.offline_planner.dates import DAYS, UNITS, WEEKDAYS
from huf.ai.providers.offline_planner.lexicon import Lexicon, Word, by_language, read_words
from huf.ai.providers.offline_planner.words import LANGUAGES, Operation

VERB_WITHIN = 10
"""Words from the start in which the verb of a request is looked for: further on it is somebody's text."""

TELLING = 40
"""Words from which the language is told."""

VERBS = Lexicon(words.VERBS)
REMINDERS = Lexicon(words.REMINDERS)
ACHIEVEMENTS = Lexicon(words.ACHIEVEMENTS)
NOUNS = Lexicon(doctypes.NOUNS)
VALUES = Lexicon(words.VALUES)
FIELDS = Lexicon(words.FIELDS)
TEXT_CUES = Lexicon(words.TEXT_CUES)
ORDERS = Lexicon(words.ORDERS)
SMALLTALK = Lexicon(words.SMALLTALK)
FUNCTION_WORDS = Lexicon({"": words.FUNCTION_WORDS})
RUN = Lexicon({"": words.RUN})
MINE = Lexicon({"": words.MINE})
POLITE = Lexicon({"": words.POLITE})
NEGATIONS = Lexicon({"": words.NEGATIONS})
DOUBTS = Lexicon({"": words.DOUBTS})
NEVER_MIND = Lexicon({"": words.NEVER_MIND})
THEN = Lexicon({"": words.THEN})
ARTICLES = by_language(words.ARTICLES)
INTO = by_language(words.INTO)
LEADS = by_language(words.LEADS)
JOINERS = by_language(words.JOINERS)
MARKERS = by_language(words.MARKERS)
SEARCH_CUES = by_language(words.SEARCH_CUES)
AND = by_language(words.AND)
OF = by_language(words.OF)

VOCABULARY = (
	VERBS,
	NOUNS,
	VALUES,
	FIELDS,
	FUNCTION_WORDS,
	POLITE,
	ORDERS,
	DAYS,
	WEEKDAYS,
	UNITS,
	NEGATIONS,
	DOUBTS,
)


def is_known(word: Word) -> bool:
	"""Whether the word means something here, so that it is hardly a document's name."""
	return not word.is_quoted and any(word.key in lexicon for lexicon in VOCABULARY)


@dataclass(frozen=True)
class Clause:
	"""One request. `verb_at` is the place of its verb, `verb_end` the place after it; both 0 without a verb."""

	text: str
	words: tuple[Word, ...]
	language: str
	operation: Operation | None = None
	verb_at: int = 0
	verb_end: int = 0

	@cached_property
	def verb(self) -> str:
		return " ".join(word.key for word in self.words[self.verb_at : self.verb_end])

	@cached_property
	def implied_noun(self) -> str | None:
		return REMINDERS.get(self.verb) if self.operation else None

	@cached_property
	def is_doubtful(self) -> bool:
		"""Whether it asks about a change, or forbids it, rather than wanting it made."""
		before = self.words[: self.verb_at]
		if any(DOUBTS.at(before, at)[1] or word.key in NEGATIONS for at, word in enumerate(before)):
			return True
		after = [] if self.operation is Operation.CREATE else self.words[self.verb_end :]
		return any(word.key in NEGATIONS for word in after)

	def opens_with(self, at: int) -> bool:
		"""Whether a place is where the sentence begins, but for words such as "please" and "can you"."""
		small = (FUNCTION_WORDS, POLITE, RUN, VERBS, SMALLTALK)
		before = [word for word in self.words[:at] if not word.is_mark]
		if any(word.key in DOUBTS or word.key in NEGATIONS for word in before):
			return False
		return all(not word.is_quoted and any(word.key in lexicon for lexicon in small) for word in before)

	def slice(self, part: Sequence[Word]) -> str:
		"""The text of neighbouring words as it was written."""
		if not part:
			return ""
		return part[0].text if len(part) == 1 else self.text[part[0].start : part[-1].end]


def read_clause(text: str, language: str | None = None) -> Clause:
	sequence = tuple(read_words(text))
	language = language or detect_language(sequence)
	operation, start, end = find_verb(sequence)
	if operation is None and is_labelled_text(sequence):
		operation = Operation.CREATE
	return Clause(text, sequence, language, operation, start, end)


def is_labelled_text(sequence: Sequence[Word]) -> bool:
	"""Whether it is "todo: buy milk", the short form of "create a todo"."""
	return len(sequence) > 2 and sequence[1].key == ":" and NOUNS.get(sequence[0].key) == "todo"


def find_verb(sequence: Sequence[Word]) -> tuple[Operation | None, int, int]:
	"""The first verb; "how many" wins over a "show me" before it."""
	colon = next((at for at, word in enumerate(sequence) if word.key == ":"), len(sequence))
	found: tuple[Operation | None, int, int] = (None, 0, 0)
	for at in range(min(VERB_WITHIN, colon, len(sequence))):
		meaning, length = VERBS.at(sequence, at)
		if meaning is Operation.COUNT and found[0] in (None, Operation.LIST):
			return meaning, at, at + length
		if meaning and found[0] is None:
			found = (meaning, at, at + length)
	return found


def detect_language(sequence: Sequence[Word]) -> str:
	"""The language most of the known words are of; English where none tells."""
	votes = dict.fromkeys(LANGUAGES, 0)
	sequence = sequence[:TELLING]
	for at, word in enumerate(sequence):
		if word.is_mark or word.is_quoted:
			continue
		for lexicon in (VERBS, NOUNS, FUNCTION_WORDS, POLITE, SMALLTALK, DAYS, DOUBTS):
			for language in {language for _, language in lexicon.entries(word.key)}:
				votes[language] += 1
		phrase, _ = SMALLTALK.at(sequence, at)
		for language in {language for _, language in SMALLTALK.entries(word.key)} if phrase else ():
			votes[language] += 1
	return max(LANGUAGES, key=votes.get)
