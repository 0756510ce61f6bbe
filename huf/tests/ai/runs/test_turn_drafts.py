"""Several calls of one turn that need approval: drafts are shown together, and each answer is applied.

What has changed between the approval and the call is shown again.
"""

import frappe

from huf.ai.chat.approvals import approve_call, reject_call
from huf.ai.core.session import acting_as
from huf.ai.runs.model_input import read_model_input
from huf.ai.runs.replay import replay
from huf.tests.doctypes import ORDER, make_order
from huf.tests.drafting import DraftTestCase
from huf.tests.factories import make_tool
from huf.tests.model_server import call, text, tool_call, tool_calls


class TestTurns(DraftTestCase):
	def change_three(self, *answers) -> tuple[dict, list]:
		"""Starts a run whose model changes three orders in one turn; returns its result and the orders."""
		orders = [self.order, make_order(note="old"), make_order(note="old")]
		calls = [call(self.update, {"name": order.name, "values": {"note": "new"}}) for order in orders]
		result = self.start(tool_calls(calls, content="I change three orders."), *answers)
		return result, orders

	def notes(self, orders) -> list[str]:
		return [frappe.db.get_value(ORDER, order.name, "note") for order in orders]

	def test_drafts_of_one_turn_are_shown_together_and_each_answer_is_applied(self):
		result, orders = self.change_three(text("Two of three."))
		first, second, third = result["drafts"]
		self.assertEqual(result["draft"], first)
		self.assertEqual(result["response"], "I change three orders.")
		with acting_as(self.user):
			approve_call(first["draft"], first["digest"])
			reject_call(second["draft"], reason="Not this one")
			# Nothing is done before the last answer.
			self.assertIsNone(self.go_on(result["run"]))
			self.assertEqual(self.notes(orders), ["old"] * 3)
		with acting_as(self.user):
			edited = {"name": orders[2].name, "values": {"note": "newer"}}
			approve_call(third["draft"], third["digest"], edited)
		ended = self.go_on(result["run"])
		self.assertEqual((ended.response, len(self.server.requests)), ("Two of three.", 2))
		self.assertEqual(self.notes(orders), ["new", "old", "newer"])
		statuses = [status for _, status in self.calls(result["run"])]
		self.assertEqual(statuses, ["Success", "Refused", "Success"])

	def test_only_calls_before_the_first_draft_of_a_turn_run_before_approval(self):
		look = make_tool("Get List", reference_doctype=ORDER)
		agent = self.make_agent(look, self.update)
		calls = [
			call(look, {"limit": 1}),
			call(self.update, {"name": self.order.name, "values": {"note": "new"}}),
		]
		result = self.start(tool_calls([*calls, call(look, {"limit": 2})]), text("Done."), agent=agent)
		self.assertEqual(self.calls(result["run"]), [(look, "Success")])
		self.approve_call(result)
		self.assertEqual(self.go_on(result["run"]).response, "Done.")
		self.assertEqual(
			self.calls(result["run"]), [(look, "Success"), (self.update, "Success"), (look, "Success")]
		)

	def test_second_change_of_a_document_in_a_turn_needs_approval_again(self):
		calls = [
			call(self.update, {"name": self.order.name, "values": values})
			for values in ({"note": "new"}, {"note": "newer"})
		]
		result = self.start(tool_calls(calls), text("Done."))
		self.assertEqual(len(result["drafts"]), 2)
		with acting_as(self.user):
			for card in result["drafts"]:
				approve_call(card["draft"], card["digest"])
		# After the first change, the second differs from what was shown, so it is shown again.
		again = self.go_on(result["run"])
		self.assertEqual((again.status.value, self.note()), ("Waiting", "new"))
		self.approve_call(again.as_dict())
		self.assertEqual((self.go_on(result["run"]).response, self.note()), ("Done.", "newer"))

	def test_an_approved_call_is_made_although_later_calls_confirm_the_refused_answer(self):
		create, claim = make_tool("Create Document", reference_doctype="ToDo"), "I created the todo."
		agent = self.make_agent(create, self.update, strict_receipts=1)
		change = call(self.update, {"name": self.order.name, "values": {"note": "new"}})
		answers = [text(claim), tool_call(create, {"description": "Call Anna"}), tool_calls([change])]
		result = self.start(*answers, text("I created the todo and updated the order."), agent=agent)
		frappe.get_doc("Agent", agent).update({"strict_receipts": 0}).save()
		self.approve_call(result)
		ended = self.go_on(result["run"])
		self.assertEqual((ended.response, ended.steps), ("I created the todo and updated the order.", 4))
		self.assertEqual((self.note(), self.draft(result).status), ("new", "Applied"))
		self.assertTrue(replay(result["run"]).identical)
		sent = read_model_input(result["run"], 2)["messages"]
		self.assertEqual(sent[-2]["content"], claim)

	def test_submission_of_a_document_changed_after_the_approval_needs_approval_again(self):
		submit = make_tool("Submit Document", reference_doctype=ORDER, requires_approval=1)
		result = self.start(
			tool_call(submit, {"name": self.order.name}), text("Done."), agent=self.make_agent(submit)
		)
		self.approve_call(result)
		doc = frappe.get_doc(ORDER, self.order.name)
		doc.update({"lines": [{"item": "anvil", "qty": 900}]}).save()
		again = self.go_on(result["run"])
		self.assertEqual((again.status.value, self.order_docstatus()), ("Waiting", 0))
		row = self.draft(result)
		with acting_as(self.user):
			approve_call(row.name, row.digest)
		self.assertEqual(self.go_on(result["run"]).status.value, "Success")
		self.assertEqual(self.order_docstatus(), 1)

	def order_docstatus(self) -> int:
		frappe.db.rollback()
		return frappe.db.get_value(ORDER, self.order.name, "docstatus")
