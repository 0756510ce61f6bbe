"""Background jobs: transactions, users, errors, order, deduplication, timeouts and dead workers."""

import sqlite3
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch

import frappe
from frappe.utils import jobs_db
from frappe.utils.background_jobs import enqueue, get_job_status, is_job_enqueued
from frappe.utils.job_worker import Run, Worker

from huf.embedded.site import SITE
from huf.embedded.tests import samples
from huf.embedded.tests.sites import SiteTestCase, isolated
from huf.tests.forks import FORKS

PATH = "huf.embedded.tests.samples"
ADD_ROW = "INSERT INTO outbox (event, message, room) VALUES ('none', '{}', 'nobody')"


class TestJobs(SiteTestCase):
	def setUp(self):
		super().setUp()
		samples.SEEN.clear()
		jobs_db.connect().execute("DELETE FROM job")
		self.worker = Worker(SITE, self.sites_path, threads=2)

	def run_all(self):
		"""Run all queued jobs in this thread."""
		while row := self.worker.claim(("short", "default", "long")):
			isolated(self.worker.run, row)

	def rows(self):
		return jobs_db.connect().execute("SELECT * FROM job ORDER BY id")

	def test_worker_threads_survive_database_errors(self):
		worker = Worker(SITE, self.sites_path, threads=2)
		failing = iter([sqlite3.OperationalError("disk I/O error")] * 4)

		def has_work(*_args):
			for error in failing:
				raise error
			return Worker._has_work(worker, *_args)

		with patch.object(worker, "_has_work", has_work), patch("frappe.utils.job_worker.REST_SECONDS", 0.01):
			worker.start()
			enqueue(f"{PATH}.see", number=1)
			deadline = time.monotonic() + 20
			while not samples.SEEN and time.monotonic() < deadline:
				time.sleep(0.05)
			worker.stop()
		self.assertEqual([seen["number"] for seen in samples.SEEN], [1])

	def test_outbox_without_a_server_keeps_only_the_newest_events(self):
		for _ in range(30):
			jobs_db.connect().change(ADD_ROW)
		with patch("frappe.utils.job_worker.MAX_EVENTS", 10):
			self.worker._drop_old_rows()
		self.assertLessEqual(jobs_db.connect().execute("SELECT count(*) FROM outbox")[0][0], 11)

	def test_threads_share_one_connection(self):
		file = jobs_db.path()
		with ThreadPoolExecutor(20) as pool:
			counts = pool.map(lambda _: jobs_db.connect(file).change(ADD_ROW), range(100))
			self.assertEqual(sum(counts), 100)
			connections = set(pool.map(lambda _: jobs_db.connect(file), range(100)))
		self.assertEqual(len(connections), 1)

	def test_a_job_does_not_see_rows_its_caller_has_not_committed(self):
		before = frappe.db.count("Note")
		frappe.get_doc({"doctype": "Note", "title": "not committed"}).insert()
		enqueue(f"{PATH}.see")
		self.run_all()
		self.assertEqual(samples.SEEN[0]["notes"], before)

	def test_rollback_discards_only_jobs_enqueued_after_commit(self):
		enqueue(f"{PATH}.see", number=1)
		enqueue(f"{PATH}.see", number=2, enqueue_after_commit=True)
		frappe.db.rollback()
		self.run_all()
		self.assertEqual([seen["number"] for seen in samples.SEEN], [1])

	def test_job_enqueued_after_commit_is_stored_by_the_commit(self):
		enqueue(samples.see, enqueue_after_commit=True)
		self.assertEqual(self.rows(), [])
		frappe.db.commit()
		self.run_all()
		self.assertEqual(len(samples.SEEN), 1)

	def test_a_job_runs_as_the_user_who_enqueued_it(self):
		frappe.set_user(self.make_user("worker@example.com"))
		enqueue(f"{PATH}.see")
		self.run_all()
		self.assertEqual(samples.SEEN[0]["user"], "worker@example.com")
		self.assertEqual(frappe.session.user, "worker@example.com")

	def test_a_job_commits_at_its_end(self):
		enqueue(f"{PATH}.write_note", title="by a job")
		self.run_all()
		self.assertTrue(frappe.db.exists("Note", {"title": "by a job"}))

	def test_a_failing_job_rolls_back_and_leaves_an_error_log(self):
		enqueue(f"{PATH}.write_note_and_fail", title="ghost")
		self.run_all()
		self.assertFalse(frappe.db.exists("Note", {"title": "ghost"}))
		error = frappe.get_all(
			"Error Log", filters={"method": f"{PATH}.write_note_and_fail"}, pluck="error", order_by="name asc"
		)
		self.assertIn("this job fails", error[0])
		self.assertEqual(self.rows()[0]["status"], "failed")

	def test_the_same_job_id_is_not_queued_twice_when_deduplicated(self):
		self.assertIsNotNone(enqueue(f"{PATH}.see", job_id="once", deduplicate=True))
		self.assertIsNone(enqueue(f"{PATH}.see", job_id="once", deduplicate=True))
		self.assertTrue(is_job_enqueued("once"))
		self.run_all()
		self.assertFalse(is_job_enqueued("once"))
		self.assertIsNotNone(enqueue(f"{PATH}.see", job_id="once", deduplicate=True))

	def test_arguments_that_cannot_be_pickled_fail_at_the_caller(self):
		with self.assertRaises(Exception):  # noqa: B017 (pickle's class differs between versions)
			enqueue(f"{PATH}.see", lock=threading.Lock())

	def test_enqueue_with_now_runs_the_job_immediately(self):
		enqueue(f"{PATH}.see", now=True, number=3)
		self.assertEqual(samples.SEEN[0]["number"], 3)

	def test_an_unknown_queue_is_refused(self):
		with self.assertRaises(frappe.ValidationError):
			enqueue(f"{PATH}.see", queue="fast")

	def test_short_jobs_go_before_long_ones(self):
		enqueue(f"{PATH}.see", queue="long", number="long")
		enqueue(f"{PATH}.see", queue="short", number="short")
		self.run_all()
		self.assertEqual([seen["number"] for seen in samples.SEEN], ["short", "long"])

	def test_many_workers_take_each_job_once(self):
		for number in range(120):
			enqueue(f"{PATH}.see", number=number)

		def take_all(_):
			taken = []
			while row := self.worker.claim(("default",)):
				taken.append(row["id"])
			return taken

		with ThreadPoolExecutor(6) as pool:
			taken = [number for part in pool.map(take_all, range(6)) for number in part]
		self.assertEqual((len(taken), len(set(taken))), (120, 120))

	def test_idle_worker_starts_a_new_job_within_seconds(self):
		samples.EVENTS["rang"] = threading.Event()
		self.worker.start()
		self.addCleanup(self.worker.stop)
		started = time.perf_counter()
		enqueue(f"{PATH}.ring", event_name="rang")
		self.assertTrue(samples.EVENTS["rang"].wait(20))
		print(f"\nfrom enqueue to the job: {(time.perf_counter() - started) * 1000:.1f} ms")

	def test_a_job_over_its_time_is_interrupted(self):
		ended, runs, begun = [], [], threading.Event()

		def run():
			runs.append(Run(timeout=-1))
			try:
				begun.set()
				samples.never_end()
			except Exception as error:
				ended.append(type(error).__name__)

		thread = threading.Thread(target=run)
		thread.start()
		begun.wait(30)
		runs[0].interrupt_if_late()
		thread.join(30)
		self.assertEqual(ended, ["JobTimeoutException"])

	def test_a_job_whose_worker_was_killed_is_marked_failed_and_others_are_not(self):
		enqueue(f"{PATH}.never_end", job_id="killed")
		process = start_worker_process(self, self.sites_path)
		until = time.monotonic() + 60
		while get_job_status("killed") != "started":
			self.assertLess(time.monotonic(), until, "the worker takes no job")
			time.sleep(0.01)
		self.worker.lock.acquire()
		self.worker.fail_jobs_of_dead_workers()
		self.assertEqual(get_job_status("killed"), "started", "its worker lives")
		process.kill()
		process.join(5)
		self.worker.fail_jobs_of_dead_workers()
		self.assertEqual(get_job_status("killed"), "failed")
		self.assertIn("died", self.rows()[0]["error"])
		self.worker.lock.release()


def start_worker_process(test: unittest.TestCase, sites_path: str):
	process = FORKS.Process(target=work, args=(sites_path,))
	process.start()
	test.addCleanup(process.join, 5)
	test.addCleanup(process.kill)
	return process


def work(sites_path: str) -> None:
	Worker(SITE, sites_path, threads=2).start().stopping.wait()
