"""Turns a run that a person marks as good or bad into an eval case: the agent must repeat it, or must not."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import frappe
from frappe import _

from huf.ai.core.attachments import ATTACHMENT_NOTICE
from huf.ai.core.documents import get_or_new, get_permitted
from huf.ai.core.errors import UsageError
from huf.ai.core.grouping import group_pairs
from huf.ai.core.json_text import parse_result
from huf.ai.core.session import acting_as
from huf.ai.core.settings import get_settings
from huf.ai.core.stored_text import clip
from huf.ai.core.types import CallStatus, DraftStatus, Effect
from huf.ai.evals.cases import dump_definition
from huf.ai.mail import store
from huf.ai.storage.recorded_run import RecordedRun, read_opening, read_recorded, require_opening
from huf.ai.storage.rows import update_cached_row, update_row
from huf.ai.storage.untrusted_records import mark_record
from huf.ai.tools.taint import find_origins

CASE = "Agent Eval Case"
ENDED = ("Success", "Stopped", "Failed")
MADE = (CallStatus.SUCCESS, CallStatus.FAILED, CallStatus.UNKNOWN)
"""Statuses of calls that were made."""
NOT_APPROVED = (DraftStatus.REJECTED.value, DraftStatus.EXPIRED.value)
SAME = "Does the answer say in substance the same as this one: {answer}"
NOTED = "A person found fault with an earlier answer to this: {note} Is that fault fixed?"
MAX_NOTE_CHARS = 1000
MAX_SAYS_CHARS = 200


def rate_run(run: str, verdict: str, note: str = "") -> str | None:
	"""Store a verdict on a run, or remove it with ""; does not commit. Returns the run's case, if it has one.

	A new verdict of a user who may change the agent brings the case up to date; nothing else makes one.
	Raises like `mark_run`.
	"""
	if verdict not in ("Good", "Bad", ""):
		raise UsageError("A run is rated Good or Bad; an empty verdict removes the rating.")
	row = read_ratable_run(run)
	if verdict and find_case(run):
		return mark_run(run, verdict == "Good", note)
	store_verdict(row.name, verdict, note)
	return None


def mark_run(run: str, good: bool, note: str = "") -> str:
	"""Store a verdict on a run, and create or replace its case. Returns the case's name; does not commit.

	A case decides about changes of the agent. So users who may not change it get a disabled case, and replace
	none.

	Raises PermissionError for a run the user may not read, UsageError if it has not ended or its contents are
	blanked.
	"""
	row = read_ratable_run(run)
	require_opening(run, row.opening)
	verdict, note = "Good" if good else "Bad", clip(note, MAX_NOTE_CHARS)
	store_verdict(run, verdict, note)
	may_decide = bool(frappe.has_permission("Agent", "write", doc=row.agent))
	if not may_decide and (known := find_case(run)):
		return known
	*earlier, asked = read_opening(row.opening, is_exact=True)
	values = {
		"prompt": read_case_prompt(row, asked),
		"definition": dump_definition(build_definition(row, earlier, good, note)),
		"verdict": verdict,
		"note": note,
		**({} if may_decide else {"disabled": 1}),
	}
	with acting_as("Administrator"):
		case = save_case(row, values)
	# Not Administrator, whose cases act with the permissions of the user who runs them.
	update_cached_row(CASE, case, {"modified_by": frappe.session.user})
	if origins := find_origins(run):
		mark_record(CASE, case, origins, run)
	return case


def read_ratable_run(run: str):
	row = get_permitted("Agent Run", run)
	if row.status not in ENDED:
		raise UsageError(_("Run {0} has not come to its end, so there is nothing to judge.").format(run))
	return row


def store_verdict(run: str, verdict: str, note: str) -> None:
	update_row("Agent Run", run, {"verdict": verdict, "verdict_note": clip(note, MAX_NOTE_CHARS)})


def save_case(run, values: dict) -> str:
	values = {"case_name": f"run {run.name}", "agent": run.agent, "run": run.name, **values}
	return get_or_new(CASE, find_case(run.name)).update(values).save().name


def find_case(run: str) -> str | None:
	return frappe.db.get_value(CASE, {"run": run}, "name", order_by="creation asc")


def read_case_prompt(run, asked: dict) -> str:
	"""The run's prompt, with the text of the files that were attached to it."""
	content = asked.get("content") or ""
	return clip(content) if ATTACHMENT_NOTICE in content else run.prompt


def build_definition(run, earlier: list[dict], good: bool, note: str) -> dict:
	"""A case as `huf.ai.evals.cases` describes it, from the run's journal."""
	recorded = read_recorded(run.name)
	answer = run.response or ""
	return {
		"mail": read_run_mail(run),
		"history": [each for each in earlier if each.get("role") != "system"],
		"results": collect_external_results(run.name, recorded),
		"answers": list(build_answers(recorded, answer)),
		"expect": list(expect_same(recorded, answer) if good else expect_different(note)),
	}


def read_run_mail(run) -> str | None:
	row = store.read_mail(run.reference_name or "") if run.reference_doctype == store.MAIL else None
	raw = row and store.read_raw(row)
	return raw.decode("utf-8", "replace") if raw else None


def collect_external_results(run: str, recorded: RecordedRun) -> dict[str, list]:
	"""Results of external tools by name, errors as well, in the order of the calls: an eval does not call
	them again, and asks nobody. A call with invalid arguments has none, because the eval refuses it as well.
	"""
	drafts = {"run": run, "status": ["in", NOT_APPROVED]}
	rows = frappe.get_all("Agent Draft", drafts, ["step", "position"], order_by="step asc")
	rejected = {(row.step, row.position) for row in rows}
	return group_pairs(
		(row.tool, read_case_result(row))
		for place, row in sorted(recorded.calls.items())
		if row.effect == Effect.EXTERNAL.value and (row.status in MADE or place in rejected)
	)


def read_case_result(row: Any) -> Any:
	result = parse_result(row.result or "{}")
	return {**result, "type": row.status} if row.status == CallStatus.REFUSED.value else result


def build_answers(recorded: RecordedRun, answer: str) -> Iterator[dict]:
	for _step, reply in sorted(recorded.replies.items()):
		calls = [{"call": each.name, "with": parse_result(each.arguments or "{}")} for each in reply.calls]
		if calls:
			yield {"calls": calls, **({"say": reply.text} if reply.text else {})}
	yield {"say": answer}


def expect_same(recorded: RecordedRun, answer: str) -> Iterator[dict]:
	"""Expect the same calls, and the same answer in substance if a model can judge that; else some answer."""
	calls = [
		{"calls": call.tool, "with": parse_result(call.arguments or "{}")}
		for call in list_recorded_calls(recorded, [CallStatus.SUCCESS])
	]
	yield from {json.dumps(each, sort_keys=True, default=str): each for each in calls}.values()
	if get_settings().default_model:
		yield {"judge": SAME.format(answer=answer)}
	elif answer.strip() and not calls:
		yield {"says": answer[:MAX_SAYS_CHARS]}


def expect_different(note: str) -> Iterator[dict]:
	yield {"differs": True}
	if note and get_settings().default_model:
		yield {"judge": NOTED.format(note=note)}


def list_recorded_calls(recorded: RecordedRun, statuses: Sequence[CallStatus]) -> list[Any]:
	"""Rows of Agent Tool Call with one of these statuses, in order."""
	return [row for _step, row in sorted(recorded.calls.items()) if row["status"] in statuses]
