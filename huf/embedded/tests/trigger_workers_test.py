"""Triggers with worker processes, one of which is killed in the middle: no event is lost and none is done
twice.
"""

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

PATIENCE = 90
SAVES, TRIGGERS = 500, 3


class TestWorkers(SiteTestCase):
	def test_no_run_is_lost_or_repeated_when_a_worker_dies_during_500_saves(self):
		agent = make_agent(history_limit=1)
		triggers = [make_trigger(agent, prompt="Hello", run_as="Administrator").name for _ in range(TRIGGERS)]
		killed, other = (start_worker_process(self, self.sites_path) for _ in range(2))
		wanted = Counter(save_together(SAVES))
		self.wait_until(lambda: self.count("Success") > SAVES // 2)
		killed.kill()
		killed.join(5)
		self.wait_until(self.is_quiet)
		left = self.take_up_again()
		self.wait_until(lambda: self.count("Success") == SAVES * TRIGGERS)
		other.kill()
		for trigger in triggers:
			runs = frappe.get_all(
				"Agent Run", {"trigger": trigger}, pluck="reference_name", order_by="name asc"
			)
			self.assertEqual(Counter(runs), wanted)
		events = frappe.get_all("Agent Trigger Event", pluck="status", order_by="name asc")
		self.assertEqual(Counter(events), {"Fired": SAVES * TRIGGERS})
		print(f"\n{left} events and runs were in the killed worker's hands")

	def count(self, *statuses: str) -> int:
		return frappe.db.count("Agent Run", {"status": ["in", statuses]})

	def is_quiet(self) -> bool:
		"""Nothing waits in the queue or is at work; only what the killed worker held may be left."""
		jobs = frappe.utils.jobs_db.connect()
		waiting = jobs.execute("SELECT count(*) FROM job WHERE status = 'queued'")[0][0]
		return not waiting and self.count("Started") <= 2

	def take_up_again(self) -> int:
		"""What the minutes after the death of a worker bring: its jobs fail, its lease runs out, its work is
		taken up.
		"""
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

	def wait_until(self, is_so):
		deadline = time.monotonic() + PATIENCE
		while not is_so():
			self.assertLess(time.monotonic(), deadline, "the workers do not get on")
			time.sleep(0.05)
