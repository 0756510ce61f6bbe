"""A worker finds runs in the database: without jobs, beside other workers, after losses, under a stop."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from types import SimpleNamespace
from unittest.mock import patch

import frappe
from click.testing import CliRunner
from frappe.utils import now_datetime

from huf.ai.core.types import AgentRequest, RunStatus
from huf.ai.runs import worker
from huf.ai.runs.queue import claim, recover_runs, work_on
from huf.ai.runs.start import start_run
from huf.ai.runs.worker import RunWorker
from huf.ai.storage import leases, stops
from huf.ai.tools.registry import tool
from huf.commands import huf_worker
from huf.tests.base import SiteTestCase, end_open_runs, enter
from huf.tests.factories import make_agent, make_model, make_tool, unique
from huf.tests.model_server import ModelServer, text, tool_call

LEASE_LEFT_S: list[float] = []


@tool()
def work_without_reports(seconds: float) -> str:
	"""Records how many seconds are left of the run's lease at the end."""
	time.sleep(seconds)
	frappe.db.rollback()
	until = frappe.db.get_value("Agent Run", frappe.flags.huf_run, "lease_until")
	LEASE_LEFT_S.append((frappe.utils.get_datetime(until) - leases.lease_time()).total_seconds())
	return "done"


class Claims(list):
	"""Replaces a worker's threads: records the runs that it would execute."""

	def submit(self, execute, lease):
		self.append(lease.run)


class TestRunWorker(SiteTestCase):
	def setUp(self):
		super().setUp()
		end_open_runs()
		self.server = enter(self, ModelServer(strict=False))
		self.agent = make_agent(make_model(self.server))
		enter(self, patch.object(worker, "POLL_S", 0.1))
		self.site, self.sites_path = frappe.local.site, frappe.local.sites_path
		self.addCleanup(frappe.db.rollback)

	def test_the_bench_command_takes_its_site_from_every_version_of_frappe(self):
		for context in ({"sites": ["a"]}, SimpleNamespace(sites=["a"])):
			with self.subTest(context), patch.object(worker, "serve") as serve:
				CliRunner().invoke(huf_worker, ["--threads", "2"], obj=context, catch_exceptions=False)
				serve.assert_called_once_with("a", 1, 2, 0)

	def test_queued_runs_are_executed_once_by_two_workers_without_a_job(self):
		self.server.script(*[text("Done.")] * 12)
		runs = [self.queue() for _ in range(12)]
		self.work_until_ended(runs, workers=2)
		self.assertEqual([self.status(run) for run in runs], ["Success"] * 12)
		self.assertEqual(len(self.server.requests), 12)

	def test_runs_of_one_conversation_are_executed_sequentially(self):
		self.server.script(text("One."), text("Two."), text("Three."))
		conversation = unique("thread")
		runs = [self.queue(conversation) for _ in range(3)]
		self.work_until_ended(runs)
		rows = frappe.get_all(
			"Agent Run", {"name": ["in", runs]}, ["started_at", "ended_at"], order_by="creation asc"
		)
		for earlier, later in zip(rows, rows[1:], strict=False):
			self.assertGreaterEqual(later.started_at, earlier.ended_at)

	def test_run_of_a_lost_worker_resumes_when_its_lease_expires(self):
		self.server.script(text("Done."))
		run = self.queue()
		leases.acquire_lease(run, now_datetime() - timedelta(seconds=leases.LEASE_S - 2))
		began = time.monotonic()
		self.work_until_ended([run])
		self.assertGreater(time.monotonic() - began, 1)
		self.assertEqual(frappe.db.get_value("Agent Run", run, ["status", "attempts"]), ("Success", 2))
		self.assertLess(leases.LEASE_S + worker.POLL_S + 2, 30, "a lost run must resume within 30 seconds")

	def test_releasing_or_requeuing_a_run_updates_its_modified_time(self):
		run = self.queue()
		lease = leases.acquire_lease(run)
		for give_up in (lambda: leases.requeue_run(lease, ""), lambda: leases.release_leases([lease])):
			frappe.db.set_value("Agent Run", run, {"status": "Started", "worker": lease.worker})
			before = frappe.db.get_value("Agent Run", run, "modified")
			give_up()
			row = frappe.db.get_value("Agent Run", run, ["status", "modified"], as_dict=True)
			self.assertEqual(row.status, "Queued")
			self.assertGreater(row.modified, before)

	def test_a_deadlock_while_a_run_is_claimed_is_tried_again(self):
		self.server.script(text("Done."))
		run, claim = self.queue(), leases.claim_conversation
		faults = [frappe.QueryDeadlockError, frappe.QueryDeadlockError]

		def claim_after_deadlocks(*arguments):
			if faults:
				raise faults.pop()
			return claim(*arguments)

		with patch.object(leases, "claim_conversation", claim_after_deadlocks):
			self.assertEqual(work_on(run).status, RunStatus.SUCCESS)

	def test_run_held_by_a_stop_is_not_claimable_until_its_release(self):
		self.server.script(text("Done."))
		held = self.queue()
		stop = stops.add_stop("Agent", self.agent, "for the test")
		frappe.db.commit()
		self.addCleanup(frappe.db.commit)
		self.addCleanup(stops.remove_stop, stop["name"])
		frappe.db.set_value("Agent Run", held, "held_by", stop["name"])
		frappe.db.commit()
		self.assertNotIn(held, leases.read_claimable_runs())
		stops.remove_stop(stop["name"])
		frappe.db.commit()
		self.assertIn(held, leases.read_claimable_runs())

	def test_abandoned_runs_under_a_stop_do_not_block_other_runs(self):
		self.server.script(text("Done."))
		lost = [self.queue() for _ in range(3)]
		for run in lost:
			leases.acquire_lease(run, now_datetime() - timedelta(hours=1))
		other = self.queue(agent=make_agent(make_model(self.server)))
		stop = stops.add_stop("Agent", self.agent, "for the test")
		self.addCleanup(stops.remove_stop, stop["name"])
		frappe.db.commit()
		with patch.object(leases, "MAX_READ_RUNS", len(leases.read_abandoned_runs())):
			self.assertNotIn(other, leases.read_claimable_runs())
			self.assertEqual([claim(run) for run in lost], [None] * 3)
			self.assertIn(other, leases.read_claimable_runs())
			self.assertFalse(set(lost) & {*leases.read_abandoned_runs(), *recover_runs()})
		held = frappe.get_all(
			"Agent Run", {"name": ["in", lost]}, ["status", "held_by", "lost_workers", "modified"]
		)
		self.assertGreater(min(row.modified for row in held), now_datetime() - timedelta(minutes=30))
		self.assertEqual(
			{(row.status, row.held_by, row.lost_workers) for row in held}, {("Queued", stop["name"], 1)}
		)
		stops.remove_stop(stop["name"])
		frappe.db.commit()
		self.assertTrue(set(lost) <= set(leases.read_claimable_runs()))

	def test_lease_is_renewed_during_a_tool_without_progress_reports(self):
		LEASE_LEFT_S.clear()
		for effect in ("read", "write"):
			tool_name = make_tool(
				"Custom Function", function_path=f"{__name__}.work_without_reports", effect=effect
			)
			agent = make_agent(make_model(self.server), (tool_name,))
			self.server.script(tool_call(tool_name, {"seconds": 2.5}), text("Done."))
			with patch.object(leases, "RENEW_AFTER_S", 0.5):
				self.work_until_ended([self.queue(agent=agent)])
		self.assertEqual(len(LEASE_LEFT_S), 2)
		self.assertGreater(min(LEASE_LEFT_S), leases.LEASE_S - 2)

	def test_concurrent_claims_skip_locked_runs_without_waiting(self):
		self.need_skip_locked()
		runs = [self.queue() for _ in range(6)]
		with patch.object(worker, "read_claimable_runs", lambda: runs):
			# Another worker's claim holds these locks until its commit.
			leases.lock_free_runs(runs[:2])
			began = time.monotonic()
			self.assertEqual(self.claim(3), runs[2:5])
			self.assertLess(time.monotonic() - began, 5, "it waited for a lock")
			frappe.db.rollback()
			self.assertEqual(self.claim(3), [*runs[:2], runs[5]])

	def test_concurrent_workers_claim_disjoint_runs(self):
		self.need_skip_locked()
		runs = [self.queue() for _ in range(30)]
		with patch.object(worker, "read_claimable_runs", lambda: runs), ThreadPoolExecutor(3) as threads:
			shares = list(threads.map(self.claim, [10] * 3))
		self.assertEqual([len(share) for share in shares], [10] * 3)
		self.assertEqual(sorted(sum(shares, [])), sorted(runs))

	def need_skip_locked(self):
		if not leases.has_skip_locked(frappe.local.site):
			self.skipTest("The database has no SKIP LOCKED; SQLite has one write lock for all rows")

	def claim(self, count: int) -> list[str]:
		"""Returns the runs that a new worker with `count` threads claims, on its own connection."""
		site, sites_path, claims = self.site, self.sites_path, Claims()
		with ThreadPoolExecutor(1) as thread:
			thread.submit(RunWorker(site, sites_path, threads=count).poll, claims).result()
		return claims

	def queue(self, conversation: str | None = None, agent: str | None = None) -> str:
		external_id = conversation or unique("thread")
		request = AgentRequest(agent or self.agent, "Work", "Administrator", external_id=external_id)
		run = start_run(request, RunStatus.QUEUED).name
		frappe.db.commit()
		return run

	def work_until_ended(self, runs: list[str], workers: int = 1, seconds: float = 60):
		run_workers = [
			RunWorker(frappe.local.site, frappe.local.sites_path, threads=3) for _ in range(workers)
		]
		threads = [threading.Thread(target=each.work, daemon=True) for each in run_workers]
		for thread in threads:
			thread.start()
		deadline = time.monotonic() + seconds
		while any(self.status(run) in leases.OPEN_STATUSES for run in runs) and time.monotonic() < deadline:
			time.sleep(0.1)
		for each in run_workers:
			each.stop()
		for thread in threads:
			thread.join(20)
		frappe.db.rollback()

	@staticmethod
	def status(run: str) -> str:
		frappe.db.rollback()
		return frappe.db.get_value("Agent Run", run, "status")
