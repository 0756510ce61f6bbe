"""Compares the trace of a case with its checks. Pure: record queries and the judging model are passed in."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from huf.ai.core.timed_pattern import compile_pattern
from huf.ai.evals.cases import EvalCase

MAX_RESULT_CHARS = 300


@dataclass(frozen=True)
class TracedCall:
	"""A tool call of the agent; `ok` is False if it failed or was refused. `lacks_result`: the eval refused
	it, because the case has no result for it.
	"""

	tool: str
	arguments: dict
	ok: bool
	result: str
	lacks_result: bool = False


@dataclass(frozen=True)
class Trace:
	"""How an attempt at a case went; `status` is a run's (Success, Stopped, Failed)."""

	answer: str
	calls: tuple[TracedCall, ...]
	status: str
	error: str | None = None


@dataclass(frozen=True)
class CheckContext:
	"""What checks need besides the trace.

	`find_records(check)` returns rows of the check's DocType, `judge(question)` a failure message or None.
	"""

	find_records: Callable[[Mapping], list[Mapping]]
	judge: Callable[[str], str | None]


def find_faults(case: EvalCase, trace: Trace, evidence: CheckContext) -> list[str]:
	"""One message for each failed check. Unless the case says how its run ends, it must be Success."""
	checks = case.expect
	if not any("ends" in check for check in checks):
		checks = ({"ends": "Success"}, *checks)
	faults = []
	for check in checks:
		kind = next(key for key in check if key in CHECKERS)
		faults.append(CHECKERS[kind](check, case, trace, evidence))
	return [fault for fault in faults if fault]


def check_says(check: Mapping, case: EvalCase, trace: Trace, evidence: CheckContext) -> str | None:
	expected = check["says"]
	return None if says(trace, expected) else f"the answer does not say {expected!r}"


def check_says_not(check: Mapping, case: EvalCase, trace: Trace, evidence: CheckContext) -> str | None:
	unwanted = check["says_not"]
	return f"the answer says {unwanted!r}" if says(trace, unwanted) else None


def check_matches(check: Mapping, case: EvalCase, trace: Trace, evidence: CheckContext) -> str | None:
	expected = check["matches"]
	try:
		is_match = compile_pattern(expected, ignore_case=True, dot_all=True).occurs_in(trace.answer)
	except TimeoutError:
		return f"it takes too long to match {expected!r}"
	return None if is_match else f"the answer does not match {expected!r}"


def check_calls(check: Mapping, case: EvalCase, trace: Trace, evidence: CheckContext) -> str | None:
	tool, expected = check["calls"], check.get("with") or {}
	count = sum(
		call.tool == tool and call.ok and has_values(call.arguments, expected) for call in trace.calls
	)
	if "times" in check:
		times = check["times"]
		return None if count == times else f"{tool} was called {count} times, not {times}"
	return (
		None if count else f"{tool} was not called{format_values(expected)}{format_other_calls(trace, tool)}"
	)


def check_calls_not(check: Mapping, case: EvalCase, trace: Trace, evidence: CheckContext) -> str | None:
	# A failed call counts too: an eval itself refuses calls that it cannot roll back.
	tool = check["calls_not"]
	return f"{tool} was called" if any(call.tool == tool for call in trace.calls) else None


def check_fails(check: Mapping, case: EvalCase, trace: Trace, evidence: CheckContext) -> str | None:
	tool, expected, error = check["fails"], check.get("with") or {}, check.get("error", "")
	failed = [
		call
		for call in trace.calls
		if call.tool == tool
		and not call.ok
		and has_values(call.arguments, expected)
		and to_comparable(error) in to_comparable(call.result)
	]
	if failed and all(call.lacks_result for call in failed):
		return f"{tool} was called{format_values(expected)}, and the case has no result for it"
	if failed:
		return None
	wanted = f"{format_values(expected)}{f' with the error {error!r}' if error else ''}"
	return f"no call of {tool} was refused or failed{wanted}{format_other_calls(trace, tool)}"


def check_record(check: Mapping, case: EvalCase, trace: Trace, evidence: CheckContext) -> str | None:
	rows = evidence.find_records(check)
	doctype, expected = check["record"], check.get("values") or {}
	matching = [row for row in rows if has_values(row, expected)]
	if "count" in check:
		if len(matching) == check["count"]:
			return None
		return f"there are {len(matching)} {doctype}{format_values(expected)}, not {check['count']}"
	if matching:
		return None
	missing = f"there is no {doctype}{format_values(expected or check.get('where') or {})}"
	if not rows:
		return missing
	return f"{missing}; {rows[0].get('name')} has {dict((key, rows[0].get(key)) for key in expected)}"


def check_ends(check: Mapping, case: EvalCase, trace: Trace, evidence: CheckContext) -> str | None:
	if trace.status == check["ends"]:
		return None
	error = f": {trace.error}" if trace.error else ""
	return f"the run ended as {trace.status}, not as {check['ends']}{error}"


def check_judge(check: Mapping, case: EvalCase, trace: Trace, evidence: CheckContext) -> str | None:
	return evidence.judge(check["judge"])


def check_differs(check: Mapping, case: EvalCase, trace: Trace, evidence: CheckContext) -> str | None:
	"""For a run that a person marked as bad: its calls and its answer must not be repeated."""
	answers = [turn.text for turn in case.answers if turn.text]
	recorded_calls = [call for turn in case.answers for call in turn.calls]
	if [(call.tool, call.arguments) for call in trace.calls] != recorded_calls:
		return None
	is_same_answer = to_comparable(trace.answer) == to_comparable(answers[-1] if answers else "")
	return "it did the same again" if is_same_answer else None


CHECKERS = {
	"says": check_says,
	"says_not": check_says_not,
	"matches": check_matches,
	"calls": check_calls,
	"calls_not": check_calls_not,
	"fails": check_fails,
	"record": check_record,
	"ends": check_ends,
	"judge": check_judge,
	"differs": check_differs,
}


def says(trace: Trace, text: str) -> bool:
	return to_comparable(text) in to_comparable(trace.answer)


def has_values(values: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
	"""Whether `values` contains all expected values; other keys are ignored, texts compared without case."""
	return all(matches_expected(values.get(key), each) for key, each in expected.items())


def matches_expected(value: Any, expected: Any) -> bool:
	if isinstance(expected, Mapping) and isinstance(value, Mapping):
		return has_values(value, expected)
	if isinstance(expected, list) and isinstance(value, list):
		return len(value) == len(expected) and all(map(matches_expected, value, expected))
	if isinstance(expected, bool | int | float) and not isinstance(value, Mapping | list):
		number = to_float(value)
		if number is not None:
			return abs(number - expected) < 1e-6
	return to_comparable(value) == to_comparable(expected)


def to_float(value: Any) -> float | None:
	"""A number, or a text that is one: models write 3 and "3.0", and databases decimals."""
	try:
		return float(value)
	except (TypeError, ValueError, OverflowError):
		return None


def to_comparable(value: Any) -> str:
	return " ".join(str("" if value is None else value).split()).casefold()


def format_values(values: Mapping) -> str:
	return f" with {dict(values)}" if values else ""


def format_other_calls(trace: Trace, tool: str) -> str:
	"""What was called instead: other calls of the same tool, else of any."""
	calls = [call for call in trace.calls if call.tool == tool] or trace.calls
	listed = "; ".join(map(format_call, calls[:3]))
	return f"; instead: {listed}" if listed else "; nothing was"


def format_call(call: TracedCall) -> str:
	failure = "" if call.ok else f" failed: {call.result[:MAX_RESULT_CHARS]}"
	return f"{call.tool}({call.arguments}){failure}"


def estimate_pass_hat(passed: int, times: int, k: int) -> float:
	"""pass^k: the probability that `k` attempts all pass, estimated from `passed` of `times`."""
	return math.comb(passed, k) / math.comb(times, k)
