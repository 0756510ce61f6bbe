"""Another worker takes over the run of a lost one; calls with an unknown outcome are marked and settled."""

import json
from datetime import datetime, timedelta, timezone
from unittest.mock import patch

import frappe
from frappe.utils import now_datetime

from huf.ai.chat.approvals import approve_call
from huf.ai.core.errors import LeaseLost, UsageError
from huf.ai.core.session import acting_as
from huf.ai.core.types import AgentRequest, ModelReply, RunStatus
from huf.ai.runs import queue
from huf.ai.runs.entry import run_agent_sync
from huf.ai.runs.execution import MAX_ATTEMPTS
from huf.ai.runs.lost_calls import retry_call, settle_call
from huf.ai.runs.queue import recover_runs, work_on
from huf.ai.runs.start import start_run
from huf.ai.storage import leases
from huf.ai.storage.journal import RunJournal
from huf.ai.storage.lost_calls import claim_lost_call, mark_lost_calls
from huf.ai.tools.registry import tool
from huf.tests.base import SiteTestCase, WorkerEnds, end_open_runs, enter
from huf.tests.contract.connections import elsewhere
from huf.tests.factories import make_agent, make_model, make_tool, make_user, unique
from huf.tests.model_server import ModelServer, text, tool_call
from huf.upgrade import shorten_leases

HERE = __name__
SENT: list[str] = []


@tool()
def send(what: str):
	SENT.append(what)
	if len(SENT) == 1:
		raise WorkerEnds("the worker ends here")
	return f"sent {what}"


@tool()
def read_caller_lease() -> str:
	"""Returns how many seconds are left of the lease on the calling run."""
	caller = frappe.db.get_value("Agent Run", frappe.flags.huf_run, "parent_run")
	until = frappe.db.get_value("Agent Run", caller, "lease_until")
	return str((frappe.utils.get_datetime(until) - leases.lease_time()).total_seconds())


@tool()
def lose_run(what: str) -> str:
	"""During the first call, another worker takes the run over."""
	SENT.append(what)
	if len(SENT) == 1:
		leases.acquire_lease(frappe.flags.huf_run, in_an_hour())
		frappe.db.commit()
	return f"sent {what}"


class TestLostWorker(SiteTestCase):
	def setUp(self):
		super().setUp()
		end_open_runs()
		SENT.clear()
		self.server = enter(self, ModelServer(strict=False))
		self.tool = make_tool("Custom Function", function_path=f"{HERE}.send", effect="external")
		self.agent = make_agent(make_model(self.server), (self.tool,))

	def test_interrupted_external_call_is_not_repeated_and_becomes_unknown(self):
		run = self.lose_worker()
		self.server.script(text("I do not know whether it was sent."))
		self.assertEqual(work_on(run, in_an_hour()).status, RunStatus.SUCCESS)
		self.assertEqual(SENT, ["letter"])
		self.assertIn("not known whether", self.server.requests[-1]["messages"][-1]["content"])
		self.assertEqual(self.call(run).status, "Unknown")

	def test_only_a_manager_can_settle_an_unknown_call_and_only_once(self):
		run = self.lose_worker()
		self.server.script(text("Well."))
		work_on(run, in_an_hour())
		with acting_as(make_user("Huf User")), self.assertRaises(frappe.PermissionError):
			settle_call(self.call(run).name, "done")
		settle_call(self.call(run).name, "done")
		self.assertEqual(self.call(run).status, "Success")
		with self.assertRaisesRegex(UsageError, "is known"):
			settle_call(self.call(run).name, "not_done")

	def test_draft_of_an_unknown_call_that_was_carried_out_counts_as_applied(self):
		frappe.db.set_value("Agent Tool Function", self.tool, "requires_approval", 1)
		SENT.append("an earlier letter")  # the worker of the first one ends
		self.server.script(tool_call(self.tool, {"what": "letter"}), text("Well."))
		result = run_agent_sync(self.agent, "Send a letter")
		approve_call(result["draft"]["draft"], result["draft"]["digest"])
		work_on(result["run"])
		call = self.call(result["run"])
		frappe.db.set_value("Agent Tool Call", call.name, "status", "Unknown")
		frappe.db.set_value("Agent Draft", result["draft"]["draft"], "status", "Failed")
		settle_call(call.name, "done")
		self.assertEqual(frappe.db.get_value("Agent Draft", result["draft"]["draft"], "status"), "Applied")

	def test_manager_can_retry_an_unknown_call(self):
		run = self.lose_worker()
		self.server.script(text("Well."))
		work_on(run, in_an_hour())
		self.assertEqual(retry_call(self.call(run).name), "sent letter")
		self.assertEqual((SENT, self.call(run).status), (["letter", "letter"], "Success"))

	def test_retry_with_arguments_outside_the_tool_schema_is_refused(self):
		run = self.lose_worker()
		self.server.script(text("Well."))
		work_on(run, in_an_hour())
		frappe.db.set_value("Agent Tool Call", self.call(run).name, "arguments", '{"letter": 1}')
		with self.assertRaisesRegex(UsageError, "do not fit"):
			retry_call(self.call(run).name)
		self.assertEqual((SENT, self.call(run).status), (["letter"], "Unknown"))

	def test_only_one_manager_can_retry_a_lost_call(self):
		run = self.lose_worker()
		self.server.script(text("Well."))
		work_on(run, in_an_hour())
		row = frappe.get_doc("Agent Tool Call", self.call(run).name)
		self.assertTrue(claim_lost_call(row))
		self.assertFalse(claim_lost_call(row))
		with self.assertRaisesRegex(UsageError, "Somebody else"):
			retry_call(row.name)
		with self.assertRaisesRegex(UsageError, "Somebody else"):
			settle_call(row.name, "not_done")
		an_hour_ago = now_datetime() - timedelta(hours=1)
		frappe.db.set_value("Agent Tool Call", row.name, "modified", an_hour_ago, update_modified=False)
		self.assertEqual(retry_call(row.name), "sent letter")

	def test_lost_call_of_a_disabled_user_is_not_retried(self):
		user = make_user("Huf User")
		run = self.lose_worker(user)
		self.server.script(text("Well."))
		work_on(run, in_an_hour())
		frappe.db.set_value("User", user, "enabled", 0)
		frappe.db.commit()
		with self.assertRaisesRegex(UsageError, "disabled"):
			retry_call(self.call(run).name)
		self.assertEqual(SENT, ["letter"])

	def test_model_reply_after_its_call_was_marked_lost_is_dropped(self):
		lease = leases.acquire_lease(self.open())
		journal = RunJournal(lease, None, "m", None)
		journal.start_model_call(1, lambda: None)
		mark_lost_calls(lease.run)
		journal.finish_model_call(1, ModelReply("Late."))
		self.assertEqual(frappe.db.get_value("Agent LLM Call", {"run": lease.run}, "status"), "Failed")

	def test_lease_taken_by_another_process_is_detected_inside_a_transaction(self):
		run = self.open()
		old = leases.acquire_lease(run)
		frappe.db.get_value("Agent Run", run, "worker")
		elsewhere(leases.acquire_lease, run, in_an_hour())
		with self.assertRaises(LeaseLost):
			old.hold()

	def test_run_fails_after_too_many_lost_workers(self):
		run = self.lose_worker()
		# Its one completed step raises the limit by one worker.
		frappe.db.set_value("Agent Run", run, "lost_workers", MAX_ATTEMPTS)
		frappe.db.commit()
		result = work_on(run, in_an_hour())
		self.assertEqual((result.status, result.usage.input_tokens), (RunStatus.FAILED, 100))
		self.assertIn("Too many workers", result.error)

	def test_completed_steps_raise_the_limit_of_lost_workers(self):
		run = self.lose_worker()
		frappe.db.set_value("Agent Run", run, "lost_workers", MAX_ATTEMPTS - 1)
		frappe.db.commit()
		self.server.script(text("I do not know whether it was sent."))
		self.assertEqual(work_on(run, in_an_hour()).status, RunStatus.SUCCESS)

	def test_recovery_uses_a_new_job_id_for_each_attempt(self):
		run, jobs = self.open(), []
		for attempts in (1, 2):
			row = {"status": "Started", "worker": "gone", "lease_until": "2020-01-01", "attempts": attempts}
			frappe.db.set_value("Agent Run", run, row)
			frappe.db.commit()
			with patch.object(
				queue, "enqueue_work", lambda name, **options: jobs.append((name, options["job_id"]))
			):
				queue.recover_runs()
		self.assertEqual(len({job for name, job in jobs if name == run}), 2)

	def test_only_runs_with_an_expired_lease_are_recovered(self):
		run = self.lose_worker()
		self.assertIsNone(work_on(run))
		self.assertNotIn(run, recover_runs())
		self.assertIn(run, leases.read_abandoned_runs(in_an_hour()))

	def test_lease_times_are_utc_in_any_site_time_zone(self):
		with patch.dict(frappe.local.conf, {"time_zone": "America/New_York"}):
			run = self.open()
			leases.acquire_lease(run)
			until = frappe.db.get_value("Agent Run", run, "lease_until")
			left = frappe.utils.get_datetime(until) - datetime.now(timezone.utc).replace(tzinfo=None)
			self.assertAlmostEqual(left.total_seconds(), leases.LEASE_S, delta=10)
			self.assertNotIn(run, leases.read_abandoned_runs())
			self.assertIn(run, leases.read_abandoned_runs(in_an_hour()))

	def test_leases_stored_in_site_time_by_an_earlier_version_are_shortened(self):
		run = self.open()
		leases.acquire_lease(run, in_an_hour() + timedelta(hours=9))
		shorten_leases()
		self.assertIn(run, leases.read_abandoned_runs(in_an_hour()))

	def test_renewing_a_lease_taken_over_by_another_worker_raises_lease_lost(self):
		run = self.open()
		old = leases.acquire_lease(run)
		leases.acquire_lease(run, in_an_hour())
		with self.assertRaises(LeaseLost):
			old.hold()

	def test_a_call_that_ends_after_another_worker_has_the_run_records_nothing(self):
		tool = make_tool("Custom Function", function_path=f"{HERE}.lose_run", effect="external")
		self.agent = make_agent(make_model(self.server), (tool,))
		self.server.script(tool_call(tool, {"what": "letter"}))
		run = self.open()
		self.assertIsNone(work_on(run))
		self.assertEqual(self.call(run).status, "Started")
		self.server.script(text("I do not know whether it was sent."))
		self.assertEqual(work_on(run, in_an_hour() + timedelta(hours=1)).status, RunStatus.SUCCESS)
		self.assertEqual(self.call(run).status, "Unknown")

	def test_caller_waits_for_a_child_run_taken_over_by_another_worker(self):
		tool = make_tool("Custom Function", function_path=f"{HERE}.lose_run", effect="write")
		child_agent = make_agent(make_model(self.server), (tool,))
		call_agent = make_tool("Run Agent", agent=child_agent, effect="write")
		agent = make_agent(make_model(self.server), (call_agent,))
		self.server.script(tool_call(call_agent, {"prompt": "Send"}), tool_call(tool, {"what": "letter"}))
		caller = run_agent_sync(agent, "Have it sent")["run"]
		self.assertEqual(frappe.db.get_value("Agent Run", caller, "status"), "Waiting")
		child = frappe.db.get_value("Agent Run", {"parent_run": caller}, "name")
		self.server.script(tool_call(tool, {"what": "letter"}), text("Sent."), text("It was sent."))
		work_on(child, in_an_hour() + timedelta(hours=1))
		self.assertEqual(work_on(caller).status, RunStatus.SUCCESS)

	def test_only_one_worker_acquires_the_lease_of_a_run(self):
		run = self.open()
		self.assertIsNotNone(leases.acquire_lease(run))
		self.assertIsNone(leases.acquire_lease(run))

	def test_a_second_run_waits_for_the_first_in_its_conversation(self):
		self.server.script(text("First."), text("Second."))
		first = self.open()
		conversation = frappe.db.get_value("Agent Run", first, "conversation")
		second = self.open(conversation)
		self.assertTrue(leases.claim_conversation(conversation, first))
		leases.acquire_lease(first)
		self.assertIsNone(work_on(second))
		self.assertEqual(frappe.db.get_value("Agent Run", second, "status"), "Queued")

	def test_lease_of_a_calling_run_is_renewed_while_its_child_runs(self):
		look = make_tool("Custom Function", function_path=f"{HERE}.read_caller_lease", effect="read")
		child_agent = make_agent(make_model(self.server), (look,))
		tool = make_tool("Run Agent", agent=child_agent, effect="write")
		agent = make_agent(make_model(self.server), (tool,))
		self.server.script(tool_call(tool, {"prompt": "Look"}), tool_call(look), text("Seen."), text("Well."))
		with patch.object(leases, "RENEW_AFTER_S", 0):
			run_agent_sync(agent, "Have it looked at")
		seen = json.loads(self.server.requests[2]["messages"][-1]["content"])
		self.assertGreater(float(seen), leases.LEASE_S - 10)

	def test_cancel_check_of_a_waiting_run_commits_nothing(self):
		lease = leases.acquire_lease(self.open())
		journal = RunJournal(lease, None, "m", None)
		title = unique("Note")
		frappe.get_doc({"doctype": "Note", "title": title}).insert()
		self.assertFalse(journal.cancel_requested(waiting=True))
		frappe.db.rollback()
		self.assertFalse(frappe.db.exists("Note", {"title": title}))

	def lose_worker(self, user: str = "Administrator") -> str:
		self.server.script(tool_call(self.tool, {"what": "letter"}))
		run = self.open(user=user)
		with self.assertRaises(WorkerEnds):
			work_on(run)
		frappe.db.rollback()
		frappe.set_user("Administrator")
		return run

	def open(self, conversation=None, user: str = "Administrator") -> str:
		request = AgentRequest(self.agent, "Send the letter", user, conversation, channel="lost")
		with acting_as(user):
			return start_run(request, RunStatus.QUEUED).name

	def call(self, run):
		return frappe.get_last_doc("Agent Tool Call", {"run": run})


def in_an_hour():
	return now_datetime() + timedelta(hours=1)
