"""A call over MCP that needs approval: the client's user sees the difference, and one answer counts."""

import frappe

from huf.ai.chat import approvals
from huf.ai.core.session import acting_as
from huf.ai.mcp.server.approvals import write_difference
from huf.tests.api.test_mcp import ELICITATION, McpTestCase
from huf.tests.doctypes import ORDER
from huf.tests.factories import make_user


class TestApproval(McpTestCase):
	def setUp(self):
		super().setUp()
		self.slug = self.make_server(self.agent, (self.update,))
		self.arguments = {"name": self.order.name, "values": {"note": "new"}}

	def ask(self, **options) -> dict:
		return self.call(self.update, self.arguments, meta=ELICITATION, **options)

	def answer(self, pending: dict, action: str, **content) -> dict:
		(key,) = pending["inputRequests"]
		response = {"action": action, **({"content": content} if content else {})}
		params = {
			"name": self.update,
			"arguments": self.arguments,
			"inputResponses": {key: response},
			"requestState": pending["requestState"],
		}
		return self.result("tools/call", params, meta=ELICITATION)

	def test_accepted_elicitation_executes_the_change(self):
		pending = self.ask()
		self.assertEqual(pending["resultType"], "input_required")
		((_key, request),) = pending["inputRequests"].items()
		self.assertEqual(request["method"], "elicitation/create")
		question, *lines = request["params"]["message"].splitlines()
		self.assertIn(f"to call {self.update}? It would do this:", question)
		self.assertEqual(lines, [f"Update {ORDER} {self.order.name}", '  Note: "old" → "new"'])
		self.assertEqual(self.note(), "old")
		done = self.answer(pending, "accept")
		self.assertFalse(done.get("isError"), done)
		self.assertEqual(self.note(), "new")

	def test_question_lists_the_values_rows_and_hidden_fields_of_a_new_document(self):
		row = {"label": "Item", "idx": 1, "fields": [{"label": "Qty", "before": None, "after": 2}]}
		title = {"label": "Title", "before": None, "after": "A\n  Note: b"}
		change = {"action": "create", "doctype": ORDER, "name": "x1", "provisional": True}
		lines = write_difference({"changes": [{**change, "fields": [title], "rows": [row], "hidden": 1}]})
		self.assertEqual(
			list(lines),
			[
				f"Create {ORDER}",
				r'  Title: "A\n  Note: b"',
				"  Item 1 · Qty: 2",
				"  Changes in fields that cannot be shown: 1",
			],
		)
		deleted = {"action": "delete", "doctype": ORDER, "name": "x\n  Note: b", "fields": []}
		self.assertEqual(list(write_difference({"changes": [deleted]})), [f"Delete {ORDER} x Note: b"])

	def test_rejection_elsewhere_overrides_a_later_accept(self):
		pending = self.ask()
		draft = frappe.get_last_doc("Agent Draft", {"tool": self.update})
		with acting_as(self.user):
			approvals.reject_call(draft.name, draft.digest, "Not by mail")
		done = self.answer(pending, "accept")
		self.assertIn("Not by mail", done["content"][0]["text"])
		self.assertEqual(self.note(), "old")

	def test_document_changed_meanwhile_causes_a_new_elicitation(self):
		pending = self.ask()
		frappe.get_doc(ORDER, self.order.name).update({"note": "other"}).save()
		frappe.db.commit()
		again = self.answer(pending, "accept")
		self.assertEqual(again["resultType"], "input_required")
		self.assertIn('"other"', next(iter(again["inputRequests"].values()))["params"]["message"])
		self.assertEqual(self.note(), "other")
		self.assertFalse(self.answer(again, "accept").get("isError"))
		self.assertEqual(self.note(), "new")

	def test_client_without_elicitation_receives_the_run_url(self):
		waiting = self.call(self.update, self.arguments)
		self.assertIn("/huf/runs/", waiting["content"][0]["text"])
		self.assertEqual(waiting["structuredContent"]["tool"], self.update)

	def test_user_who_is_not_the_approver_receives_no_elicitation(self):
		frappe.db.set_value("Agent", self.agent, "approver", make_user("Huf User"))
		frappe.clear_document_cache("Agent", self.agent)
		frappe.db.commit()
		self.assertIn("/huf/runs/", self.ask()["content"][0]["text"])

	def test_dismissed_elicitation_returns_the_run_url_and_the_draft_stays_open(self):
		done = self.answer(self.ask(), "cancel")
		self.assertEqual(done["resultType"], "complete")
		self.assertIn("/huf/runs/", done["content"][0]["text"])
		self.assertEqual(frappe.get_last_doc("Agent Draft", {"tool": self.update}).status, "Pending")

	def test_declined_elicitation_leaves_the_document_unchanged(self):
		done = self.answer(self.ask(), "decline", reason="Not today")
		self.assertTrue(done["isError"])
		self.assertIn("Not today", done["content"][0]["text"])
		self.assertEqual(self.note(), "old")
