"""Decides which calls of a run that has read untrusted content need a person. Pure.

Anyone who writes a mail, a page or a file can write instructions into it, and a model may follow them. A call
is therefore judged by where its values come from. What the person or the agent's settings name is theirs.
What repeats untrusted content was decided by a stranger, and what nobody named may have been.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache
from typing import Any

from huf.ai.core.stored_text import clip_line
from huf.ai.core.types import Effect

MAX_VALUES = 200
"""Values of one call that are examined; a call with more needs a person."""
MAX_IDENTIFIERS = 1_000
"""Different addresses, links and numbers of one value that are looked for in what was read."""
SHINGLE_WORDS = 4
"""This many consecutive words that also occur in untrusted content count as copied."""
MAX_COINCIDENCE_CHARS = 3
"""A value this short may occur in the person's text by coincidence."""
MAX_DISPLAYED_CHARS = 80
TYPED = "fields read by "
"""Begins the origin of values that carry no instructions: another agent has read them, and their types are
closed.
"""
WORD = re.compile(r"\w+")
DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?)?|\d\d:\d\d(:\d\d)?")
NUMBER = re.compile(r"-?\d{1,15}(\.\d{1,6})?")
DECIMALS_BEFORE, DECIMALS_AFTER = re.compile(r"\d[.,]$"), re.compile(r"[.,]\d")
ADDRESS_BEFORE, ADDRESS_AFTER = re.compile(r"\w[.@+%-]$"), re.compile(r"[.@-]\w")
"""Neighbouring text that makes a value a part of a longer number, address or host."""
IDENTIFIER = re.compile(
	r"[\w.+%-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,20}"  # an e-mail address
	r"|(?:https?://)?(?:[\w-]{1,63}\.){1,20}[a-z]{2,63}(?::\d+)?(?:/[^\s\"'<>)\]]*)?"  # a link or a host
	r"|\b(?=\w*\d)\w{6,}\b",  # an account or another long number
	re.IGNORECASE,
)
"""Repetitions are bounded: unbounded ones take time that grows with the square of a text's length."""


class Caution(str, Enum):
	"""How an agent treats untrusted content.

	Strict: every external or destructive call needs a person. Standard: those with values that the person did
	not name. Off: none.
	"""

	STRICT = "Strict"
	STANDARD = "Standard"
	OFF = "Off"


class Text:
	"""A text in which values are found as whole words, regardless of case and white space."""

	def __init__(self, *texts: str):
		self.plain = "\n".join(normalize_spacing(text) for text in texts if text)

	def __contains__(self, value: str) -> bool:
		return any(self.has(each) for each in list_spellings(value))

	def has(self, normalized: str) -> bool:
		if WORD.fullmatch(normalized):
			return hash(normalized) in self.words
		return any(True for _ in self.find(normalized))

	def find(self, normalized: str) -> Iterator[tuple[int, int]]:
		"""(start, end) of each place where a text stands as whole words."""
		start = self.plain.find(normalized)
		while start >= 0:
			if not self.cuts_word(start) and not self.cuts_word(start + len(normalized)):
				yield start, start + len(normalized)
			start = self.plain.find(normalized, start + 1)

	def names(self, value: str) -> bool:
		"""Whether a value stands here, and not as a part of another address, link or number.

		`bob@firm.co` is not named by `bob@firm.co.uk`, nor 50 by 12.50.
		"""
		return any(
			not self.cuts_value(start, end)
			for each in list_spellings(value)
			for start, end in self.find(each)
		)

	def cuts_value(self, start: int, end: int) -> bool:
		value, after = self.plain[start:end], self.plain[end : end + 2]
		before = self.plain[max(0, start - 2) : start]
		if NUMBER.fullmatch(value):
			return bool(DECIMALS_BEFORE.search(before) or DECIMALS_AFTER.match(after))
		is_address = "@" in value or "." in value
		return is_address and bool(ADDRESS_BEFORE.search(before) or ADDRESS_AFTER.match(after))

	def cuts_word(self, at: int) -> bool:
		text = self.plain
		return 0 < at < len(text) and is_word_char(text[at - 1]) and is_word_char(text[at])

	@cached_property
	def words(self) -> frozenset[int]:
		return frozenset(map(hash, WORD.findall(self.plain)))

	@cached_property
	def shingles(self) -> frozenset[int]:
		return frozenset(map(hash, list_shingles(self.plain)))

	def has_shingle(self, words: str) -> bool:
		return hash(words) in self.shingles


@lru_cache(maxsize=64)
def index_text(text: str) -> Text:
	"""A Text that is made once: the results of a run's earlier calls are compared with each later call."""
	return Text(text)


def normalize_spacing(text: str) -> str:
	"""Lower case and single spaces; the escapes of JSON text are undone as far as words are concerned."""
	text = text.replace("\\n", " ").replace("\\t", " ").replace("\\r", " ").replace('\\"', '"')
	return " ".join(text.casefold().split())


def list_spellings(value: str) -> Iterator[str]:
	"""How a value may be written: 10.0 is also 10 and 10.00."""
	plain = normalize_spacing(value).strip(" .,;:!?\"'")
	if not plain:
		return
	yield plain
	if NUMBER.fullmatch(plain):
		number = float(plain)
		yield from {f"{number:.2f}", f"{number:.1f}", f"{number:g}"} - {plain}


def is_word_char(char: str) -> bool:
	return char.isalnum() or char == "_"


@dataclass(frozen=True)
class ReadText:
	"""A text that a run has read; `origin` says for people where it comes from."""

	origin: str
	text: Text


@dataclass(frozen=True)
class TextsByAuthor:
	"""What a run has read, by author.

	`named`: what the person wrote to the agent, and the agent's settings. `later`: this site's own data that
	was read after untrusted content, which may have asked for it.
	"""

	named: Text
	untrusted: Sequence[ReadText] = ()
	later: Sequence[ReadText] = ()

	@property
	def is_typed(self) -> bool:
		"""Whether nothing that was read can carry instructions."""
		return all(each.origin.startswith(TYPED) for each in self.untrusted)

	@property
	def origins(self) -> tuple[str, ...]:
		return tuple(dict.fromkeys(each.origin for each in self.untrusted))

	def is_named(self, value: str) -> bool:
		if self.named.names(value):
			return len(value) > MAX_COINCIDENCE_CHARS or not self.find_origin(value)
		words = value.split()
		is_theirs = all(
			self.named.names(each) and (len(each) > MAX_COINCIDENCE_CHARS or each.isalpha()) for each in words
		)
		# Words of the person, put together in another way, unless a stranger has put them so.
		return len(words) > 1 and is_theirs and not self.find_origin(value)

	def find_origin(self, value: str) -> str | None:
		return next((each.origin for each in self.untrusted if value in each.text), None)

	def find_copied(self, text: str) -> tuple[str, str] | None:
		"""(origin, part): a part of a text that occurs in what was read, and not in what the person named.

		A text with too many identifiers to look for counts as copied.
		"""
		parts = list(dict.fromkeys(list_identifiers(text)))
		if len(parts) > MAX_IDENTIFIERS:
			return self.untrusted[0].origin, parts[0]
		for part in parts:
			if not self.named.names(part):
				for each in (*self.untrusted, *self.later):
					if part in each.text:
						return each.origin, part
		for words in list_shingles(text):
			if not self.named.has_shingle(words):
				for each in (*self.untrusted, *self.later):
					if each.text.has_shingle(words):
						return each.origin, words
		return None


def list_identifiers(text: str) -> Iterator[str]:
	"""Addresses, links and long numbers in a text."""
	return (found[0] for found in IDENTIFIER.finditer(text) if not DATE.fullmatch(found[0]))


def list_shingles(text: str) -> Iterator[str]:
	words = WORD.findall(normalize_spacing(text))
	return (" ".join(words[i : i + SHINGLE_WORDS]) for i in range(len(words) - SHINGLE_WORDS + 1))


@dataclass(frozen=True)
class ToolPolicy:
	"""What is declared about the calls of a tool.

	`sensitive`: the parameters that decide where something goes or who is affected; None: not declared, so
	all of them are. `destructive`: a call deletes, or changes passwords, sharing, roles or what others act
	on.
	"""

	effect: Effect
	sensitive: frozenset[str] | None = None
	destructive: bool = False

	def is_sensitive(self, path: Sequence[str]) -> bool:
		"""`path`: the parameter, and the keys inside it."""
		return self.destructive or self.sensitive is None or not self.sensitive.isdisjoint(path)


@dataclass(frozen=True)
class UnnamedValue:
	"""A value of a call that the person did not name. `origin`: where the run has read it, or None."""

	parameter: str
	value: str
	origin: str | None


@dataclass(frozen=True)
class Concern:
	"""Why a call needs a person: where untrusted content came from, and what in the call it may decide."""

	origins: tuple[str, ...]
	values: tuple[UnnamedValue, ...] = ()


def find_concern(
	policy: ToolPolicy,
	arguments: Mapping[str, Any],
	evidence: TextsByAuthor,
	caution: Caution = Caution.STANDARD,
) -> Concern | None:
	"""Why a call needs a person's approval; None if it may be made."""
	if not evidence.untrusted or caution is Caution.OFF or policy.effect is Effect.READ:
		return None
	# A flag that is taken away publishes a file; elsewhere it says nothing.
	values = [each for each in list_values(arguments) if policy.destructive or each[1] != "false"]
	unnamed = tuple(found for each in values[:MAX_VALUES] if (found := judge_value(policy, *each, evidence)))
	if evidence.is_typed:
		# Typed values carry no instructions, but a stranger may have chosen the values themselves.
		unnamed = tuple(each for each in unnamed if each.origin)
	is_grave = policy.effect is Effect.EXTERNAL or policy.destructive
	is_vague = (
		not evidence.is_typed
		and (policy.sensitive is None or policy.destructive)
		and not any(evidence.is_named(value) for _, value in values)
	)
	if unnamed or is_vague or len(values) > MAX_VALUES or (is_grave and caution is Caution.STRICT):
		return Concern(evidence.origins, unnamed)
	return None


def judge_value(
	policy: ToolPolicy, path: Sequence[str], value: str, evidence: TextsByAuthor
) -> UnnamedValue | None:
	"""What is wrong with one value: a sensitive one is not named, or another carries out what was read."""
	if evidence.is_named(value):
		return None
	parameter = ".".join(path)
	if policy.sensitive is None and not policy.destructive and DATE.fullmatch(value):
		# A date alone is harmless: without declarations, only one from untrusted content counts.
		origin = evidence.find_origin(value)
		return UnnamedValue(parameter, value, origin) if origin else None
	if policy.is_sensitive(path):
		return UnnamedValue(parameter, clip_line(value, MAX_DISPLAYED_CHARS), evidence.find_origin(value))
	if policy.effect is Effect.EXTERNAL and (copied := evidence.find_copied(value)):
		return UnnamedValue(parameter, clip_line(copied[1], MAX_DISPLAYED_CHARS), copied[0])
	return None


def list_values(arguments: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
	"""(path of keys, value as text) of each value that is not empty."""
	if isinstance(arguments, Mapping):
		for key, value in arguments.items():
			yield from list_values(value, (*path, str(key)))
	elif isinstance(arguments, Iterable) and not isinstance(arguments, str):
		for each in arguments:
			yield from list_values(each, path)
	elif arguments not in (None, ""):
		yield path, str(arguments).lower() if isinstance(arguments, bool) else str(arguments)
