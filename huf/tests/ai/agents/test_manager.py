"""A prepared agent is cached until the agent, its tools or the user's roles change."""

import frappe
from frappe.utils import now_datetime

from huf.ai.agents.manager import AgentManager
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_agent, make_tool, make_user


class TestAgentManager(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.tool = make_tool("Get List", reference_doctype="ToDo")
		self.agent = make_agent(tools=(self.tool,))

	def prepare(self):
		return AgentManager(self.agent).prepare_agent()

	def test_manager_has_its_tools_before_create_agent(self):
		manager = AgentManager(self.agent)
		self.assertEqual([each.name for each in manager.tools], [self.tool])

	def test_instructions_begin_with_the_date_of_the_site(self):
		before, instructions, after = now_datetime(), AgentManager(self.agent).instructions, now_datetime()
		dates = [f"Current date: {at:%A, %Y-%m-%d}\n\nYou are an agent under test." for at in (before, after)]
		self.assertIn(instructions, dates)

	def test_prepared_agent_is_cached(self):
		self.assertIs(self.prepare(), self.prepare())

	def test_saving_an_agent_invalidates_its_cache(self):
		self.prepare()
		doc = frappe.get_doc("Agent", self.agent)
		doc.instructions = "Be brief."
		doc.save()
		self.assertEqual(self.prepare().instructions, "Be brief.")

	def test_saving_a_tool_invalidates_cached_agents(self):
		self.prepare()
		doc = frappe.get_doc("Agent Tool Function", self.tool)
		doc.description = "Finds what is to be done"
		doc.save()
		self.assertIn("Finds what is to be done", self.prepare().tools[0].description)

	def test_losing_a_role_removes_its_tools_from_the_cached_agent(self):
		doc = frappe.get_doc("Agent Tool Function", self.tool)
		doc.append("roles", {"role": "Huf Manager"})
		doc.save()
		user = make_user("Huf User", "Huf Manager")
		frappe.set_user(user)
		self.assertEqual(len(self.prepare().tools), 1)
		frappe.set_user("Administrator")
		doc = frappe.get_doc("User", user)
		doc.roles = [row for row in doc.roles if row.role != "Huf Manager"]
		doc.save()
		frappe.set_user(user)
		self.assertEqual(self.prepare().tools, [])
