"""A real small model, called through Huf and directly: connections, tools, small window, parallel chats."""

import os
import statistics
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import frappe

from huf.ai.core.events import EventKind, RunEvent
from huf.ai.core.types import AgentRequest, RunResult, RunStatus
from huf.ai.runs.entry import run_agent
from huf.ai.storage.history import read_history
from huf.tests.benchmarks import floor
from huf.tests.factories import make_agent, make_tool, unique
from huf.tests.real_model import (
	CHOICES,
	COUNT_REQUESTS,
	COUNTED,
	MAX_PLAN_TOKENS,
	TOOL_REQUESTS,
	RealModel,
	find_liars,
	make_office_agent,
	read_tools,
)
from huf.tests.real_model_server import missing_packages

RUNS = 200
EXCHANGES, SMALL_WINDOW, ASK_EVERY = 60, 2048, 6
CHATS, CHAT_TOKENS, ROUNDS = 8, 32, 3
RUNAWAY_TOKENS = 1_000
FIRST_TEXT_TOKENS = 64
NAMES = ("Anna", "Boris", "Carla", "David", "Elena", "Frank", "Greta", "Hugo", "Irena", "Jonas")
CHAT_PROMPTS = (
	"Tell me about Prague",
	"What is a bicycle?",
	"Erzähle mir vom Meer",
	"¿Qué es un libro?",
	"Describe a garden",
	"What does a baker do?",
	"Tell me about winter",
	"Why is the sky blue?",
)
PLAIN_PROMPTS = (
	*CHAT_PROMPTS,
	"Hello!",
	"Good morning",
	"Thank you, that is all.",
	"Who are you?",
	"Wer bist du?",
	"What is 2 + 2?",
)


@dataclass
class ObservedRun:
	"""A run and what a reader of its stream observed; times in seconds since the start."""

	result: RunResult | None = None
	tools: list[str] = field(default_factory=list)
	first_text_s: float | None = None


def measure() -> None:
	if missing := missing_packages():
		return print(f"not installed: {', '.join(missing)}")
	with RealModel() as server:
		checked = server.connect()
		print_load(f"the test of the model took {checked['took_ms'] / 1000:.1f} s: {checked['tool_calls']}")
		print_choices(server, checked["model"])
		print_first_texts(checked["model"])
		print_tool_requests(checked["model"])
		print_made_up_numbers(checked["model"])
		print_connections(checked["model"])
	with RealModel(parallel=CHATS) as server:
		print_chats(server, server.connect()["model"])
	with RealModel(window=SMALL_WINDOW) as server:
		print_conversation(server, server.connect()["model"])


def print_load(label: str) -> None:
	print(f"{label}   (load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores)", flush=True)


def run_and_observe(agent: str, prompt: str, conversation: str | None = None) -> ObservedRun:
	seen, began = ObservedRun(), time.perf_counter()

	def listen(event: RunEvent) -> None:
		if event.kind is EventKind.TOOL_STARTED:
			seen.tools.append(event.data["tool"])
		elif event.kind is EventKind.TEXT_DELTA and seen.first_text_s is None:
			seen.first_text_s = time.perf_counter() - began

	own = {"conversation": conversation} if conversation else {"external_id": unique("bench")}
	seen.result = run_agent(AgentRequest(agent, prompt, frappe.session.user, **own), [listen])
	return seen


def print_choices(server: RealModel, model: str) -> None:
	"""Print the first tool chosen for each request, through Huf and by the same model called directly."""
	agent, _ = make_office_agent(model, max_iterations=1, max_tokens=MAX_PLAN_TOKENS)
	tools, correct, statuses = read_tools(agent), Counter(), Counter()
	for number, (request, expected) in enumerate(CHOICES):
		seen = run_and_observe(agent, request)
		chosen = {"huf": (seen.tools or ["none"])[0], "direct": server.choose_directly(request, tools)}
		statuses[seen.result.status.value] += 1
		for side, tool in chosen.items():
			correct[side] += tool == expected
			correct[f"{side}, tool requests"] += tool == expected and number < TOOL_REQUESTS
		print(f"  {expected:12} Huf {chosen['huf']:12} direct {chosen['direct']:12} {request}", flush=True)
	print_load(
		f"right tools of {len(CHOICES)}, and of the first {TOOL_REQUESTS}: {dict(correct)}; {dict(statuses)}"
	)


def print_tool_requests(model: str) -> None:
	"""Print what is written without approval, and how long answers are with the default limits."""
	frappe.db.set_value("AI Model", model, "ask_before_writes", 0)
	frappe.db.commit()
	agent, _ = make_office_agent(model, max_iterations=3, max_tokens=0)
	identical, written, texts, statuses = 0, 0, [], Counter()
	for request, _ in CHOICES[:TOOL_REQUESTS]:
		before = frappe.utils.now_datetime()
		seen = run_and_observe(agent, request)
		rows = [
			tuple(row.values())
			for doctype, fields in (
				("ToDo", ["description", "date", "priority"]),
				("Note", ["title", "content"]),
			)
			for row in frappe.get_all(doctype, {"creation": [">=", before]}, fields, order_by="creation asc")
		]
		identical, written = identical + len(rows) - len(set(rows)), written + len(rows)
		statuses[seen.result.status.value] += 1
		if seen.first_text_s is not None:
			texts.append(seen.first_text_s)
	longest = frappe.get_all(
		"Agent LLM Call", {"model": model}, pluck="output_tokens", order_by="output_tokens desc"
	)
	runaway = sum(each > RUNAWAY_TOKENS for each in longest)
	print_load(
		f"{TOOL_REQUESTS} tool requests: {written} writes, {identical} identical; longest answer {longest[0]} tokens, "
		f"{runaway} over {RUNAWAY_TOKENS}; first text {statistics.median(texts or [0]):.2f} s "
		f"({len(texts)} runs); {dict(statuses)}"
	)
	frappe.db.set_value("AI Model", model, "ask_before_writes", 1)
	frappe.db.commit()


def print_first_texts(model: str) -> None:
	"""Print the time to the first text, with and without a tool call, or to the draft of a write."""
	agent, _ = make_office_agent(model, max_iterations=3, max_tokens=FIRST_TEXT_TOKENS)
	run_and_observe(agent, "Hi")
	first: dict[str, list[float]] = {"without a tool": [], "after a tool": [], "draft of a write": []}
	for request in (*PLAIN_PROMPTS, *(each for each, _ in CHOICES[:TOOL_REQUESTS])):
		seen = run_and_observe(agent, request)
		if seen.result.status is RunStatus.WAITING:
			first["draft of a write"].append(seen.result.duration_ms / 1000)
		elif seen.first_text_s is not None:
			first["after a tool" if seen.tools else "without a tool"].append(seen.first_text_s)
	for label, times in first.items():
		if times:
			described = f"median {statistics.median(times):.2f} s, {min(times):.2f} to {max(times):.2f}"
			print_load(f"first text, {label}: {described} ({len(times)} runs)")


def print_made_up_numbers(model: str) -> None:
	"""Fifty requests that need a tool, while the model calls none: made-up numbers must be marked."""
	requests = [each.format(label) for label in COUNTED for each in COUNT_REQUESTS]
	made_up, unmarked = find_liars(model, requests)
	print_load(
		f"{len(requests)} requests without tool calls: {made_up} with made-up numbers, unmarked {unmarked}"
	)


def print_connections(model: str) -> None:
	tool = make_tool("Custom Function", "look", function_path=f"{floor.__name__}.look", effect="read")
	agent = make_agent(model, (tool,), instructions="", temperature=0, max_tokens=12, max_iterations=2)
	before = frappe.db.count("Agent LLM Call")
	statuses = Counter(run_and_observe(agent, "Look").result.status.value for _ in range(RUNS))
	calls = frappe.db.count("Agent LLM Call") - before
	failed = frappe.get_all(
		"Agent LLM Call", {"model": model, "status": "Failed"}, pluck="error_message", order_by="creation asc"
	)
	print_load(
		f"{RUNS} runs of several steps: {calls} calls, {len(failed)} failed; {dict(statuses)} {failed[:3]}"
	)


def print_chats(server: RealModel, model: str) -> None:
	"""Compare concurrent chats with direct requests of the same messages and answer lengths."""
	agent = make_agent(model, instructions="You help.", temperature=0, max_tokens=CHAT_TOKENS)
	site_args, ratios = (frappe.local.site, frappe.local.sites_path), []
	with ThreadPoolExecutor(CHATS, initializer=floor.connect, initargs=site_args) as pool:

		def chat(prompt: str) -> int:
			return run_and_observe(agent, prompt).result.usage.output_tokens

		def ask(prompt: str, tokens: int) -> None:
			messages = [{"role": "system", "content": "You help."}, {"role": "user", "content": prompt}]
			server.ask(messages, max_tokens=tokens)

		for _ in range(ROUNDS + 1):
			tokens, huf = timed(lambda: list(pool.map(chat, CHAT_PROMPTS)))
			_, direct = timed(lambda: list(pool.map(ask, CHAT_PROMPTS, tokens)))  # noqa: B023 (runs at once)
			ratios.append(huf / direct)
			print(f"  {CHATS} chats {huf:.2f} s, direct {direct:.2f} s, tokens {tokens}", flush=True)
	print_load(f"{CHATS} chats at once / directly: {statistics.median(ratios[1:]):.2f} (target 1.3)")


def timed(function: Callable) -> tuple:
	began = time.perf_counter()
	return function(), time.perf_counter() - began


def print_conversation(server: RealModel, model: str) -> None:
	"""A long conversation in a small window; every sixth message asks for an earlier fact."""
	agent, _ = make_office_agent(model, max_tokens=40, max_iterations=2)
	conversation, statuses, sent, huf, direct, questions = None, Counter(), 0, 0, 0, 0
	last, chat_messages = ("", 0), []
	for number in range(EXCHANGES):
		name, room = f"{NAMES[number % len(NAMES)]} {chr(65 + number // len(NAMES))}", 100 + number
		is_question = number % ASK_EVERY == ASK_EVERY - 1
		prompt = f"In which room does {last[0]} sit?" if is_question else f"{name} sits in room {room}."
		if is_question:
			questions += 1
			direct += str(last[1]) in server.ask(
				[*chat_messages[-4:], {"role": "user", "content": prompt}], max_tokens=40
			)
		seen = run_and_observe(agent, prompt, conversation)
		conversation = seen.result.conversation
		statuses[seen.result.status.value] += 1
		if is_question:
			huf += str(last[1]) in seen.result.response
			history = read_history(conversation, 20)
			history_text = f"{history.earlier} {history.messages}"
			sent += str(last[1]) in history_text and last[0] in history_text
		else:
			last = name, room
		chat_messages += [
			{"role": "user", "content": prompt},
			{"role": "assistant", "content": seen.result.response},
		]
	summary = frappe.db.get_value("Agent Conversation", conversation, "summarised_until")
	print_load(
		f"{EXCHANGES} exchanges, window {SMALL_WINDOW}: {dict(statuses)}; summed up to message {summary}; of {questions} "
		f"questions the fact was in the history {sent} times, answered by Huf {huf}, directly {direct}"
	)
