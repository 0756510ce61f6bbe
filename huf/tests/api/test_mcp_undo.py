"""The undo tool of MCP servers previews and undoes runs of the caller."""

import frappe
from frappe.utils import now_datetime

from huf.tests.api.test_mcp import McpTestCase
from huf.tests.api.test_openai import SECRET, make_key
from huf.tests.factories import make_agent, make_model, make_tool, make_user, unique


class TestUndo(McpTestCase):
	def test_undo_tool_previews_changes_and_applies_them_by_digest(self):
		self.slug = self.make_server(self.todo_agent, (self.create,))
		since = str(now_datetime())
		title = unique("undo over mcp")
		made = self.call(self.create, {"description": title, "allocated_to": self.user})
		self.assertFalse(made["isError"], made)
		self.assertNotIn("undo", self.names())
		doc = frappe.get_doc("MCP Server", {"slug": self.slug})
		doc.offer_undo = 1
		doc.save()
		frappe.db.commit()
		self.assertIn("undo", self.names())
		scope = {"agent": self.todo_agent, "since": since}
		preview = self.call("undo", scope)["structuredContent"]
		self.assertEqual([each["action"] for each in preview["difference"]["changes"]], ["delete"])
		self.assertTrue(frappe.db.exists("ToDo", {"description": ["like", f"%{title}%"]}))
		self.assertTrue(self.call("undo", {**scope, "digest": "other"})["isError"])
		self.assertFalse(self.call("undo", {**scope, "digest": preview["digest"]})["isError"])
		self.assertFalse(frappe.db.exists("ToDo", {"description": ["like", f"%{title}%"]}))

	def test_custom_tool_named_undo_does_not_replace_the_undo_tool(self):
		tool = make_tool("Get List", "undo", reference_doctype="ToDo")
		agent = make_agent(make_model(self.server), (tool,))
		self.slug = self.make_server(agent, (tool,), offer_undo=1)
		server = frappe.db.get_value("MCP Server", {"slug": self.slug})
		try:
			self.assertEqual(self.names(), ["undo"])
			self.assertIn("Name the runs to undo", self.call("undo")["content"][0]["text"])
		finally:
			for doctype, name in (("MCP Server", server), ("Agent", agent), ("Agent Tool Function", tool)):
				frappe.delete_doc(doctype, name, force=True)
			frappe.db.commit()

	def test_undo_of_a_run_of_another_user_is_refused(self):
		server = self.make_server(self.todo_agent, (self.create,), offer_undo=1)
		title = unique("undo over mcp")
		self.slug = server
		run = self.call(self.create, {"description": title, "allocated_to": self.user})
		name = frappe.db.get_value("Agent Run", {"agent": self.todo_agent, "owner": self.user})
		self.headers = {"Authorization": f"Bearer {make_key(make_user('Huf User'))}:{SECRET}"}
		self.assertFalse(run["isError"])
		refused = self.call("undo", {"runs": [name]})
		self.assertTrue(refused["isError"])
		self.assertRegex(refused["content"][0]["text"], "(?i)^[^<]*permission[^<]*$")
		frappe.db.rollback()
		self.assertTrue(
			frappe.db.exists("ToDo", {"allocated_to": self.user, "description": ["like", f"%{title}%"]})
		)
