"""Who approves a draft may change its arguments, to what they may do themselves."""

import json
from functools import partial

import frappe

from huf.ai.chat.approvals import approve_call
from huf.ai.core.errors import UsageError
from huf.ai.core.session import acting_as
from huf.tests.doctypes import CUSTOMER, EDITOR, ORDER, make_order
from huf.tests.drafting import DraftTestCase
from huf.tests.factories import make, make_role, make_tool, make_user, unique
from huf.tests.model_server import text, tool_call


class TestEditedArguments(DraftTestCase):
	def test_edited_arguments_are_applied_and_recorded(self):
		result = self.start_change("new", "Done.")
		given = {"name": self.order.name, "values": {"note": "better", "status": "Paid"}}
		shown = self.approve_call(result, arguments=given)
		fields = {f["fieldname"]: f["after"] for f in shown["difference"]["changes"][0]["fields"]}
		self.assertEqual(fields, {"note": "better", "status": "Paid"})
		self.go_on(result["run"])
		self.assertEqual(self.note(), "better")
		self.assertEqual(self.draft(result).status, "Applied")
		tool_result = json.loads(self.seen())
		self.assertEqual(
			(tool_result["arguments"], tool_result["note"]), (given, f"{self.user} changed the arguments.")
		)
		recorded = frappe.db.get_value("Agent Tool Call", {"run": result["run"]}, "arguments")
		self.assertEqual(json.loads(recorded), given)

	def test_an_approver_edits_arguments_only_to_what_they_may_do(self):
		approver, given = make_user("Huf User"), {"name": self.order.name, "values": {"note": "theirs"}}
		agent = self.make_agent(self.update, approver=approver)
		result = self.start(self.change("new"), text("Done."), agent=agent)
		edit = partial(approve_call, result["draft"]["draft"], result["draft"]["digest"], given)
		with acting_as(approver), self.assertRaisesRegex(UsageError, "what you may do yourself"):
			edit()
		frappe.get_doc("User", approver).add_roles(EDITOR)
		self.set_agent_roles(agent, make_role())
		with acting_as(approver), self.assertRaisesRegex(UsageError, "There is no agent"):
			edit()
		self.assertEqual(self.draft(result).status, "Pending")
		self.set_agent_roles(agent)
		with acting_as(approver):
			edit()
		self.go_on(result["run"])
		self.assertEqual(self.note(), "theirs")

	def set_agent_roles(self, agent: str, *roles: str) -> None:
		frappe.get_doc("Agent", agent).update({"roles": [{"role": role} for role in roles]}).save()
		frappe.db.commit()

	def test_invalid_edited_arguments_leave_the_draft_pending(self):
		result = self.start_change("new")
		for wrong in ({"name": self.order.name}, {"name": "none", "values": {"note": "x"}}):
			with self.subTest(wrong), self.assertRaises(UsageError):
				self.approve_call(result, arguments=wrong)
			self.assertEqual(self.draft(result).status, "Pending")

	def test_edited_arguments_refused_by_the_database_leave_the_draft_open(self):
		tool = make_tool("Create Document", reference_doctype=CUSTOMER, requires_approval=1)
		taken = make(CUSTOMER, title=unique("Customer")).name
		create = tool_call(tool, {"title": unique("Customer")})
		for result, wrong, words in (
			(self.start(create, agent=self.make_agent(tool)), {"title": taken}, f"already a .*{taken}"),
			(
				self.start_change("new"),
				{"name": self.order.name, "values": {"note": "x" * 70_000}},
				"too long|max characters",
			),
		):
			with self.subTest(words), self.assertRaisesRegex(UsageError, words):
				self.approve_call(result, arguments=wrong)
			self.assertEqual(self.draft(result).status, "Pending")

	def test_second_approval_keeps_or_replaces_earlier_edited_arguments(self):
		for given, wanted in ((None, "better"), ({"note": "new"}, "new")):
			with self.subTest(wanted):
				self.order = make_order("nail", note="old")
				result = self.start_change("new", "Done.")
				edited = {"name": self.order.name, "values": {"note": "better"}}
				self.approve_call(result, arguments=edited)
				frappe.db.set_value(ORDER, self.order.name, "note", "other")
				frappe.db.commit()
				self.assertEqual(self.go_on(result["run"]).status.value, "Waiting")
				card = {"draft": result["draft"]["draft"], "digest": self.draft(result).digest}
				again = given and {"name": self.order.name, "values": given}
				self.approve_call({"draft": card}, arguments=again)
				self.go_on(result["run"])
				self.assertEqual(self.note(), wanted)
