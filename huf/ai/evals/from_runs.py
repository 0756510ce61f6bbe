"""A run that a person calls good or bad becomes a case: what it must do again, or must not."""

import json
from collections.abc import Iterable

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.core.settings import get_settings
from huf.ai.core.types import CallStatus, Effect
from huf.ai.evals.cases import dump_definition
from huf.ai.mail import store
from huf.ai.runs.admission import acting_as
from huf.ai.storage.recorded_run import Recorded, read_recorded
from huf.ai.storage.rows import clip, update_row

CASE = "Agent Eval Case"
ENDED = ("Success", "Stopped", "Failed")
SAME = "Does the answer say in substance the same as this one: {answer}"
NOTED = "A person found fault with an earlier answer to this: {note} Is that fault mended?"


def mark_run(run: str, good: bool, note: str = "") -> str:
	"""Keep the verdict, and make or remake the run's case; gives its name. Does not commit.

	Raises PermissionError for another's run, UsageError for one that has not ended or whose contents are gone.
	"""
	row = frappe.get_doc("Agent Run", run)
	row.check_permission("read")
	if row.status not in ENDED:
		raise UsageError(f"Run {run} has not come to its end, so there is nothing to judge.")
	if not row.opening:
		raise UsageError(f"The contents of run {run} are gone: the retention policy has blanked them.")
	verdict = "Good" if good else "Bad"
	update_row("Agent Run", run, {"verdict": verdict, "verdict_note": clip(note, 1000)})
	values = {
		"prompt": row.prompt,
		"definition": dump_definition(build_definition(row, good, note)),
		"verdict": verdict,
		"note": note,
	}
	with acting_as("Administrator"):
		return save_case(row, values)


def save_case(run, values: dict) -> str:
	known = frappe.db.get_value(CASE, {"run": run.name}, "name", order_by="creation asc")
	doc = frappe.get_doc(CASE, known) if known else frappe.get_doc({"doctype": CASE})
	doc.update({"case_name": f"run {run.name}", "agent": run.agent, "run": run.name, **values})
	return doc.save().name


def build_definition(run, good: bool, note: str) -> dict:
	recorded = read_recorded(run.name)
	history = [each for each in json.loads(run.opening)[:-1] if each.get("role") != "system"]
	return {
		"mail": mail_of(run),
		"history": history,
		"results": results_of(recorded),
		"answers": list(answers_of(recorded, run.response or "")),
		"expect": list(expect_good(recorded, run.response or "") if good else expect_bad(note)),
	}


def mail_of(run) -> str | None:
	row = store.read_mail(run.reference_name or "") if run.reference_doctype == store.MAIL else None
	raw = row and store.read_raw(row)
	return raw.decode("utf-8", "replace") if raw else None


def results_of(recorded: Recorded) -> dict[str, list]:
	"""What tools gave that reach outside: they are not called again."""
	found: dict[str, list] = {}
	for call in list_successful_calls(recorded):
		if call.effect == Effect.EXTERNAL.value:
			found.setdefault(call.tool, []).append(parse_json(call.result))
	return found


def answers_of(recorded: Recorded, response: str) -> Iterable[dict]:
	for _, reply in sorted(recorded.replies.items()):
		calls = [{"call": each.name, "with": parse_json(each.arguments)} for each in reply.calls]
		if calls:
			yield {"calls": calls, **({"say": reply.text} if reply.text else {})}
	yield {"say": response}


def expect_good(recorded: Recorded, response: str) -> Iterable[dict]:
	"""The same calls; of the answer, that it says the same, where a model can judge that, else that it is not empty."""
	calls = [
		{"calls": call.tool, "with": parse_json(call.arguments)} for call in list_successful_calls(recorded)
	]
	yield from {json.dumps(each, sort_keys=True, default=str): each for each in calls}.values()
	if get_settings().default_model:
		yield {"judge": SAME.format(answer=response)}
	elif not calls:
		yield {"says": response[:200]}


def expect_bad(note: str) -> Iterable[dict]:
	yield {"differs": True}
	if note and get_settings().default_model:
		yield {"judge": NOTED.format(note=note)}


def list_successful_calls(recorded: Recorded) -> list:
	return [call for _, call in sorted(recorded.calls.items()) if call.status == CallStatus.SUCCESS.value]


def parse_json(text: str | None):
	try:
		return json.loads(text or "{}")
	except ValueError:
		return text
