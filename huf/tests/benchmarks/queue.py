"""The queue: runs per second with four workers, and waiting times while one user has 2,000 deliveries."""

import json
import os
import secrets
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import frappe

from huf.ai.core.types import AgentRequest
from huf.ai.runs.queue import enqueue_run
from huf.tests.benchmarks.floor import clocked
from huf.tests.benchmarks.http import Site
from huf.tests.benchmarks.quick_model import quick_model
from huf.tests.factories import SECRET, make, make_agent, unique

WORKERS, MODEL_S = 4, 0.05
RUNS, WARM_UP = 400, 40
DELIVERIES, SAMPLES = 2_000, 10
PROMPT = f"0 {MODEL_S}"
"""For `quick_model`: an answer without tool calls, after MODEL_S. A stream needs at least one chunk."""
AIM_RUNS_PER_S, AIM_WAIT_MS = 40, 1_000
CHAT, RESPONSES = "/api/method/huf.api.chat.stream", "/v1/responses"


def measure() -> None:
	with quick_model() as base_url:
		print_throughput(base_url)
		site = Site(base_url)
		try:
			print_waits(site)
		finally:
			site.server.stop()
			shutil.rmtree(site.home, ignore_errors=True)


def print_throughput(base_url: str) -> None:
	provider = make("AI Provider", provide_name=unique("Quick"), api_key=SECRET, api_base=base_url)
	agent = make_agent(
		make("AI Model", model_name=unique("quick"), provider=provider.name, own_prices=1).name
	)
	for _ in range(RUNS):
		# Separate conversations: runs of one conversation are serialized.
		enqueue_run(AgentRequest(agent, PROMPT, "Administrator", external_id=unique("queue")))
	frappe.db.commit()
	with workers() as process:
		wait_for(lambda: count_done(agent) >= WARM_UP)
		began, used, done = time.perf_counter(), read_cpu(process), count_done(agent)
		wait_for(lambda: count_done(agent) == RUNS)
		rate, cpu = (RUNS - done) / (time.perf_counter() - began), (read_cpu(process) - used) / (RUNS - done)
	print(f"runs of one step, a model of {MODEL_S * 1000:.0f} ms, {WORKERS} workers: ", end="")
	print(
		f"{rate:.0f} runs/s (aim {AIM_RUNS_PER_S}), {cpu * 1000:.0f} ms of the worker's processor time each"
	)


def read_cpu(process: subprocess.Popen) -> float:
	"""CPU seconds that a process has used (Linux only)."""
	user, system = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
	return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@contextmanager
def workers() -> Iterator[subprocess.Popen]:
	"""Start `huf worker` with WORKERS threads for runs, and one that does not take runs."""
	home = Path(frappe.local.sites_path).parent
	command = [
		sys.executable,
		"-m",
		"huf.embedded",
		"--home",
		str(home),
		"worker",
		"--threads",
		str(WORKERS + 1),
	]
	process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
	try:
		yield process
	finally:
		process.terminate()
		process.wait(20)


def count_done(agent: str) -> int:
	frappe.db.rollback()
	return frappe.db.count("Agent Run", {"agent": agent, "status": "Success"})


def wait_for(is_true: Callable[[], bool], seconds: float = 120, pause: float = 0.02) -> None:
	deadline = time.monotonic() + seconds
	while not is_true():
		assert time.monotonic() < deadline, "nothing happens any more"
		time.sleep(pause)


def print_waits(site: Site) -> None:
	ann, bob = add_user(site, "ann"), add_user(site, "bob")
	idle = [measure_chat(site, bob) for _ in range(SAMPLES + 1)][1:]
	deliver(site, "ann@example.com")
	before = count_waiting(site)
	chats = [measure_chat(site, bob) for _ in range(SAMPLES)]
	queued = [measure_queued(site, bob) for _ in range(SAMPLES)]
	own = measure_queued(site, ann)
	after = count_waiting(site)
	print(f"another user beside {DELIVERIES} deliveries, of which {before} and then {after} were waiting:")
	print(
		f"  a chat, idle                 p50 {statistics.median(idle):6.0f} ms, at most {max(idle):6.0f} ms"
	)
	for title, waits in (("a chat", chats), ("a queued run", queued)):
		p50 = statistics.median(waits)
		print(f"  {title:28} p50 {p50:6.0f} ms, at most {max(waits):6.0f} ms (aim {AIM_WAIT_MS} ms)")
	print(f"  a queued run of the same user     {own:10.0f} ms")


def count_waiting(site: Site) -> int:
	"""The number of deliveries without a run and of open runs."""
	query = {"doctype": "Agent Trigger Event", "filters": {"status": "Queued"}}
	return site.post("/api/method/frappe.client.get_count", query)["message"] + site.count_open()


def add_user(site: Site, name: str) -> dict:
	"""Make a Huf User; returns headers that authenticate as this user."""
	email, key, secret = f"{name}@example.com", secrets.token_hex(8), secrets.token_hex(8)
	site.make("User", email=email, first_name=name, roles=[{"role": "Huf User"}], send_welcome_email=0)
	body = {"api_key": key, "api_secret": secret}
	answer = site.pool.request("PUT", f"/api/resource/User/{email}", json=body, headers=site.headers)
	assert answer.status == 200, answer.data
	return {"Authorization": f"token {key}:{secret}"}


def deliver(site: Site, run_as: str) -> None:
	webhook = {"webhook_slug": "load", "webhook_secret": SECRET, "prompt": PROMPT}
	site.make(
		"Agent Trigger", trigger_name="Load", agent="Bench", trigger_type="Webhook", run_as=run_as, **webhook
	)
	headers = {"X-Huf-Secret": SECRET}

	def send(number: int) -> None:
		answer = site.pool.request("POST", "/agent/hook/load", json={"number": number}, headers=headers)
		assert answer.status == 202, answer.data

	with ThreadPoolExecutor(8) as pool:
		duration_ms, _sent = clocked(lambda: list(pool.map(send, range(DELIVERIES))))
	print(f"{DELIVERIES} deliveries were taken in {duration_ms / 1000:.1f} s")


def measure_chat(site: Site, headers: dict) -> float:
	"""Milliseconds until a message in a new conversation is answered."""
	began = time.perf_counter()
	values = {"agent": "Bench", "prompt": f"1 {MODEL_S}"}
	answer = site.pool.request("POST", CHAT, json=values, headers=headers)
	assert '"status": "Success"' in answer.data.decode(), answer.data
	return (time.perf_counter() - began) * 1000


def measure_queued(site: Site, headers: dict) -> float:
	"""Milliseconds until a run in the background has ended."""
	began = time.perf_counter()
	values = {"model": "Bench", "input": PROMPT, "background": True}
	run = site.pool.request("POST", RESPONSES, json=values, headers=headers).json()
	path = f"{RESPONSES}/{run['id']}"
	wait_for(
		lambda: json.loads(site.pool.request("GET", path, headers=headers).data)["status"] == "completed"
	)
	return (time.perf_counter() - began) * 1000
