"""One run: eight reads in one reply, long histories, and bytes written to disk."""

import asyncio
import os
import statistics
import time
from functools import partial

import frappe

from huf.ai.runs.entry import run_agent_sync
from huf.ai.tools.registry import tool
from huf.tests.benchmarks.floor import TURNS, clocked, messages_of, with_journal
from huf.tests.benchmarks.goals import Goal, print_missing
from huf.tests.benchmarks.http import make_own_agent
from huf.tests.benchmarks.quick_model import quick_model
from huf.tests.benchmarks.run_cost import count_statements, is_bracket, is_commit
from huf.tests.factories import unique

READS, READ_S, ROUNDS = 8, 0.02, 15
TOOLS = {
	"look_slowly": Goal("8 reads of 20 ms in a turn, to a turn without any", 35, "ms"),
	"look_slowly_async": Goal("  the same, async Custom Functions", 35, "ms"),
}
HISTORIES = {
	1_000: Goal("1,000 messages, 43 % sent, to a history of 10", 25, "ms CPU"),
	5_000: Goal("5,000 messages, 9 % sent, to a history of 10", 100, "ms CPU"),
}
WINDOW, SENTENCE = 46_200, "What was said about the order and when it is going to be delivered. " * 4
"""Tokens, and the text of each message: 430 such messages fit into three quarters of the window."""
WRITTEN = Goal("written to disk for a 5-tool run / its text", 25, "times")
STATEMENTS = Goal(
	"  statements", 60, leaves_out="BEGIN, COMMIT, savepoints and the counter of the embedded cache"
)
COMMITS = Goal("  commits", 8)


@tool()
def look_slowly(n: int) -> str:
	"""A synchronous tool that waits, as for a slow query."""
	time.sleep(READ_S)
	return f"found {n}"


@tool()
async def look_slowly_async(n: int) -> str:
	"""An asynchronous tool that waits, as for the network."""
	await asyncio.sleep(READ_S)
	return f"found {n}"


def measure() -> None:
	for name, goal in TOOLS.items():
		print_reads(name, goal)
	with quick_model("look") as base_url:
		agent = make_own_agent(base_url)
		print_histories(agent)
		print_disk(agent)


def print_reads(name: str, goal: Goal) -> None:
	"""Print the time of a run with one reply of eight calls, less the time of a run without tool calls."""
	with quick_model(name) as base_url:
		agent = make_own_agent(base_url, tool_name=name, function_path=f"{__name__}.{name}")
		turns = [
			(
				clocked(lambda: with_journal(agent, f"1 0 {READS}"))[0],
				clocked(lambda: with_journal(agent, "0 0"))[0],
			)
			for _ in range(ROUNDS + 3)
		][3:]
	goal.print(
		statistics.median(ours - baseline for ours, baseline in turns),
		"with the second model call and the journal",
	)


def print_histories(agent: str) -> None:
	# The whole conversation is history; the window limits what is sent.
	frappe.db.set_value("Agent", agent, "history_limit", max(HISTORIES))
	frappe.db.set_value("AI Model", frappe.db.get_value("Agent", agent, "model"), "context_window", WINDOW)
	frappe.db.commit()
	_, short = measure_history_cpu(agent, 10)
	for count, goal in HISTORIES.items():
		first, later = measure_history_cpu(agent, count)
		detail = f"the run takes {later:.1f} ms, over 10 messages {short:.1f}"
		goal.print(later - short, f"{detail}; the first of this process, which counts tokens, {first:.1f}")


def measure_history_cpu(agent: str, count: int) -> tuple[float, float]:
	"""Median CPU milliseconds of a run with one answer in a conversation of `count` messages.

	Returns (first run of this process in the conversation, second run).
	"""
	thread, first, later = unique("thread"), [], []
	for number in range(ROUNDS):
		run = partial(run_agent_sync, agent, "0 0", external_id=f"{thread} {number}")
		conversation = run()["conversation"]
		frappe.db.bulk_insert("Agent Message", *messages_of(conversation, count, f"{SENTENCE} {number}"))
		frappe.db.sql(
			"update `tabAgent Conversation` set total_messages = total_messages + %s where name = %s",
			(count, conversation),
		)
		frappe.db.commit()
		first.append(clocked(run)[1])
		later.append(clocked(run)[1])
	return statistics.median(first), statistics.median(later)


def print_disk(agent: str) -> None:
	if frappe.db.db_type != "sqlite":
		return print_missing(WRITTEN.row, "only SQLite's log is counted")
	run = lambda: with_journal(agent, f"{TURNS} 0")  # noqa: E731
	run()
	statements = count_statements(run)
	log, connection = f"{frappe.db.path}-wal", frappe.db._connection
	(pages,) = connection.execute("PRAGMA wal_autocheckpoint").fetchone()
	connection.execute("PRAGMA wal_autocheckpoint = 0")
	written, texts = [], []
	for _ in range(ROUNDS):
		connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
		run()
		written.append(os.path.getsize(log))
		texts.append(measure_last_run_bytes())
	connection.execute(f"PRAGMA wal_autocheckpoint = {pages}")
	bytes_, text = statistics.median(written), statistics.median(texts)
	WRITTEN.print(bytes_ / text, f"{bytes_ / 1024:.0f} KB of log for {text / 1024:.1f} KB of values")
	STATEMENTS.print(sum(not is_bracket(sql) for sql in statements))
	COMMITS.print(sum(map(is_commit, statements)))


def measure_last_run_bytes() -> int:
	"""Characters of all values in the rows of the newest run."""
	name = frappe.get_all("Agent Run", pluck="name", order_by="creation desc", limit=1)[0]
	rows = frappe.db.sql("select * from `tabAgent Run` where name = %s", name)
	for doctype in ("Agent LLM Call", "Agent Tool Call", "Agent Message"):
		rows += frappe.db.sql(f"select * from `tab{doctype}` where run = %s", name)  # noqa: S608
	return sum(len(str(value)) for row in rows for value in row if value is not None)
