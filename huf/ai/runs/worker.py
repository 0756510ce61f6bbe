"""A worker that finds queued and abandoned runs in the database: `bench --site SITE huf-worker`.

It needs no job in Redis, and polls so often that a run whose worker was killed continues within 30 seconds.
It may run beside the workers of Frappe's queue: whichever takes the lease executes the run.
"""

import os
import random
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import frappe

from huf.ai.runs.queue import settle_lost, work_on
from huf.ai.storage import leases

THREADS = 8
"""Concurrent runs per worker process."""
POLL_S = 1.0
"""Interval between polls while idle."""
SETTLE_S = 5.0
"""Interval between settlements of lost workers' runs."""
REFUSED_S = 15.0
"""Delay before a run that could not be started is tried again: a stop holds it, or another worker has it."""

SPREAD = 2
"""A worker chooses at random among this many times the runs that it can start."""
RESTART_S = 0.5
"""Delay before a dead worker process is replaced."""


class RunWorker:
	"""Executes runs in threads until `stop`."""

	def __init__(self, site: str, sites_path: str = ".", threads: int = THREADS):
		self.site, self.sites_path, self.threads = site, sites_path, threads
		self.stopping, self.freed = threading.Event(), threading.Event()
		self.running: set[str] = set()
		self.refused: dict[str, float] = {}
		self.settles_at = 0.0
		self.parent = os.getppid()

	def work(self) -> None:
		"""Work until `stop` is called or the parent process is gone, and finish the runs in progress."""
		with ThreadPoolExecutor(self.threads, thread_name_prefix="huf-run") as pool:
			while not self.stopping.is_set() and os.getppid() == self.parent:
				self.freed.clear()
				begun = self.look(pool)
				if not begun or len(self.running) >= self.threads:
					self.freed.wait(POLL_S)

	def stop(self) -> None:
		self.stopping.set()
		self.freed.set()

	def look(self, pool: ThreadPoolExecutor) -> int:
		"""Start the runs that can start and return their number, also 0 if the database is unreachable."""
		try:
			self.open()
			found = self.find_runs()
		except Exception as error:  # the boundary around the database
			frappe.logger("huf").warning(f"huf-worker could not look for runs and will try again: {error!r}")
			return 0
		finally:
			frappe.destroy()
		for run in found:
			self.running.add(run)
			pool.submit(self.execute, run)
		return len(found)

	def find_runs(self) -> list[str]:
		now = time.monotonic()
		if now >= self.settles_at:
			self.settles_at = now + SETTLE_S
			settle_lost()
		free = self.threads - len(self.running)
		if free <= 0:
			return []
		self.refused = {run: until for run, until in list(self.refused.items()) if until > now}
		found = [run for run in leases.read_claimable_runs() if run not in self.running | self.refused.keys()]
		# Workers that poll at the same moment should not all try the same runs.
		first = found[: SPREAD * free]
		return random.sample(first, min(free, len(first)))

	def execute(self, run: str) -> None:
		try:
			self.open()
			if work_on(run) is None:
				self.refused[run] = time.monotonic() + REFUSED_S
		except Exception:  # the boundary around a run: its lease runs out, and it is tried again
			self.refused[run] = time.monotonic() + REFUSED_S
			frappe.logger("huf").exception(f"huf-worker could not execute {run}")
		finally:
			frappe.destroy()
			self.running.discard(run)
			self.freed.set()

	def open(self) -> None:
		frappe.init(self.site, sites_path=self.sites_path)
		frappe.connect()


def serve(site: str, processes: int, threads: int = THREADS) -> None:
	"""Keep worker processes running until SIGINT or SIGTERM, and replace those that die.

	It forks, so it must be called before threads start.
	"""
	children: set[int] = set()
	stopping = threading.Event()

	def stop(*_args) -> None:
		stopping.set()
		for child in children:
			with suppress(ProcessLookupError):
				os.kill(child, signal.SIGTERM)

	for number in (signal.SIGINT, signal.SIGTERM):
		signal.signal(number, stop)
	while not stopping.is_set():
		while len(children) < processes:
			children.add(fork_worker(site, threads))
		children.discard(os.wait()[0])
		stopping.wait(RESTART_S)
	for child in children:
		os.waitpid(child, 0)


def fork_worker(site: str, threads: int) -> int:
	"""Fork a worker, which shares the memory of loaded modules, and return its process ID."""
	if child := os.fork():
		return child
	try:
		worker = RunWorker(site, threads=threads)
		signal.signal(signal.SIGINT, signal.SIG_IGN)
		signal.signal(signal.SIGTERM, lambda *_: worker.stop())
		worker.work()
	finally:
		os._exit(0)
