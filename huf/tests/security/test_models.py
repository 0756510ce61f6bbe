"""Users may choose an agent's model and its tiers for a run; those who may edit the agent, any model."""

import frappe

from huf.ai.runs.entry import run_agent_sync
from huf.tests.base import SiteTestCase, enter
from huf.tests.factories import SECRET, make, make_agent, make_model, make_user, unique
from huf.tests.model_server import ModelServer, text


class TestModels(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.server = enter(self, ModelServer())
		self.own, self.other = make_model(self.server), make_model(self.server)
		self.provider = frappe.db.get_value("AI Model", self.own, "provider")
		self.foreign = make("AI Provider", provide_name=unique("Foreign"), api_key=SECRET).name
		self.agent = make_agent(self.own)
		self.user, self.manager = make_user("Huf User"), make_user("Huf Manager")

	def run_as(self, user: str, **chosen) -> dict:
		frappe.set_user(user)
		return run_agent_sync(self.agent, "Hi", **chosen)

	def test_a_user_chooses_the_agents_own_model_and_no_other(self):
		for chosen in ({}, {"model": self.own}, {"provider": self.provider}):
			with self.subTest(chosen):
				self.server.script(text("Hello."))
				self.assertEqual(self.run_as(self.user, **chosen)["model"], self.own)
		before = frappe.db.count("Agent Run")
		for chosen in (
			{"model": self.other},
			{"provider": self.foreign},
			{"model": self.own, "provider": self.foreign},
			{"model": "Direct"},
			{"model": "no such model"},
		):
			with (
				self.subTest(chosen),
				self.assertRaisesRegex(frappe.PermissionError, "Leave model and provider"),
			):
				self.run_as(self.user, **chosen)
		self.assertEqual(frappe.db.count("Agent Run"), before)

	def test_managers_can_choose_any_model(self):
		self.server.script(text("Hello."))
		self.assertEqual(self.run_as(self.manager, model=self.other)["model"], self.other)

	def test_users_can_choose_tier_models_of_an_agent_that_chooses_by_task(self):
		settings = frappe.get_doc("Huf Settings")
		before = settings.tier2_model
		self.addCleanup(self.set_tier, before)
		self.set_tier(self.other)
		frappe.get_doc("Agent", self.agent).update({"choose_by_task": 1}).save()
		self.server.script(text("Hello."))
		self.assertEqual(self.run_as(self.user, model=self.other)["model"], self.other)

	@staticmethod
	def set_tier(model: str | None):
		frappe.set_user("Administrator")
		frappe.get_doc("Huf Settings").update({"tier2_model": model}).save()
		frappe.db.commit()
