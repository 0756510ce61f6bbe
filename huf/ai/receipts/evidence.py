"""What a run's journal can prove: its calls, their effects, and the texts and numbers in them."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from huf.ai.core.json_text import to_text
from huf.ai.receipts.language import find_named_kinds
from huf.ai.receipts.numbers import (
	PERCENTAGE,
	describe_rows,
	describe_shares,
	find_lists,
	read_numbers,
)
from huf.ai.receipts.times import find_dates, read_clock_times, read_spans

MAX_TEXT_CHARS = 100_000
"""Limit for all results together; those read last are kept."""
NAME_HINTS = {
	word: kind
	for kind, words in {
		"create": "create insert new add book open generate draft register",
		"update": "update set edit change modify rename move mark assign close complete exchange return",
		"delete": "delete remove erase purge",
		"cancel": "cancel void refund revoke",
		"submit": "submit approve confirm finalise finalize pay payment order buy transfer",
		"reject": "reject decline",
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
STATE_KINDS = ("update", "submit", "cancel", "send", "write", "remove", "reject")
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

	@property
	def is_draft(self) -> bool:
		"""Whether it has left a reply to a person, who may send it (`mail/tools.py`)."""
		result = self.result if isinstance(self.result, dict) else {}
		return bool(result.get("draft")) and result.get("status") in ("created", "kept")

	@cached_property
	def kinds(self) -> frozenset[str]:
		"""The kinds of effect it may have had: of the changes on record, and those its name speaks of."""
		if self.is_draft:
			return frozenset(("create", "update"))
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
	"""`calls` of a run, oldest first; `given`: the prompt; `background`: instructions and attached texts;
	`read_earlier`: the calls of earlier runs of the conversation."""

	calls: Sequence[CallEvidence]
	given: str = ""
	background: str = ""
	read_earlier: Callable[[], Iterable[CallEvidence]] = tuple

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
	def failures(self) -> list[CallEvidence]:
		return [call for call in self.calls if not call.is_success]

	@cached_property
	def earlier_writes(self) -> list[CallEvidence]:
		return [call for call in self.read_earlier() if call.is_write and call.is_success]

	@cached_property
	def tried_writes(self) -> int:
		return sum(call.is_write for call in self.calls)

	@cached_property
	def text(self) -> str:
		"""All that was read, written, tried or asked, in lower case."""
		parts = [f"{doctype} {name}" for call in self.calls for doctype, name, _ in call.changes]
		parts += [call.tool for call in self.calls]
		return "\n".join([self.results, *parts, self.given, self.background])[:MAX_TEXT_CHARS].lower()

	@cached_property
	def results(self) -> str:
		"""Arguments and results of the calls, the last ones first."""
		return "\n".join(call.text for call in reversed(self.calls))[:MAX_TEXT_CHARS]

	@cached_property
	def written_text(self) -> str:
		"""What was written, in lower case."""
		return "\n".join(call.text for call in self.writes).lower()

	@cached_property
	def failed_text(self) -> str:
		"""What could not be written, in lower case."""
		return "\n".join(to_text(call.arguments) for call in self.failures if call.is_write).lower()

	@cached_property
	def states(self) -> frozenset[str]:
		return find_named_kinds("\n".join(call.text for call in self.successes).lower(), STATE_KINDS)

	@cached_property
	def known_numbers(self) -> list[float]:
		"""Numbers that an answer may state, sorted: contained in a text, counted, or derived from rows."""
		texts = (self.results, PERCENTAGE.sub(" ", self.background), self.known_prompt)
		return sorted({*derive_numbers(self.successes)}.union(*map(read_numbers, texts)))

	@cached_property
	def percentages(self) -> list[float]:
		"""Percentages that an answer may state, sorted: written, or shares of the rows of the calls."""
		tables = find_lists([call.result for call in self.successes])
		shares = {share for rows in tables for share in describe_shares(rows)}
		written = " ".join([self.results, self.known_prompt, *PERCENTAGE.findall(self.background)])
		rounded = {round(share, places) for share in shares for places in (0, 1, 2)}
		return sorted(rounded | read_numbers(written))

	@cached_property
	def given_numbers(self) -> set[float]:
		return read_numbers(self.given)

	@cached_property
	def intended_numbers(self) -> set[float]:
		"""What was asked for, and how many writes were tried: for sentences that say what was not done."""
		return self.given_numbers | {float(self.tried_writes)}

	@cached_property
	def known_prompt(self) -> str:
		"""What the prompt says proves numbers and times only once something was looked up, also outside."""
		return self.given if any(call.effect != "write" for call in self.successes) else ""

	@cached_property
	def times(self) -> str:
		"""The texts whose times of day and durations an answer may state."""
		return "\n".join((self.results, self.background, self.known_prompt))

	@cached_property
	def dates(self) -> set[tuple[int, int, int]]:
		"""Dates that an answer may state, each also without its year."""
		dates = find_dates(f"{self.times}\n{self.given}")
		return dates | {(0, month, day) for _, month, day in dates}

	@cached_property
	def clock_times(self) -> set[tuple[int, int]]:
		return read_clock_times(self.times)

	@cached_property
	def spans(self) -> set[float]:
		return read_spans(self.times, self.background)


def derive_numbers(calls: Iterable[CallEvidence]) -> Iterator[float]:
	"""Numbers of calls and changes, lengths of lists, and numbers that describe their rows."""
	calls = list(calls)
	counts: Counter = Counter()
	for call in calls:
		counts.update(action for _, _, action in call.changes)
		counts.update((doctype, action) for doctype, _, action in call.changes)
		if call.is_write and not call.changes:
			counts.update(call.kinds)
	yield from map(float, counts.values())
	tables = [rows for call in calls for rows in find_lists(call.result)]
	if calls:
		yield float(sum(map(len, tables)))
	written = [rows for call in calls if call.is_write for rows in find_lists(call.arguments)]
	for rows in tables + written:
		yield float(len(rows))
		yield from describe_rows(rows)
