"""Whether what came of a case is what was expected. Pure: records and judges are asked for by whoever hands them in."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from huf.ai.evals.cases import EvalCase

FINAL = "final_answer"


@dataclass(frozen=True)
class TracedCall:
	"""A call that the agent made, and what it gave."""

	tool: str
	arguments: dict
	ok: bool
	result: str


@dataclass(frozen=True)
class Trace:
	"""What came of a case: `status` as of a run (Success, Stopped, Failed)."""

	answer: str
	calls: tuple[TracedCall, ...]
	status: str
	error: str | None = None


@dataclass(frozen=True)
class Evidence:
	"""Who is asked besides the trace: `records(check)` gives rows of the DocType, `judge(question)` a fault or None."""

	records: Callable[[Mapping], list[Mapping]]
	judge: Callable[[str], str | None]


def find_faults(case: EvalCase, trace: Trace, witness: Evidence) -> list[str]:
	"""A line a thing that is not as expected. A run must end well, unless the case says how it ends."""
	expect = case.expect
	if not any("ends" in check for check in expect):
		expect = ({"ends": "Success"}, *expect)
	found = []
	for check in expect:
		kind = next(key for key in check if key in CHECKERS)
		found.append(CHECKERS[kind](check, case, trace, witness))
	return [fault for fault in found if fault]


def judge_says(check, case, trace, witness) -> str | None:
	wanted = check["says"]
	return None if normalize(wanted) in normalize(trace.answer) else f"the answer does not say {wanted!r}"


def judge_says_not(check, case, trace, witness) -> str | None:
	wanted = check["says_not"]
	return f"the answer says {wanted!r}" if normalize(wanted) in normalize(trace.answer) else None


def judge_matches(check, case, trace, witness) -> str | None:
	found = re.search(check["matches"], trace.answer, re.IGNORECASE | re.DOTALL)
	return None if found else f"the answer does not match {check['matches']!r}"


def judge_calls(check, case, trace, witness) -> str | None:
	tool, wanted = check["calls"], check.get("with") or {}
	made = [
		call for call in trace.calls if call.tool == tool and call.ok and has_values(call.arguments, wanted)
	]
	if "times" in check and len(made) != check["times"]:
		return f"{tool} was called {len(made)} times, not {check['times']}"
	return None if made else f"{tool} was not called{format_values(wanted)}{format_other_calls(trace, tool)}"


def judge_calls_not(check, case, trace, witness) -> str | None:
	tool = check["calls_not"]
	return f"{tool} was called" if any(call.tool == tool and call.ok for call in trace.calls) else None


def judge_fails(check, case, trace, witness) -> str | None:
	tool, wanted = check["fails"], check.get("with") or {}
	made = any(
		call.tool == tool and not call.ok and has_values(call.arguments, wanted) for call in trace.calls
	)
	return None if made else f"no call of {tool} was refused or failed{format_values(wanted)}"


def judge_record(check, case, trace, witness) -> str | None:
	rows = witness.records(check)
	wanted = check.get("values") or {}
	fitting = [row for row in rows if has_values(row, wanted)]
	if "count" in check:
		if len(fitting) != check["count"]:
			return f"there are {len(fitting)} {check['record']}{format_values(wanted)}, not {check['count']}"
		return None
	seen = f"; there is {dict(rows[0])}" if rows else ""
	return (
		None
		if fitting
		else f"there is no {check['record']}{format_values(wanted or check.get('where') or {})}{seen}"
	)


def judge_ends(check, case, trace, witness) -> str | None:
	if trace.status == check["ends"]:
		return None
	return f"the run ended as {trace.status}, not as {check['ends']}" + (
		f": {trace.error}" if trace.error else ""
	)


def judge_by_model(check, case, trace, witness) -> str | None:
	return witness.judge(check["judge"])


def judge_differs(check, case, trace, witness) -> str | None:
	"""For a run that was marked bad: its calls and its answer must not be the same again."""
	said = [text for text, _ in case.answers if text]
	calls = [call for _, calls in case.answers for call in calls]
	is_equal = [(call.tool, call.arguments) for call in trace.calls] == calls
	return (
		"it did the same again"
		if is_equal and normalize(trace.answer) == normalize(said[-1] if said else "")
		else None
	)


CHECKERS = {
	"says": judge_says,
	"says_not": judge_says_not,
	"matches": judge_matches,
	"calls": judge_calls,
	"calls_not": judge_calls_not,
	"fails": judge_fails,
	"record": judge_record,
	"ends": judge_ends,
	"judge": judge_by_model,
	"differs": judge_differs,
}


def has_values(values: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
	"""Whether values are as wanted, as far as it says; texts without regard to case."""
	return all(is_equal(values.get(key), each) for key, each in wanted.items())


def is_equal(value: Any, wanted: Any) -> bool:
	if isinstance(wanted, Mapping) and isinstance(value, Mapping):
		return has_values(value, wanted)
	if isinstance(wanted, list) and isinstance(value, list):
		return len(value) == len(wanted) and all(map(is_equal, value, wanted))
	if isinstance(wanted, bool | int | float) and isinstance(value, bool | int | float):
		return abs(float(value) - float(wanted)) < 1e-6
	return normalize(value) == normalize(wanted)


def normalize(value: Any) -> str:
	return " ".join(str("" if value is None else value).split()).casefold()


def format_values(wanted: Mapping) -> str:
	return f" with {dict(wanted)}" if wanted else ""


def format_other_calls(trace: Trace, tool: str) -> str:
	"""What was called in its place."""
	calls = [call for call in trace.calls if call.tool == tool] or trace.calls
	named = ", ".join(f"{call.tool}({call.arguments}){'' if call.ok else ' failed'}" for call in calls[:3])
	return f"; instead: {named}" if named else "; nothing was"


def estimate_pass_hat(passed: int, times: int, k: int) -> float:
	"""How likely all of `k` tries pass, where `passed` of `times` did."""
	chosen = total = 1
	for each in range(k):
		chosen, total = chosen * (passed - each), total * (times - each)
	return chosen / total
