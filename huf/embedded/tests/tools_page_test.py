"""Tools are created and tried as a chosen user on the page, which first previews changes and requests."""

from huf.embedded.tests.browser import needs_browser
from huf.embedded.tests.pages import PageTestCase
from huf.tests.model_server import ModelServer, text

CLERK, MANAGER = "clerk@example.com", "manager@example.com"


@needs_browser
class TestToolsPage(PageTestCase):
	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		cls.add_user(CLERK, "Huf User")
		cls.add_user(MANAGER, "Huf Manager")

	def count(self, doctype: str) -> int:
		return self.call(f"/api/method/frappe.client.get_count?doctype={doctype}")["message"]

	def test_tool_is_created_and_its_write_is_dry_run(self):
		with self.open_page("/huf/tools") as page:
			page.get_by_test_id("new-tool").click()
			page.get_by_test_id("field-tool_name").fill("write_down")
			page.get_by_test_id("field-types").select_option("Create Document")
			page.get_by_test_id("field-description").fill("Writes a to-do")
			page.get_by_test_id("save").click()
			page.get_by_text("Fill in: Reference DocType").wait_for()
			page.get_by_test_id("field-reference_doctype").fill("ToDo")
			page.get_by_test_id("link-choice").get_by_text("ToDo", exact=True).click()
			page.get_by_test_id("save").click()
			page.wait_for_url("**/huf/tools/write_down")
			before = self.count("ToDo")
			page.get_by_test_id("edit-description").fill("Call Anna")
			page.get_by_test_id("draft-edit-approve").click()
			change = page.locator("[data-testid=try-result] [data-testid=change][data-action=create]")
			change.get_by_text("Call Anna").wait_for()
			page.get_by_text("Nothing was changed").wait_for()
		self.assertEqual(self.count("ToDo"), before)

	def test_tool_is_tried_with_permissions_of_the_selected_user(self):
		self.make("ToDo", description="For nobody else")
		with self.open_page("/huf/tools?effect=read&q=todos") as page:
			page.locator("[data-testid=tool-item][data-name=list_todos]").click()
			page.get_by_test_id("draft-edit-approve").click()
			result = page.locator("[data-testid=try-result][data-ok=true]")
			result.filter(has_text="For nobody else").wait_for()
			page.get_by_test_id("try-user").fill(CLERK)
			page.get_by_test_id("link-choice").filter(has_text=CLERK).click()
			page.get_by_test_id("draft-edit-approve").click()
			result.filter(has_not_text="For nobody else").wait_for()

	def test_http_request_is_previewed_and_sent_only_after_confirmation(self):
		with (
			ModelServer(strict=False) as server,
			self.open_page("/huf/tools", width=390, height=844) as page,
		):
			values = {
				"description": "Tells the other side",
				"base_url": server.base_url,
				"allow_private_hosts": 1,
			}
			server.script(text("Heard."))
			self.make("Agent Tool Function", tool_name="tell", types="POST", **values)
			page.reload()
			page.get_by_test_id("search").fill("other side")
			page.get_by_test_id("tool-item").get_by_role("link").click()
			page.get_by_test_id("edit-add").select_option("url")
			page.get_by_test_id("edit-url").fill("chat/completions")
			page.get_by_test_id("draft-edit-approve").click()
			page.get_by_test_id("request").get_by_text(f"POST {server.base_url}/chat/completions").wait_for()
			page.get_by_text("Nothing has been sent yet").wait_for()
			self.assertEqual(server.requests, [])
			page.get_by_test_id("send").click()
			page.get_by_test_id("confirm").click()
			page.get_by_text("Sent. The response").wait_for()
			self.assertEqual(len(server.requests), 1)

	def test_secret_header_is_hidden_and_kept_when_its_row_is_renamed(self):
		with ModelServer(strict=False) as server, self.open_page("/huf/tools/knock") as page:
			headers = [{"header": "X-Old", "value": "hush"}]
			values = {"description": "Knocks", "base_url": server.base_url, "allow_private_hosts": 1}
			self.make("Agent Tool Function", tool_name="knock", types="POST", headers=headers, **values)
			page.reload()
			page.get_by_test_id("row-open").first.click()
			page.get_by_test_id("field-header").fill("X-New")
			page.get_by_test_id("save").click()
			page.get_by_test_id("saved").wait_for()
			self.assertNotIn("hush", page.content())
			request = {"tool": "knock", "user": "Administrator", "arguments": {"url": "door"}, "send": True}
			self.call("/api/method/huf.api.tool.try_it", request)
			self.assertEqual(server.headers[-1]["x-new"], "hush")

	def test_huf_manager_edits_tools_but_cannot_try_them(self):
		with self.open_page("/huf/tools/create_note", user=MANAGER) as page:
			page.get_by_test_id("field-requires_approval").check()
			page.keyboard.press("Control+s")
			page.get_by_test_id("saved").wait_for()
			self.assertEqual(page.get_by_test_id("try-tool").count(), 0)
