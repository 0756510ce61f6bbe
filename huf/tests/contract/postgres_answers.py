"""Answers of Frappe 15.55.1 on Postgres that differ from the recorded ones.

`explain` knows the reasons; a difference without a reason is a failure. To record them again on Postgres:

	HUF_TEST_SITE=SITE HUF_TEST_SITES=sites python -m huf.tests.contract.postgres_answers
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from huf.tests.benchmarks.__main__ import open_site

RECORDED = Path(__file__).with_name("recorded_on_postgres.jsonl")
NULLABLE = {"word", "note", "day", "moment"}
"""Columns that are NULL in some rows; empty numbers are 0, and empty Select fields are the empty text."""
NOT_TEXT = {"number", "ratio", "flag", "day", "moment", "amount", "docstatus"}
QUERY_FAULTS = {"UndefinedFunction", "InvalidDatetimeFormat", "InvalidTextRepresentation"}


def explain(operation: dict, recorded: Any, answer: Any) -> str:
	"""The reason why the answers differ; empty if it is unknown."""
	errors = find_error(recorded), find_error(answer)
	if errors == ("OperationalError", "DatetimeFieldOverflow"):
		return "psycopg2 has a class of its own for a day that is in no calendar"
	if not errors[0] and errors[1] in QUERY_FAULTS and any(map(is_refused, list_filters(operation))):
		return "Frappe compares a number or a time with an empty text or a pattern"
	if errors == ("", "") and NULLABLE & list_ordering(operation):
		return "rows without a value come last in ascending order"
	return ""


def find_error(answer: Any) -> str:
	if isinstance(answer, dict):
		return answer.get("error") or ""
	is_response = isinstance(answer, list) and len(answer) == 3 and isinstance(answer[0], int)
	return answer[2] or "" if is_response and answer[0] >= 400 else ""


def list_filters(operation: dict) -> list[list]:
	arguments = operation.get("arguments") or [None, []]
	return [*operation.get("filters", arguments[1]), *operation.get("or_filters", [])]


def is_refused(condition: list) -> bool:
	column, operator, _value = condition[-3:]
	return column in NOT_TEXT and operator in ("like", "not like", "in", "not in", "is")


def list_ordering(operation: dict) -> set[str]:
	order_by = operation.get("order_by") or operation.get("options", {}).get("order_by", "")
	return {part.split()[0] for part in order_by.split(",") if part.strip()}


def to_key(operation: dict) -> str:
	return json.dumps(operation, sort_keys=True)


def read_cases(path: Path) -> Iterator[dict]:
	yield from (json.loads(line) for line in path.read_text().split("\n") if line)


def read_answers() -> dict[str, Any]:
	"""{key of the operation: answer on Postgres}"""
	return {to_key(case["operation"]): case["answer"] for case in read_cases(RECORDED)}


def record() -> None:
	import frappe

	from huf.tests.contract.test_operations import REPLAYS

	frappe.set_user("Administrator")
	frappe.flags.in_test = True
	lines = []
	for recorded, replay_class in REPLAYS:
		replay = replay_class()
		for case in read_cases(recorded):
			answer = replay.run(json.loads(json.dumps(case["operation"])))
			if answer != case["answer"]:
				line = {"operation": case["operation"], "answer": answer}
				lines.append(json.dumps(line, ensure_ascii=False) + "\n")
	RECORDED.write_text("".join(lines))
	frappe.destroy()


if __name__ == "__main__":
	with tempfile.TemporaryDirectory(prefix="huf-answers-") as home:
		open_site(Path(home))
		record()
