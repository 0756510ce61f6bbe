"""No trigger event is lost or run twice when one of the worker processes is killed."""

import time
from collections import Counter
from datetime import timedelta

import frappe
from frappe.utils.job_worker import Worker

from huf.ai.runs.queue import recover_runs
from huf.ai.triggers.runs import recover_events
from huf.embedded.site import SITE
from huf.embedded.tests.jobs_test import start_worker_process
from huf.embedded.tests.sites import SiteTestCase
from huf.tests.ai.triggers.test_dispatch_concurrency import save_together
from huf.tests.factories import make_agent, make_trigger

TIMEOUT_S = 90
SAVES, TRIGGERS = 500, 2


class TestWorkers(SiteTestCase):
	def test_no_run_is_lost_or_repeated_when_a_worker_dies_during_500_saves(self):
		agent = make_agent(history_limit=1)
		triggers = [make_trigger(agent, prompt="Hello", run_as="Administrator").name for _ in range(TRIGGERS)]
		killed, other = (start_worker_process(self, self.sites_path) for _ in range(2))
		expected = Counter(save_together(SAVES))
		self.wait_until(lambda: self.count("Success") > SAVES // 2)
		killed.kill()
		killed.join(5)
		self.wait_until(self.is_quiet)
		left = self.recover()
		self.wait_until(lambda: self.count("Success") == SAVES * TRIGGERS)
		other.kill()
		for trigger in triggers:
			runs = frappe.get_all(
				"Agent Run", {"trigger": trigger}, pluck="reference_name", order_by="name asc"
			)
			self.assertEqual(Counter(runs), expected)
		events = frappe.get_all("Agent Trigger Event", pluck="status", order_by="name asc")
		self.assertEqual(Counter(events), {"Fired": SAVES * TRIGGERS})
		print(f"\n{left} events and runs were held by the killed worker")

	def count(self, *statuses: str) -> int:
		return frappe.db.count("Agent Run", {"status": ["in", statuses]})

	def is_quiet(self) -> bool:
		"""No job is queued, and at most the killed worker's runs are unfinished."""
		jobs = frappe.utils.jobs_db.connect()
		waiting = jobs.execute("SELECT count(*) FROM job WHERE status = 'queued'")[0][0]
		return not waiting and self.count("Started") <= 2

	def recover(self) -> int:
		"""Skip the minutes after a worker's death: fail its jobs, expire its leases, recover its work."""
		watcher = Worker(SITE, self.sites_path)
		watcher.lock.acquire()
		watcher.fail_jobs_of_dead_workers()
		watcher.lock.release()
		later = frappe.utils.now_datetime() + timedelta(minutes=5)
		lost = frappe.get_all("Agent Run", {"status": "Started"}, pluck="name", order_by="name asc")
		for run in lost:
			frappe.db.set_value("Agent Run", run, "lease_until", "2020-01-01", update_modified=False)
		frappe.db.commit()
		return len({*recover_events(later), *recover_runs(later)})

	def wait_until(self, is_done):
		deadline = time.monotonic() + TIMEOUT_S
		while not is_done():
			self.assertLess(time.monotonic(), deadline, "the workers make no progress")
			time.sleep(0.05)
