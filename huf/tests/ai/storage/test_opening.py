"""A run's opening references earlier messages of its conversation and reads back as the model received it."""

from datetime import timedelta

import frappe
from frappe.utils import now_datetime

from huf.ai.core.errors import UsageError
from huf.ai.core.types import AgentRequest, RunStatus
from huf.ai.runs.entry import run_agent_sync
from huf.ai.runs.execution import MAX_ATTEMPTS
from huf.ai.runs.queue import work_on
from huf.ai.runs.replay import replay
from huf.ai.runs.start import load_run, start_run
from huf.ai.storage import leases, retention
from huf.ai.storage.conversations import ConversationManager
from huf.ai.storage.recorded_run import read_opening
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_agent, make_model, make_tool, unique
from huf.tests.model_server import ModelServer, text, tool_call

FIRST, SECOND = "Which companies are there?", "And how many of them?"


class TestOpening(SiteTestCase):
	def setUp(self):
		super().setUp()
		find = make_tool("Get List", reference_doctype="ToDo")
		with ModelServer() as server:
			self.agent, thread = make_agent(make_model(server), (find,)), unique("thread")
			server.script(tool_call(find, {"limit": 1}), text("One."), text("One, as I said."))
			self.first = run_agent_sync(self.agent, FIRST, external_id=thread)
			self.run = run_agent_sync(self.agent, SECOND, external_id=thread)["run"]
			self.sent = server.requests[-1]["messages"]

	def read_stored(self, run: str) -> str:
		return frappe.db.get_value("Agent Run", run, "opening")

	def test_stored_opening_references_history_and_reads_back_as_sent(self):
		stored = self.read_stored(self.run)
		self.assertNotIn(FIRST, stored)
		self.assertIn(SECOND, stored)
		messages = read_opening(stored)
		self.assertEqual([{k: v for k, v in each.items() if v is not None} for each in messages], self.sent)
		self.assertEqual(
			[each["role"] for each in self.sent[-5:]], "user assistant tool assistant user".split()
		)

	def test_queued_run_does_not_read_messages_of_other_queued_runs(self):
		request = AgentRequest(self.agent, "Later", "Administrator", self.first["conversation"])
		run, _other = (start_run(request, RunStatus.QUEUED).name for _ in range(2))
		messages = load_run(leases.acquire_lease(run)).messages
		self.assertEqual(read_opening(self.read_stored(run), is_exact=True), messages)
		self.assertEqual(sum(each["content"] == "Later" for each in messages), 1)

	def test_queued_run_whose_worker_is_lost_before_it_begins_knows_the_answers_before_it(self):
		conversation = self.first["conversation"]
		request = AgentRequest(self.agent, "Later", "Administrator", conversation)
		run = start_run(request, RunStatus.QUEUED).name
		self.assertFalse(self.read_stored(run))
		leases.acquire_lease(run)
		manager = ConversationManager(self.agent, user="Administrator", conversation=conversation)
		manager.add_message("agent", "And one more.")
		lease = leases.acquire_lease(run, now_datetime() + timedelta(hours=1))
		self.assertIn("And one more.", [each["content"] for each in load_run(lease).messages])

	def test_run_that_cannot_be_loaded_is_tried_ten_times(self):
		request = AgentRequest(self.agent, "Later", "Administrator", self.first["conversation"])
		run = start_run(request, RunStatus.QUEUED).name
		broken = {"opening": "[", "attempts": 1, "lost_workers": MAX_ATTEMPTS - 1}
		frappe.db.set_value("Agent Run", run, broken)
		with self.assertRaises(ValueError):
			work_on(run)
		ended = work_on(run, now_datetime() + timedelta(hours=1))
		self.assertEqual(ended.status, RunStatus.FAILED)
		self.assertIn("Too many workers were lost", ended.error)

	def test_blanked_messages_are_omitted_from_the_opening_and_replay_is_refused(self):
		self.assertTrue(replay(self.run).identical)
		retention.blank_runs([self.first["run"]])
		stored = self.read_stored(self.run)
		self.assertEqual(read_opening(stored), [*self.sent[:-5], self.sent[-1]])
		with self.assertRaisesRegex(UsageError, "no longer stored"):
			replay(self.run)

	def test_openings_of_earlier_versions_with_inline_messages_are_readable(self):
		self.assertEqual(read_opening(frappe.as_json(self.sent), is_exact=True), self.sent)
