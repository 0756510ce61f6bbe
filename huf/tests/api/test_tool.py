"""Tools as who sets agents up sees them, and tools made by the handful."""

import frappe

from huf.ai.errors import UsageError
from huf.api import agent, tool
from huf.tests.base import SiteTestCase
from huf.tests.factories import make, make_agent, make_tool, make_user, unique


class TestToolMaking(SiteTestCase):
	def test_a_doctype_s_tools_are_made_once(self):
		doctype = make("DocType", **own_doctype()).name
		made = tool.make_for(doctype, ["list", "update"])
		rows = [frappe.get_doc("Agent Tool Function", name) for name in made]
		self.assertEqual([row.types for row in rows], ["Get List", "Update Document"])
		self.assertEqual(tool.make_for(doctype, '["update"]'), made[1:])

	def test_only_who_may_make_tools_and_read_the_doctype_makes_some(self):
		user, manager = make_user("Huf User"), make_user("Huf Manager")
		frappe.set_user(user)
		self.assertRaises(frappe.PermissionError, tool.make_for, "ToDo", ["list"])
		frappe.set_user(manager)
		self.assertRaises(frappe.PermissionError, tool.make_for, "Error Log", ["list"])
		self.assertRaises(UsageError, tool.make_for, "ToDo", ["drop"])

	def test_the_list_says_which_agents_have_a_tool_and_whose_it_is(self):
		name = make_tool("Get List", reference_doctype="ToDo", roles=[{"role": "Huf Manager"}])
		owner = make_agent(tools=(name,))
		row = next(row for row in tool.get_tools() if row["name"] == name)
		self.assertEqual((row["agents"], row["roles"], row["effect"]), ([owner], ["Huf Manager"], "read"))


class TestVersions(SiteTestCase):
	def test_what_an_agent_was_told_is_kept_in_order(self):
		doc = frappe.get_doc("Agent", make_agent(instructions="One."))
		for text in ("Two.", "Three."):
			doc.instructions = text
			doc.save(ignore_version=False)
		doc.description = "Not about its instructions"
		doc.save(ignore_version=False)
		self.assertEqual([each["text"] for each in agent.get_versions(doc.name)], ["Three.", "Two.", "One."])

	def test_who_may_not_change_an_agent_is_not_told(self):
		name = make_agent()
		frappe.set_user(make_user("Huf User"))
		self.assertRaises(frappe.PermissionError, agent.get_versions, name)


def own_doctype() -> dict:
	field = {"fieldname": "title", "fieldtype": "Data", "label": "Title"}
	rules = [{"role": "System Manager", "read": 1, "write": 1, "create": 1}]
	return {"name": unique("Thing"), "module": "Huf", "custom": 1, "fields": [field], "permissions": rules}
