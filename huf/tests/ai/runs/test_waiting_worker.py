"""One worker keeps many runs waiting for a model without connections, each acting as its user."""

import asyncio
import threading
import time
from contextlib import contextmanager
from unittest.mock import patch

import frappe

from huf.ai.core.types import AgentRequest, RunStatus
from huf.ai.providers.litellm import warm_up
from huf.ai.runs import worker
from huf.ai.runs.start import start_run
from huf.ai.runs.worker import RunWorker
from huf.ai.storage import leases
from huf.ai.storage.run_rows import request_cancel
from huf.ai.tools.registry import tool
from huf.tests.base import SiteTestCase, enter
from huf.tests.factories import make_agent, make_model, make_tool, make_user, unique
from huf.tests.model_server import ModelServer, text, tool_call

RUNS, SLOTS = 24, 2


@tool()
def note_user(label: str) -> str:
	"""Inserts a document that names the user and the run."""
	description = f"{label} {frappe.session.user} {frappe.flags.huf_run}"
	frappe.get_doc({"doctype": "ToDo", "description": description}).insert()
	return "noted"


class TestWaitingWorker(SiteTestCase):
	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		asyncio.run(warm_up())

	def setUp(self):
		super().setUp()
		self.server = enter(self, ModelServer(strict=False))
		self.waiting, self.answers = threading.Semaphore(0), threading.Event()
		self.addCleanup(self.answers.set)
		self.server.on_request = self.hold_answer
		self.label = unique("waiting")
		self.tool = make_tool("Custom Function", function_path=f"{__name__}.note_user", effect="write")
		self.agent = make_agent(make_model(self.server), (self.tool,))
		enter(self, patch.object(worker, "POLL_S", 0.1))
		self.addCleanup(frappe.db.rollback)

	def hold_answer(self, _body):
		self.waiting.release()
		self.answers.wait(180)

	def await_requests(self, count: int):
		for _ in range(count):
			self.assertTrue(self.waiting.acquire(timeout=120), "the runs do not wait at the same time")

	def test_waiting_runs_hold_no_connections_and_each_acts_as_its_user(self):
		users = [
			make_user("Huf User", "System Manager"),
			make_user("Huf User", "System Manager"),
			"Administrator",
		]
		runs = {self.queue(users[number % 3]): users[number % 3] for number in range(RUNS)}

		def answer(request):
			is_done = request["messages"][-1]["role"] == "tool"
			return text("Done.") if is_done else tool_call(self.tool, {"label": self.label})

		self.server.forever(answer)
		before = count_connections()
		with self.working():
			self.await_requests(RUNS)
			# The worker itself opens a connection now and then.
			self.wait_until(lambda: count_connections() <= before, 10)
			self.answers.set()
			self.wait_until_ended(runs)
		self.assertEqual({self.status(run) for run in runs}, {"Success"})
		written = frappe.get_all(
			"ToDo",
			{"description": ["like", f"{self.label}%"]},
			["description", "owner"],
			order_by="name asc",
		)
		expected = [(f"{self.label} {user} {run}", user) for run, user in runs.items()]
		self.assertEqual(sorted((row.description, row.owner) for row in written), sorted(expected))

	def test_leases_of_runs_waiting_for_a_model_are_renewed(self):
		self.server.forever(text("Done."))
		runs = [self.queue() for _ in range(3)]
		with patch.object(leases, "LEASE_S", 2), patch.object(leases, "RENEW_AFTER_S", 0.2), self.working():
			self.await_requests(3)
			before = self.read_leases(runs)
			time.sleep(3)
			frappe.db.rollback()
			self.assertEqual(set(runs).intersection(leases.read_abandoned_runs()), set())
			for earlier, later in zip(before, self.read_leases(runs), strict=True):
				self.assertGreater(later, earlier)
			self.answers.set()
			self.wait_until_ended(runs)
		rows = frappe.get_all("Agent Run", {"name": ["in", runs]}, ["status", "attempts"], order_by="name")
		self.assertEqual([(row.status, row.attempts) for row in rows], [("Success", 1)] * 3)

	def test_locked_run_does_not_delay_lease_renewal_of_others(self):
		if not leases.has_skip_locked(frappe.local.site):
			self.skipTest("The database has no SKIP LOCKED; SQLite has one write lock for all rows")
		self.server.forever(text("Done."))
		locked, other = self.queue(), self.queue()
		with patch.object(leases, "RENEW_AFTER_S", 0.2), self.working():
			self.await_requests(2)
			frappe.db.rollback()
			frappe.db.get_value("Agent Run", locked, "name", for_update=True)
			(before,) = self.read_leases([other])
			time.sleep(2)
			frappe.db.commit()
			self.assertGreater(self.read_leases([other])[0], before)
			self.answers.set()
			self.wait_until_ended([locked, other])

	def test_run_waiting_for_a_model_is_cancelled_promptly(self):
		self.server.forever(text("Done."))
		run = self.queue()
		with self.working():
			self.await_requests(1)
			request_cancel(run)
			frappe.db.commit()
			self.wait_until_ended([run], 10)
		self.assertEqual(self.status(run), "Cancelled")

	def test_a_run_that_another_worker_has_taken_is_dropped(self):
		self.server.forever(text("Done."))
		run = self.queue()
		with self.working() as held:
			self.await_requests(1)
			frappe.db.set_value("Agent Run", run, "worker", "another")
			frappe.db.commit()
			self.wait_until(lambda: not held.running, 10)
		self.assertEqual(frappe.db.get_value("Agent Run", run, ["status", "worker"]), ("Started", "another"))
		frappe.db.delete("Agent Run", {"name": run})
		frappe.db.commit()

	def test_stopping_worker_requeues_waiting_runs_for_the_next_worker(self):
		self.server.forever(text("Done."))
		runs = [self.queue() for _ in range(4)]
		began = time.monotonic()
		with self.working():
			self.await_requests(4)
			began = time.monotonic()
		self.assertLess(time.monotonic() - began, 10)
		self.assertEqual({self.status(run) for run in runs}, {"Queued"})
		self.answers.set()
		with self.working():
			self.wait_until_ended(runs, 15)
		self.assertEqual({self.status(run) for run in runs}, {"Success"})

	def test_stopping_worker_finishes_a_child_run_before_requeuing_its_caller(self):
		call_agent = make_tool("Run Agent", agent=self.agent)
		caller = make_agent(make_model(self.server), (call_agent,))
		self.server.script(tool_call(call_agent, {"prompt": "Help"}), text("Helped."))
		self.server.forever(text("Done."))
		self.server.on_request = lambda _body: len(self.server.requests) > 1 and self.hold_answer(None)
		run = self.queue(agent=caller)
		with self.working() as held:
			self.await_requests(1)
			held.stop()
			time.sleep(2 * worker.RENEW_S)
			self.answers.set()
		self.answers.set()
		with self.working():
			self.wait_until_ended([run])
		(child,) = frappe.get_all("Agent Run", {"parent_run": run}, ["status", "attempts"], order_by="name")
		self.assertEqual((child.status, child.attempts), ("Success", 1))
		self.assertIn("Helped.", frappe.db.get_value("Agent Tool Call", {"run": run}, "result"))
		self.assertEqual(frappe.db.get_value("Agent Run", run, "response"), "Done.")

	def queue(self, user: str = "Administrator", agent: str | None = None) -> str:
		request = AgentRequest(agent or self.agent, "Work", user, external_id=unique("thread"))
		run = start_run(request, RunStatus.QUEUED).name
		frappe.db.commit()
		return run

	@contextmanager
	def working(self):
		"""Runs a worker in a thread until the end of the block."""
		run_worker = RunWorker(frappe.local.site, frappe.local.sites_path, threads=SLOTS, waiting=RUNS)
		thread = threading.Thread(target=run_worker.work, daemon=True)
		thread.start()
		try:
			yield run_worker
		finally:
			run_worker.stop()
			thread.join(60)
			self.assertFalse(thread.is_alive(), "the worker does not stop")
			frappe.db.rollback()

	def wait_until_ended(self, runs, seconds: float = 60):
		self.wait_until(lambda: not {self.status(run) for run in runs} & set(leases.OPEN_STATUSES), seconds)

	def wait_until(self, is_done, seconds: float):
		deadline = time.monotonic() + seconds
		while not is_done():
			self.assertLess(time.monotonic(), deadline, "timed out")
			time.sleep(0.1)

	@staticmethod
	def read_leases(runs: list[str]) -> list:
		frappe.db.rollback()
		return [frappe.db.get_value("Agent Run", run, "lease_until") for run in runs]

	@staticmethod
	def status(run: str) -> str:
		frappe.db.rollback()
		return frappe.db.get_value("Agent Run", run, "status")


def count_connections() -> int:
	"""Connections to the site's database on MariaDB; elsewhere 0."""
	if frappe.db.db_type != "mariadb":
		return 0
	return frappe.db.sql("select count(*) from information_schema.processlist where db = database()")[0][0]
