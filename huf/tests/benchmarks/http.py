"""Runs over HTTP on `huf start`: compared with a run in process, many at once, and queued."""

import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote

import frappe
from urllib3 import HTTPConnectionPool

from huf.embedded.tests.server_test import Server
from huf.tests.benchmarks.floor import TURNS, clocked, with_journal
from huf.tests.benchmarks.quick_model import quick_model
from huf.tests.factories import SECRET, make, make_agent, unique
from huf.tests.ports import find_free_port

ROUNDS = 40
PASSWORD = "bench password 7"
AT_ONCE, RUNS, TURNS_AT_ONCE, PAUSE_S = (64, 256), 512, 3, 0.05
RUN_PATH = "/api/method/huf.ai.agent_integration.run_agent_sync"
LOOK = {
	"types": "Custom Function",
	"function_path": "huf.tests.benchmarks.floor.look",
	"effect": "read",
	"description": "Looks.",
}


class Site:
	"""A running server whose site has an agent with the tool `look`."""

	def __init__(self, base_url: str, command_prefix: tuple[str, ...] = ()):
		self.home = Path(tempfile.mkdtemp(prefix="huf-bench-"))
		self.port = find_free_port()
		command_prefix = tuple(each.replace("HOME", str(self.home)) for each in command_prefix)
		self.server = Server(self.home, self.port, command_prefix, HUF_ADMIN_PASSWORD=PASSWORD)
		cookie = self.server.login(PASSWORD)
		self.headers = {"Cookie": cookie, "X-Frappe-CSRF-Token": self.server.csrf_token(cookie)}
		self.pool = HTTPConnectionPool("127.0.0.1", self.port, maxsize=max(AT_ONCE), timeout=120)
		self.make("AI Provider", provide_name="Quick", api_key=SECRET, api_base=base_url)
		self.make("AI Model", model_name="quick", provider="Quick", own_prices=1)
		self.make("Agent Tool Function", tool_name="look", **LOOK)
		self.make(
			"Agent", agent_name="Bench", model="quick", max_iterations=20, agent_tool=[{"tool": "look"}]
		)

	def restart(self) -> None:
		"""Restart the server; the site has already stored how to call the model."""
		self.server.stop()
		self.server = Server(self.home, self.port)

	def make(self, doctype: str, **values) -> None:
		self.post(f"/api/resource/{quote(doctype)}", values)

	def post(self, path: str, values: dict) -> dict:
		answer = self.pool.request("POST", path, json=values, headers=self.headers)
		assert answer.status == 200, answer.data
		return answer.json()

	def run(self, prompt: str) -> None:
		"""Run the agent in a new conversation, so that earlier runs are not sent as history."""
		request = {"agent_name": "Bench", "prompt": prompt, "external_id": frappe.generate_hash(length=8)}
		result = self.post(RUN_PATH, request)["message"]
		assert result["success"], result

	def enqueue(self, prompt: str) -> None:
		self.post("/v1/responses", {"model": "Bench", "input": prompt, "background": True})

	def run_from(self, address: str, prompt: str) -> None:
		"""Run the agent over a new connection from the source address `address`."""
		connection = HTTPConnection("127.0.0.1", self.port, timeout=120, source_address=(address, 0))
		try:
			body = json.dumps({"agent_name": "Bench", "prompt": prompt})
			headers = {**self.headers, "Content-Type": "application/json"}
			connection.request("POST", RUN_PATH, body, headers)
			answer = connection.getresponse()
			text = answer.read()
			assert answer.status == 200, text[:300]
			assert json.loads(text)["message"]["success"], text[:300]
		finally:
			connection.close()

	def count_open(self) -> int:
		return self.count_runs(["Queued", "Started"])

	def count_runs(self, statuses: Sequence[str] = ("Success", "Failed", "Stopped", "Cancelled")) -> int:
		filters = {"status": ["in", list(statuses)]}
		query = {"doctype": "Agent Run", "filters": filters}
		return self.post("/api/method/frappe.client.get_count", query)["message"]


@dataclass(frozen=True)
class Many:
	"""Concurrent runs: runs a second, seconds of a run, and CPU milliseconds of the server for each run."""

	rate: float
	p50: float
	p99: float
	cpu_ms: float


def measure() -> None:
	with quick_model("look") as base_url:
		site = Site(base_url)
		try:
			by_rest, in_process, ratio = measure_overhead(site, base_url)
			print(f"{TURNS} tool turns and an answer: REST {by_rest:.1f} ms", end=", ")
			print(f"in process {in_process:.1f} ms, ratio {ratio:.2f} (aim 1.3)")
			for at_once in AT_ONCE:
				many = measure_many(site, at_once)
				print(f"  {at_once} at once: {many.rate:.0f} runs/s, p50 {many.p50:.2f} s", end=", ")
				print(
					f"p99 {many.p99:.2f} s, p99/p50 {many.p99 / many.p50:.2f}, {many.cpu_ms:.1f} ms CPU a run"
				)
			print(f"  queued: {measure_queued(site):.0f} runs/s with the default worker (aim 60)")
			print(f"  memory of the server's processes     {read_memory(site.server.process.pid):8.0f} MB")
		finally:
			site.server.stop()


def measure_overhead(site: Site, base_url: str) -> tuple[float, float, float]:
	"""Milliseconds by REST and in process, measured in turn, and the median of their ratios."""
	agent = make_own_agent(base_url)
	prompt = f"{TURNS} 0"
	pairs = [
		(clocked(lambda: site.run(prompt))[0], clocked(lambda: with_journal(agent, prompt))[0])
		for _ in range(ROUNDS + 5)
	][5:]
	by_rest, in_process = (statistics.median(side) for side in zip(*pairs, strict=True))
	return by_rest, in_process, statistics.median(ours / theirs for ours, theirs in pairs)


def make_own_agent(base_url: str, **tool) -> str:
	"""Make an agent on the site of this process, with the tool `look` or another."""
	values = {"tool_name": "look", **LOOK, **tool}
	name = frappe.db.exists("Agent Tool Function", values["tool_name"])
	name = name or make("Agent Tool Function", **values).name
	provider = make("AI Provider", provide_name=unique("Quick"), api_key=SECRET, api_base=base_url)
	model = make("AI Model", model_name=unique("quick"), provider=provider.name, own_prices=1).name
	return make_agent(model, (name,), max_iterations=20)


def measure_many(site: Site, at_once: int) -> Many:
	prompt, server = f"{TURNS_AT_ONCE} {PAUSE_S}", site.server.process.pid
	with ThreadPoolExecutor(at_once) as pool:
		list(pool.map(lambda _: site.run(prompt), range(at_once)))
		began, cpu_s = time.perf_counter(), read_cpu_s(server)
		seconds = sorted(pool.map(lambda _: clocked(lambda: site.run(prompt))[0] / 1000, range(RUNS)))
		elapsed, cpu_s = time.perf_counter() - began, read_cpu_s(server) - cpu_s
	p50, p99 = seconds[len(seconds) // 2], seconds[int(len(seconds) * 0.99)]
	return Many(RUNS / elapsed, p50, p99, cpu_s / RUNS * 1000)


def measure_queued(site: Site) -> float:
	"""Queued runs a second, from the first request to the end of the last run."""
	began = time.perf_counter()
	for _ in range(RUNS):
		site.enqueue(f"{TURNS_AT_ONCE} {PAUSE_S}")
	while site.count_open():
		time.sleep(0.2)
	return RUNS / (time.perf_counter() - began)


def list_processes(parent: int) -> list[int]:
	"""A process and its children."""
	listed = subprocess.run(["ps", "-eo", "pid,ppid"], capture_output=True, text=True, check=True)  # noqa: S607
	rows = [tuple(map(int, line.split())) for line in listed.stdout.splitlines()[1:]]
	return [pid for pid, ppid in rows if parent in (pid, ppid)]


def read_memory(parent: int) -> float:
	"""Resident megabytes of a process and its children; shared pages count once."""
	return sum(map(read_resident_mb, list_processes(parent)))


def read_resident_mb(pid: int | str) -> float:
	"""Megabytes of proportional set size: a page that n processes share counts as 1/n."""
	lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
	return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:"))


def count_threads(parent: int) -> int:
	return sum(map(read_status("Threads"), list_processes(parent)))


def read_status(name: str) -> Callable[[int], int]:
	"""Return a function that reads the number `name` from /proc/PID/status."""

	def read(pid: int) -> int:
		lines = Path(f"/proc/{pid}/status").read_text().splitlines()
		return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))

	return read


def read_cpu_s(parent: int) -> float:
	"""CPU seconds that a process and its children have used."""
	fields = [
		Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in list_processes(parent)
	]
	return sum(int(each[11]) + int(each[12]) for each in fields) / os.sysconf("SC_CLK_TCK")
