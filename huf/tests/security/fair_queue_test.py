"""Workers serve users in turn: many jobs of one user do not delay those of another."""

import sqlite3
import tempfile
import time
from pathlib import Path

import frappe
from frappe.utils import jobs_db
from frappe.utils.background_jobs import enqueue
from frappe.utils.job_worker import Worker

from huf.ai.core.types import AgentRequest
from huf.ai.runs.queue import enqueue_run
from huf.embedded.site import SITE
from huf.embedded.tests import samples
from huf.embedded.tests.sites import Browser, SiteTestCase
from huf.tests.factories import make_agent, make_trigger
from huf.tests.triggers import RECEIVE, SECRET

NAP = "huf.embedded.tests.samples.nap"
QUEUES = ("short", "default", "long")
OLD_JOBS = """
CREATE TABLE job (
	id INTEGER PRIMARY KEY, job_id TEXT, queue TEXT NOT NULL, method TEXT NOT NULL, call BLOB NOT NULL, user TEXT NOT NULL,
	timeout REAL NOT NULL, status TEXT NOT NULL, worker TEXT, created REAL NOT NULL, started REAL, ended REAL, error TEXT);
CREATE INDEX job_by_status ON job (status, queue);
CREATE TABLE schedule (event TEXT PRIMARY KEY, last_run TEXT NOT NULL);
CREATE TABLE outbox (id INTEGER PRIMARY KEY, event TEXT, message TEXT, room TEXT);
INSERT INTO job VALUES (1, 'a', 'long', 'm', x'00', 'Guest', 300, 'queued', NULL, 1.0, NULL, NULL, NULL);
"""


class TestFairQueue(SiteTestCase):
	def setUp(self):
		super().setUp()
		samples.SEEN.clear()
		jobs_db.connect().execute("DELETE FROM job")
		self.ann, self.bob = self.make_user("ann@example.com"), self.make_user("bob@example.com")
		frappe.db.commit()
		self.worker = Worker(SITE, self.sites_path, threads=4)

	def enqueue(self, user: str, count: int = 1, **options):
		frappe.set_user(user)
		for _ in range(count):
			enqueue(NAP, queue="long", seconds=0.02, **options)
		frappe.set_user("Administrator")

	def claim_users(self, count: int) -> list[str]:
		return [self.worker.claim(QUEUES)["user"] for _ in range(count)]

	def test_users_take_turns(self):
		self.enqueue(self.ann, 5)
		self.enqueue(self.bob, 2)
		self.enqueue("Guest", 1)
		ann, bob = self.ann, self.bob
		self.assertEqual(self.claim_users(8), [ann, bob, "Guest", ann, bob, ann, ann, ann])

	def test_a_user_without_recent_jobs_is_served_first(self):
		self.enqueue(self.ann, 3)
		self.assertEqual(self.claim_users(2), [self.ann, self.ann])
		self.enqueue(self.bob, 1)
		self.assertEqual(self.claim_users(2), [self.bob, self.ann])

	def test_the_jobs_of_a_user_keep_their_order(self):
		self.enqueue(self.ann, 4)
		ids = [self.worker.claim(QUEUES)["id"] for _ in range(4)]
		self.assertEqual(ids, sorted(ids))

	def test_at_front_jobs_are_claimed_first_even_by_threads_for_short_queues(self):
		self.enqueue(self.ann, 2)
		self.enqueue(self.ann, 1, at_front=True)
		row = self.worker.claim(("short", "default"), any_front=True)
		self.assertEqual((row["queue"], row["at_front"]), ("long", 1))
		self.assertIsNone(self.worker.claim(("short", "default"), any_front=True))

	def test_300_jobs_of_one_user_do_not_hold_a_job_of_another(self):
		self.enqueue(self.ann, 300)
		self.worker.start()
		self.addCleanup(self.worker.stop)
		while len(samples.SEEN) < 20:
			time.sleep(0.005)
		self.enqueue(self.bob)
		before = samples.SEEN.count(self.ann)
		while self.bob not in samples.SEEN:
			time.sleep(0.002)
		between = samples.SEEN.index(self.bob) - before
		self.assertLess(between, 20, "more of Ann's jobs than threads could have begun")

	def test_picking_among_2_000_jobs_is_quick(self):
		self.enqueue(self.ann, 2000)
		self.enqueue(self.bob, 20)
		began = time.perf_counter()
		self.claim_users(40)
		self.assertLess((time.perf_counter() - began) / 40, 0.5)

	def test_deliveries_to_a_webhook_are_jobs_of_the_user_it_runs_as(self):
		values = {"webhook_secret": SECRET, "agent": make_agent()}
		slugs = [
			make_trigger(trigger_type="Webhook", run_as=user, **values).webhook_slug
			for user in (self.ann, self.bob)
		]
		for slug in (slugs[0], slugs[0], slugs[1]):
			answer = Browser().post(RECEIVE + slug, json={}, headers={"X-Huf-Secret": SECRET})
			self.assertEqual(answer.status_code, 202, answer.text)
		self.assertEqual(self.claim_users(3), [self.ann, self.bob, self.ann])

	def test_queued_chat_runs_precede_background_runs(self):
		agent = make_agent()
		enqueue_run(AgentRequest(agent, "in the background", "Administrator"))
		enqueue_run(AgentRequest(agent, "in a chat", "Administrator", channel="chat"))
		frappe.db.commit()
		rows = jobs_db.connect().execute("SELECT at_front FROM job ORDER BY id")
		self.assertEqual([row["at_front"] for row in rows], [0, 1])

	def test_a_job_database_of_an_earlier_version_is_migrated(self):
		with tempfile.TemporaryDirectory() as folder:
			file = Path(folder) / "jobs.db"
			db = sqlite3.connect(file)
			db.executescript(OLD_JOBS)
			db.close()
			for _again in range(2):
				jobs = jobs_db.SharedConnection(str(file))
				self.assertEqual(jobs.execute("SELECT user, at_front FROM job")[0][:], ("Guest", 0))
				jobs.db.close()
