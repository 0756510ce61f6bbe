"""What apps test their agents with."""

import unittest

import frappe

from huf.testing import AgentTestCase, text, tool_call
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_agent, make_tool, make_user, unique


class TestAgentTestCase(AgentTestCase):
	def setUp(self):
		super().setUp()
		self.create = make_tool("Create Document", reference_doctype="ToDo")
		self.agent = make_agent(tools=(self.create,))
		self.task = unique("Call")

	def test_scripted_call_is_made_with_the_permissions_of_the_user(self):
		user = make_user("Huf User", "Desk User")
		self.script(tool_call(self.create, {"description": self.task}), text("Done."))
		result = self.ask(self.agent, "Remind me", user)
		self.assertEqual((result["response"], result["status"]), ("Done.", "Success"))
		self.assertEqual(frappe.db.get_value("ToDo", {"description": self.task}, "owner"), user)
		self.assertEqual(self.requests[0]["messages"][-1]["content"], "Remind me")

	def test_call_that_waits_is_approved_and_made(self):
		frappe.get_doc("Agent Tool Function", self.create).update({"requires_approval": 1}).save()
		self.script(tool_call(self.create, {"description": self.task}), text("Done."))
		result = self.ask(self.agent, "Remind me")
		self.assertEqual(result["status"], "Waiting")
		self.assertFalse(frappe.db.exists("ToDo", {"description": self.task}))
		self.assertEqual(self.approve(result)["response"], "Done.")
		self.assertTrue(frappe.db.exists("ToDo", {"description": self.task}))


class TestScripts(SiteTestCase):
	def test_answers_and_requests_must_match(self):
		agent = make_agent()

		class Inner(AgentTestCase):
			def test_unused_answer(self):
				self.script(text("First."), text("Second."))
				self.ask(agent, "Hello")

			def test_missing_answer(self):
				self.ask(agent, "Hello")

			def test_match(self):
				self.script(text("First."))
				self.ask(agent, "Hello")

		result = unittest.TestLoader().loadTestsFromTestCase(Inner).run(unittest.TestResult())
		failed = {test.id().rpartition(".")[2]: reason for test, reason in result.failures}
		self.assertEqual((set(failed), result.errors), ({"test_unused_answer", "test_missing_answer"}, []))
		self.assertIn("1 scripted answers were never asked for", failed["test_unused_answer"])
		self.assertIn("came after the script had ended", failed["test_missing_answer"])
