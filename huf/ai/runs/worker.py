"""A worker that finds queued and abandoned runs in the database: `bench --site SITE huf-worker`.

It needs no job in Redis, and polls so often that a run whose worker was killed continues within 30 seconds.
It may run beside the workers of Frappe's queue: whichever takes the lease executes the run.
"""

import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import frappe

from huf.ai.runs.queue import claim_at_once, settle_lost, work_with
from huf.ai.storage.leases import Lease, read_claimable_runs

THREADS = 8
"""Concurrent runs per worker process."""
POLL_S = 1.0
"""Interval between polls while idle."""
SETTLE_S = 5.0
"""How often it settles what lost workers have left."""
RESTART_S = 0.5
"""Delay before a dead worker process is replaced."""


class RunWorker:
	"""Executes runs in threads until `stop`."""

	def __init__(self, site: str, sites_path: str = ".", threads: int = THREADS):
		self.site, self.sites_path, self.threads = site, sites_path, threads
		self.stopping, self.freed = threading.Event(), threading.Event()
		self.running: set[str] = set()
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
		"""Start the runs that can start, and return how many there were until the database failed."""
		begun = 0
		try:
			self.open()
			self.settle()
			for lease in self.claim_runs():
				self.running.add(lease.run)
				pool.submit(self.execute, lease)
				begun += 1
		except Exception as error:  # the boundary around the database
			frappe.logger("huf").warning(f"huf-worker could not look for runs and will try again: {error!r}")
		finally:
			frappe.destroy()
		return begun

	def settle(self) -> None:
		now = time.monotonic()
		if now >= self.settles_at:
			self.settles_at = now + SETTLE_S
			settle_lost()

	def claim_runs(self) -> Iterator[Lease]:
		if len(self.running) < self.threads:
			for run in read_claimable_runs():
				if run not in self.running and (lease := claim_at_once(run)):
					yield lease
				if len(self.running) >= self.threads:
					return

	def execute(self, lease: Lease) -> None:
		try:
			self.open()
			work_with(lease)
		except Exception:  # the boundary around a run: its lease runs out, and it is tried again
			frappe.logger("huf").exception(f"huf-worker could not execute {lease.run}")
		finally:
			frappe.destroy()
			self.running.discard(lease.run)
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
