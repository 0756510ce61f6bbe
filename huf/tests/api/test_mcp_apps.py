"""MCP Apps: a call that waits for approval is shown as a card, and only its answer tool decides."""

import base64
import hashlib
import re
from unittest.mock import patch

import frappe

from huf.ai.chat import approvals
from huf.ai.core.session import acting_as
from huf.ai.mcp.server.apps import ANSWER, CARD
from huf.ai.runs import queue
from huf.ai.runs.queue import work_on
from huf.tests.api.test_mcp import McpTestCase
from huf.tests.api.test_openai import SECRET, make_key
from huf.tests.doctypes import ORDER
from huf.tests.factories import make_user
from huf.tests.model_server import text

UI = "io.modelcontextprotocol/ui"
MIME = "text/html;profile=mcp-app"
APPS = {
	"io.modelcontextprotocol/clientCapabilities": {
		"elicitation": {},
		"extensions": {UI: {"mimeTypes": [MIME]}},
	}
}


class AppsTestCase(McpTestCase):
	def setUp(self):
		super().setUp()
		self.slug = self.make_server(self.agent, (self.update,), (self.agent,))
		self.arguments = {"name": self.order.name, "values": {"note": "new"}}

	def tools(self, **options) -> dict[str, dict]:
		return {each["name"]: each for each in self.result("tools/list", **options)["tools"]}

	def ask(self) -> dict:
		return self.call(self.update, self.arguments, meta=APPS)

	def answer(self, pending: dict, approve: bool, **others) -> dict:
		given = {key: pending["structuredContent"][key] for key in ("draft", "digest")}
		return self.call(ANSWER, {**given, "approve": approve, **others}, meta=APPS)

	def read_card(self) -> dict:
		(content,) = self.result("resources/read", {"uri": CARD}, meta=APPS)["contents"]
		return content


class TestCard(AppsTestCase):
	def test_tools_that_may_wait_link_the_card_for_clients_with_mcp_apps(self):
		tools = self.tools(meta=APPS)
		self.assertEqual(tools[self.update]["_meta"]["ui"]["resourceUri"], CARD)
		ask = next(each for name, each in tools.items() if name.startswith("ask_"))
		self.assertEqual(ask["_meta"]["ui"]["resourceUri"], CARD)
		self.assertNotIn("_meta", self.tools()[self.update])
		self.assertEqual(tools[ANSWER]["_meta"]["ui"]["visibility"], ["app"])

	def test_card_csp_allows_only_its_own_script(self):
		content = self.read_card()
		self.assertEqual((content["mimeType"], content["_meta"]["ui"]["csp"]), (MIME, {}))
		policy = re.search(r'Content-Security-Policy" content="([^"]+)"', content["text"])[1]
		script = re.search(r"<script>(.*)</script>", content["text"], re.DOTALL)[1]
		digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
		self.assertIn(f"script-src 'sha256-{digest}'", policy)
		self.assertIn("default-src 'none'", policy)
		self.assertNotRegex(content["text"], r"https?://")

	def test_clients_without_mcp_apps_cannot_call_the_answer_tool(self):
		pending = self.ask()
		self.assertNotIn(ANSWER, self.tools())
		given = {key: pending["structuredContent"][key] for key in ("draft", "digest")}
		refused = self.post("tools/call", {"name": ANSWER, "arguments": {**given, "approve": True}})
		self.assertIn("Unknown tool", refused.json["error"]["message"])
		self.assertEqual(self.note(), "old")


class TestAnswer(AppsTestCase):
	def test_result_contains_the_diff_and_approval_executes_it(self):
		pending = self.ask()
		self.assertEqual(pending["structuredContent"]["tool"], self.update)
		(change,) = pending["structuredContent"]["difference"]["changes"]
		fields = {each["fieldname"]: (each["before"], each["after"]) for each in change["fields"]}
		self.assertEqual(fields["note"], ("old", "new"))
		self.assertEqual(self.note(), "old")
		done = self.answer(pending, True)
		self.assertFalse(done.get("isError"), done)
		self.assertEqual(self.note(), "new")

	def test_rejection_returns_its_reason(self):
		done = self.answer(self.ask(), False, reason="Not today")
		self.assertIn("Not today", done["content"][0]["text"])
		self.assertEqual(self.note(), "old")

	def test_document_changed_meanwhile_returns_a_new_diff(self):
		pending = self.ask()
		frappe.get_doc(ORDER, self.order.name).update({"note": "other"}).save()
		frappe.db.commit()
		again = self.answer(pending, True)
		self.assertTrue(again["isError"])
		self.assertIn("has changed", again["content"][0]["text"])
		self.assertIn('"other"', str(again["structuredContent"]).replace("'", '"'))
		self.assertEqual(self.note(), "other")
		self.assertFalse(
			self.answer({"structuredContent": again["structuredContent"]["approval"]}, True).get("isError")
		)
		self.assertEqual(self.note(), "new")

	def test_approval_after_a_rejection_elsewhere_is_refused(self):
		pending = self.ask()
		with acting_as(self.user):
			approvals.reject_call(pending["structuredContent"]["draft"], None, "By mail")
		late = self.answer(pending, True)
		self.assertTrue(late["isError"])
		self.assertIn("answered before", late["content"][0]["text"])
		self.assertEqual(self.note(), "old")

	def test_approver_without_read_permission_learns_only_that_the_answer_is_stored(self):
		approver = make_user("Huf User")
		agent = self.make_agent(self.update, approver=approver)
		self.slug = self.make_server(agent, (self.update,), (agent,))
		draft = self.draft(self.start(self.change("new"), text("The secret is 4711."), agent=agent))
		self.headers = {"Authorization": f"Bearer {make_key(approver)}:{SECRET}"}
		shown = {"draft": draft.name, "digest": draft.digest}
		refused = self.answer({"structuredContent": {**shown, "digest": "of another change"}}, True)
		self.assertIn("has changed", refused["content"][0]["text"])
		with patch.object(queue, "enqueue_work", work_on):
			done = self.answer({"structuredContent": shown}, True)
		self.assertFalse(done.get("isError"), done)
		self.assertIn("is stored", done["content"][0]["text"])
		self.assertNotIn("4711", str(done))
		self.assertEqual(self.note(), "new")

	def test_user_who_is_not_the_approver_receives_no_draft_content(self):
		pending = self.ask()
		self.headers = {"Authorization": f"Bearer {make_key(make_user('Huf User'))}:{SECRET}"}
		refused = self.answer(pending, True)
		self.assertTrue(refused["isError"])
		self.assertEqual(refused.get("structuredContent"), {})
		self.assertEqual(self.note(), "old")
