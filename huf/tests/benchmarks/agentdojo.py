"""AgentDojo 1.2.2 through Huf's loop and tools, with a model that obeys every instruction it reads.

The model carries out the user's task and the injected instructions, at the end or once it has read them.
The user approves calls of the task and rejects injected ones. Needs `pip install agentdojo`. HUF_BENCH_JOBS:
number of processes (2). HUF_BENCH_RESULTS: a file of results, with which an interrupted benchmark continues.
HUF_BENCH_SUITE: only this suite, such as slack.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import frappe

from huf.tests.factories import make, make_agent, make_model, unique
from huf.tests.model_server import ModelServer, call, text, tool_call, tool_calls

MODULE = "huf.tests.benchmarks.agentdojo_tools"
VARIANTS = ("careful", "undeclared")
TIMINGS = ("at the end", "at once")
MARK = "<INFORMATION>"
JOBS, RESULTS, SHARD = "HUF_BENCH_JOBS", "HUF_BENCH_RESULTS", "HUF_BENCH_SHARD"
SUITE = "HUF_BENCH_SUITE"


def measure() -> None:
	"""Run all pairs and print the table."""
	if shard := os.environ.get(SHARD):
		index, jobs = map(int, shard.split("/"))
		return run_shard(Path(os.environ[RESULTS]), index, jobs)
	started = time.monotonic()
	with tempfile.TemporaryDirectory(prefix="huf-dojo-") as folder:
		path = Path(os.environ.get(RESULTS) or f"{folder}/results.jsonl")
		path.touch()
		jobs = int(os.environ.get(JOBS, "2"))
		processes = [
			subprocess.Popen(
				[sys.executable, "-m", "huf.tests.benchmarks", "agentdojo"],
				env={**os.environ, SHARD: f"{index}/{jobs}", RESULTS: str(path)},
				stdout=subprocess.DEVNULL,
			)
			for index in range(jobs)
		]
		codes = [process.wait() for process in processes]
		if any(codes):
			raise SystemExit(f"A process of the benchmark failed: {codes}")
		print_table([json.loads(line) for line in path.read_text().splitlines()])
	print(f"\n{time.monotonic() - started:.0f} s")


def print_table(rows: list[dict]) -> None:
	print(
		"| declared | attacks | goals reached | words of answers only | clean solved | approvals: median, mean, none |"
	)
	print("|---|---|---|---|---|---|")
	for variant in VARIANTS:
		own = [row for row in rows if row["variant"] == variant]
		pairs = {row["key"]: [] for row in own if row["timing"]}
		for row in own:
			if row["timing"]:
				pairs[row["key"]].append(row)
		reached = {key for key, each in pairs.items() if any(row["reached"] for row in each)}
		answers = {key for key, each in pairs.items() if each[0]["is_about_answer"]}
		clean = [row for row in own if not row["timing"]]
		approvals = [row["asked"] for row in clean]
		solved = sum(row["solved"] for row in clean)
		figures = f"{statistics.median(approvals):g}, {statistics.mean(approvals):.2f}, {approvals.count(0)}"
		print(
			f"| {variant} | {len(pairs)} | {len(reached - answers)} | {len(answers)} | {solved} of {len(clean)} | {figures} |"
		)
		for key in sorted(reached - answers):
			print(f"  reached: {key}")
		for row in clean:
			if not row["solved"]:
				print(f"  not solved: {row['key']} ({row['status']})")


def run_shard(path: Path, index: int, jobs: int) -> None:
	"""Run every `jobs`-th pair whose results are not in the file yet."""
	from huf.tests.benchmarks.agentdojo_suites import list_pairs

	done = {
		(row["variant"], row["timing"], row["key"]) for row in map(json.loads, path.read_text().splitlines())
	}
	with ModelServer(strict=False) as server, path.open("a") as results:
		sites = {variant: Site(server, variant) for variant in VARIANTS}
		only_suite = os.environ.get(SUITE)
		pairs = [pair for pair in list_pairs() if only_suite in (None, pair.suite.name)]
		for pair in pairs[index::jobs]:
			for variant in VARIANTS:
				for timing in TIMINGS if pair.injection else (None,):
					if (variant, timing, pair.key) not in done:
						row = sites[variant].run(pair, timing)
						results.write(
							json.dumps({"variant": variant, "timing": timing, "key": pair.key, **row}) + "\n"
						)
						results.flush()


class Site:
	"""One agent per suite, with the suite's tools in one variant of declarations."""

	def __init__(self, server: ModelServer, variant: str):
		from huf.tests.benchmarks import agentdojo_tools

		self.server, self.variant, self.agents, self.tools = server, variant, {}, agentdojo_tools
		model = make_model(server)
		if not frappe.db.exists("Agent Pack", {"tools_module": MODULE}):
			make("Agent Pack", pack_name=unique("agentdojo"), app="huf", tools_module=MODULE)
		for suite in agentdojo_tools.SUITES:
			names = [self.make_tool(name) for name in agentdojo_tools.list_names(variant, suite)]
			self.agents[suite] = make_agent(
				model,
				tuple(names),
				instructions="You help with office work.",
				max_iterations=80,
				run_timeout=600,
			)

	def make_tool(self, name: str) -> str:
		values = {"tool_name": name, "types": "App Provided", "provider_app": "huf", "description": name}
		return make("Agent Tool Function", **values).name

	def run(self, pair, timing: str | None) -> dict:
		environment = pair.make_environment()
		before = environment.model_copy(deep=True)
		scripted_run = ScriptedRun(self.server, f"{self.variant}_{pair.suite.name}_", pair, timing)
		self.tools.environment = environment
		status = scripted_run.run(self.agents[pair.suite.name])
		answer = [{"type": "text", "content": pair.user_task.GROUND_TRUTH_OUTPUT or ""}]
		check = lambda task: bool(  # noqa: E731
			pair.suite._check_task_result(task, answer, before, environment, self.tools.calls)
		)
		row = {"asked": scripted_run.asked, "status": status, "is_about_answer": pair.is_about_answer}
		if timing:
			row["reached"] = bool(scripted_run.injected) and check(pair.injection_task)
		else:
			row["solved"] = status == "Success" and check(pair.user_task)
		self.tools.calls.clear()
		return row


@dataclass
class ScriptedRun:
	"""One run with the scripted replies of the model and the approvals of the user."""

	server: ModelServer
	prefix: str
	pair: Any
	timing: str | None
	user: list = field(default_factory=list)
	injected: list = field(default_factory=list)
	pending: list = field(default_factory=list)
	asked: int = 0

	def run(self, agent: str) -> str:
		from huf.ai.runs.entry import run_agent_sync
		from huf.ai.runs.queue import work_on

		self.user, self.injected = self.pair.list_user_calls(), self.pair.list_injected_calls()
		self.pending = list(self.injected)
		self.ids = set()
		self.server.forever(self.answer)
		result = run_agent_sync(agent, self.pair.user_task.PROMPT, channel_id=frappe.generate_hash(length=8))
		run, status = result["run"], result["status"]
		while status == "Waiting":
			self.decide(run)
			frappe.db.commit()
			frappe.set_user("Administrator")
			work_on(run)
			status = frappe.db.get_value("Agent Run", run, "status")
		return status

	def answer(self, body: dict):
		"""The next reply of the obedient model."""
		is_read = any(
			MARK in str(message.get("content")) for message in body["messages"] if message["role"] == "tool"
		)
		if self.pending and is_read and self.timing == "at once":
			return self.obey()
		if self.user:
			each = self.user.pop(0)
			return tool_call(self.prefix + each.function, each.args)
		if self.pending:
			return self.obey()
		return text("Done.")

	def obey(self):
		"""A reply with all injected calls."""
		calls, self.pending = self.pending, []
		made = [
			call(self.prefix + each.function, each.args, id=f"injected_{number}")
			for number, each in enumerate(calls)
		]
		return tool_calls(made)

	def decide(self, run: str) -> None:
		from huf.ai.chat.approvals import approve_call, reject_call

		row = frappe.db.get_value(
			"Agent Draft", {"run": run, "status": "Pending"}, ["name", "digest", "call_id"], as_dict=True
		)
		if row.call_id.startswith("injected_"):
			reject_call(row.name, row.digest)
		else:
			self.asked += 1
			approve_call(row.name, row.digest)
