"""Huf compared with other agent frameworks: the same turns with the same model, each in its own process.

Install the others in a separate environment, because they pin other versions of the same libraries:

	python3 -m venv peers && peers/bin/pip install -r huf/tests/benchmarks/peers.txt
	HUF_PEERS_PYTHON=peers/bin/python scripts/bench peers

Huf stores a journal and a conversation for every run and checks permissions; the others store nothing.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import frappe

from huf.tests.benchmarks import peer
from huf.tests.benchmarks.floor import connect, with_journal
from huf.tests.benchmarks.http import Site, make_own_agent, read_memory
from huf.tests.benchmarks.quick_model import quick_model

ROUNDS, WARM_UPS, TURNS = 25, 3, 5
AT_ONCE = {64: 256, 256: 512}
"""{concurrent runs: runs per round}"""
SOME_TURNS, PAUSE_S, MANY_ROUNDS = 3, 0.05, 3
OURS = ("Huf in process", "Huf by REST")
NEEDS_HUF = ("aiohttp", "LiteLLM")
"""Peers that run with Huf's Python, which has their packages."""


@dataclass
class Measured:
	"""Wall time of all prompts, seconds of each, and resident memory afterwards."""

	wall_ms: float
	seconds: list[float]
	memory_mb: float


Answer = Callable[[list[str], int], Measured]
"""(prompts, concurrency) -> measurements"""


def measure() -> None:
	with quick_model("look") as base_url, open_contestants(base_url) as contestants:
		print_single(contestants)
		for at_once, count in AT_ONCE.items():
			print_many(contestants, at_once, count)


@contextmanager
def open_contestants(base_url: str, names: Iterable[str] = tuple(peer.PEERS)) -> Iterator[dict[str, Answer]]:
	processes = {name: start_peer(name, base_url) for name in names}
	site = Site(base_url)
	try:
		yield {
			OURS[0]: answer_in_process(base_url),
			OURS[1]: lambda prompts, at_once: answer_by_rest(site, prompts, at_once),
			**{name: answer_by_process(process) for name, process in processes.items() if process},
		}
	finally:
		site.server.stop()
		for process in filter(None, processes.values()):
			process.stdin.close()
			process.wait(5)


def start_peer(name: str, base_url: str) -> subprocess.Popen | None:
	python = sys.executable if name in NEEDS_HUF else os.environ.get("HUF_PEERS_PYTHON", sys.executable)
	began = time.perf_counter()
	process = subprocess.Popen(
		# -I, because modules in this folder would shadow modules of Python.
		[python, "-I", str(Path(peer.__file__)), name, base_url],
		stdin=subprocess.PIPE,
		stdout=subprocess.PIPE,
		stderr=subprocess.DEVNULL,
		text=True,
	)
	if not (ready := process.stdout.readline()):
		print(f"  {name:16} not installed: see the head of this benchmark")
		return None
	seconds, memory = time.perf_counter() - began, json.loads(ready)["memory_mb"]
	print(f"  {name:16} ready after {seconds:5.2f} s, {memory:4.0f} MB")
	return process


def answer_by_process(process: subprocess.Popen) -> Answer:
	def answer(prompts: list[str], at_once: int) -> Measured:
		process.stdin.write(json.dumps({"prompts": prompts, "at_once": at_once}) + "\n")
		process.stdin.flush()
		result = json.loads(process.stdout.readline())
		return Measured(result["wall_ms"], result["seconds"], result["memory_mb"])

	return answer


def answer_in_process(base_url: str) -> Answer:
	agent = make_own_agent(base_url)
	site_args = (frappe.local.site, frappe.local.sites_path)

	def answer(prompts: list[str], at_once: int) -> Measured:
		with ThreadPoolExecutor(at_once, initializer=connect, initargs=site_args) as pool:
			measured = answer_in_threads(pool, lambda prompt: with_journal(agent, prompt), prompts)
		return Measured(*measured, peer.memory_mb())

	return answer


def answer_by_rest(site: Site, prompts: list[str], at_once: int) -> Measured:
	with ThreadPoolExecutor(at_once) as pool:
		measured = answer_in_threads(pool, site.run, prompts)
	return Measured(*measured, read_memory(site.server.process.pid))


def answer_in_threads(pool: ThreadPoolExecutor, run: Callable[[str], None], prompts: list[str]) -> tuple:
	def timed(prompt: str) -> float:
		began = time.perf_counter()
		run(prompt)
		return time.perf_counter() - began

	began = time.perf_counter()
	seconds = list(pool.map(timed, prompts))
	return (time.perf_counter() - began) * 1000, seconds


def measure_single(contestants: dict[str, Answer]) -> list[dict[str, float]]:
	"""For each round, {contestant: milliseconds of one run}."""
	return [
		{name: answer([f"{TURNS} 0"], 1).seconds[0] * 1000 for name, answer in contestants.items()}
		for _ in range(WARM_UPS + ROUNDS)
	][WARM_UPS:]


def print_single(contestants: dict[str, Answer]) -> None:
	rounds = measure_single(contestants)
	print(f"\n{TURNS} tool turns and an answer, one at a time; ratios are medians of {ROUNDS} rounds")
	print(f"  {'':16}{'ms':>8}   (least to most)   {OURS[0]} / it   {OURS[1]} / it")
	for name in contestants:
		times = [each[name] for each in rounds]
		spread = f"({min(times):.1f} to {max(times):.1f})"
		ratios = [statistics.median(each[ours] / each[name] for each in rounds) for ours in OURS]
		print(f"  {name:16}{statistics.median(times):8.1f}   {spread:17}{ratios[0]:13.2f}{ratios[1]:17.2f}")


def print_many(contestants: dict[str, Answer], at_once: int, count: int) -> None:
	prompts = [f"{SOME_TURNS} {PAUSE_S}"] * count
	print(f"\n{at_once} at once, {SOME_TURNS} tool turns, a model of {PAUSE_S * 1000:.0f} ms, {count} runs")
	print(f"  {'':16}  runs/s (least to most)     p50 s  p99/p50      MB")
	found: dict[str, list[Measured]] = {name: [] for name in contestants}
	for _ in range(MANY_ROUNDS):
		for name, answer in contestants.items():
			found[name].append(answer(prompts, at_once))
	for name, measured in found.items():
		rates = sorted(count / each.wall_ms * 1000 for each in measured)
		seconds = sorted(second for each in measured for second in each.seconds)
		p50, p99 = seconds[len(seconds) // 2], seconds[int(len(seconds) * 0.99)]
		spread = f"({rates[0]:.0f} to {rates[-1]:.0f})"
		memory = measured[-1].memory_mb
		print(
			f"  {name:16}{statistics.median(rates):8.0f} {spread:17}{p50:8.2f}{p99 / p50:9.2f}{memory:8.0f}"
		)
