"""Compares two runtimes: generate operations, execute them on each runtime, compare the answers.

	python -m huf.tests.contract.differences generate operations 5000 7 operations.jsonl
	python -m huf.tests.contract.differences answer operations operations.jsonl embedded.jsonl
	HUF_TEST_SITE=SITE HUF_TEST_SITES=sites python -m ... answer operations operations.jsonl bench.jsonl
	python -m huf.tests.contract.differences compare embedded.jsonl bench.jsonl

`operations` is the module; others are `parcel_operations`, `voucher_operations` and `call_operations`. Custom
DocTypes of the operations stay on the site.
"""

import json
import sys
import tempfile
from collections import defaultdict
from copy import deepcopy
from importlib import import_module
from pathlib import Path

from huf.tests.benchmarks.__main__ import open_site

SHOWN = 3
"""Number of examples printed for each class of difference, the shortest ones."""


def main(command: str, *arguments: str) -> None:
	if command == "compare":
		compare(*arguments)
		return
	with tempfile.TemporaryDirectory(prefix="huf-differences-") as home:
		open_site(Path(home))
		{"generate": generate, "answer": answer}[command](*arguments)


def generate(module: str, count: str, seed: str, into: str) -> None:
	found = load(module).generate(int(count), int(seed))
	Path(into).write_text("".join(f"{to_line(operation)}\n" for operation in found))


def answer(module: str, path: str, into: str) -> None:
	import frappe

	frappe.set_user("Administrator")
	frappe.flags.in_test = True
	replay = load(module).Replay()
	with Path(into).open("w") as answers:
		for operation in read(path):
			case = {"operation": deepcopy(operation), "answer": replay.run(operation)}
			answers.write(f"{to_line(case)}\n")
	frappe.destroy()


def to_line(value: dict) -> str:
	return json.dumps(value, ensure_ascii=False)


def load(module: str):
	return import_module(f"huf.tests.contract.{module}")


def compare(one: str, other: str) -> None:
	"""Print how many answers differ, grouped by operation and by the kinds of both answers."""
	pairs = list(zip(read(one), read(other), strict=True))
	classes = defaultdict(list)
	for left, right in pairs:
		assert left["operation"] == right["operation"], "answers to other operations"
		if left["answer"] != right["answer"]:
			key = (left["operation"]["do"], kind(left["answer"]), kind(right["answer"]))
			classes[key].append((left, right))
	print(f"{sum(map(len, classes.values()))} of {len(pairs)} answers differ")
	for (operation_name, *kinds), found in sorted(classes.items(), key=lambda each: -len(each[1])):
		print(f"\n{len(found)} × {operation_name}: {kinds[0]} / {kinds[1]}")
		for left, right in sorted(found, key=lambda pair: len(json.dumps(pair[0]["operation"])))[:SHOWN]:
			print(" ", json.dumps(left["operation"], ensure_ascii=False))
			print("   ", json.dumps(left["answer"], ensure_ascii=False)[:400])
			print("   ", json.dumps(right["answer"], ensure_ascii=False)[:400])


def read(path: str) -> list[dict]:
	return [json.loads(line) for line in Path(path).read_text().split("\n") if line]


def kind(answer) -> str:
	"""The error, HTTP status or type of an answer."""
	if isinstance(answer, dict):
		return str(answer.get("error", "a document"))
	if isinstance(answer, list) and answer and isinstance(answer[0], list | dict):
		return kind(answer[0])
	if isinstance(answer, list) and len(answer) == 3 and isinstance(answer[0], int) and answer[0] >= 200:
		return f"{answer[0]} {answer[2] or ''}".strip()
	return "an answer"


if __name__ == "__main__":
	main(*sys.argv[1:])
