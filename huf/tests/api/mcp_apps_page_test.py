"""The approval card of MCP Apps in a browser, embedded in a minimal host that follows the specification."""

import contextvars
import json

from huf.embedded.tests.browser import needs_browser, open_page
from huf.tests.api.test_mcp_apps import APPS, AppsTestCase
from huf.tests.doctypes import ORDER

HOST = """<!doctype html><iframe id="view" sandbox="allow-scripts" style="width: 600px; height: 600px"></iframe>
<script>
const view = document.getElementById("view");
window.seen = [];
function post(message) { view.contentWindow.postMessage({ jsonrpc: "2.0", ...message }, "*"); }
window.addEventListener("message", async ({ source, data }) => {
	if (source !== view.contentWindow) return;
	window.seen.push(data);
	if (data.method === "ui/initialize")
		post({ id: data.id, result: { protocolVersion: data.params.protocolVersion, hostCapabilities: { serverTools: {} },
			hostInfo: { name: "host", version: "1" }, hostContext: { theme: "dark", styles: { variables: {} } } } });
	else if (data.method === "ui/notifications/initialized") {
		post({ method: "ui/notifications/tool-input", params: { arguments: {} } });
		post({ method: "ui/notifications/tool-result", params: window.result });
	} else if (data.method === "tools/call")
		post({ id: data.id, result: await window.callTool(data.params) });
	else if (data.id !== undefined) post({ id: data.id, result: {} });
});
function start(html, result) { window.result = result; view.srcdoc = html; }
</script>"""


@needs_browser
class TestCardPage(AppsTestCase):
	def open_card(self, page, pending: dict):
		page.set_content(HOST)
		# Playwright calls this on a greenlet that does not inherit context variables.
		context = contextvars.copy_context()
		page.expose_function(
			"callTool", lambda params: context.run(self.result, "tools/call", params, meta=APPS)
		)
		page.evaluate("([html, result]) => start(html, result)", [self.read_card()["text"], pending])
		return page.frame_locator("#view")

	def test_card_shows_the_diff_and_approves_the_draft(self):
		self.order.note = "<img src=x onerror=alert(1)>"
		self.order.save()
		pending = self.ask()
		with open_page("about:blank", expected="Content Security Policy") as page:
			card = self.open_card(page, pending)
			card.get_by_text(f"{ORDER} {self.order.name}").wait_for()
			self.assertEqual(card.locator("del").inner_text(), self.order.note)
			self.assertIn("<img", self.order.note)
			self.assertEqual(card.locator("ins").inner_text(), "new")
			frame = page.frames[1]
			frame.evaluate(
				"document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.bad = 1'}))"
			)
			self.assertIsNone(frame.evaluate("window.bad ?? null"))
			card.get_by_role("button", name="Approve").click()
			card.get_by_text("Answered").wait_for()
			methods = [
				each.get("method") for each in json.loads(page.evaluate("JSON.stringify(window.seen)"))
			]
		self.assertEqual(self.note(), "new")
		self.assertIn("ui/notifications/size-changed", methods)
		self.assertIn("ui/update-model-context", methods)

	def test_document_changed_meanwhile_shows_a_new_diff_that_can_be_rejected(self):
		pending = self.ask()
		self.order.reload()
		self.order.update({"note": "other"}).save()
		with open_page("about:blank") as page:
			card = self.open_card(page, pending)
			card.get_by_role("button", name="Approve").click()
			card.get_by_text("has changed since you saw it").wait_for()
			self.assertEqual(card.locator("del").inner_text(), "other")
			card.get_by_label("Reason to reject").fill("Too late")
			card.get_by_role("button", name="Reject").click()
			card.get_by_text("Too late").wait_for()
		self.assertEqual(self.note(), "other")

	def test_tool_result_without_a_draft_shows_no_card(self):
		with open_page("about:blank") as page:
			card = self.open_card(page, {"content": [{"type": "text", "text": "Done"}]})
			page.wait_for_function(
				"window.seen.some((each) => each.method === 'ui/notifications/initialized')"
			)
			self.assertTrue(card.locator("body").is_hidden())
