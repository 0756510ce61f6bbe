"""For tests of apps: agents run with scripted answers instead of a model.

	class TestClerk(AgentTestCase):
		def test_a_visit_is_booked(self):
			self.script(tool_call("book_visit", {"patient": "Ann"}), text("Booked."))
			result = self.ask("Clerk", "Book a visit for Ann")
			self.assertEqual(result["response"], "Booked.")

Everything else is real: permissions, tools, approvals, journal. `huf test APP` runs such tests on a new site,
`bench --site SITE run-tests --app APP` on a site for tests. What a run commits stays on it.
"""

import unittest
from typing import Any

import frappe

from huf.ai.chat.approvals import approve_call
from huf.ai.core.session import acting_as
from huf.ai.core.types import AgentRequest
from huf.ai.providers.litellm_module import load
from huf.ai.runs.entry import run_agent
from huf.ai.runs.queue import work_on
from huf.tests.model_answers import Scripted, error, text, tool_call, tool_calls
from huf.tests.model_server import ModelServer

__all__ = ["AgentTestCase", "error", "text", "tool_call", "tool_calls"]

SCRIPTED = "Scripted for tests"


class AgentTestCase(unittest.TestCase):
	"""Begins and ends each test as Administrator without an open transaction."""

	@classmethod
	def setUpClass(cls) -> None:
		super().setUpClass()
		# Otherwise a child process checks model calls of each server, which takes seconds.
		load()

	def setUp(self) -> None:
		super().setUp()
		frappe.db.rollback()
		frappe.set_user("Administrator")
		self.server = ModelServer()
		connect_model(self.server.base_url)
		self.server.__enter__()
		self.addCleanup(self.end)

	def end(self) -> None:
		frappe.db.rollback()
		frappe.set_user("Administrator")
		self.server.__exit__(None)

	def script(self, *answers: Scripted) -> None:
		"""Add answers, one for each request to the model. A test with more or fewer requests fails."""
		self.server.script(*answers)

	@property
	def requests(self) -> list[dict]:
		"""What the model was sent so far, as in OpenAI's API."""
		return self.server.requests

	def ask(self, agent: str, prompt: str, user: str = "Administrator", **request: Any) -> dict:
		"""Run an agent as a user, in a conversation of its own; commits. The result is that of
		`huf.ai.agent_integration.run_agent_sync`; `request`: more fields of AgentRequest.
		"""
		frappe.db.commit()
		request = {"external_id": frappe.generate_hash(length=10), "model": SCRIPTED, **request}
		with acting_as(user):
			return run_agent(AgentRequest(agent, prompt, user, **request)).as_dict()

	def approve(self, result: dict) -> dict:
		"""Approve the calls for which a run waits, each as the user who is asked, and let it go on."""
		for draft in result["drafts"]:
			asked = draft["approver"] or frappe.db.get_value("Agent Run", result["run"], "run_as")
			with acting_as(asked):
				approve_call(draft["draft"], draft["digest"])
		done = work_on(result["run"])
		if done is None:
			self.fail("Another worker has taken the run. Stop the workers of the site during tests.")
		return done.as_dict()


def connect_model(base_url: str) -> None:
	"""The AI Model that is answered from the script; its server has another address in each test."""
	if not frappe.db.exists("AI Provider", SCRIPTED):
		values = {"provide_name": SCRIPTED, "api_key": "none", "api_base": base_url}
		frappe.get_doc({"doctype": "AI Provider", **values}).insert()
		frappe.get_doc({"doctype": "AI Model", "model_name": SCRIPTED, "provider": SCRIPTED}).insert()
	frappe.db.set_value("AI Provider", SCRIPTED, "api_base", base_url)
	frappe.clear_document_cache("AI Provider", SCRIPTED)
	frappe.db.commit()
