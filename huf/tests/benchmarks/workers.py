"""Worker processes on one database: three compared with one, and three while some are killed.

	cd sites; HUF_TEST_SITE=SITE HUF_TEST_SITES=. python -m huf.tests.benchmarks workers 300 2000

The numbers: runs without disturbance (0: none), and runs while workers are killed and Redis is flushed. It needs
a bench whose SITE has no other workers, and whose `redis_cache` and `redis_queue` may be flushed.

HUF_BENCH_NAMESPACES: network namespaces, each for one worker process, as if on separate hosts; they reach
MariaDB and Redis at the site's addresses, and the model at HUF_BENCH_MODEL_HOST.
HUF_BENCH_OPTIONS: more options of the workers. HUF_BENCH_KILL_EVERY_S: 5 by default.
"""

import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import frappe

from huf.ai.core.types import AgentRequest, RunStatus
from huf.ai.runs.start import start_run
from huf.ai.storage.leases import OPEN_STATUSES
from huf.ai.tools.registry import tool
from huf.tests.benchmarks.quick_model import quick_model
from huf.tests.factories import SECRET, make, make_agent, make_tool, unique

WORKERS = 3
WRITES, MODEL_S = 2, 1.0
"""Tool calls of a run that insert a document, and seconds of each model call."""
KILL_EVERY_S = float(os.environ.get("HUF_BENCH_KILL_EVERY_S", 5))
MEASURED = 0.8
"""The rate is measured over this share of the runs, without the time when workers start or become idle."""
AIM_RATIO, AIM_RESUME_S = 2.4, 30.0
TIMEOUT_S = 3600
NAMESPACES = os.environ.get("HUF_BENCH_NAMESPACES", "").split()
OPTIONS = os.environ.get("HUF_BENCH_OPTIONS", "").split()


@tool()
def write_note(n: int) -> str:
	"""Insert a document that names the run and the call that wrote it."""
	frappe.get_doc({"doctype": "ToDo", "description": f"{frappe.flags.huf_run} {n}"}).insert()
	return f"written {n}"


def measure(runs: int = 300, disturbed: int = 300) -> None:
	with quick_agent() as agent:
		print(f"runs of {WRITES} writes, each model call takes {MODEL_S:.0f} s", flush=True)
		if runs:
			one, many = measure_rate(agent, runs, 1), measure_rate(agent, runs, WORKERS)
			print(f"{one:.2f} runs/s with one worker, {many:.2f} with {WORKERS}: ", end="")
			print(f"ratio {many / one:.2f} (aim {AIM_RATIO})", flush=True)
		Disturbance(agent, disturbed).report()


@contextmanager
def quick_agent() -> Iterator[str]:
	"""Make an agent whose model calls `write_note`."""
	path = f"{__name__}.write_note"
	made = make_tool("Custom Function", function_path=path, effect="write", untrusted_result=0)
	with quick_model(made) as base_url:
		provider = make("AI Provider", provide_name=unique("Quick"), api_key=SECRET, api_base=base_url)
		model = make("AI Model", model_name=unique("quick"), provider=provider.name, own_prices=1)
		yield make_agent(model.name, (made,), max_iterations=20)


def measure_rate(agent: str, runs: int, workers: int) -> float:
	"""Runs per second of undisturbed workers."""
	names = queue_runs(agent, runs)
	margin = round(runs * (1 - MEASURED) / 2)
	with processes(workers):
		wait_until_ended(names, margin)
		began, first = time.monotonic(), count_ended(names)
		wait_until_ended(names, runs - margin)
		rate = (count_ended(names) - first) / (time.monotonic() - began)
		wait_until_ended(names, runs)
	return rate


def queue_runs(agent: str, count: int, model_s: float = MODEL_S) -> list[str]:
	"""Make queued runs in separate conversations, without jobs."""
	prompt = f"{WRITES} {model_s}"
	made = []
	for _ in range(count):
		request = AgentRequest(agent, prompt, "Administrator", external_id=unique("workers"))
		made.append(start_run(request, RunStatus.QUEUED).name)
		frappe.db.commit()
	return made


@contextmanager
def processes(count: int, *options: str) -> Iterator[list[int]]:
	"""Start worker processes; yields the process ids of their parents."""
	command = [sys.executable, "-m", "frappe.utils.bench_helper", "frappe", "--site", frappe.local.site]
	command += ["huf-worker", *OPTIONS, *options, "--processes"]
	commands = [[*command, str(count)]]
	if NAMESPACES:
		commands = [["ip", "netns", "exec", name, *command, "1"] for name in NAMESPACES[:count]]
	started = [subprocess.Popen(each, stdout=subprocess.DEVNULL) for each in commands]
	try:
		yield [each.pid for each in started]
	finally:
		for each in started:
			each.terminate()
		for each in started:
			each.wait(60)


def wait_until_ended(runs: list[str], count: int) -> None:
	deadline = time.monotonic() + TIMEOUT_S
	while count_ended(runs) < count:
		assert time.monotonic() < deadline, "nothing happens any more"
		time.sleep(0.1)


def count_ended(runs: list[str]) -> int:
	frappe.db.rollback()
	return frappe.db.count("Agent Run", {"name": ["in", runs], "status": ["not in", OPEN_STATUSES]})


class Disturbance:
	"""Runs while a worker is killed every KILL_EVERY_S and Redis is flushed once."""

	def __init__(self, agent: str, runs: int):
		self.runs, self.kills, self.flushes = queue_runs(agent, runs), 0, 0
		self.lost: dict[tuple[str, str], float] = {}
		self.resumed: list[float] = []
		self.seconds = 0.0

	def report(self) -> None:
		self.work()
		statuses = frappe.get_all(
			"Agent Run", {"name": ["in", self.runs]}, ["name", "status"], order_by="name asc"
		)
		lost = [row for row in statuses if row.status != "Success"]
		counts = count_writes(self.runs)
		missing = len(self.runs) * WRITES - len(counts)
		twice = sum(count - 1 for count in counts.values())
		print(
			f"{len(self.runs)} runs in {self.seconds:.0f} s, {self.kills} workers killed, Redis flushed",
			end=" ",
		)
		print(
			f"{self.flushes} times: {len(lost)} runs lost, {missing} writes lost, {twice} made twice (aim 0)"
		)
		if self.resumed:
			p50, longest = statistics.median(self.resumed), max(self.resumed)
			print(f"{len(self.resumed)} runs lost their worker and went on after p50 {p50:.1f} s", end=", ")
			print(f"at most {longest:.1f} s (aim {AIM_RESUME_S:.0f} s)")
		for row in lost[:5]:
			print(f"  {row.name} {row.status}: {frappe.db.get_value('Agent Run', row.name, 'error_message')}")

	def work(self) -> None:
		began = time.monotonic()
		with processes(WORKERS) as parents:
			next_kill = began + KILL_EVERY_S
			while (ended := count_ended(self.runs)) < len(self.runs):
				if not self.flushes and ended >= len(self.runs) / 2:
					flush_redis()
					self.flushes += 1
				if time.monotonic() >= next_kill:
					next_kill = time.monotonic() + KILL_EVERY_S
					self.kill_next_worker(parents)
				self.find_resumed()
				assert time.monotonic() - began < TIMEOUT_S, "nothing happens any more"
				time.sleep(0.25)
		self.seconds = time.monotonic() - began

	def kill_next_worker(self, parents: list[int]) -> None:
		"""Kill the next worker in turn, and remember the runs that it had."""
		workers = [child for parent in parents for child in list_children(parent)]
		if not workers:
			return
		victim = workers[self.kills % len(workers)]
		os.kill(victim, signal.SIGKILL)
		self.kills += 1
		lost_filters = {"status": "Started", "worker": ["like", f"%:{victim}:%"]}
		for row in frappe.get_all("Agent Run", lost_filters, ["name", "worker"], order_by="name asc"):
			self.lost[row.name, row.worker] = time.monotonic()

	def find_resumed(self) -> None:
		names = [name for name, _worker in self.lost]
		workers = dict(
			frappe.get_all(
				"Agent Run", {"name": ["in", names]}, ["name", "worker"], order_by="name asc", as_list=True
			)
		)
		for (name, worker), killed in list(self.lost.items()):
			if workers[name] != worker:
				self.resumed.append(time.monotonic() - killed)
				del self.lost[name, worker]


def list_children(parent: int) -> list[int]:
	return [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def count_writes(runs: list[str]) -> dict[str, int]:
	"""{call: number of its writes} for these runs."""
	texts = frappe.get_all(
		"ToDo", {"description": ["like", "% %"]}, pluck="description", order_by="creation asc"
	)
	names, counts = set(runs), {}
	for each in texts:
		if each.partition(" ")[0] in names:
			counts[each] = counts.get(each, 0) + 1
	return counts


def flush_redis() -> None:
	import redis

	for url in {frappe.conf.redis_cache, frappe.conf.redis_queue}:
		redis.from_url(url).flushall()
