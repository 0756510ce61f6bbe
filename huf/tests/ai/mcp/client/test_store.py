"""What a server offers is stored in its connection, whatever people change meanwhile."""

import frappe

from huf.ai.mcp.client import store
from huf.tests.ai.mcp.client.test_connections import ConnectionTestCase
from huf.tests.base import enter
from huf.tests.mcp_servers import McpServer


class TestStoredTools(ConnectionTestCase):
	def test_the_status_of_a_tool_that_was_removed_during_its_call_is_written_nowhere(self):
		connection = self.connect(enter(self, McpServer()), ["search.notes"])
		frappe.db.delete(store.TOOL, {"parent": connection, "tool_name": "search.notes"})
		store.write_tool(connection, "search.notes", None, "Gone")
		offered = store.read_offered(frappe.db.get_value(store.CONNECTION, connection, "offered"))
		self.assertNotIn("search.notes", offered)
		written = frappe.db.sql("select field from tabSingles where doctype = %s", (store.TOOL,))
		self.assertFalse(written)


del ConnectionTestCase
