"""Checks the answer of a run against its journal."""

import json

import frappe

from huf.ai.core.arguments import parse_result
from huf.ai.receipts.claims import check_answer
from huf.ai.receipts.evidence import CallEvidence, Evidence
from huf.ai.storage.agent_changes import CHANGE
from huf.ai.storage.opening import read_opening

MAX_PROMPT_CHARS = 20_000
OBJECTION = (
	"Your answer was not sent yet, because no result of your tools confirms this:\n{}\n\n"
	"Do what is missing with your tools if it was asked for, or correct the answer. "
	"Then write the whole answer again, without a word about this check."
)


def check_run(run: str, answer: str, opening: list[dict]) -> list[dict]:
	"""The claims of an answer, each with the calls that prove it; see `Claim.as_dict`.

	`opening`: the messages that began the run. Numbers of its instructions are known.
	Takes two statements, and some milliseconds for answers of usual length.
	"""
	if not answer:
		return []
	users = [message for message in opening if message["role"] == "user"]
	given = text_of(users[-1]) if users else ""
	others = [text_of(message) for message in opening if message["role"] in ("system", "tool")]
	evidence = Evidence(read_run_calls(run), given[:MAX_PROMPT_CHARS], "\n".join(others)[:MAX_PROMPT_CHARS])
	return [claim.as_dict() for claim in check_answer(answer, evidence)]


def build_correction(run: str, answer: str, opening: list[dict]) -> str | None:
	"""A message that asks the model to correct the unconfirmed claims of its answer, or None."""
	claims = list_unconfirmed(run, answer, opening)
	return OBJECTION.format("\n".join(f"- {text}" for text in claims)) if claims else None


def list_unconfirmed_claims(run: str, text: str) -> list[str]:
	"""Sentences of a text, such as a mail, that claim something the run has not done so far."""
	opening = frappe.db.get_value("Agent Run", run, "opening")
	return list_unconfirmed(run, text, read_opening(opening))


def list_unconfirmed(run: str, text: str, opening: list[dict]) -> list[str]:
	return list(
		dict.fromkeys(each["text"] for each in check_run(run, text, opening) if not each["confirmed"])
	)


def text_of(message: dict) -> str:
	content = message.get("content") or ""
	return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def read_run_calls(run: str) -> tuple[CallEvidence, ...]:
	"""The tool calls of a run in order, with the documents that each changed."""
	rows = frappe.get_all(
		"Agent Tool Call",
		{"run": run},
		["name", "tool", "effect", "status", "arguments", "result"],
		order_by="step asc, position asc",
	)
	changes: dict[str, list[tuple[str, str, str]]] = {}
	if any(row.effect != "read" for row in rows):
		fields = ["tool_call", "reference_doctype", "reference_name", "action"]
		for each in frappe.get_all(CHANGE, {"run": run}, fields, order_by="creation asc, position asc"):
			change = (each.reference_doctype, each.reference_name, each.action)
			changes.setdefault(each.tool_call, []).append(change)
	return tuple(
		CallEvidence(
			row.name,
			row.tool,
			row.effect,
			row.status == "Success",
			parse_result(row.arguments),
			parse_result(row.result),
			tuple(changes.get(row.name, ())),
		)
		for row in rows
	)
