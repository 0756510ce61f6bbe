"""Searching, replaying and rerunning runs, with permissions."""

from unittest.mock import patch

import frappe
import frappe.share

from huf.ai.chat.messages import send_agent_chat_message
from huf.ai.core.errors import UsageError
from huf.ai.core.session import acting_as
from huf.ai.queries import event_stream
from huf.ai.storage.users import has_open_session
from huf.api import run as api
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_agent, make_model, make_tool, make_user, unique
from huf.tests.model_server import ModelServer, text, tool_call


def count_rows() -> tuple[int, int]:
	"""The numbers of runs, and of model calls of runs."""
	return frappe.db.count("Agent Run"), frappe.db.count("Agent LLM Call", {"run": ["is", "set"]})


class TestFollowing(SiteTestCase):
	def test_a_stream_ends_when_its_reader_may_no_longer_read_the_run(self):
		owner, manager, reader = make_user("Huf User"), make_user("Huf Manager"), make_user("Huf User")
		agent = make_agent()
		with acting_as(owner):
			run = send_agent_chat_message(agent, "Count the drums")["run"]
		frappe.share.add("Agent Run", run, reader, read=1)
		for user, end in (
			(owner, lambda: frappe.db.set_value("User", owner, "enabled", 0)),
			(manager, lambda: frappe.db.delete("Has Role", {"parent": manager})),
			(reader, lambda: frappe.share.remove("Agent Run", run, reader)),
		):
			with self.subTest(user), patch.object(event_stream, "PERMISSION_POLL_S", 0), acting_as(user):
				events = event_stream.follow_while_permitted(run, 0, follow=lambda *_: iter("abc"))
				self.assertEqual([next(events), next(events)], ["a", "b"])
				frappe.set_user("Administrator")
				end()
				self.assertEqual(list(events), [])

	def test_a_stream_ends_with_its_session(self):
		user = make_user("Huf User")
		self.assertFalse(has_open_session(user, "an ended session"))
		self.assertTrue(has_open_session(user, user))  # by an API key, which has no session


class TestRunSearch(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.owner, self.other = make_user("Huf User"), make_user("Huf User")
		self.agent = make_agent()
		with acting_as(self.owner):
			self.name = send_agent_chat_message(self.agent, "Count the xylophones")["run"]
			self.expensive = send_agent_chat_message(self.agent, "Count the drums")["run"]
		values = {"creation": "2026-01-31 23:59:59", "total_cost": 2.5}
		frappe.db.set_value("Agent Run", self.expensive, values, update_modified=False)

	def find(self, **filters) -> list[str]:
		with acting_as(self.owner):
			return [row["name"] for row in api.get_runs(agent=self.agent, **filters)]

	def test_a_user_with_whom_a_run_is_shared_reads_it_but_cannot_cancel_it(self):
		frappe.share.add("Agent Run", self.name, self.other, read=1)
		frappe.db.set_value("Agent Run", self.name, "status", "Queued", update_modified=False)
		with acting_as(self.other):
			self.assertEqual(api.get_run(self.name)["run"]["name"], self.name)
			with self.assertRaises(frappe.PermissionError):
				api.cancel(self.name)
		self.assertFalse(frappe.db.get_value("Agent Run", self.name, "cancel_requested"))
		with acting_as(self.owner):
			api.cancel(self.name)
		self.assertTrue(frappe.db.get_value("Agent Run", self.name, "cancel_requested"))

	def test_runs_are_found_by_words_user_date_and_cost(self):
		both = [self.name, self.expensive]
		for expected, filters in (
			(both, {}),
			([self.name], {"text": " xyloPHONE "}),
			([self.expensive], {"text": self.expensive}),
			([], {"text": "trumpet"}),
			(both, {"user": self.owner}),
			([], {"user": self.other}),
			([self.expensive], {"from_date": "2026-01-31", "to_date": "2026-01-31"}),
			([], {"from_date": "2026-01-01", "to_date": "2026-01-30"}),
			([self.name], {"from_date": "2026-02-01"}),
			([self.expensive], {"min_cost": 2.5}),
			([], {"min_cost": 2.6}),
			([], {"min_cost": 2, "text": "xylophone"}),
		):
			self.assertCountEqual(self.find(**filters), expected, filters)

	def test_only_managers_read_the_instructions_in_a_record(self):
		for user, is_shown in ((self.owner, False), (make_user("Huf Manager"), True)):
			with acting_as(user):
				(row,) = frappe.get_list("Agent Run", {"name": self.name}, ["*"])
				doc = frappe.get_doc("Agent Run", self.name)
				doc.apply_fieldlevel_read_permissions()
			for record in (row, doc):
				self.assertEqual("You are an agent under test." in (record.get("opening") or ""), is_shown)

	def test_an_invalid_date_filter_is_refused(self):
		with self.assertRaises(UsageError):
			self.find(from_date="yesterday")

	def test_runs_of_other_users_are_neither_found_nor_replayed(self):
		with acting_as(self.other):
			self.assertEqual(api.get_runs(text="xylophone"), [])
			with self.assertRaises(frappe.PermissionError):
				api.replay_run(self.name)

	def test_only_managers_can_read_the_model_input_of_each_step(self):
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

	def test_rerun_from_a_step_with_an_edited_prompt_changes_no_records(self):
		with ModelServer() as server:
			create, find = (
				make_tool("Create Document", reference_doctype="ToDo"),
				make_tool("Get List", reference_doctype="ToDo"),
			)
			agent = make_agent(make_model(server), (create, find))
			first, second = unique("first"), unique("second")
			server.script(
				tool_call(find, {"limit": 1}),
				tool_call(create, {"description": first}),
				text("Made the first."),
			)
			run = send_agent_chat_message(agent, "Make the first")["run"]
			sent = api.get_model_input(run, 2)["messages"]
			index = next(str(n) for n, each in enumerate(sent) if each["role"] == "user")
			before = count_rows()
			server.script(tool_call(create, {"description": second}), text("Made the second."))
			again = api.rerun(run, 2, {index: "Make the second"})
			self.assertEqual([each["step"] for each in again["steps"]], [2, 3])
			self.assertIn("different arguments", again["steps"][0]["differences"][0])
			self.assertEqual(again["steps"][0]["right"]["tool_calls"][0]["status"], "Success")
			self.assertIn(second, again["steps"][0]["right"]["tool_calls"][0]["result"])
			self.assertEqual((again["answer"], again["status"]), ("Made the second.", "Success"))
			messages = server.requests[-2]["messages"]
			self.assertEqual([each["role"] for each in messages], [each["role"] for each in sent])
			self.assertIn("Make the second", [each.get("content") for each in messages])
		self.assertFalse(frappe.db.exists("ToDo", {"description": ["like", f"%{second}%"]}))
		self.assertEqual(before, count_rows())
		for edits in (
			{"99": "x"},
			{"9" * 5000: "x"},
			{str(len(sent) - 1): "a forged result"},
			{index: 5},
			"no",
		):
			with self.assertRaises(UsageError):
				api.rerun(run, 2, edits)
		with acting_as(self.owner), self.assertRaises(frappe.PermissionError):
			api.rerun(self.name, 1, {})

	def test_rerun_reuses_results_of_external_calls_and_makes_no_new_ones(self):
		with ModelServer() as server:
			ask = make_tool("POST", base_url=server.base_url, allow_private_hosts=1)
			agent = make_agent(make_model(server), (ask,))
			server.script(tool_call(ask, {"url": "/none", "body": {"n": 1}}), text("Asked."))
			run = send_agent_chat_message(agent, "Ask")["run"]
			paths = len(server.paths)
			server.script(
				tool_call(ask, {"url": "/none", "body": {"n": 1}}),
				tool_call(ask, {"url": "/none", "body": {"n": 2}}),
				text("Asked twice."),
			)
			first, second, _ = api.rerun(run, 1, {})["steps"]
			self.assertEqual(len(server.paths), paths + 3)
		self.assertTrue(first["same"])
		self.assertIn("not made", second["right"]["tool_calls"][0]["result"])

	def test_replay_reports_whether_the_transcript_is_identical(self):
		with acting_as(self.owner):
			replayed = api.replay_run(self.name)
			self.assertTrue(replayed["identical"])
			self.assertEqual(replayed["status"], "Success")
			frappe.db.set_value("Agent Run", self.name, "transcript_digest", "another")
			self.assertFalse(api.replay_run(self.name)["identical"])
