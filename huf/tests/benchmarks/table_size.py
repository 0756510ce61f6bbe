"""Whether runs and lists get slower with more stored runs: few compared with a million."""

import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import frappe
from frappe.utils import now_datetime

from huf.ai.queries.chats import list_chats
from huf.ai.queries.runs import list_runs
from huf.api.home import get_home
from huf.tests.benchmarks.floor import TURNS, Times, compare, connect, print_ratio, print_times, with_journal
from huf.tests.benchmarks.quick_model import quick_model
from huf.tests.factories import SECRET, make, make_agent, make_tool, unique

ROWS, AT_ONCE, ROUNDS, PAGES = 1_000_000, 20_000, 60, 10
START_PAGE, CHATS = f"the start page, {PAGES} times", f"the list of chats, {PAGES} times"
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

CHAT_FIELDS = (*FIELDS[:7], "agent", "channel", "title", "total_messages")
CHATS_EVERY = 10


def measure() -> None:
	"""Print wall and CPU milliseconds of runs and lists, on two sites in turn, and the ratios."""
	if frappe.db.db_type != "sqlite":
		print(
			"It needs a copy of the site, which is a folder on the embedded runtime only: not measured here."
		)
		return
	for name, found in compare_sizes(ROWS, ROUNDS).items():
		print_times((f"{name}, few", f"{name}, many"), found)
		print_ratio("  many / few", *reversed(found), 1.1)


def compare_sizes(rows: int, rounds: int) -> dict[str, list[list[Times]]]:
	"""{operation: [times with a few stored runs, times with `rows` stored runs]}"""
	path = "huf.tests.benchmarks.floor.look"
	tool = make_tool("Custom Function", function_path=path, effect="read", description="Looks.")
	with quick_model(tool) as base_url:
		provider = make("AI Provider", provide_name=unique("Quick"), api_key=SECRET, api_base=base_url)
		model = make("AI Model", model_name=unique("quick"), provider=provider.name, own_prices=1).name
		agent = make_agent(model, (tool,), max_iterations=20)
		frappe.db.commit()
		with run_on_site(frappe.local.site) as few, run_on_site(copy_site(frappe.local.site)) as many:
			print(f"{rows:,} runs put on record in {many(lambda: insert_runs(agent, rows)):.0f} s")
			operations = {
				f"a run of {TURNS} tool turns": lambda: with_journal(agent, f"{TURNS} 0"),
				f"the newest runs, {PAGES} times": lambda: [list_runs({}, 0, 20) for _ in range(PAGES)],
				START_PAGE: lambda: [get_home() for _ in range(PAGES)],
				CHATS: lambda: [list_own_chats() for _ in range(PAGES)],
			}
			return {
				name: compare({"few": partial(few, operation), "many": partial(many, operation)}, rounds)
				for name, operation in operations.items()
			}


def copy_site(site: str) -> str:
	"""Copy a site of the embedded runtime, which is a folder; returns the name of the copy."""
	copy = f"many.{site}"
	sites = Path(frappe.local.sites_path)
	shutil.copytree(sites / site, sites / copy)
	return copy


@contextmanager
def run_on_site(site: str) -> Iterator[Callable[[Callable], Any]]:
	"""Yields a function that calls its argument on the site, in a separate thread."""
	with ThreadPoolExecutor(1, initializer=connect, initargs=(site, frappe.local.sites_path)) as pool:
		yield lambda function: pool.submit(function).result()


def insert_runs(agent: str, rows: int) -> float:
	start, now = time.perf_counter(), now_datetime()
	for first in range(0, rows, AT_ONCE):
		frappe.db.bulk_insert(
			"Agent Run",
			list(FIELDS),
			[build_run_row(n, agent, now) for n in range(first, first + AT_ONCE)],
		)
		if first % (AT_ONCE * CHATS_EVERY) == 0:
			chats = [
				build_chat_row(n, agent, now)
				for n in range(first // CHATS_EVERY, first // CHATS_EVERY + AT_ONCE)
			]
			frappe.db.bulk_insert("Agent Conversation", list(CHAT_FIELDS), chats)
		frappe.db.commit()
	return time.perf_counter() - start


def list_own_chats() -> list:
	return list_chats("Administrator", None, 0, 30)


def build_chat_row(number: int, agent: str, now) -> tuple:
	moment = now - timedelta(minutes=number)
	return (
		f"c{number:09}",
		"Administrator",
		moment,
		moment,
		"Administrator",
		0,
		0,
		agent,
		"chat",
		"Questions",
		20,
	)


def build_run_row(number: int, agent: str, now) -> tuple:
	moment = now - timedelta(seconds=ROWS - number)
	standard = (f"r{number:09}", "Administrator", moment, moment, "Administrator", 0, 0)
	values = ("What is there to do?", "There are three things to do.", "quick", 660, 0.001)
	return (*standard, agent, f"c{number // 10:09}", "Success", "Administrator", *values)
