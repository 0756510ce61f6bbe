"""Finds values of records in text: names in all grammatical forms, phrases, numbers. Pure.

Case, accents, umlauts and their spellings (Müller, Mueller, MÜLLER) do not matter. A single name must be
capitalised; a name that is also a common word counts only beside another name or after a title.
"""

import re
import unicodedata
from collections.abc import Container
from dataclasses import dataclass, field

from huf.ai.core.tokenizer import DIGRAPH, WORD

ACCENTED = re.compile("[\u00c0-\u024f]")
FOLDED = {chr(code): unicodedata.normalize("NFKD", chr(code))[0] for code in range(0xC0, 0x250)}
HYPHENATED = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)+")
CZECH_CHARS = re.compile(r"[ěřůčšžďťňĚŘŮČŠŽĎŤŇ]")
CZECH_WORDS = frozenset(
	"jsem jsme jsou pan pana pane panem pani panu byl byla neni jeho jeji ktery ktera take nebo smlouva "
	"smlouvu smlouvy dopis rodne bydli klient klientka klientky".split()
)
"""Folded words that occur in none of the other three languages."""
VOWELS = "aeiouy"
LONG_ENDINGS = frozenset(
	"ovi ovic em ova ove ovou uv ych ym eho emu ou ovych ovym iho imu im ami um ech ich in ina inu "
	"sche schem schen scher sches".split()
)
ENDINGS = LONG_ENDINGS | set(VOWELS)
MAX_ENDING = 5
"""Length of the endings of Czech cases, feminine surnames and German adjectives. Short endings count only in
Czech texts and for names side by side.
"""
GENITIVE = "s"
TITLES = frozenset(
	"herr herrn frau familie dr prof mr mrs ms miss sir senor senora senorita sr sra don dona pan pani "
	"pana panu panem pane slecna mandant mandantin patient patientin".split()
)
PARTICLES = frozenset(
	"von vom van der den dem de del della di da la las los le y e i zu zum zur und and of the dr prof ing "
	"mag bc mgr judr mudr phdr dipl med jur mr mrs ms miss herr frau senor senora sr sra jr ii iii pan "
	"pani".split()
)
COMMON_WORDS = frozenset(
	"alt art august bank berg bill black brand brown chance church clay day dean die drei faith fall "
	"field ford frei friede gold grace grant gray green gross groß grosse große gut hall hand hart herbst "
	"herr hof holz hope horn hunter jung juli july june juni kern klein king kraft krug lang lange link "
	"long love luz mai mann mar mark marks may mayo miracle mond monday moon morgen neu nein norden ost "
	"paz pena penny pilar price prior reich ring rich rosa rose rot sauer schwarz sol sommer sonntag star "
	"stark stein still stolz summer sun viola wald wall ward weiss weiß west white will winter wirt wolf "
	"wood young".split()
)
"""Names that are also everyday words in German, English, Spanish or Czech."""
NAME, ADDRESS, NUMBER = "NAME", "ADDRESS", "ID"
MIN_NAME_CHARS, MIN_NUMBER_CHARS, MAX_NUMBER_WORDS, HEAD_CHARS = 3, 5, 10, 3
MAX_PASSED = 100_000
GAPS = (" ", "-", "\u00a0", ". ")
"""Separators between the parts of one name."""


def fold_case(text: str) -> str:
	"""Lower case without accents. Keeps the length; ß stays."""
	return ACCENTED.sub(lambda found: FOLDED[found[0]], text).lower()


def spellings(folded: str) -> set[str]:
	"""Variant spellings of a folded word: ss for ß, umlauts without their e."""
	return {folded, folded.replace("ß", "ss"), DIGRAPH.sub(r"\1", folded)}


def umlaut_spellings(text: str) -> set[str]:
	"""The folded text, plain and with ae, oe, ue for its umlauts."""
	text = unicodedata.normalize("NFC", text)
	wide = re.sub("[äöüÄÖÜ]", lambda found: fold_case(found[0]) + "e", text)
	return {spelling for each in (text, wide) for spelling in spellings(fold_case(each))}


def cut_stems(name: str) -> set[str]:
	"""The stems that Czech endings are attached to: Svobod(a), Pavl for Pavel, Lenc for Lenka."""
	stems = set()
	if name[-1] in VOWELS and len(name) > 2:
		stem = name[:-1]
		stems.add(stem)
		if stem[-1] in "khg":
			stems.add(stem[:-1] + {"k": "c", "h": "z", "g": "z"}[stem[-1]])
	elif len(name) > 3 and name[-2] == "e" and name[-1] not in VOWELS:
		stems.add(name[:-2] + name[-1])
	return stems


@dataclass(frozen=True)
class Match:
	"""A value in a text: its position, kind, the root that all its forms share, and its base form, if that is
	known.
	"""

	start: int
	end: int
	kind: str
	key: tuple[str, ...]
	base: str = ""


@dataclass
class RecordValues:
	"""An index of the values to look for. Built by `add_...`, then read-only.

	`names`: {folded name: (root, as the record writes it)}. `stems`: {stem: folded name}. `phrases`: {words:
	(kind, text)}, `lengths`: {first word: numbers of words}. `numbers`: {letters and digits: number}.
	`dates`: (year, month, day). `passed`: a cache of words with which no value begins.
	"""

	names: dict[str, tuple[str, str]] = field(default_factory=dict)
	stems: dict[str, str] = field(default_factory=dict)
	phrases: dict[tuple[str, ...], tuple[str, str]] = field(default_factory=dict)
	lengths: dict[str, set[int]] = field(default_factory=dict)
	numbers: dict[str, str] = field(default_factory=dict)
	number_heads: set[str] = field(default_factory=set)
	passed: set[str] = field(default_factory=set)
	dates: set[tuple[int, int, int]] = field(default_factory=set)

	def add_person(self, text: str) -> None:
		"""Add a person's name, or a part of it."""
		words = [found[0] for found in WORD.finditer(text)]
		for word in words:
			root = fold_case(word)
			if len(word) >= MIN_NAME_CHARS and root not in PARTICLES and not any(map(str.isdigit, word)):
				for spelling in umlaut_spellings(word):
					self.names.setdefault(spelling, (root, word))
					for stem in cut_stems(spelling):
						self.stems.setdefault(stem, spelling)
		for whole in HYPHENATED.findall(text):
			# Hans-Peter is also written Hanspeter.
			for spelling in umlaut_spellings(whole.replace("-", "")):
				self.names.setdefault(spelling, (fold_case(whole), whole))
		if len(words) > 1:
			self.add_phrase(text, NAME)

	def add_phrase(self, text: str, kind: str) -> None:
		"""Add words that count only together and in this order."""
		for spelling in umlaut_spellings(text):
			words = tuple(WORD.findall(spelling))
			if words:
				self.phrases.setdefault(words, (kind, text))
				self.lengths.setdefault(words[0], set()).add(len(words))

	def add_number(self, text: str) -> None:
		compact = "".join(WORD.findall(fold_case(text)))
		if len(compact) >= MIN_NUMBER_CHARS:
			self.numbers.setdefault(compact, text)
			self.number_heads |= {compact[:length] for length in range(1, HEAD_CHARS + 1)}

	def add_date(self, year: int, month: int, day: int) -> None:
		self.dates.add((year, month, day))
		self.add_number(f"{day:02}{month:02}{year}")
		self.add_number(f"{year}{month:02}{day:02}")

	def find(self, text: str) -> list[Match]:
		"""Every value in the text, from left to right, without overlaps."""
		if not (self.lengths or self.names or self.numbers):
			return []
		words = list(WORD.finditer(fold_case(text)))
		texts = [found[0] for found in words]
		is_czech = bool(CZECH_CHARS.search(text)) or not CZECH_WORDS.isdisjoint(texts)
		reading = Reading(self, text, words, texts, is_czech)
		if len(self.passed) > MAX_PASSED:
			self.passed.clear()
		found: list[Match] = []
		after = 0
		for place, word in enumerate(texts):
			if place < after or word in self.passed:
				continue
			if hit := reading.find_at(place):
				found.append(hit[0])
				after = hit[1]
			elif not self.can_begin(word):
				self.passed.add(word)
		return found

	def can_begin(self, word: str) -> bool:
		"""Whether a value can begin with this word."""
		is_part = word in self.lengths or word[:HEAD_CHARS] in self.number_heads
		return is_part or bool(self.read_name(word, ENDINGS))

	def read_name(self, word: str, endings: Container[str]) -> tuple[str, str, int] | None:
		"""(root, name as the record spells it, length of the ending that stays outside the placeholder)."""
		if word in self.names:
			return (*self.names[word], 0)
		if word[-1] == GENITIVE and word[:-1] in self.names:
			return (*self.names[word[:-1]], 1)
		for length in range(1, min(MAX_ENDING, len(word) - 2) + 1):
			stem = word[:-length]
			if word[-length:] not in endings:
				continue
			if stem in self.names:
				return (*self.names[stem], length)
			if stem in self.stems:
				return (*self.names[self.stems[stem]], 0)
		return None


@dataclass(frozen=True)
class Reading:
	"""A text that is being searched, with its words.

	Each `find_...` returns a match and the position after it, or None.
	"""

	values: RecordValues
	text: str
	words: list[re.Match]
	texts: list[str]
	is_czech: bool

	def find_at(self, place: int) -> tuple[Match, int] | None:
		return self.find_phrase(place) or self.find_number(place) or self.find_names(place)

	def find_phrase(self, place: int) -> tuple[Match, int] | None:
		for length in sorted(self.values.lengths.get(self.texts[place], ()), reverse=True):
			words = tuple(self.texts[place : place + length])
			if len(words) < length:
				continue
			known, rest = self.values.phrases.get(words), 0
			if not known and words[-1][-1] == GENITIVE:
				words, rest = (*words[:-1], words[-1][:-1]), 1
				known = self.values.phrases.get(words)
			if known and self.is_phrase(place, words):
				start, end = self.words[place].start(), self.words[place + length - 1].end() - rest
				return Match(start, end, known[0], words, known[1]), place + length
		return None

	def is_phrase(self, place: int, words: tuple[str, ...]) -> bool:
		if len(words) == 1:
			return self.is_name_alone(place)
		places = range(place, place + len(words))
		is_common = set(words) <= COMMON_WORDS and not all(map(self.has_capital, places))
		return not is_common and all(len(self.gap(each)) <= 3 for each in places[1:])

	def find_number(self, place: int) -> tuple[Match, int] | None:
		if self.texts[place][:HEAD_CHARS] not in self.values.number_heads:
			return None
		compact, best = "", None
		for end in range(place, min(place + MAX_NUMBER_WORDS, len(self.words))):
			word = self.words[end]
			if end > place and word.start() - self.words[end - 1].end() > 2:
				break
			compact += word[0]
			if compact in self.values.numbers:
				number = self.values.numbers[compact]
				best = Match(self.words[place].start(), word.end(), NUMBER, (compact,), number), end + 1
		return best

	def find_names(self, place: int) -> tuple[Match, int] | None:
		"""Adjacent names form one value."""
		found = self.list_names(place, ENDINGS)
		if len(found) == 1 and not self.is_czech:
			found = self.list_names(place, LONG_ENDINGS)
		end = place + len(found)
		is_common = all(each in COMMON_WORDS for each in self.texts[place:end])
		if not found or ((len(found) == 1 or is_common) and not self.is_name_alone(place)):
			return None
		start, stop = self.words[place].start(), self.words[end - 1].end() - found[-1][2]
		gaps = [self.gap(each) for each in range(place + 1, end)]
		base = "".join(
			part for gap, (_, name, _) in zip(["", *gaps], found, strict=True) for part in (gap, name)
		)
		return Match(start, stop, NAME, tuple(root for root, *_ in found), base), end

	def list_names(self, place: int, endings: Container[str]) -> list[tuple[str, str, int]]:
		"""The results of `RecordValues.read_name` for adjacent names."""
		found: list[tuple[str, str, int]] = []
		for end in range(place, len(self.words)):
			allowed = endings if self.has_capital(end) else ()
			if (found and self.gap(end) not in GAPS) or not (
				name := self.values.read_name(self.texts[end], allowed)
			):
				break
			found.append(name)
		return found

	def gap(self, place: int) -> str:
		"""The text between a word and the one before it."""
		return self.text[self.words[place - 1].end() : self.words[place].start()]

	def is_name_alone(self, place: int) -> bool:
		before = self.texts[place - 1] if place else ""
		return self.has_capital(place) and (self.texts[place] not in COMMON_WORDS or before in TITLES)

	def has_capital(self, place: int) -> bool:
		return self.text[self.words[place].start()].isupper()
