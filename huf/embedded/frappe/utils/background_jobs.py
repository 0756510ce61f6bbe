"""Background jobs: `enqueue` writes a row to jobs.db, and a worker thread of any process runs it
(job_worker.py).

A job runs as the user who enqueued it, on a separate connection. It commits at its end; after an exception it
rolls back and writes an Error Log. It never runs twice.
"""

import pickle
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import frappe
from frappe.site_local import opened
from frappe.utils import jobs_db
from frappe.utils.error import try_to_log_error

TIMEOUTS = {"short": 300, "default": 300, "long": 1500}


class JobStatus(str, Enum):
	QUEUED = "queued"
	STARTED = "started"
	FINISHED = "finished"
	FAILED = "failed"


class JobTimeoutException(Exception):
	"""The job ran longer than its timeout."""


@dataclass(frozen=True)
class Job:
	"""What `enqueue` returns: `id` is the caller's job_id or a random one."""

	id: str


def enqueue(
	method: str | Callable,
	queue: str = "default",
	timeout: float | None = None,
	event=None,
	is_async: bool = True,
	job_name: str | None = None,
	now: bool = False,
	enqueue_after_commit: bool = False,
	*,
	on_success=None,
	on_failure=None,
	at_front: bool = False,
	job_id: str | None = None,
	deduplicate: bool = False,
	**kwargs,
) -> Job | None:
	"""Run `method(**kwargs)` in a worker, as the current user.

	With `deduplicate`, nothing is added while a job with that `job_id` is queued or running. `timeout` is in
	seconds. A job `at_front` is taken before all others. `event` is ignored; callbacks are not supported.
	"""
	if on_success or on_failure:
		raise NotImplementedError("enqueue(on_success, on_failure) is not part of embedded mode")
	if deduplicate and not job_id:
		frappe.throw(frappe._("`job_id` paramater is required for deduplication."))
	if now or not is_async:
		return frappe.call(method, **kwargs)
	if queue not in TIMEOUTS:
		frappe.throw(frappe._("Queue should be one of {0}").format(", ".join(TIMEOUTS)))
	waiting = get_queue(queue)
	row = {
		"job_id": job_id or str(uuid.uuid4()),
		"queue": queue,
		"method": job_name or _name_of(method),
		"call": pickle.dumps((method, kwargs)),
		"user": frappe.session.user,
		"timeout": timeout or TIMEOUTS[queue],
		"deduplicate": bool(deduplicate),
		"at_front": bool(at_front),
	}
	if enqueue_after_commit:
		frappe.db.after_commit.add(lambda: waiting.enqueue_call(row))
		return None
	return waiting.enqueue_call(row)


class Queue:
	"""The queue of a site. Stores the file's path, because it is also used after the site's context has
	ended.
	"""

	def __init__(self):
		self.file = jobs_db.path()

	def enqueue_call(self, row: dict) -> Job | None:
		added = jobs_db.connect(self.file).change(
			"""INSERT INTO job (job_id, queue, method, call, user, timeout, at_front, status, created)
			SELECT :job_id, :queue, :method, :call, :user, :timeout, :at_front, 'queued', :now
			WHERE NOT (:deduplicate AND EXISTS
				(SELECT 1 FROM job WHERE job_id = :job_id AND status IN ('queued', 'started')))""",
			{**row, "now": time.time()},
		)
		if not added:
			return None
		bell.ring()
		return Job(row["job_id"])


def get_queue(qtype: str, is_async: bool = True) -> Queue:
	return Queue()


def _name_of(method: str | Callable) -> str:
	return method if isinstance(method, str) else f"{method.__module__}.{method.__qualname__}"


def is_job_enqueued(job_id: str) -> bool:
	"""Whether a job with this ID is queued or running."""
	return get_job_status(job_id) in (JobStatus.QUEUED, JobStatus.STARTED)


def get_job_status(job_id: str) -> JobStatus | None:
	"""The status of the newest job with this ID, or None."""
	query = "SELECT status FROM job WHERE job_id = ? ORDER BY id DESC LIMIT 1"
	rows = jobs_db.connect().execute(query, (job_id,))
	return JobStatus(rows[0]["status"]) if rows else None


class Bell:
	"""Wakes the idle threads of this process's workers, which look for jobs of other processes themselves."""

	def __init__(self):
		self.changed = threading.Condition()
		self.count = 0

	def ring(self):
		with self.changed:
			self.count += 1
			self.changed.notify_all()

	def wait(self, seen: int):
		"""Wait for a ring after number `seen`."""
		with self.changed:
			while self.count == seen:
				self.changed.wait()


bell = Bell()


def execute_job(site, sites_path, method, name: str, kwargs: dict, user: str):
	"""Run `method(**kwargs)` on the site as `user`, on a separate connection. Re-raises its exceptions."""
	with opened(site, sites_path):
		frappe.set_user(user)
		frappe.local.job = frappe._dict(site=site, method=name, kwargs=kwargs, user=user)
		try:
			result = frappe.call(method, **kwargs)
			frappe.db.commit()
			return result
		except BaseException:  # re-raised: a job that calls sys.exit() is logged as well
			try_to_log_error(name)
			raise
