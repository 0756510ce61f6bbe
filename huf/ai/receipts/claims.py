"""Matches what an answer claims with what its run did, by the run's journal."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice

import frappe

from huf.ai.receipts.evidence import NAMED_KINDS, CallEvidence, Evidence
from huf.ai.receipts.journal import read_earlier_calls, read_run_calls
from huf.ai.receipts.language import (
	ASKED_FOR,
	DRAFT,
	EARLIER,
	EXISTENCE_NONE,
	NEEDED,
	NOT_DONE,
	PART_OF,
	QUOTATION,
	find_effects,
	split_clauses,
	split_sentences,
)
from huf.ai.receipts.numbers import (
	PERCENT,
	STATED_NUMBER,
	find_exact,
	follows,
	parse_number,
	read_number_words,
	read_numbers,
)
from huf.ai.receipts.times import (
	CERTAIN_CLOCK,
	CERTAIN_DATE,
	CLOCK,
	CLOCK_RANGE,
	DATE,
	DURATION,
	parse_clock,
	parse_date,
	read_clock_times,
	read_durations,
)
from huf.ai.receipts.words import NUMBER_WORDS
from huf.ai.storage.recorded_run import read_opening

MAX_CLAIMS = 100
MAX_NUMBERS = 60
"""Limit for a sentence, which may be a row of a table."""
MAX_ANSWER_CHARS = 10_000
PROVEN_BY = {
	"create": {"create"},
	"write": {"create", "update", "send", "submit"},
	"update": {"update", "submit", "cancel"},
	"delete": {"delete"},
	"remove": {"delete", "update", "cancel"},
	"send": {"send"},
	"submit": {"submit", "update", "create"},
	"cancel": {"cancel", "update", "delete"},
	"reject": {"reject", "cancel", "update", "submit"},
}
"""Kinds of effect on record that prove a claimed one."""
DATED = re.compile(r"\b(?:19|20)\d\d\b|\bby\s+\S+@|\b\d{1,2}[./]\s?\d{1,2}[./]")
CODE = re.compile(r"(?<![\w.])(?=[\w#./-]{0,80}\d)(?=[\w#./-]{0,80}[A-Za-z])#?\w[\w/-]*\w|#\w+")
EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+\.[\w.-]*\w")
QUOTED = re.compile(r"[\"“„«‚‘`]([^\"”“»‘’`\n]{2,80})[\"”“»’`]|\*\*([^*\n]{2,80})\*\*")
CAPITALISED = re.compile(r"(?<![.!?:]\s)(?<![\"“„«(\w])(?<!^)\b([A-ZÁČĎÉĚÍŇÓŘŠŤÚŮÝŽÑ][\w’'-]{2,})")
TO_SOMEBODY = re.compile(r"\b(?:to|for|an|para)\s+([A-ZÁČĎÉĚÍŇÓŘŠŤÚŮÝŽÑÄÖÜ][\w’'-]{2,})")
LIST_MARKER = re.compile(r"^\s*(?:[-*•]\s+)?\d{1,3}[.)](?:\s+|$)")
ORDINAL_OR_UNIT = re.compile(r"^(?:st|nd|rd|th|\.\s|º|ª|°|:\d)")
KNOWN_WORDS = frozenset(
	"""monday tuesday wednesday thursday friday saturday sunday january february march april may june july
	august september october november december mon tue tues wed thu thurs fri sat sun
	jan feb mar apr jun jul aug sep sept oct nov dec
	todo todos crm erp erpnext frappe email e-mail excel pdf csv html api url id
	okay done yes sure""".split()
)
"""Capitalised words that name no record."""
MAX_PROMPT_CHARS = 20_000
OBJECTION = (
	"Your answer was not sent yet, because no result of your tools confirms this:\n{}\n\n"
	"Do what is missing with your tools if it was asked for, or correct the answer. "
	"What you did earlier in this conversation is done: do not do it again, but say that it was earlier. "
	"Then write the whole answer again, without a word about this check."
)


@dataclass(frozen=True)
class Claim:
	"""A sentence that claims something. `receipts`: the calls that prove it; `why`: what is missing."""

	text: str
	kinds: tuple[str, ...]
	is_confirmed: bool
	receipts: tuple[str, ...] = ()
	documents: tuple[tuple[str, str], ...] = ()
	why: str | None = None

	def as_dict(self) -> dict:
		return {
			"text": self.text,
			"kinds": list(self.kinds),
			"confirmed": self.is_confirmed,
			"calls": list(self.receipts),
			"documents": [list(each) for each in self.documents],
			"why": self.why,
		}


def check_answer(answer: str, evidence: Evidence) -> list[Claim]:
	"""The claims of an answer, in their order, each confirmed by calls or not."""
	sentences = split_sentences(answer[:MAX_ANSWER_CHARS])
	claims = (check_sentence(sentence, evidence) for sentence in sentences)
	return list(islice((claim for claim in claims if claim), MAX_CLAIMS))


def check_sentence(sentence: str, evidence: Evidence) -> Claim | None:
	if sentence.rstrip().endswith("?"):
		return None
	effects = find_effects(remove_quotations(sentence, evidence))
	proofs = [find_proof(kind, is_first, sentence, evidence) for kind, is_first in effects]
	is_none = bool(EXISTENCE_NONE.search(sentence))
	is_number, unproven = check_numbers(sentence, evidence)
	names = list(find_unknown_names(sentence, bool(effects), evidence))
	if any(kind != "read" for kind, _ in effects):
		names += find_failed_names(sentence, evidence)
	kinds = [kind for kind, _ in effects] + ["number"] * is_number + ["none"] * is_none
	if not kinds and not names:
		return None
	missing = ["no_call"] if None in proofs or (is_none and not evidence.successes) else []
	missing += [f"number {number}" for number in unproven] + [f"name {name}" for name in names]
	receipts = [call for proof in proofs for call in proof or ()]
	calls = tuple(dict.fromkeys(call.name for call in receipts))
	documents = {(doctype, name) for call in receipts for doctype, name, _ in call.changes if call.is_write}
	why = missing[0] if missing else None
	return Claim(sentence[:300], tuple(kinds), not missing, calls, tuple(sorted(documents)), why)


# --- effects ---


def find_proof(kind: str, is_first: bool, sentence: str, evidence: Evidence) -> list[CallEvidence] | None:
	"""The calls that prove an effect; None if there are none."""
	if kind == "done" and evidence.tried_writes:
		return evidence.writes or None
	if kind in ("read", "done"):
		return evidence.successes or None
	if proof := [call for call in evidence.writes if is_proof(kind, call)]:
		return proof
	drafted = [call for call in evidence.writes if call.is_draft]
	if kind == "send" and drafted and DRAFT.search(sentence):
		return drafted
	if EARLIER.search(sentence) and (proof := [c for c in evidence.earlier_writes if is_proof(kind, c)]):
		return proof
	if kind == "reject" and not is_first and evidence.failures:
		return evidence.failures
	if not is_first and evidence.reads and is_state_of_record(kind, sentence, evidence):
		return evidence.reads
	return None


def is_proof(kind: str, call: CallEvidence) -> bool:
	"""Whether a call did it; where it did something wider, its values must name the effect."""
	if kind in call.kinds:
		return True
	return bool(call.kinds & PROVEN_BY[kind]) and (kind not in NAMED_KINDS or kind in call.named_kinds)


def is_state_of_record(kind: str, sentence: str, evidence: Evidence) -> bool:
	"""Whether a sentence describes a document that was read, such as "The order was cancelled on 3 May"."""
	return bool(DATED.search(sentence)) or kind in evidence.states


def remove_quotations(sentence: str, evidence: Evidence) -> str:
	"""The sentence without quotations from the run's calls; "" if it is nothing but a quotation."""

	def replace_quotation(found: re.Match) -> str:
		quoted = next(filter(None, found.groups())).strip(" .!?…").lower()
		return " " if quoted in evidence.text else found[0]

	return "" if QUOTATION.fullmatch(sentence) else QUOTATION.sub(replace_quotation, sentence)


# --- numbers ---


def check_numbers(sentence: str, evidence: Evidence) -> tuple[bool, list[str]]:
	"""Whether a sentence states numbers or unknown times, and those that nothing proves."""
	is_intention = NOT_DONE.search(sentence) or ASKED_FOR.search(sentence)
	clocks = evidence.clock_times | (read_clock_times(evidence.given) if is_intention else set())
	dates = filter(CERTAIN_DATE.search, DATE.findall(sentence))
	times = filter(CERTAIN_CLOCK.search, CLOCK.findall(sentence))
	unknown = [date for date in dates if not parse_date(date) <= evidence.dates]
	unknown += [time for time in times if parse_clock(time) not in clocks]
	counted = remove_tried(NEEDED.sub(" ", sentence), evidence)
	stated = list(islice(find_numbers(remove_times(counted, evidence)), MAX_NUMBERS))
	# In "Two were requested, one was created", only the two is no claim.
	effects = filter(find_effects, split_clauses(counted))
	intended = evidence.intended_numbers - read_numbers("\n".join(effects)) if is_intention else set()
	return bool(unknown or stated), unknown + list(find_unproven(stated, evidence, intended))


def remove_tried(sentence: str, evidence: Evidence) -> str:
	"""Without "of the two" where two writes were tried, whether or not they succeeded."""

	def replace_part(found: re.Match) -> str:
		written = found[1].lower()
		number = NUMBER_WORDS.get(written) or float(written)
		return " " if number == evidence.tried_writes else found[0]

	return PART_OF.sub(replace_part, sentence)


def find_numbers(sentence: str) -> Iterator[tuple[str, list[float]]]:
	"""Numbers that say how many or how much, as written, with their possible values."""
	sentence = LIST_MARKER.sub("", sentence)
	sentence = EMAIL.sub(" ", re.sub(r"https?://\S+", " ", sentence))
	for match in STATED_NUMBER.finditer(sentence):
		after = sentence[match.end() :]
		if not ORDINAL_OR_UNIT.match(after):
			yield match[0] + ("%" if PERCENT.match(after) else ""), parse_number(match[1])
	yield from ((word, [number]) for word, number in read_number_words(sentence))


def remove_times(sentence: str, evidence: Evidence) -> str:
	"""Without dates, and without times of day and durations that are on record."""

	def replace_date(found: re.Match) -> str:
		dates = parse_date(found[0])
		is_date = CERTAIN_DATE.search(found[0]) or (dates and dates <= evidence.dates)
		return " " if is_date else found[0]

	def replace_clock(found: re.Match) -> str:
		is_clock = CERTAIN_CLOCK.search(found[0]) or parse_clock(found[0]) in evidence.clock_times
		return " " if is_clock else found[0]

	def replace_duration(found: re.Match) -> str:
		((number, minutes),) = read_durations(found[0])
		return " " if any(round(span / minutes, 1) == number for span in evidence.spans) else found[0]

	def replace_range(found: re.Match) -> str:
		return " ".join(time for time in found.groups() if parse_clock(time) not in evidence.clock_times)

	sentence = CLOCK_RANGE.sub(replace_range, DATE.sub(replace_date, sentence))
	sentence = CLOCK.sub(replace_clock, sentence)
	return DURATION.sub(replace_duration, sentence)


def find_unproven(
	stated: list[tuple[str, list[float]]], evidence: Evidence, intended: set[float]
) -> Iterator[str]:
	"""Numbers that are neither on record nor the result of a calculation with others of the sentence.

	Without a call, numbers of the prompt count only if something was calculated with them. `intended`:
	numbers of a sentence that only says what was asked for, or what was not done.
	"""
	unproven = [each for each in stated if not (intended & {*each[1]} or proves(*each, evidence))]
	results = [each for each in unproven if not evidence.given_numbers.intersection(each[1])]
	known = evidence.known_numbers
	operands = [n for each in stated if each not in results for n in {*each[1], *find_exact(*each, known)}]
	for written, values in results or unproven:
		if not any(follows(written, value, operands) for value in values):
			yield written


def proves(written: str, values: list[float], evidence: Evidence) -> bool:
	"""Whether any reading of a number, or a number that it rounds, is on record."""
	known = evidence.percentages if written.endswith("%") else evidence.known_numbers
	return bool(find_exact(written, values, known))


# --- names ---


def find_unknown_names(sentence: str, is_effect: bool, evidence: Evidence) -> Iterator[str]:
	"""Names of records, people and addresses that appear nowhere in the run."""
	for name in EMAIL.findall(sentence):
		if name.lower() not in evidence.text:
			yield name
	bare = EMAIL.sub(" ", re.sub(r"https?://\S+|(?<=\])\([^)\s]*\)", " ", sentence))
	for code in CODE.findall(bare):
		if looks_like_name(code) and code.lower().strip("#") not in evidence.text:
			yield code
	if not is_effect:
		return
	for groups in QUOTED.findall(bare):
		quoted = (groups[0] or groups[1]).strip(" .,:;!")
		if quoted and not is_known(quoted, evidence) and not re.fullmatch(r"[\d.,\s]+", quoted):
			yield quoted
	for word in TO_SOMEBODY.findall(bare):
		if word.lower() not in KNOWN_WORDS and not is_known(word, evidence):
			yield word


def find_failed_names(sentence: str, evidence: Evidence) -> Iterator[str]:
	"""Names that only failed writes mention, in a sentence that does not say that something failed."""
	if NOT_DONE.search(sentence):
		return
	bare = EMAIL.sub(" ", sentence)
	for name in [*EMAIL.findall(sentence), *CODE.findall(bare), *CAPITALISED.findall(bare)]:
		if name.lower() in evidence.failed_text and name.lower() not in evidence.written_text:
			yield name


def is_known(name: str, evidence: Evidence) -> bool:
	"""Whether a name is on record, possibly with another ending."""
	words = [word for word in re.findall(r"\w+", name.lower()) if len(word) > 2]
	return name.lower() in evidence.text or all(
		(word if len(word) < 5 else word[: max(4, len(word) - 3)]) in evidence.text for word in words
	)


def looks_like_name(code: str) -> bool:
	"""Codes of records have digits and letters; dates, times and units do not count."""
	return (
		not re.fullmatch(r"#?\d+(?:[./:-]\d+)*\w{0,3}|[A-Za-z]{1,2}\d{0,1}|\d+[a-zA-Z]+", code)
		and len(code) > 3
	)


def check_run(run: str, answer: str, opening: list[dict], step: int | None = None) -> list[dict]:
	"""The claims of an answer, each with the calls that prove it; see `Claim.as_dict`.

	`opening`: the messages that began the run. Numbers of its instructions are known. `step`: that of the
	answer, if the run may have made calls since.
	Takes two or three statements per run, more only for an answer that speaks of what was done earlier, and
	some milliseconds for answers of usual length.
	"""
	if not answer:
		return []
	users = [message for message in opening if message["role"] == "user"]
	given = text_of(users[-1]) if users else ""
	others = [text_of(message) for message in opening if message["role"] in ("system", "tool")]
	background = "\n".join(others)[:MAX_PROMPT_CHARS]
	given, earlier = given[:MAX_PROMPT_CHARS], partial(read_earlier_calls, run)
	evidence = Evidence(read_run_calls(run, step), given, background, earlier)
	return [claim.as_dict() for claim in check_answer(answer, evidence)]


def build_correction(
	run: str, answer: str, opening: list[dict], step: int, was_sent_back: bool
) -> str | None:
	"""A message that asks the model to correct the unconfirmed claims of its answer in a step.

	None if there are none, unless it `was_sent_back` for some before the run was resumed.
	"""
	claims = list_unconfirmed(run, answer, opening, step)
	if was_sent_back and not claims:
		claims = [answer[:300]]
	return OBJECTION.format("\n".join(f"- {text}" for text in claims)) if claims else None


def list_unconfirmed_claims(run: str, text: str) -> list[str]:
	"""Sentences of a text, such as a mail, that claim something the run has not done so far."""
	opening = frappe.db.get_value("Agent Run", run, "opening")
	return list_unconfirmed(run, text, read_opening(opening))


def list_unconfirmed(run: str, text: str, opening: list[dict], step: int | None = None) -> list[str]:
	claims = check_run(run, text, opening, step)
	return list(dict.fromkeys(each["text"] for each in claims if not each["confirmed"]))


def text_of(message: dict) -> str:
	content = message.get("content") or ""
	return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
