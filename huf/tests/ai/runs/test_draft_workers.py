"""Runs that wait for approval survive lost workers, and end when they are cancelled or expire."""

from datetime import timedelta
from unittest.mock import patch

import frappe
from frappe.utils import now_datetime

from huf.ai.chat import approvals
from huf.ai.chat.approvals import approve_call, cancel_run, expire_drafts
from huf.ai.core.errors import UsageError
from huf.ai.core.session import acting_as
from huf.ai.core.types import AgentRequest
from huf.ai.runs.entry import run_agent
from huf.ai.runs.queue import enqueue_run, recover_runs, work_on
from huf.ai.storage import leases
from huf.tests.base import end_open_runs
from huf.tests.drafting import DraftTestCase
from huf.tests.factories import make_trigger, make_user
from huf.tests.model_server import text

LATER = timedelta(hours=1)


def read_attempts(run: str) -> tuple[int, int]:
	return tuple(frappe.db.get_value("Agent Run", run, ["attempts", "lost_workers"]))


class TestWorkers(DraftTestCase):
	def setUp(self):
		super().setUp()
		end_open_runs()

	def test_approved_call_is_executed_once_after_lost_workers(self):
		result = self.start_change("new", "Done.")
		with acting_as(self.user):
			approve_call(result["draft"]["draft"], result["draft"]["digest"])
		run = result["run"]
		for lost in range(3):
			lease = {"worker": f"lost {lost}", "lease_until": leases.lease_time(), "attempts": lost + 2}
			frappe.db.set_value("Agent Run", run, {"status": "Started", **lease})
			frappe.db.commit()
		self.assertIn(run, recover_runs(now_datetime() + LATER))
		ended = work_on(run, now_datetime() + LATER)
		self.assertEqual(read_attempts(run), (5, 1))
		self.assertEqual((ended.status.value, self.note()), ("Success", "new"))
		self.assertEqual(self.calls(run), [(self.update, "Success")])

	def test_recovery_finds_an_approved_run_whose_job_was_lost(self):
		result = self.start_change("new")
		with acting_as(self.user):
			approve_call(result["draft"]["draft"], result["draft"]["digest"])
		self.assertIn(result["run"], recover_runs(now_datetime() + LATER))

	def test_resuming_after_approvals_does_not_count_as_lost_workers(self):
		turns = [self.change(f"note {number}") for number in range(7)]
		result = self.start(*turns, text("Done."))
		run = result["run"]
		for attempts, _ in enumerate(turns, 2):
			with acting_as(self.user):
				approve_call(result["draft"]["draft"], result["draft"]["digest"])
			result = self.go_on(run).as_dict()
			# Every resumption is an attempt: the event numbers of a worker start with its attempt.
			self.assertEqual(read_attempts(run), (attempts, 0))
		self.assertEqual((result["status"], result["response"], self.note()), ("Success", "Done.", "note 6"))

	def test_expired_draft_lets_the_run_continue_without_the_change(self):
		result = self.start_change("new", "A pity.")
		self.assertNotIn(result["draft"]["draft"], expire_drafts())
		self.assertIn(result["draft"]["draft"], expire_drafts(now_datetime() + timedelta(hours=73)))
		with acting_as(self.user), self.assertRaisesRegex(UsageError, "has expired"):
			approve_call(result["draft"]["draft"], result["draft"]["digest"])
		ended = self.go_on(result["run"])
		self.assertEqual(
			(ended.response, self.note(), self.draft(result).status), ("A pity.", "old", "Expired")
		)
		self.assertIn("in time", self.seen())

	def test_answer_after_the_time_expires_the_draft_at_once_and_the_run_goes_on(self):
		result = self.start_change("new", "A pity.")
		overdue = now_datetime() - timedelta(seconds=1)
		frappe.db.set_value("Agent Draft", result["draft"]["draft"], "expires_at", overdue)
		with acting_as(self.user), self.assertRaisesRegex(UsageError, "has expired"):
			approve_call(result["draft"]["draft"], result["draft"]["digest"])
		self.assertEqual(self.draft(result).status, "Expired")
		self.assertEqual((self.go_on(result["run"]).response, self.note()), ("A pity.", "old"))

	def test_cancelling_a_waiting_run_expires_its_draft_and_keeps_its_usage(self):
		result = self.start_change("new")
		with acting_as(self.user):
			cancel_run(result["run"])
		ended = self.go_on(result["run"])
		self.assertEqual((ended.status.value, ended.steps, self.note()), ("Cancelled", 1, "old"))
		self.assertEqual(ended.usage.input_tokens, result["input_tokens"])
		self.assertEqual(self.draft(result).status, "Expired")
		active = frappe.db.get_value("Agent Conversation", result["conversation"], "active_run")
		self.assertFalse(active)

	def test_a_draft_expires_with_a_reason_in_the_language_of_who_cancels_the_run(self):
		result = self.start_change("new")
		self.addCleanup(setattr, frappe.local, "lang", frappe.local.lang)
		with acting_as(self.user):
			frappe.local.lang = "de"
			cancel_run(result["run"])
		self.assertEqual(self.draft(result).reason, f"{self.user} hat den Lauf abgebrochen")

	def test_a_queued_message_can_be_cancelled_while_the_run_before_it_waits(self):
		waiting = self.start_change("new", "Changed.")
		request = AgentRequest(self.agent, "And the price?", self.user, waiting["conversation"])
		queued = run_agent(request)
		with patch.object(approvals, "enqueue_work", work_on), acting_as(self.user):
			cancel_run(queued.run)
		self.assertEqual(frappe.db.get_value("Agent Run", queued.run, "status"), "Cancelled")
		with acting_as(self.user):
			approve_call(waiting["draft"]["draft"], waiting["draft"]["digest"])
		self.assertEqual(self.go_on(waiting["run"]).response, "Changed.")

	def test_unattended_run_uses_the_approver_of_its_trigger_else_of_its_agent(self):
		boss, chief = make_user("Huf User"), make_user("Huf User")
		frappe.db.set_value("Agent", self.agent, "approver", boss)
		trigger = make_trigger(self.agent, "Manual", approver=chief)
		self.addCleanup(frappe.delete_doc, "Agent Trigger", trigger.name, force=True)
		self.server.script(self.change("a"), self.change("b"), self.change("c"), text("Done."))
		drafts = []
		for trigger_name in (trigger.name, None):
			run = enqueue_run(
				AgentRequest(self.agent, "Go", self.user, channel=frappe.generate_hash(length=6))
			)
			frappe.db.set_value("Agent Run", run.name, "trigger", trigger_name)
			drafts.append(self.go_on(run.name).draft)
		self.assertEqual([card["approver"] for card in drafts], [chief, boss])
		frappe.db.set_value("User", boss, "enabled", 0)
		frappe.db.set_value("Agent", self.agent, "approver", boss)
		run = enqueue_run(AgentRequest(self.agent, "Go", "Administrator", channel="x"))
		self.assertIsNone(self.go_on(run.name).draft["approver"], "any Huf Manager")
		with acting_as(chief):
			approve_call(drafts[0]["draft"], drafts[0]["digest"])
		ended = self.go_on(drafts[0]["run"])
		self.assertEqual((ended.response, self.note()), ("Done.", "a"))
