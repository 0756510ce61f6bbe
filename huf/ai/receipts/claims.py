"""Matches what an answer claims with what its run did, by the run's journal."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

import frappe

from huf.ai.core.arguments import parse_result
from huf.ai.core.types import ANSWER_TOOL, Effect
from huf.ai.receipts.evidence import NAMED_KINDS, CallEvidence, Evidence, parse_number, read_numbers
from huf.ai.receipts.language import (
	DATE_IN_WORDS,
	EXISTENCE_NONE,
	NUMBER_WORDS,
	find_effects,
	split_sentences,
)
from huf.ai.storage.agent_changes import CHANGE
from huf.ai.storage.recorded_run import read_opening

MAX_CLAIMS = 100
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
}
"""Kinds of effect on record that prove a claimed one."""
DATED = re.compile(r"\b(?:19|20)\d\d\b|\bby\s+\S+@|\b\d{1,2}[./]\s?\d{1,2}[./]")
NUMBER = re.compile(
	r"(?<![\w#./-])[-−]?(\d{1,3}(?:[.,\u00a0 ’']\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?)(?![\w/]|-\w|[.:]\d)"
)
CODE = re.compile(r"(?<![\w.])(?=[\w#./-]*\d)(?=[\w#./-]*[A-Za-z])#?\w[\w/-]*\w|#\w+")
EMAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]*\w")
QUOTED = re.compile(r"[\"“„«‚‘`]([^\"”“»‘’`\n]{2,80})[\"”“»’`]|\*\*([^*\n]{2,80})\*\*")
CAPITALISED = re.compile(r"(?<![.!?:\w]\s)(?<![\"“„«(\w])(?<!^)\b([A-ZÁČĎÉĚÍŇÓŘŠŤÚŮÝŽÑ][\w’'-]{2,})")
TO_SOMEBODY = re.compile(r"\ban\s+([A-ZÄÖÜ][\wäöüß-]{2,})")
LIST_MARKER = re.compile(r"^\s*(?:[-*•]\s+)?\d{1,3}[.)](?:\s+|$)")
ORDINAL_OR_UNIT = re.compile(r"^(?:st|nd|rd|th|\.\s|º|ª|°|:\d)")
GERMAN = re.compile(
	r"\b(?:ich|wir|der|die|das|wurden?|habe|haben|ist|und|mit|für|eine?[nmr]?|den|dem)\b", re.IGNORECASE
)
KNOWN_WORDS = frozenset(
	"""monday tuesday wednesday thursday friday saturday sunday january february march april may june july
	august september october november december todo todos crm erp email e-mail excel pdf csv html api url id
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
	effects = find_effects(sentence)
	receipts: list[CallEvidence] = []
	missing: list[str] = []
	for kind, is_first in effects:
		proof = find_proof(kind, is_first, sentence, evidence)
		if proof is None:
			missing.append("no_call")
		else:
			receipts += proof
	is_none = bool(EXISTENCE_NONE.search(sentence))
	stated = list(find_numbers(remove_known_dates(sentence, evidence)))
	numbers = [written for written, values in stated if not proves(values, evidence)]
	names = list(find_unknown_names(sentence, bool(effects), evidence))
	if is_none and not evidence.successes:
		missing.append("no_call")
	if numbers:
		missing.append(f"number {numbers[0]}")
	if names:
		missing.append(f"name {names[0]}")
	kinds = [kind for kind, _ in effects]
	if stated:
		kinds.append("number")
	if is_none:
		kinds.append("none")
	if not kinds and not names:
		return None
	calls = tuple(dict.fromkeys(call.name for call in receipts))
	documents = {(doctype, name) for call in receipts for doctype, name, _ in call.changes if call.is_write}
	why = missing[0] if missing else None
	return Claim(sentence[:300], tuple(kinds), not missing, calls, tuple(sorted(documents)), why)


# --- effects ---


def find_proof(kind: str, is_first: bool, sentence: str, evidence: Evidence) -> list[CallEvidence] | None:
	"""The calls that prove an effect; None if there are none."""
	if kind == "done" and evidence.has_tried_write:
		return evidence.writes or None
	if kind in ("read", "done"):
		return evidence.successes or None
	if proof := [call for call in evidence.writes if is_proof(kind, call)]:
		return proof
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


# --- numbers ---


def find_numbers(sentence: str) -> Iterator[tuple[str, list[float]]]:
	"""Numbers that say how many or how much, as written, with their possible values."""
	sentence = LIST_MARKER.sub("", sentence)
	sentence = EMAIL.sub(" ", re.sub(r"https?://\S+", " ", sentence))
	for match in NUMBER.finditer(sentence):
		if not ORDINAL_OR_UNIT.match(sentence[match.end() :]):
			yield match[0], parse_number(match[1])
	for word in re.findall(r"(?<![\w-])[^\W\d_]+(?![\w-])", sentence.lower()):
		if word in NUMBER_WORDS:
			yield word, [float(NUMBER_WORDS[word])]


def remove_known_dates(sentence: str, evidence: Evidence) -> str:
	"""Without the dates in words, such as 27 November 2026, that the instructions give in figures."""
	known = evidence.date_numbers
	return DATE_IN_WORDS.sub(lambda date: " " if read_numbers(date[0]) <= known else date[0], sentence)


def proves(values: list[float], evidence: Evidence) -> bool:
	"""Whether any reading of a number, or a number that it rounds, is on record."""
	return any(value in evidence.known_numbers for value in values)


# --- names ---


def find_unknown_names(sentence: str, is_effect: bool, evidence: Evidence) -> Iterator[str]:
	"""Names of records, people and addresses that appear nowhere in the run."""
	for name in EMAIL.findall(sentence):
		if name.lower() not in evidence.text:
			yield name
	bare = EMAIL.sub(" ", re.sub(r"https?://\S+", " ", sentence))
	for code in CODE.findall(bare):
		if looks_like_name(code) and code.lower().strip("#") not in evidence.text:
			yield code
	if not is_effect:
		return
	for groups in QUOTED.findall(bare):
		quoted = (groups[0] or groups[1]).strip(" .,:;!")
		if quoted and not is_known(quoted, evidence) and not re.fullmatch(r"[\d.,\s]+", quoted):
			yield quoted
	is_german = bool(GERMAN.search(bare))
	for word in (TO_SOMEBODY if is_german else CAPITALISED).findall(bare):
		if word.lower() not in KNOWN_WORDS and not is_known(word, evidence):
			yield word


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
	Takes two or three statements per run, and some milliseconds for answers of usual length.
	"""
	if not answer:
		return []
	users = [message for message in opening if message["role"] == "user"]
	given = text_of(users[-1]) if users else ""
	others = [text_of(message) for message in opening if message["role"] in ("system", "tool")]
	background = "\n".join(others)[:MAX_PROMPT_CHARS]
	evidence = Evidence(read_run_calls(run, step), given[:MAX_PROMPT_CHARS], background)
	return [claim.as_dict() for claim in check_answer(answer, evidence)]


def build_correction(
	run: str, answer: str, opening: list[dict], step: int, was_sent_back: bool = False
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


def read_run_calls(run: str, step: int | None = None) -> tuple[CallEvidence, ...]:
	"""The tool calls of a run (up to a `step`) in order, with the documents that each changed.

	Calls that did nothing are left out: they got an earlier call's result, or returned the answer itself. A
	call of another agent is preceded by the calls of that agent.
	"""
	rows = frappe.db.sql(
		f"""select name, tool, effect, status, arguments, result, idempotency_key from `tabAgent Tool Call`
		where run = %(run)s and cached = 0 and tool != %(answer)s {"and step <= %(step)s" if step else ""}
		order by step, position""",
		{"run": run, "answer": ANSWER_TOOL, "step": step},
		as_dict=True,
	)
	changes: dict[str, list[tuple[str, str, str]]] = {}
	if any(row.effect != "read" for row in rows):
		fields = ["tool_call", "reference_doctype", "reference_name", "action"]
		for each in frappe.get_all(CHANGE, {"run": run}, fields, order_by="creation asc, position asc"):
			change = (each.reference_doctype, each.reference_name, each.action)
			changes.setdefault(each.tool_call, []).append(change)
	children = find_called_runs(run) if any(row.effect == Effect.EXTERNAL.value for row in rows) else {}
	evidence: list[CallEvidence] = []
	for row in rows:
		child = children.get(row.idempotency_key)
		evidence += [replace(each, name=row.name) for each in read_run_calls(child)] if child else []
		evidence.append(
			CallEvidence(
				row.name,
				row.tool,
				Effect.READ.value if child else row.effect,
				row.status == "Success",
				parse_result(row.arguments),
				parse_result(row.result),
				tuple(changes.get(row.name, ())),
			)
		)
	return tuple(evidence)


def find_called_runs(run: str) -> dict[str, str]:
	"""The runs that a run has called, by the key of the call."""
	called = {"parent_run": run, "parent_call": ["is", "set"]}
	rows = frappe.get_all("Agent Run", called, ["parent_call", "name"], order_by="creation asc")
	return {row.parent_call: row.name for row in rows}
