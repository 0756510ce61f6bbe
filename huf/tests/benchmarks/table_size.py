"""Whether runs get slower as there are more of them on record: the same run before and after a million others."""

import time
from datetime import timedelta

import frappe
from frappe.utils import now_datetime

from huf.ai.records.history import list_runs
from huf.tests.benchmarks.floor import TURNS, compare, print_ratio, with_journal
from huf.tests.benchmarks.quick_model import quick_model
from huf.tests.factories import SECRET, make, make_agent, make_tool, unique

ROWS, AT_ONCE, ROUNDS = 1_000_000, 20_000, 40
FIELDS = ("name", "owner", "creation", "modified", "modified_by", "docstatus", "idx")
FIELDS += (
	"agent",
	"conversation",
	"status",
	"run_as",
	"prompt",
	"response",
	"model",
	"total_tokens",
	"total_cost",
)


def measure() -> None:
	"""Print wall and CPU milliseconds of a run and of the list of runs, before and after, and the ratios."""
	look = "huf.tests.benchmarks.floor.look"
	tool = make_tool("Custom Function", function_path=look, effect="read", description="Looks.")
	with quick_model(tool) as base_url:
		provider = make("AI Provider", provide_name=unique("Quick"), api_key=SECRET, api_base=base_url)
		model = make("AI Model", model_name=unique("quick"), provider=provider.name, own_prices=1).name
		agent = make_agent(model, (tool,), max_iterations=20)
		ways = {
			f"a run of {TURNS} tool turns": lambda: with_journal(agent, f"{TURNS} 0"),
			"the first page of the list of runs": lambda: list_runs({}, 0, 20),
		}
		before = compare(ways, ROUNDS)
		took = fill(agent)
		print(f"{ROWS:,} runs put on record in {took:.0f} s")
		after = compare(ways, ROUNDS)
	for name, few, many in zip(ways, before, after, strict=True):
		print(f"{name:36}{few[0]:8.2f} ms wall before {many[0]:8.2f} after")
		print_ratio("  after / before", many, few, 1.1)


def fill(agent: str) -> float:
	start, now = time.perf_counter(), now_datetime()
	for first in range(0, ROWS, AT_ONCE):
		frappe.db.bulk_insert(
			"Agent Run",
			list(FIELDS),
			[row(n, agent, now) for n in range(first, first + AT_ONCE)],
		)
		frappe.db.commit()
	return time.perf_counter() - start


def row(number: int, agent: str, now) -> tuple:
	when = now - timedelta(seconds=ROWS - number)
	standard = (f"r{number:09}", "Administrator", when, when, "Administrator", 0, 0)
	said = ("What is there to do?", "There are three things to do.", "quick", 660, 0.001)
	return (*standard, agent, f"c{number // 10:09}", "Success", "Administrator", *said)
