"""The cost of a durable run, compared with a bare loop of the same turns, and its SQL statements."""

import json
import statistics
import time
from collections.abc import Callable

import frappe

from huf.ai.core.event_loops import run_coroutine, run_on_model_loop
from huf.ai.runs.entry import run_agent_sync
from huf.tests.benchmarks.stub import list_tool, model_process
from huf.tests.factories import SECRET, make, make_agent, unique

TURNS = 5
ROUNDS = 15


def measure() -> None:
	"""Print wall milliseconds of both, measured in turn, and the number of statements of one run."""
	tool = list_tool(TURNS)
	arguments = {"limit": 1}
	with model_process(TURNS, tool, arguments) as base_url:
		provider = make("AI Provider", provide_name=unique("Scripted"), api_key=SECRET, api_base=base_url)
		model = make("AI Model", model_name=unique("scripted"), provider=provider.name, own_prices=1).name
		agent = make_agent(model, (tool,))
		tool_specs = [
			{
				"type": "function",
				"function": json.loads(
					frappe.db.get_value("Agent Tool Function", tool, "function_definition")
				),
			}
		]
		# On the event loop of agent runs: LiteLLM's connections and queues belong to a loop.
		bare_run = lambda: run_coroutine(run_on_model_loop(bare_loop(base_url, tool_specs)))  # noqa: E731
		huf_run = lambda: run_agent_sync(agent, "Go", external_id=frappe.generate_hash(length=8))  # noqa: E731
		pairs = [(timed(bare_run), timed(huf_run)) for _ in range(ROUNDS + 2)][2:]
		print_ratio(pairs)
		print_statements(huf_run)


async def bare_loop(base_url: str, tools: list[dict]) -> None:
	"""The smallest loop with LiteLLM: call the model, add tool results, repeat; stores nothing."""
	import litellm

	messages: list = [
		{"role": "system", "content": "You are an agent under test."},
		{"role": "user", "content": "Go"},
	]
	while True:
		answer = await litellm.acompletion(
			model="openai/scripted", api_base=base_url, api_key="sk-bench", messages=messages, tools=tools
		)
		message = answer.choices[0].message
		if not message.tool_calls:
			return
		messages.append(message.model_dump())
		for call in message.tool_calls:
			messages.append({"role": "tool", "tool_call_id": call.id, "content": "{}"})


def timed(function: Callable) -> float:
	start = time.perf_counter()
	function()
	return (time.perf_counter() - start) * 1000


def print_ratio(pairs: list[tuple[float, float]]) -> None:
	bare_run, huf_run = (statistics.median(side) for side in zip(*pairs, strict=True))
	ratio = statistics.median(our / their for their, our in pairs)
	print(f"bare litellm.acompletion loop, {TURNS} tool turns    {bare_run:7.1f} ms")
	print(f"agent run with journal and conversation     {huf_run:7.1f} ms   ratio {ratio:.2f} (target 1.6)")


def print_statements(run: Callable) -> None:
	"""Print the statements and commits before the first model call, and per later step."""
	statements = count_statements(run)
	first = next(
		i for i, sql in enumerate(statements) if "Agent LLM Call" in sql and sql.lower().startswith("insert")
	)
	commits = sum(is_commit(sql) for sql in statements)
	before = [sql for sql in statements[: first + 1] if not is_bracket(sql)]
	total = [sql for sql in statements if not is_bracket(sql)]
	print(
		f"SQL statements before the first model call  {len(before):5d}     (aim under 15), commits {sum(is_commit(s) for s in statements[: first + 1])}"
	)
	print(
		f"SQL statements of the whole run             {len(total):5d}     {(len(total) - len(before)) / (TURNS + 1):.1f} per step, commits {commits}"
	)


class RecordingCursor:
	"""A driver's cursor that records statements; a wrapper, as psycopg's attributes cannot be replaced."""

	def __init__(self, cursor, statements: list[str]):
		self.cursor, self.statements = cursor, statements

	def __getattr__(self, name: str):
		return getattr(self.cursor, name)

	def execute(self, sql, *rest):
		self.statements.append(" ".join(str(sql).split()))
		return self.cursor.execute(sql, *rest)


def count_statements(run: Callable) -> list[str]:
	"""All statements of a run, as the database driver receives them."""
	statements: list[str] = []
	connection = getattr(frappe.db, "_connection", None) or frappe.db._conn
	if hasattr(connection, "set_trace_callback"):
		connection.set_trace_callback(lambda sql: statements.append(" ".join(sql.split())))
		run()
		connection.set_trace_callback(None)
		return statements
	cursor = frappe.db._cursor
	frappe.db._cursor = RecordingCursor(cursor, statements)
	run()
	frappe.db._cursor = cursor
	return statements


def is_commit(sql: str) -> bool:
	return sql.lower().startswith("commit")


def is_bracket(sql: str) -> bool:
	"""Whether a statement only opens or ends a transaction, or reads the embedded runtime's cache counter.

	The counter is read at most once per millisecond, so the number of reads depends on the machine's load.
	"""
	return "__DocTypeVersion" in sql or sql.lower().startswith(
		("begin", "commit", "rollback", "start transaction", "savepoint", "release", "pragma")
	)
