"""An MCP server is connected and checked on the page, and its tools are accepted."""

from huf.embedded.tests.browser import needs_browser
from huf.embedded.tests.pages import PageTestCase
from huf.tests.base import enter
from huf.tests.mcp_servers import INJECTION, McpServer


@needs_browser
class TestConnectionPage(PageTestCase):
	def get_stored(self) -> dict:
		return self.call("/api/resource/MCP%20Server%20Connection/Notes")["data"]

	def test_connection_lists_tools_and_a_changed_description_is_accepted(self):
		server = enter(self, McpServer())
		with self.open_page("/huf/tools") as page:
			page.get_by_test_id("mcp-connections").click()
			page.get_by_test_id("new-record").click()
			page.get_by_test_id("field-connection_name").fill("Notes")
			page.get_by_test_id("field-name_prefix").fill("notes_")
			page.get_by_test_id("field-url").fill(server.url)
			page.get_by_test_id("field-allow_private_hosts").click()
			page.get_by_test_id("save").click()
			page.get_by_test_id("mcp-refresh").click()
			page.get_by_text("search.notes").first.wait_for()
			self.assertEqual(self.get_stored()["state"], "Connected")
			self.assertEqual({row["status"] for row in self.get_stored()["tools"]}, {"New"})
			self.call(
				"/api/resource/MCP%20Server%20Connection/Notes", {"tools": self.choose_search_tool()}, "PUT"
			)
			server.set(description=INJECTION)
			page.get_by_test_id("mcp-refresh").click()
			page.get_by_text("Status: Changed").wait_for()
			changed = next(row for row in self.get_stored()["tools"] if row["status"] == "Changed")
			self.assertIn(f'+ "description": "{INJECTION}"', changed["change"])
			page.get_by_test_id("row-open").first.click()
			page.get_by_test_id("field-accept_change").click()
			page.get_by_test_id("save").click()
			page.get_by_text("Status: Accepted").wait_for()
		self.assertEqual({row["status"] for row in self.get_stored()["tools"]}, {"Accepted", "New"})

	def choose_search_tool(self) -> list[dict]:
		return [
			{**row, "chosen": int(row["tool_name"] == "search.notes")} for row in self.get_stored()["tools"]
		]

	def run_check(self, page) -> None:
		page.get_by_test_id("mcp-check").click()
		page.get_by_test_id("mcp-check-result").wait_for()

	def test_connection_check_shows_each_step_and_how_to_fix_a_failure(self):
		server = enter(self, McpServer())
		values = {"connection_name": "Checked", "name_prefix": "checked_", "url": server.url}
		self.make("MCP Server Connection", **values)
		with self.open_page("/huf/records/MCP%20Server%20Connection/Checked") as page:
			page.get_by_role("button", name="Fetch tools").wait_for()
			page.get_by_role("button", name="Check step by step").wait_for()
			self.run_check(page)
			failed = page.locator("[data-testid=mcp-step][data-state=failed]")
			self.assertEqual(failed.get_attribute("data-step"), "dns")
			failed.get_by_text("tick Allow Private Addresses").wait_for()
			self.assertEqual(page.locator("[data-testid=mcp-step][data-state=unknown]").count(), 5)
			page.get_by_test_id("mcp-check-close").click()
			page.get_by_test_id("field-allow_private_hosts").click()
			page.get_by_test_id("save").click()
			page.get_by_test_id("saved").wait_for()
			self.run_check(page)
			page.locator("[data-testid=mcp-check-result][data-ok=true]").wait_for()
			page.locator("[data-testid=mcp-step][data-step=tools]").get_by_text("Tools: 4").wait_for()
			page.get_by_test_id("mcp-check-close").click()
			page.get_by_text("search.notes").first.wait_for()
