"""A worker that finds queued and abandoned runs in the database: `bench --site SITE huf-worker`.

It needs no job in Redis: it polls the database, so that a run whose worker was killed continues soon after
the end of its lease.
It may run beside the workers of Frappe's queue: whichever takes the lease executes the run.
"""

import os
import signal
import threading
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import frappe

from huf.ai.core.database_connections import let_updates_wait
from huf.ai.runs.queue import claim_at_once, settle_lost, work_with
from huf.ai.storage.leases import Lease, read_claimable_runs
from huf.ai.storage.waiting_runs import WaitingRuns, waiting_runs

THREADS = 8
"""Concurrent runs per worker process."""
POLL_S = 1.0
"""Interval between polls while idle."""
RENEW_S = 0.5
"""Interval between renewals of the leases of runs that wait for a model."""
SETTLE_S = 5.0
"""Interval between settlements of lost workers' runs."""
RESTART_S = 0.5
"""Delay before a dead worker process is replaced."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class RunWorker:
	"""Executes runs in threads until `stop` is called.

	`threads` of them may work at a time, and `waiting` more may wait for a model without a connection. While
	the worker stops, those that work go on; those that wait go back to the queue.
	"""

	def __init__(self, site: str, sites_path: str = ".", threads: int = THREADS, waiting: int = 0):
		self.site, self.sites_path, self.max_runs = site, sites_path, threads + waiting
		self.stopping, self.stopped, self.freed = threading.Event(), threading.Event(), threading.Event()
		self.waiting = WaitingRuns(threads, self.poll_again)
		self.gives_up_connections = waiting > 0
		self.running: set[str] = set()
		self.has_backlog = False
		self.settles_at = 0.0
		self.parent = os.getppid()

	def work(self) -> None:
		"""Work until `stop` is called or the parent process is gone, and finish the runs in progress."""
		renewing = threading.Thread(target=self.keep_leases, name="huf-leases", daemon=True)
		renewing.start()
		with ThreadPoolExecutor(self.max_runs, thread_name_prefix="huf-run") as pool:
			while not self.stopping.is_set() and os.getppid() == self.parent:
				self.freed.clear()
				if not self.poll(pool):
					self.freed.wait(POLL_S)
			self.stop()
		self.stopped.set()
		renewing.join()

	def stop(self) -> None:
		self.stopping.set()
		self.freed.set()

	def keep_leases(self) -> None:
		"""Renew the leases of runs that wait, and release them while the worker stops."""
		while not self.stopped.wait(RENEW_S):
			if not self.waiting.waits:
				continue
			try:
				self.open()
				if self.stopping.is_set():
					self.waiting.release()
				self.waiting.renew()
			except Exception as error:  # the boundary around the database
				frappe.logger("huf").warning(f"huf-worker could not renew leases: {error!r}")
			finally:
				frappe.destroy()

	def poll(self, pool: ThreadPoolExecutor) -> int:
		"""Start the runs that can start and return their number, also if the database fails meanwhile."""
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
		"""Leases of runs, each with a slot in which it is to begin."""
		for run in read_claimable_runs() if self.has_room() else ():
			self.has_backlog = self.has_room()
			if not (self.has_backlog and self.waiting.slots.acquire(blocking=False)):
				return
			lease = None
			try:
				lease = claim_at_once(run) if run not in self.running else None
			finally:
				if lease is None:
					self.waiting.slots.release()
			if lease:
				yield lease
		self.has_backlog = False

	def poll_again(self) -> None:
		"""Poll at once if the last poll found more runs than free slots."""
		if self.has_backlog:
			self.freed.set()

	def has_room(self) -> bool:
		return len(self.running) < self.max_runs

	def execute(self, lease: Lease) -> None:
		try:
			self.open()
			waiting_runs.set(self.waiting if self.gives_up_connections else None)
			work_with(lease)
		except Exception:  # the boundary around a run: its lease runs out, and it is tried again
			frappe.logger("huf").exception(f"huf-worker could not execute {lease.run}")
		finally:
			frappe.destroy()
			self.running.discard(lease.run)
			self.waiting.free_slot()
			self.freed.set()

	def open(self) -> None:
		frappe.init(self.site, sites_path=self.sites_path)
		frappe.connect()
		let_updates_wait()


def serve(site: str, processes: int, threads: int = THREADS, waiting: int = 0) -> None:
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

	for number in SIGNALS:
		signal.signal(number, stop)
	while not stopping.is_set():
		while len(children) < processes and not stopping.is_set():
			children.add(fork_worker(site, threads, waiting))
		if not stopping.is_set():
			children.discard(os.wait()[0])
			stopping.wait(RESTART_S)
	# One may have been forked while the signal came.
	stop()
	for child in children:
		os.waitpid(child, 0)


def fork_worker(site: str, threads: int, waiting: int) -> int:
	"""Fork a worker, which shares the memory of loaded modules, and return its process ID."""
	# Until the worker has handlers of its own: the inherited ones would end its siblings.
	signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
	if child := os.fork():
		signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
		return child
	try:
		worker = RunWorker(site, threads=threads, waiting=waiting)
		signal.signal(signal.SIGINT, signal.SIG_IGN)
		signal.signal(signal.SIGTERM, lambda *_: worker.stop())
		signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
		worker.work()
	except Exception:  # the boundary around a worker process
		traceback.print_exc()
		os._exit(1)
	finally:
		os._exit(0)
