"""Worker threads, which claim jobs in jobs.db, run them and store how each ended.

Any number of processes may work on a site. A job is claimed in one statement, so it never runs twice; jobs of
a process that died are marked failed, not repeated.
"""

import ctypes
import os
import pickle
import socket
import sqlite3
import threading
import time
import traceback
import uuid
from contextlib import contextmanager

from filelock import FileLock, Timeout
from frappe.utils import jobs_db
from frappe.utils.background_jobs import TIMEOUTS, JobTimeoutException, bell, execute_job

from huf.embedded.malloc import trim

POLL_SECONDS = 0.2
BEATS_PER_MINUTE = round(60 / POLL_SECONDS)
REST_SECONDS = 1.0
MAX_EVENTS = 1000
KEEP_SECONDS = {"finished": 600, "failed": 7 * 24 * 3600}


class Worker:
	"""Threads that run the jobs of one site. One of them takes from the "long" queue only jobs at its front.

	A live worker holds a file lock with its name. The operating system releases the lock when the process
	dies, so that other workers recognise its unfinished jobs.
	"""

	def __init__(self, site: str, sites_path: str = ".", threads: int = 16):
		self.site, self.sites_path = site, os.path.abspath(sites_path)
		self.folder = os.path.join(self.sites_path, site)
		self.file = os.path.join(self.folder, "jobs.db")
		self.name = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:6]}"
		self.lock = FileLock(self._lock_file(self.name), thread_local=False)
		self.stopping = threading.Event()
		self.running: dict[int, Run] = {}
		quick = [threading.Thread(target=self._loop, args=(("short", "default"), True), daemon=True)]
		rest = [
			threading.Thread(target=self._loop, args=(tuple(TIMEOUTS),), daemon=True)
			for _ in range(threads - 1)
		]
		self.threads = [*quick, *rest, threading.Thread(target=self._watch, daemon=True)]

	def _lock_file(self, name: str) -> str:
		os.makedirs(os.path.join(self.folder, "locks"), exist_ok=True)
		return os.path.join(self.folder, "locks", f"worker-{name}.lock")

	def start(self) -> "Worker":
		self.lock.acquire(timeout=0)
		self.fail_jobs_of_dead_workers()
		for thread in self.threads:
			thread.start()
		return self

	def stop(self, seconds: float = 1.0):
		"""Stop taking jobs, and wait this long for running ones. Jobs that still run afterwards are marked
		failed.
		"""
		self.stopping.set()
		bell.ring()
		deadline = time.monotonic() + seconds
		for thread in self.threads:
			thread.join(max(0, deadline - time.monotonic()))
		self._fail(self.name, "the server was stopped while this job ran")
		self.lock.release()
		_remove(self._lock_file(self.name))

	def fail_jobs_of_dead_workers(self):
		rows = self._db.execute(
			"SELECT DISTINCT worker FROM job WHERE status = 'started' AND worker != ?", (self.name,)
		)
		for row in rows:
			file = self._lock_file(row["worker"])
			try:
				with FileLock(file, timeout=0):
					self._fail(row["worker"], "the process that ran this job died")
			except Timeout:
				continue
			_remove(file)

	def _fail(self, worker: str, reason: str):
		self._db.execute(
			"UPDATE job SET status = 'failed', ended = ?, error = ? WHERE status = 'started' AND worker = ?",
			(time.time(), reason, worker),
		)

	@property
	def _db(self):
		return jobs_db.connect(self.file)

	def claim(self, queues: tuple[str, ...], any_front: bool = False):
		"""Claim a queued job, or None.

		Jobs at the front go first, then the queues in order. Among equals, the user whose last job began
		longest ago is served, so that users take turns. `any_front`: includes the front of every queue.
		"""
		order = " ".join(f"WHEN '{queue}' THEN {place}" for place, queue in enumerate(queues))
		rows = self._db.execute(
			f"""UPDATE job SET status = 'started', worker = ?, started = ? WHERE id = (
				SELECT min(id) FROM job WHERE {self._waiting(queues, any_front)}
				GROUP BY at_front, queue, user
				ORDER BY at_front DESC, CASE queue {order} ELSE {len(queues)} END,
					(SELECT max(started) FROM job AS earlier WHERE earlier.user = job.user), min(id)
				LIMIT 1) RETURNING *""",
			(self.name, time.time(), *queues),
		)
		return rows[0] if rows else None

	def _waiting(self, queues: tuple[str, ...], any_front: bool) -> str:
		in_queues = f"queue IN ({', '.join('?' * len(queues))})"
		return f"status = 'queued' AND ({in_queues}{' OR at_front' if any_front else ''})"

	def _loop(self, queues: tuple[str, ...], any_front: bool = False):
		while not self.stopping.is_set():
			with self.surviving():
				seen = bell.count
				if not self._has_work(queues, any_front):
					bell.wait(seen)
				elif row := self.claim(queues, any_front):
					self.run(row)

	@contextmanager
	def surviving(self):
		"""Print an error, such as that of a full disk, and go on after a second: the thread must not end."""
		try:
			yield
		except BaseException:  # a timeout, too, may arrive after its job has ended
			traceback.print_exc()
			self.stopping.wait(REST_SECONDS)

	def _has_work(self, queues: tuple[str, ...], any_front: bool = False) -> bool:
		"""A check without a write lock, so that idle workers do not contend for it."""
		query = f"SELECT 1 FROM job WHERE {self._waiting(queues, any_front)} LIMIT 1"
		return bool(self._db.execute(query, queues))

	def run(self, row):
		"""Run a claimed job and store how it ended."""
		status, error = self.execute(row)
		self.running.pop(row["id"], None)
		query = "UPDATE job SET status = ?, error = ?, ended = ? WHERE id = ? AND status = 'started'"
		values = (status, error, time.time(), row["id"])
		while True:
			try:
				self._db.execute(query, values)
				return
			except sqlite3.Error:
				# Left as it is, the job would count as running until the process ends.
				if self.stopping.wait(REST_SECONDS):
					raise

	def execute(self, row) -> tuple[str, str | None]:
		"""(status, error) of a job."""
		run = self.running[row["id"]] = Run(row["timeout"])
		try:
			try:
				method, kwargs = pickle.loads(row["call"])  # noqa: S301 (only this site writes jobs.db)
				execute_job(self.site, self.sites_path, method, row["method"], kwargs, row["user"])
			finally:
				run.close()
		except BaseException:  # also sys.exit() and the interrupt: a job must not end its worker
			return "failed", traceback.format_exc()
		return "finished", None

	def _watch(self):
		"""Every POLL_SECONDS: wake idle threads for jobs of other processes, interrupt jobs over their time.

		Once a minute: drop old rows, look for dead workers, give free memory back.
		"""
		beat = 0
		while not self.stopping.wait(POLL_SECONDS):
			beat += 1
			for run in list(self.running.values()):
				run.interrupt_if_late()
			with self.surviving():
				if self._has_work(tuple(TIMEOUTS)):
					bell.ring()
				if beat % BEATS_PER_MINUTE == 0:
					self._drop_old_rows()
					self.fail_jobs_of_dead_workers()
					trim()

	def _drop_old_rows(self):
		for status, seconds in KEEP_SECONDS.items():
			query = "DELETE FROM job WHERE status = ? AND ended < ?"
			self._db.execute(query, (status, time.time() - seconds))
		# Without a server nobody takes events for browsers.
		self._db.execute("DELETE FROM outbox WHERE id < (SELECT max(id) FROM outbox) - ?", (MAX_EVENTS,))


class Run:
	"""One job in one thread, with its deadline.

	Python offers no way to stop a thread inside a blocking call: the exception arrives with the next
	bytecode.
	"""

	def __init__(self, timeout: float):
		self.thread, self.deadline = threading.get_ident(), time.monotonic() + timeout
		self.guard, self.open = threading.Lock(), True

	def close(self):
		"""Stop interrupting the thread."""
		with self.guard:
			self.open = False

	def interrupt_if_late(self):
		with self.guard:
			if self.open and time.monotonic() > self.deadline:
				self.open = False
				thread, error = ctypes.c_ulong(self.thread), ctypes.py_object(JobTimeoutException)
				ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, error)


def _remove(file: str):
	try:
		os.remove(file)
	except OSError:  # on Windows while another process tries the lock; a left-over empty file does no harm
		pass
