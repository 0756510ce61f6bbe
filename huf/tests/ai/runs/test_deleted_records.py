"""Deleting what an open run belongs to or needs ends the run and keeps its usage on record."""

from contextvars import copy_context
from datetime import timedelta

import frappe
from frappe.utils import now_datetime

from huf.ai.chat.approvals import approve_call, cancel_run, expire_drafts
from huf.ai.core.costs import WorstCase
from huf.ai.core.errors import UsageError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.events import EventKind
from huf.ai.core.session import acting_as
from huf.ai.core.types import AgentRequest
from huf.ai.runs.entry import run_agent
from huf.ai.runs.queue import end_run, enqueue_run, work_on
from huf.ai.runs.start import start_run
from huf.ai.storage.conversations import ConversationManager
from huf.ai.storage.drafts import read_draft
from huf.ai.storage.journal import RunJournal
from huf.ai.storage.limits import read_limits
from huf.api.agent import get_overview
from huf.api.chat import delete_conversation
from huf.tests.contract.connections import elsewhere
from huf.tests.drafting import DraftTestCase
from huf.tests.factories import make_tool
from huf.tests.model_server import text, tool_call


class TestDeletedRecords(DraftTestCase):
	def delete(self, conversation: str) -> None:
		with acting_as(self.user):
			delete_conversation(conversation)
		frappe.db.commit()

	def read_run(self, name: str):
		frappe.db.rollback()
		return frappe.get_doc("Agent Run", name)

	def test_deleting_a_conversation_cancels_its_waiting_run_and_expires_its_draft(self):
		result = self.start_change("new")
		self.delete(result["conversation"])
		self.assertEqual(self.read_run(result["run"]).status, "Queued")
		ended = self.go_on(result["run"])
		self.assertEqual((ended.status.value, self.note()), ("Cancelled", "old"))
		self.assertEqual(ended.usage.input_tokens, result["input_tokens"])
		draft = self.draft(result)
		self.assertEqual((draft.status, draft.reason), ("Expired", "The conversation was deleted"))

	def test_calls_and_messages_of_a_waiting_run_cannot_be_deleted(self):
		read = make_tool("Get List", reference_doctype="ToDo")
		agent = self.make_agent(read, self.update)
		result = self.start(tool_call(read, {}), self.change("new"), agent=agent)
		parts = ("Agent Tool Call", "Agent LLM Call", "Agent Message")
		calls = {doctype: {"run": result["run"]} for doctype in parts}
		for doctype, filters in calls.items():
			for name in frappe.get_all(doctype, filters, pluck="name"):
				with self.subTest(doctype), self.assertRaisesRegex(UsageError, "has not ended"):
					frappe.delete_doc(doctype, name)
		cancel_run(result["run"])
		self.go_on(result["run"])
		for doctype, filters in calls.items():
			frappe.delete_doc(doctype, frappe.db.get_value(doctype, filters))

	def test_deleting_a_conversation_cancels_its_queued_run_before_a_model_call(self):
		run = enqueue_run(AgentRequest(self.agent, "Later", self.user, channel="s"))
		self.delete(run.conversation)
		self.assertEqual(work_on(run.name).status.value, "Cancelled")
		self.assertEqual(self.server.requests, [])

	def test_deleting_a_conversation_cancels_its_active_run_at_the_next_step(self):
		find = make_tool("Get List", reference_doctype="ToDo")
		self.server.script(tool_call(find, {}))

		def delete(event):
			if event.kind is EventKind.TOOL_FINISHED:
				self.delete(self.read_run(event.run).conversation)

		result = run_agent(AgentRequest(self.make_agent(find), "Look", self.user, channel="s"), [delete])
		self.assertEqual((result.status.value, result.steps), ("Cancelled", 1))
		self.assertIsNone(self.read_run(result.run).conversation)

	def test_messages_of_a_run_of_a_deleted_conversation_stay_out_of_the_next_one(self):
		find = make_tool("Get List", reference_doctype="ToDo")
		agent, following = self.make_agent(find), []
		self.server.script(tool_call(find, {}))

		def delete(event):
			if event.kind is EventKind.TOOL_FINISHED:
				self.delete(self.read_run(event.run).conversation)
				session = ConversationManager(agent, "s", user=self.user)
				following.append(session.get_or_create_conversation())

		run = start_run(AgentRequest(agent, "Look", self.user, channel="s"))
		ended = run_coroutine(end_run(run, [delete]))
		self.assertEqual((ended.status.value, following), ("Cancelled", [run.conversation]))
		self.assertEqual(frappe.db.count("Agent Message", {"conversation": run.conversation}), 0)

	def test_run_queued_while_its_conversation_is_deleted_fails(self):
		run = enqueue_run(AgentRequest(self.agent, "Later", self.user, channel="s"))
		# The deletion saw no run of the conversation yet.
		frappe.db.delete("Agent Message", {"conversation": run.conversation})
		frappe.db.delete("Agent Conversation", run.conversation)
		ended = self.go_on(run.name)
		self.assertEqual((ended.status.value, ended.error), ("Failed", "The conversation was deleted"))
		self.assertEqual(self.server.requests, [])

	def test_run_without_a_cancel_request_continues_without_its_conversation(self):
		result = self.start_change("new")
		frappe.db.set_value("Agent Run", result["run"], {"conversation": None, "status": "Queued"})
		self.server.script(text("Nobody reads this."))
		expire_drafts(now_datetime() + timedelta(hours=73))
		ended = self.go_on(result["run"])
		self.assertEqual((ended.status.value, ended.response), ("Success", "Nobody reads this."))

	def test_runs_of_a_disabled_user_fail_and_new_ones_are_refused(self):
		waiting = self.start_change("new")
		later = enqueue_run(AgentRequest(self.agent, "Later", self.user, channel="s"))
		frappe.set_user("Administrator")
		frappe.get_doc("User", self.user).update({"enabled": 0}).save()
		approve_call(waiting["draft"]["draft"], waiting["draft"]["digest"])
		for run in (waiting["run"], later.name):
			ended = self.go_on(run)
			self.assertEqual(ended.status.value, "Failed")
			self.assertIn("is disabled", ended.error)
		self.assertEqual(self.note(), "old")
		with self.assertRaisesRegex(UsageError, "is disabled"):
			enqueue_run(AgentRequest(self.agent, "More", self.user))

	def test_a_waiting_run_fails_once_its_user_may_no_longer_use_the_agent(self):
		waiting = self.start_change("new")
		frappe.set_user("Administrator")
		frappe.get_doc("User", self.user).update({"roles": []}).save()
		approve_call(waiting["draft"]["draft"], waiting["draft"]["digest"])
		ended = self.go_on(waiting["run"])
		self.assertEqual(ended.status.value, "Failed")
		self.assertIn("There is no agent", ended.error)
		self.assertEqual(self.note(), "old")

	def test_deleting_a_conversation_cancels_child_runs_and_expires_their_drafts(self):
		call_other = make_tool("Run Agent", agent=self.agent)
		caller = self.make_agent(call_other)
		result = self.start(tool_call(call_other, {"prompt": "Change it"}), self.change("new"), agent=caller)
		child = result["draft"]["run"]
		self.assertNotEqual(child, result["run"])
		self.delete(result["conversation"])
		self.assertEqual(self.go_on(result["run"]).status.value, "Cancelled")
		draft = self.draft(result)
		self.assertEqual((draft.status, draft.reason), ("Expired", "The run that called it has ended"))
		self.assertEqual(self.go_on(child).status.value, "Cancelled")

	def test_deleting_a_run_cancels_its_child_run_and_expires_its_draft(self):
		call_other = make_tool("Run Agent", agent=self.agent)
		caller = self.make_agent(call_other)
		result = self.start(tool_call(call_other, {"prompt": "Change it"}), self.change("new"), agent=caller)
		child = result["draft"]["run"]
		frappe.set_user("Administrator")
		frappe.delete_doc("Agent Run", result["run"])
		draft = read_draft(result["draft"]["draft"])
		self.assertEqual((draft.status, draft.reason), ("Expired", "The run that called it was deleted"))
		self.assertEqual(self.go_on(child).status.value, "Cancelled")

	def test_deleting_an_active_run_settles_its_budget_reservation(self):
		agent = self.make_agent(daily_token_limit=100_000)
		run = start_run(AgentRequest(agent, "Hello", self.user, channel="s"))
		limits = read_limits(run.name, agent, self.user)
		journal = RunJournal(run.lease, None, run.manager.model, None, limits=limits)
		journal.start_model_call(1, lambda: WorstCase(run.manager.model, 1000, 500))
		frappe.delete_doc("Agent Run", run.name)
		frappe.db.commit()
		budget = frappe.db.get_value(
			"Agent Budget", {"scope": "agent", "holder": agent}, ["tokens", "reserved_tokens"]
		)
		self.assertEqual(budget, (1500, 0))

	def test_caller_of_a_run_deleted_during_a_model_call_receives_an_error(self):
		context = copy_context()

		def delete_run(request):
			(run,) = frappe.get_all("Agent Run", {"agent": self.agent}, pluck="name")
			frappe.delete_doc("Agent Run", run)

		self.server.on_request = lambda request: context.run(elsewhere, delete_run, request)
		self.server.script(text("Too late."))
		with acting_as(self.user), self.assertRaisesRegex(UsageError, "was deleted"):
			run_agent(AgentRequest(self.agent, "Hello", self.user, channel="s"))

	def test_queued_run_fails_when_its_agent_is_disabled(self):
		run = enqueue_run(AgentRequest(self.agent, "Later", self.user, channel="s"))
		frappe.get_doc("Agent", self.agent).update({"disabled": 1}).save()
		ended = self.go_on(run.name)
		self.assertEqual(ended.status.value, "Failed")
		self.assertIn("is disabled", ended.error)

	def test_queued_runs_fail_when_their_model_or_agent_was_deleted(self):
		for doctype in ("AI Model", "Agent"):
			agent = self.make_agent()
			request = AgentRequest(agent, "Later", self.user, channel="s")
			first, second = enqueue_run(request), enqueue_run(request)
			name = agent if doctype == "Agent" else first.manager.model
			frappe.db.delete(doctype, name)
			frappe.clear_document_cache(doctype, name)
			ended = [work_on(run.name) for run in (first, second)]
			self.assertEqual([run.status.value for run in ended], ["Failed", "Failed"])
			self.assertIn(name, ended[0].error)
			if doctype == "AI Model":
				shown = {row["name"]: row["model"] for row in get_overview()}
				self.assertEqual(shown[agent], name)
			self.assertEqual(self.read_run(first.name).status, "Failed")
			error_filter = {"conversation": first.conversation, "kind": "Error"}
			self.assertEqual(frappe.db.count("Agent Message", error_filter), 2)
			frappe.db.delete("Agent", agent)
			frappe.db.commit()
