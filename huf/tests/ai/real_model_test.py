"""A real small model (SmolLM2-135M on llama.cpp's server); its mistakes need not be faults of Huf.

`scripts/test --real-model` installs it and runs this file; with the other tests it is skipped, because it is slow.
"""

import os
import unittest

import frappe

from huf.ai.core.types import AgentRequest
from huf.ai.runs.entry import run_agent
from huf.tests.base import SiteTestCase, enter
from huf.tests.real_model import CHOICES, COUNT_REQUESTS, RealModel, find_liars, make_office_agent
from huf.tests.real_model_server import missing_packages

REQUESTS = 20
MODEL_TIMEOUT_S = 600
"""A busy machine may need a minute for a prompt."""
missing = missing_packages()


@unittest.skipUnless(os.environ.get("HUF_REAL_MODEL"), "scripts/test --real-model runs these tests")
@unittest.skipIf(missing, f"not installed: {', '.join(missing)}")
class TestRealModel(SiteTestCase):
	@classmethod
	def setUpClass(cls):
		frappe.set_user("Administrator")
		timeout = frappe.db.get_single_value("Huf Settings", "model_timeout")
		cls.addClassCleanup(set_model_timeout, timeout)
		set_model_timeout(MODEL_TIMEOUT_S)
		cls.server = enter(cls, RealModel())
		cls.checked = cls.server.connect()
		cls.model = cls.checked["model"]

	def test_connected_model_is_local_with_its_window_and_no_native_tool_calls(self):
		row = frappe.get_doc("AI Model", self.model)
		self.assertEqual((self.checked["ok"], row.without_tool_calls, row.ask_before_writes), (True, 1, 1))
		self.assertEqual((row.context_window, row.tool_calls), (8192, "By schema"))
		self.assertTrue(frappe.db.get_value("AI Provider", row.provider, "is_local"))

	def test_twenty_requests_write_nothing_unapproved_and_confirm_no_false_claim(self):
		agent, _ = make_office_agent(self.model, max_iterations=2, max_tokens=96)
		for request, _ in CHOICES[::2]:
			with self.subTest(request):
				before = frappe.db.count("ToDo"), frappe.db.count("Note")
				external_id = frappe.generate_hash(length=8)
				result = run_agent(AgentRequest(agent, request, "Administrator", external_id=external_id))
				self.assertIn(result.status.value, ("Success", "Waiting", "Stopped"), result)
				# Writes wait for approval, so nothing has changed and no claim of a change is confirmed.
				self.assertEqual((frappe.db.count("ToDo"), frappe.db.count("Note")), before)
				confirmed = {kind for each in result.claims if each["confirmed"] for kind in each["kinds"]}
				self.assertFalse(confirmed & {"create", "delete", "send"}, result)
		self.assertEqual(len(CHOICES[::2]), REQUESTS)
		failed = frappe.get_all(
			"Agent LLM Call", {"model": self.model, "status": "Failed"}, pluck="error_message"
		)
		self.assertEqual(failed, [])

	def test_invented_answers_are_marked_as_unconfirmed(self):
		made_up, unmarked = find_liars(self.model, [each.format("open to-dos") for each in COUNT_REQUESTS])
		self.assertGreater(made_up, 0)
		self.assertEqual(unmarked, [])


def set_model_timeout(seconds: int) -> None:
	frappe.set_user("Administrator")
	frappe.get_doc("Huf Settings").update({"model_timeout": seconds}).save()
	frappe.db.commit()
