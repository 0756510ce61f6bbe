"""The cost of a run, compared with bare loops over LiteLLM's call and over its translation alone."""

import asyncio
import json
import statistics
import time
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import frappe

from huf.ai.agents.manager import AgentManager
from huf.ai.core.event_loops import run_coroutine, run_on_model_loop
from huf.ai.core.types import AgentRequest
from huf.ai.loop.guards import StepCap
from huf.ai.loop.model import ignore_text
from huf.ai.providers.answers import AnswerBuilder
from huf.ai.providers.direct_path_check import find_direct_path
from huf.ai.providers.litellm_module import load
from huf.ai.runs.entry import run_agent_sync, stream_agent
from huf.ai.runs.provider import RunProvider
from huf.ai.tools.registry import tool
from huf.api.wire.sse import encode_events
from huf.tests.benchmarks.quick_model import quick_model
from huf.tests.factories import SECRET, make, make_agent, make_tool, unique

TURNS, ROUNDS = 5, 25
AT_ONCE, PAUSE_S, SOME_TURNS = 64, 0.05, 3
CHUNKS = 2_000
SHORT, LONG = 10, 1_000
Times = tuple[float, float]
"""Wall and CPU milliseconds."""
CHUNK_AIMS = (0.17, 1.67)
"""Ratios for 60 µs a chunk: `litellm.acompletion` takes 352 µs, its translation 36 µs."""
MANY_AIMS = (0.41, 1.03)
"""Ratios for 150 and 60 runs a second: `litellm.acompletion` alone reaches 62."""
SYSTEM = {"role": "system", "content": "You are an agent under test."}


@tool()
def look(n: int) -> str:
	"""A tool that costs nothing and returns a different result for each n."""
	return f"found {n}"


def measure() -> None:
	"""Print wall and CPU milliseconds of each variant, measured in turn, and the ratios."""
	tool = make_tool("Custom Function", function_path=f"{__name__}.look", effect="read", description="Looks.")
	with quick_model(tool) as base_url:
		provider = make("AI Provider", provide_name=unique("Quick"), api_key=SECRET, api_base=base_url)
		model = make("AI Model", model_name=unique("quick"), provider=provider.name, own_prices=1).name
		agent = make_agent(model, (tool,), max_iterations=20)
		definition = frappe.db.get_value("Agent Tool Function", tool, "function_definition")
		tools = [{"type": "function", "function": json.loads(definition)}]
		print_turns(base_url, agent, tools)
		print_history(agent)
		print_chunks(base_url, agent)
		print_many(base_url, agent, tools)


def print_turns(base_url: str, agent: str, tools: list[dict]) -> None:
	prompt = f"{TURNS} 0"
	variants = {
		"litellm.acompletion, bare loop": lambda: run_coroutine(
			run_on_model_loop(run_litellm_loop(base_url, prompt, tools))
		),
		"LiteLLM's translation, bare loop": lambda: run_coroutine(
			run_on_model_loop(run_direct_loop(base_url, prompt, tools))
		),
		"run without journal": lambda: run_coroutine(without_journal(agent, prompt)),
		"run with journal and conversation": lambda: with_journal(agent, prompt),
	}
	found = compare(variants)
	called, translated, bare, journaled = found
	print(f"\n{TURNS} tool turns and an answer")
	print_times(variants, found)
	print_ratio("  with journal / litellm.acompletion", journaled, called, 0.45)
	print_ratio("  without journal / translation", bare, translated, 1.5)


def compare(variants: dict[str, Callable[[], None]], rounds: int = ROUNDS) -> list[list[Times]]:
	"""Wall and CPU milliseconds of each variant; every round measures all of them."""
	times: dict[str, list[Times]] = {name: [] for name in variants}
	for _ in range(rounds + 3):
		for name, variant in variants.items():
			times[name].append(clocked(variant))
	return [each[3:] for each in times.values()]


def middle(times: list[Times]) -> Times:
	return tuple(map(statistics.median, zip(*times, strict=True)))


def clocked(function: Callable[[], None]) -> Times:
	wall, cpu = time.perf_counter(), time.process_time()
	function()
	return (time.perf_counter() - wall) * 1000, (time.process_time() - cpu) * 1000


def print_times(names: Iterable[str], found: Iterable[list[Times]]) -> None:
	for name, (wall, cpu) in zip(names, map(middle, found), strict=True):
		print(f"  {name:36}{wall:8.2f} ms wall {cpu:8.2f} ms CPU")


def print_ratio(what: str, ours: list[Times], theirs: list[Times], target: float) -> None:
	"""Print the median of the ratios of each round, so that a temporarily slow machine affects both sides."""
	rounds = zip(ours, theirs, strict=True)
	wall, cpu = middle([(our[0] / their[0], our[1] / their[1]) for our, their in rounds])
	print(f"{what:38}{wall:8.2f} wall    {cpu:8.2f} CPU     (target {target})")


async def run_litellm_loop(base_url: str, prompt: str, tools: list[dict]) -> None:
	messages: list = [SYSTEM, {"role": "user", "content": prompt}]
	fixed = {"model": "openai/quick", "api_base": base_url, "api_key": SECRET, "tools": tools}
	while True:
		answer = await load().acompletion(**fixed, messages=messages)
		message = answer.choices[0].message
		if not message.tool_calls:
			return
		messages.append(message.model_dump())
		messages += [
			{"role": "tool", "tool_call_id": call.id, "content": look(0)} for call in message.tool_calls
		]


async def run_direct_loop(base_url: str, prompt: str, tools: list[dict]) -> None:
	messages: list = [SYSTEM, {"role": "user", "content": prompt}]
	fixed = {"model": "openai/quick", "api_base": base_url, "api_key": SECRET, "timeout": 10, "tools": tools}
	path, template = await find_direct_path(load(), fixed)
	while True:
		answer = AnswerBuilder(ignore_text)
		await path.complete(template, {**fixed, "messages": messages}, answer)
		if not answer.calls:
			return
		calls = [
			{
				"id": each["id"],
				"type": "function",
				"function": {"name": each["name"], "arguments": each["arguments"]},
			}
			for each in answer.calls.values()
		]
		messages.append({"role": "assistant", "content": None, "tool_calls": calls})
		messages += [{"role": "tool", "tool_call_id": each["id"], "content": look(0)} for each in calls]


async def without_journal(agent: str, prompt: str) -> None:
	manager = AgentManager(agent)
	agent_spec = manager.prepare_agent()
	context = {"agent_name": agent, "guards": (StepCap(20),)}
	outcome = await RunProvider.run(agent_spec, prompt, manager.provider, manager.model, context)
	assert outcome.text == "That is all.", outcome.error


def with_journal(agent: str, prompt: str) -> None:
	result = run_agent_sync(agent, prompt, external_id=frappe.generate_hash(length=8))
	assert result["success"] and result["response"] == "That is all.", result["error"]


def print_history(agent: str) -> None:
	"""Compare a run over a long history with one over a short one; the history limit bounds what is sent."""
	variants = {}
	for count in (SHORT, LONG):
		thread = unique("thread")
		first = run_agent_sync(agent, "0 0", external_id=thread)
		frappe.db.bulk_insert("Agent Message", *messages_of(first["conversation"], count))
		frappe.db.sql(
			"update `tabAgent Conversation` set total_messages = total_messages + %s where name = %s",
			(count, first["conversation"]),
		)
		frappe.db.commit()
		variants[f"history of {count} messages"] = lambda thread=thread: run_agent_sync(
			agent, f"{TURNS} 0", external_id=thread
		)
	short, long = compare(variants)
	print("\nthe same over a history")
	print_times(variants, (short, long))
	print_ratio(f"  {LONG} / {SHORT} messages", long, short, 1.5)


def messages_of(conversation: str, count: int, text: str = "Said") -> tuple[list[str], list[tuple]]:
	fields = ["name", "owner", "creation", "modified", "modified_by", "docstatus", "idx"]
	fields += ["conversation", "sequence", "role", "kind", "content", "step"]
	now = frappe.utils.now()
	standard = ("Administrator", now, now, "Administrator", 0, 0, conversation)
	rows = [
		(
			frappe.generate_hash(length=10),
			*standard,
			3 + n,
			"agent" if n % 2 else "user",
			"Message",
			f"{text} {n}",
			0,
		)
		for n in range(count)
	]
	return fields, rows


def print_chunks(base_url: str, agent: str) -> None:
	def stream_run() -> None:
		request = AgentRequest(agent, f"{CHUNKS} 0", frappe.session.user, external_id=unique("thread"))
		for _ in encode_events(stream_agent(request)):
			pass

	variants = {
		"litellm.acompletion alone": lambda: run_coroutine(run_on_model_loop(read_litellm_stream(base_url))),
		"LiteLLM's translation alone": lambda: run_coroutine(run_on_model_loop(read_direct_stream(base_url))),
		"a run, every event as a line": stream_run,
	}
	found = compare(variants, 5)
	called, translated, streamed = found
	print(f"\na streamed answer of {CHUNKS} chunks, µs a chunk (target 60)")
	for name, (wall, cpu) in zip(variants, map(middle, found), strict=True):
		print(f"  {name:36}{wall * 1000 / CHUNKS:8.1f} µs wall {cpu * 1000 / CHUNKS:8.1f} µs CPU")
	print_ratio("  a run / litellm.acompletion", streamed, called, CHUNK_AIMS[0])
	print_ratio("  a run / translation", streamed, translated, CHUNK_AIMS[1])


def build_stream_arguments(base_url: str) -> dict:
	messages = [{"role": "user", "content": f"{CHUNKS} 0"}]
	fixed = {
		"model": "openai/quick",
		"api_base": base_url,
		"api_key": SECRET,
		"timeout": 10,
		"messages": messages,
	}
	return {**fixed, "stream": True, "stream_options": {"include_usage": True}}


async def read_litellm_stream(base_url: str) -> None:
	await AnswerBuilder(ignore_text).read_stream(await load().acompletion(**build_stream_arguments(base_url)))


async def read_direct_stream(base_url: str) -> None:
	kwargs = build_stream_arguments(base_url)
	path, template = await find_direct_path(load(), kwargs)
	await path.complete(template, kwargs, AnswerBuilder(ignore_text))


def print_many(base_url: str, agent: str, tools: list[dict]) -> None:
	"""Print the rate of concurrent runs in one process, and the memory of one more waiting run."""
	prompt = f"{SOME_TURNS} {PAUSE_S}"

	def run_many_without_journal(count: int = AT_ONCE) -> None:
		run_coroutine(gather_all(without_journal(agent, prompt) for _ in range(count)))

	run_many_without_journal()
	before = read_resident_bytes()
	run_many_without_journal(4 * AT_ONCE)
	bytes_per_run = max(0, read_resident_bytes() - before) / (3 * AT_ONCE)
	site_args = (frappe.local.site, frappe.local.sites_path)
	with ThreadPoolExecutor(AT_ONCE, initializer=connect, initargs=site_args) as pool:
		variants = {
			"litellm.acompletion, bare loop": lambda: run_coroutine(
				run_on_model_loop(
					gather_all(run_litellm_loop(base_url, prompt, tools) for _ in range(AT_ONCE))
				)
			),
			"without journal (target 150)": run_many_without_journal,
			"with journal, a thread each (60)": lambda: list(
				pool.map(lambda _: with_journal(agent, prompt), range(AT_ONCE))
			),
		}
		found = compare(variants, 5)
	called, bare, journaled = found
	print(f"\n{AT_ONCE} runs at once of {SOME_TURNS} turns, a model that takes {PAUSE_S * 1000:.0f} ms")
	for name, (wall, _) in zip(variants, map(middle, found), strict=True):
		print(f"  {name:36}{AT_ONCE / wall * 1000:8.0f} runs a second")
	print(f"  {'memory of one more run that waits':36}{bytes_per_run / 1024:8.0f} KB (aim under 100)")
	print_ratio("  without journal / acompletion", bare, called, MANY_AIMS[0])
	print_ratio("  with journal / acompletion", journaled, called, MANY_AIMS[1])


async def gather_all(coroutines: Iterable[Coroutine]) -> None:
	await asyncio.gather(*coroutines)


def connect(site: str, sites_path: str) -> None:
	frappe.init(site, sites_path=sites_path)
	frappe.connect()
	frappe.set_user("Administrator")


def read_resident_bytes() -> int:
	"""Resident memory of this process in bytes."""
	return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
