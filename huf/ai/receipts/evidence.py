"""What a run's journal can prove: calls with their effects, the texts and numbers that they contain."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from huf.ai.core.arguments import to_text
from huf.ai.receipts.language import find_named_kinds

MAX_NUMBER = 1e300
MAX_TEXT_CHARS = 100_000
"""Limit for all results together; those read last are kept."""
NUMBER = re.compile(r"(?<![A-Za-z\d])\d+(?:[.,\s\u00a0’']\d{3})*(?:[.,]\d+)?(?![A-Za-z\d])")
PLAIN_NUMBER = re.compile(r"(?<![A-Za-z\d])\d+(?![A-Za-z\d])")
ISO_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
STAMPED_TIME = re.compile(r"\d\d:\d\d:\d\d\.\d+")
"""When a record was written, to the fraction of a second: chance numbers that nobody states."""
NAME_HINTS = {
	word: kind
	for kind, words in {
		"create": "create insert new add book open generate draft register",
		"update": "update set edit change modify rename move mark assign close complete exchange return",
		"delete": "delete remove erase purge",
		"cancel": "cancel void refund revoke",
		"submit": "submit approve confirm finalise finalize pay payment order buy transfer",
		"send": "send mail email notify message reply post sms slack forward invite publish chat webhook",
	}.items()
	for word in words.split()
}
"""Kind of effect by word of a tool name."""
NOUNS = frozenset(
	"""book chat draft email exchange mail message order payment post reply return slack sms transfer
	webhook""".split()
)
"""After a verb, these words are the object: create_order orders nothing."""
NAME_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
NAME_PARTS = re.compile(r"_and_|And(?=[A-Z])")
SEND_DOCTYPES = ("Communication", "Email Queue", "Agent Mail", "Comment", "Notification Log")
NAMED_KINDS = ("cancel", "submit")
"""Kinds that an update may have, depending on its values."""
STATE_KINDS = ("update", "submit", "cancel", "send", "write", "remove")
"""Kinds whose state a document can hold, such as a status."""
RECIPIENT_KEYS = {"to", "recipient", "recipients", "email", "cc", "phone", "channel"}


@dataclass(frozen=True)
class CallEvidence:
	"""One tool call. `changes`: (DocType, name, action) of the documents that it changed."""

	name: str
	tool: str
	effect: str
	is_success: bool
	arguments: Any
	result: Any
	changes: tuple[tuple[str, str, str], ...] = ()

	@cached_property
	def is_write(self) -> bool:
		return self.effect != "read"

	@cached_property
	def text(self) -> str:
		return f"{to_text(self.arguments)}\n{to_text(self.result)}"[:MAX_TEXT_CHARS]

	@cached_property
	def named_kinds(self) -> frozenset[str]:
		return find_named_kinds(self.text, NAMED_KINDS)

	@cached_property
	def kinds(self) -> frozenset[str]:
		"""The kinds of effect it may have had: of the changes on record, and those its name speaks of."""
		kinds = {action for _, _, action in self.changes}
		kinds |= find_kinds_of_name(self.tool, bool(self.changes)) if self.is_write else set()
		if any(doctype in SEND_DOCTYPES for doctype, _, _ in self.changes):
			kinds.add("send")
		if isinstance(self.arguments, dict) and RECIPIENT_KEYS & set(self.arguments) and not self.changes:
			kinds.add("send")
		if not kinds and self.is_write:
			kinds = {"create", "update", "delete", "cancel", "submit", "send"}
		return frozenset(kinds)


def find_kinds_of_name(tool: str, is_recorded: bool) -> set[str]:
	"""The kinds of effect that a tool name suggests.

	If no change is on record, such as elsewhere, nouns count too: create_message may send it.
	"""
	kinds: set[str] = set()
	for part in NAME_PARTS.split(tool):
		words = [word.lower() for word in NAME_WORD.findall(part)]
		known = [word for word in words if word in NAME_HINTS]
		kinds |= {
			NAME_HINTS[word] for word in known if not (is_recorded and word in NOUNS) or word == known[0]
		}
	return kinds


@dataclass(frozen=True)
class Evidence:
	"""`calls` of a run, oldest first; `given`: the prompt; `background`: instructions and attached texts."""

	calls: Sequence[CallEvidence]
	given: str = ""
	background: str = ""

	@cached_property
	def successes(self) -> list[CallEvidence]:
		return [call for call in self.calls if call.is_success]

	@cached_property
	def reads(self) -> list[CallEvidence]:
		return [call for call in self.successes if not call.is_write]

	@cached_property
	def writes(self) -> list[CallEvidence]:
		return [call for call in self.successes if call.is_write]

	@cached_property
	def has_tried_write(self) -> bool:
		return any(call.is_write for call in self.calls)

	@cached_property
	def text(self) -> str:
		"""All that was read, written or asked, in lower case."""
		parts = [call.text for call in reversed(self.successes)]
		parts += [f"{doctype} {name}" for call in self.calls for doctype, name, _ in call.changes]
		parts += [call.tool for call in self.calls]
		return "\n".join([*parts, self.given, self.background])[:MAX_TEXT_CHARS].lower()

	@cached_property
	def states(self) -> frozenset[str]:
		return find_named_kinds(self.text, STATE_KINDS)

	@cached_property
	def numbers(self) -> frozenset[float]:
		"""Numbers that the calls prove: contained, counted, or the sum of a column."""
		found = set(derive_numbers(self.successes))
		texts = [call.text for call in reversed(self.successes)]
		found |= read_numbers("\n".join(texts)[:MAX_TEXT_CHARS])
		return frozenset(found)

	@cached_property
	def known_numbers(self) -> frozenset[float]:
		"""Numbers that an answer may state; those of the prompt count once something was looked up."""
		exact = self.numbers | read_numbers(ISO_DATE.sub("", self.background))
		if self.successes:
			exact |= read_numbers(self.given)
		fractions = [number for number in exact if number != int(number)]
		return (
			exact
			| {float(round(number)) for number in fractions}
			| {round(number, 1) for number in fractions}
		)

	@cached_property
	def date_numbers(self) -> set[float]:
		"""Years, months and days of dates in the instructions, such as today: they prove dates, no counts."""
		return read_numbers(" ".join(ISO_DATE.findall(self.background)))


def read_numbers(text: str) -> set[float]:
	"""Every number in a text, in each way it may be read: 1.234,5 as well as the parts of 2026-11-22."""
	text = STAMPED_TIME.sub("", text)
	found: set[float] = {float(part[:15]) for part in PLAIN_NUMBER.findall(text)}
	for written in NUMBER.findall(text):
		found.update(parse_number(written))
	return found


def parse_number(written: str) -> list[float]:
	"""The values that a number can stand for, with either decimal sign."""
	digits = re.sub(r"[\s\u00a0’']", "", written)
	readings = {digits.replace(",", ""), digits.replace(".", "").replace(",", ".")}
	values = []
	for reading in readings:
		try:
			values.append(round(float(reading), 4))
		except ValueError:
			continue
	return list(filter(is_usable, values))


def is_usable(value: Any) -> bool:
	"""Whether a value is a number that can be added up; not NaN, and not an integer of 400 digits."""
	return isinstance(value, int | float) and abs(value) < MAX_NUMBER


def derive_numbers(calls: Iterable[CallEvidence]) -> Iterator[float]:
	"""Numbers of calls and changes, lengths of lists, how often a value occurs, and sums of columns."""
	calls = list(calls)
	by_kind: dict[str, int] = {}
	for call in calls:
		for _, _, action in call.changes:
			by_kind[action] = by_kind.get(action, 0) + 1
		if call.is_write and not call.changes:
			for kind in call.kinds:
				by_kind[kind] = by_kind.get(kind, 0) + 1
	yield from map(float, by_kind.values())
	total_rows = 0
	for call in calls:
		for rows in find_lists(call.result):
			yield float(len(rows))
			yield from describe_rows(rows)
			total_rows += len(rows)
	if calls:
		yield float(total_rows)


def find_lists(value: Any, depth: int = 0) -> Iterator[list]:
	if depth > 4:
		return
	if isinstance(value, list):
		yield value
	children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
	for child in list(children)[:200]:
		yield from find_lists(child, depth + 1)


def describe_rows(rows: list) -> Iterator[float]:
	columns: dict[str, list] = {}
	for row in rows[:500]:
		for key, value in row.items() if isinstance(row, dict) else ():
			columns.setdefault(key, []).append(value)
	for values in columns.values():
		counts: dict[str, int] = {}
		for value in values:
			counts[str(value)] = counts.get(str(value), 0) + 1
		yield from map(float, counts.values())
		yield float(len(counts))
		numeric = list(filter(is_usable, values))
		if numeric:
			yield round(float(sum(numeric)), 4)
			yield round(sum(numeric) / len(numeric), 2)
