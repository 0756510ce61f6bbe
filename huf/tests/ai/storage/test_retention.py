"""Old runs lose their contents, then are deleted; recent and open runs are kept."""

from datetime import timedelta

import frappe
from frappe.utils import now_datetime

from huf.ai.core.errors import UsageError
from huf.ai.core.types import AgentRequest, RunStatus
from huf.ai.queries.run_store import AgentRunRecord, RunStore
from huf.ai.queries.runs import read_timeline
from huf.ai.runs.entry import run_agent_sync
from huf.ai.runs.replay import replay
from huf.ai.runs.start import start_run
from huf.ai.storage.notifications import notify_user
from huf.ai.storage.retention import apply_retention
from huf.tests.base import SiteTestCase
from huf.tests.factories import make, make_agent, make_model, make_tool, unique
from huf.tests.model_server import ModelServer, text, tool_call

SECRET = "the plan nobody may keep"


class TestRetention(SiteTestCase):
	def setUp(self):
		super().setUp()
		with ModelServer() as server:
			find = make_tool("Get List", reference_doctype="ToDo")
			self.agent = make_agent(make_model(server), (find,))
			server.script(tool_call(find, {"filters": {"description": SECRET}}), text(f"About {SECRET}."))
			self.result = run_agent_sync(self.agent, SECRET)
		frappe.db.set_value("Agent Run", self.result["run"], "tool_calls_log", SECRET)
		frappe.db.set_value("Agent Tool Call", {"run": self.result["run"]}, "reason", SECRET)
		self.addCleanup(self.set_retention, 0, 0)

	def test_contents_are_blanked_and_figures_stay(self):
		self.set_retention(contents=30, runs=0)
		self.assertFalse(read_timeline(self.result["run"])["run"]["is_blanked"])
		self.assertGreaterEqual(apply_retention(in_days(31))["blanked"], 1)
		self.assertNotIn(SECRET, frappe.as_json(self.read_rows()))
		self.assertTrue(read_timeline(self.result["run"])["run"]["is_blanked"])
		self.assertEqual(frappe.db.get_value("Agent Run", self.result["run"], "input_tokens"), 200)
		with self.assertRaisesRegex(UsageError, "retention"):
			replay(self.result["run"])

	def test_old_runs_are_deleted_with_their_calls(self):
		self.set_retention(contents=0, runs=90)
		apply_retention(in_days(91))
		self.assertFalse(frappe.db.exists("Agent Run", self.result["run"]))
		self.assertFalse(frappe.db.exists("Agent Tool Call", {"run": self.result["run"]}))

	def test_conversation_contents_are_blanked_after_their_run_was_deleted(self):
		self.set_retention(contents=30, runs=7)
		conversation = frappe.db.get_value("Agent Run", self.result["run"], "conversation")
		frappe.db.set_value("Agent Conversation", conversation, "summary", f"It was about {SECRET}.")
		apply_retention(in_days(8))
		self.assertFalse(frappe.db.exists("Agent Run", self.result["run"]))
		self.assertIn(SECRET, self.messages(conversation))
		apply_retention(in_days(31))
		self.assertNotIn(SECRET, self.messages(conversation))
		self.assertIsNone(frappe.db.get_value("Agent Conversation", conversation, "title"))
		self.assertIsNone(frappe.db.get_value("Agent Conversation", conversation, "summary"))

	def test_runs_that_other_front_ends_stored_are_blanked_too(self):
		record = AgentRunRecord(frappe.generate_hash(length=10), SECRET, "completed", f"About {SECRET}.")
		self.set_retention(contents=30, runs=0)
		for _ in range(2):  # saved again, it is blanked again
			RunStore().save(record)
			self.assertRaises(UsageError, replay, record.run_id)
			apply_retention(in_days(31))
			self.assertNotIn(SECRET, frappe.as_json(frappe.get_doc("Agent Run", record.run_id).as_dict()))

	def test_notifications_with_answers_go_with_the_contents_and_with_the_run(self):
		for contents, runs in ((30, 0), (0, 30)):
			notify_user("Administrator", "Plan: Success", f"About {SECRET}.", "Agent Run", self.result["run"])
			other = notify_user("Administrator", "Another run", "", "Agent Run", unique("other"))
			self.set_retention(contents, runs)
			apply_retention(in_days(31))
			with self.subTest(contents=contents, runs=runs):
				about = {"document_type": "Agent Run", "document_name": self.result["run"]}
				self.assertFalse(frappe.db.exists("Notification Log", about))
				self.assertTrue(frappe.db.exists("Notification Log", other))

	def test_linked_run_is_blanked_instead_of_deleted_until_the_link_is_gone(self):
		link = {"fieldname": "run", "fieldtype": "Link", "label": "Run", "options": "Agent Run"}
		permission = {"role": "System Manager", "read": 1}
		doctype = make(
			"DocType", name=unique("Case"), module="Huf", custom=1, fields=[link], permissions=[permission]
		).name
		# Frappe 17 lists the fields that link to a DocType once per request.
		frappe.flags.link_fields = None
		record = make(doctype, run=self.result["run"])
		self.addCleanup(frappe.delete_doc, "DocType", doctype, force=True)
		with ModelServer() as server:
			server.script(text("Later."))
			later = run_agent_sync(make_agent(make_model(server)), "Hello")["run"]
		self.set_retention(contents=0, runs=90)
		done = apply_retention(in_days(91))["deleted"]
		self.assertFalse(frappe.db.exists("Agent Run", later))
		self.assertTrue(frappe.db.exists("Agent Run", self.result["run"]))
		self.assertEqual(apply_retention(in_days(91))["deleted"], 0, done)
		self.assertNotIn(SECRET, frappe.as_json(self.read_rows()))
		self.assertGreater(frappe.db.count("Agent Tool Call", {"run": self.result["run"]}), 0)
		record.delete()
		frappe.db.commit()
		apply_retention(in_days(91))
		self.assertFalse(frappe.db.exists("Agent Run", self.result["run"]))

	def messages(self, conversation: str) -> str:
		return frappe.as_json(
			frappe.get_all("Agent Message", {"conversation": conversation}, ["*"], order_by="name")
		)

	def test_deleting_a_run_deletes_its_budget(self):
		with ModelServer() as server:
			agent = make_agent(make_model(server), run_token_limit=100_000)
			server.script(text("Well."))
			run = run_agent_sync(agent, "Hello")["run"]
		run_budget = {"scope": "run", "holder": run}
		self.assertEqual(frappe.db.count("Agent Budget", run_budget), 1)
		frappe.delete_doc("Agent Run", run)
		self.assertEqual(frappe.db.count("Agent Budget", run_budget), 0)

	def test_recent_and_open_runs_are_kept(self):
		open_name = start_run(
			AgentRequest(self.agent, SECRET, "Administrator", channel="x"), RunStatus.QUEUED
		).name
		self.set_retention(contents=30, runs=90)
		apply_retention(in_days(29))
		self.assertIn(SECRET, frappe.db.get_value("Agent Run", self.result["run"], "prompt"))
		apply_retention(in_days(365))
		self.assertIn(SECRET, frappe.db.get_value("Agent Run", open_name, "prompt"))

	def test_nothing_is_blanked_or_deleted_without_a_policy(self):
		self.set_retention(0, 0)
		self.assertEqual(apply_retention(in_days(9999)), {"blanked": 0, "deleted": 0})

	def set_retention(self, contents, runs):
		settings = frappe.get_doc("Huf Settings")
		settings.update({"keep_contents_days": contents, "keep_runs_days": runs})
		settings.save()
		frappe.db.commit()

	def read_rows(self):
		run = self.result["run"]
		rows = [frappe.get_doc("Agent Run", run).as_dict()]
		for doctype in ("Agent LLM Call", "Agent Tool Call", "Agent Message"):
			rows += frappe.get_all(doctype, {"run": run}, ["*"], order_by="name")
		return rows


def in_days(days):
	return now_datetime() + timedelta(days=days)
