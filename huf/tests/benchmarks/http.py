"""Runs over HTTP: beside the same run in process, many at once, and queued, on a started `huf start`."""

import statistics
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

from urllib3 import HTTPConnectionPool

from huf.ai.runs.entry import run_agent_sync
from huf.embedded.tests.server_test import Server, free_port
from huf.tests.benchmarks.floor import TURNS, clocked
from huf.tests.benchmarks.quick_model import quick_model
from huf.tests.factories import SECRET, make, make_agent, unique

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
	"""A started site with an agent that calls the tool `look`."""

	def __init__(self, base_url: str, within: tuple[str, ...] = ()):
		self.home = Path(tempfile.mkdtemp(prefix="huf-bench-"))
		port = free_port()
		within = tuple(each.replace("HOME", str(self.home)) for each in within)
		self.server = Server(self.home, port, within, HUF_ADMIN_PASSWORD=PASSWORD)
		cookie = self.server.login(PASSWORD)
		self.headers = {"Cookie": cookie, "X-Frappe-CSRF-Token": self.server.csrf_token(cookie)}
		self.pool = HTTPConnectionPool("127.0.0.1", port, maxsize=max(AT_ONCE), timeout=120)
		self.make("AI Provider", provide_name="Quick", api_key=SECRET, api_base=base_url)
		self.make("AI Model", model_name="quick", provider="Quick", own_prices=1)
		self.make("Agent Tool Function", tool_name="look", **LOOK)
		self.make(
			"Agent", agent_name="Bench", model="quick", max_iterations=20, agent_tool=[{"tool": "look"}]
		)

	def make(self, doctype: str, **values) -> None:
		self.post(f"/api/resource/{quote(doctype)}", values)

	def post(self, path: str, values: dict) -> dict:
		answer = self.pool.request("POST", path, json=values, headers=self.headers)
		assert answer.status == 200, answer.data
		return answer.json()

	def run(self, prompt: str) -> None:
		result = self.post(RUN_PATH, {"agent_name": "Bench", "prompt": prompt})["message"]
		assert result["success"], result

	def enqueue(self, prompt: str) -> None:
		self.post("/v1/responses", {"model": "Bench", "input": prompt, "background": True})

	def count_open(self) -> int:
		filters = {"status": ["in", ["Queued", "Started"]]}
		counted = {"doctype": "Agent Run", "filters": filters}
		return self.post("/api/method/frappe.client.get_count", counted)["message"]


def measure() -> None:
	with quick_model("look") as base_url:
		site = Site(base_url)
		try:
			print_overhead(site, base_url)
			for at_once in AT_ONCE:
				print_many(site, at_once)
			print_queued(site)
			print(f"  memory of the server's processes     {read_memory(site.server.process.pid):8.0f} MB")
		finally:
			site.server.stop()


def print_overhead(site: Site, base_url: str) -> None:
	tool = make("Agent Tool Function", tool_name="look", **LOOK).name
	provider = make("AI Provider", provide_name=unique("Quick"), api_key=SECRET, api_base=base_url)
	model = make("AI Model", model_name=unique("quick"), provider=provider.name, own_prices=1).name
	agent = make_agent(model, (tool,), max_iterations=20)
	prompt = f"{TURNS} 0"
	pairs = [
		(clocked(lambda: site.run(prompt))[0], clocked(lambda: run_agent_sync(agent, prompt))[0])
		for _ in range(ROUNDS + 5)
	][5:]
	by_rest, in_process = (statistics.median(side) for side in zip(*pairs, strict=True))
	ratio = statistics.median(ours / theirs for ours, theirs in pairs)
	print(
		f"{TURNS} tool turns and an answer: REST {by_rest:.1f} ms, in process {in_process:.1f} ms", end=", "
	)
	print(f"ratio {ratio:.2f} (aim 1.3)")


def print_many(site: Site, at_once: int) -> None:
	prompt = f"{TURNS_AT_ONCE} {PAUSE_S}"
	seconds: list[float] = []
	with ThreadPoolExecutor(at_once) as pool:
		list(pool.map(lambda _: site.run(prompt), range(at_once)))
		began = time.perf_counter()
		seconds += pool.map(lambda _: clocked(lambda: site.run(prompt))[0] / 1000, range(RUNS))
		whole = time.perf_counter() - began
	seconds.sort()
	p50, p99 = seconds[len(seconds) // 2], seconds[int(len(seconds) * 0.99)]
	print(f"  {at_once} at once: {RUNS / whole:.0f} runs/s, p50 {p50:.2f} s, p99 {p99:.2f} s", end=", ")
	print(f"p99/p50 {p99 / p50:.2f}")


def print_queued(site: Site) -> None:
	began = time.perf_counter()
	for _ in range(RUNS):
		site.enqueue(f"{TURNS_AT_ONCE} {PAUSE_S}")
	while site.count_open():
		time.sleep(0.2)
	print(f"  queued: {RUNS / (time.perf_counter() - began):.0f} runs/s with the default worker (aim 60)")


def read_memory(parent: int) -> float:
	"""Resident megabytes of a process and its children."""
	listed = subprocess.run(["ps", "-eo", "pid,ppid,rss"], capture_output=True, text=True, check=True)  # noqa: S607
	rows = [tuple(map(int, line.split())) for line in listed.stdout.splitlines()[1:]]
	return sum(rss for pid, ppid, rss in rows if parent in (pid, ppid)) / 1024
