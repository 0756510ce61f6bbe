"""Runs found by text, user, date and cost, and replayed from their record: by those who may read them."""

import frappe

from huf.ai.chat.messages import send_agent_chat_message
from huf.ai.core.errors import UsageError
from huf.ai.runs.admission import acting_as
from huf.api import run as api
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_agent, make_model, make_tool, make_user
from huf.tests.model_server import ModelServer, text, tool_call


class TestRunSearch(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.owner, self.other = make_user("Huf User"), make_user("Huf User")
		self.agent = make_agent()
		with acting_as(self.owner):
			self.name = send_agent_chat_message(self.agent, "Count the xylophones")["run"]
			self.dear = send_agent_chat_message(self.agent, "Count the drums")["run"]
		values = {"creation": "2026-01-31 23:59:59", "total_cost": 2.5}
		frappe.db.set_value("Agent Run", self.dear, values, update_modified=False)

	def find(self, **filters) -> list[str]:
		with acting_as(self.owner):
			return [row["name"] for row in api.get_runs(agent=self.agent, **filters)]

	def test_runs_are_found_by_words_user_date_and_cost(self):
		both = [self.name, self.dear]
		for wanted, filters in (
			(both, {}),
			([self.name], {"text": " xyloPHONE "}),
			([self.dear], {"text": self.dear}),
			([], {"text": "trumpet"}),
			(both, {"user": self.owner}),
			([], {"user": self.other}),
			([self.dear], {"from_date": "2026-01-31", "to_date": "2026-01-31"}),
			([], {"from_date": "2026-01-01", "to_date": "2026-01-30"}),
			([self.name], {"from_date": "2026-02-01"}),
			([self.dear], {"min_cost": 2.5}),
			([], {"min_cost": 2.6}),
			([], {"min_cost": 2, "text": "xylophone"}),
		):
			self.assertCountEqual(self.find(**filters), wanted, filters)

	def test_what_is_no_date_is_refused(self):
		with self.assertRaises(UsageError):
			self.find(from_date="yesterday")

	def test_others_find_and_replay_nothing(self):
		with acting_as(self.other):
			self.assertEqual(api.get_runs(text="xylophone"), [])
			with self.assertRaises(frappe.PermissionError):
				api.replay_run(self.name)

	def test_what_the_model_was_sent_at_each_step_is_read_from_the_record_by_managers(self):
		tool = make_tool("Get List", reference_doctype="User")
		with ModelServer() as server:
			server.script(tool_call(tool, {}), text("One."))
			agent = make_agent(make_model(server), (tool,), instructions="Count them.")
			run = send_agent_chat_message(agent, "How many users?")["run"]
			sent = [request["messages"] for request in server.requests]
		for step, messages in enumerate(sent, 1):
			read = api.get_model_input(run, step)
			self.assertEqual([each["role"] for each in read["messages"]], [each["role"] for each in messages])
			self.assertEqual(read["messages"][-1]["content"], messages[-1]["content"])
			self.assertEqual([each["name"] for each in read["tools"]], [tool])
		self.assertRaises(UsageError, api.get_model_input, run, 3)
		with acting_as(self.owner), self.assertRaises(frappe.PermissionError):
			api.get_model_input(self.name, 1)

	def test_a_replay_says_whether_the_record_leads_to_the_same_end(self):
		with acting_as(self.owner):
			replayed = api.replay_run(self.name)
			self.assertTrue(replayed["identical"])
			self.assertEqual(replayed["status"], "Success")
			frappe.db.set_value("Agent Run", self.name, "transcript_digest", "another")
			self.assertFalse(api.replay_run(self.name)["identical"])
