"""Calls that somebody other than the run's user must approve: all of them, or those above an amount."""

import frappe

from huf.ai.chat import approvals
from huf.ai.core.errors import UsageError
from huf.ai.core.session import acting_as
from huf.ai.tools.second_person import SecondPerson
from huf.api.draft import count_drafts, get_draft
from huf.tests.doctypes import CASE, CUSTOMER, EDITOR, controller, make_case
from huf.tests.drafting import DraftTestCase
from huf.tests.factories import make, make_tool, make_user, unique
from huf.tests.model_server import text, tool_call


class TestSecondPerson(DraftTestCase):
	def setUp(self):
		super().setUp()
		self.requester = make_user("Huf User", "Huf Manager", EDITOR)
		self.other = make_user("Huf User", EDITOR)
		self.case = make_case(amount=5)
		frappe.db.commit()

	def make_tool(self, **rule) -> str:
		self.update = make_tool("Update Document", reference_doctype=CASE, second_person=1, **rule)
		self.agent = self.make_agent(self.update, approver=self.other)
		return self.update

	def change_case(self, title: str, **values) -> dict:
		return tool_call(self.update, {"name": self.case.name, "values": {"title": title, **values}})

	def title(self) -> str:
		frappe.db.rollback()
		return frappe.db.get_value(CASE, self.case.name, "title")

	def answer(self, draft, user: str, **options) -> str:
		with acting_as(user):
			approvals.approve_call(draft.name, draft.digest, **options)
		return self.draft_status(draft)

	def draft_status(self, draft) -> str:
		return frappe.db.get_value("Agent Draft", draft.name, "status")

	def test_managers_cannot_approve_calls_of_their_own_runs(self):
		self.make_tool()
		with acting_as(self.requester):
			before = count_drafts()
		result = self.start(self.change_case("new"), text("Changed."), user=self.requester)
		self.assertEqual(result["status"], "Waiting", "the setting alone requires approval")
		draft = self.draft(result)
		self.assertEqual((draft.second_person, draft.approver), (1, self.other))
		with acting_as(self.requester):
			self.assertFalse(get_draft(draft.name)["may_answer"])
			self.assertEqual(count_drafts(), before)
		with self.assertRaisesRegex(frappe.PermissionError, "Somebody else"):
			self.answer(draft, self.requester)
		self.assertEqual(self.answer(draft, self.other), "Approved")
		self.go_on(result["run"])
		self.assertEqual(self.title(), "new")

	def test_agent_setting_alone_requires_a_second_person_as_approver(self):
		self.update = make_tool("Update Document", reference_doctype=CASE)
		doc = frappe.get_doc("Agent", self.make_agent(self.update, approver=self.requester))
		doc.agent_tool[0].second_person = 1
		doc.save()
		frappe.db.commit()
		draft = self.draft(self.start(self.change_case("new"), agent=doc.name, user=self.requester))
		self.assertEqual((draft.second_person, draft.approver), (1, None), "no user approves their own run")
		with self.assertRaises(frappe.PermissionError):
			self.answer(draft, self.requester)

	def test_only_amounts_above_the_limit_need_a_second_person(self):
		self.make_tool(amount_field="amount", amount_above=100)
		result = self.start(self.change_case("few", amount=100), text("Changed."), user=self.requester)
		self.assertEqual((result["status"], self.title()), ("Success", "few"))
		draft = self.draft(self.start(self.change_case("many", amount=101), user=self.requester))
		self.assertEqual(draft.second_person, 1)

	def test_computed_amount_above_the_limit_needs_a_second_person(self):
		def compute_amount(doc):
			doc.amount = 100 * len(doc.title)

		for rule in ({}, {"requires_approval": 1}):
			self.make_tool(amount_field="amount", amount_above=300, **rule)
			with self.subTest(rule), controller(CASE, validate=compute_amount):
				draft = self.draft(self.start(self.change_case("four"), user=self.requester))
				self.assertEqual((draft.second_person, self.title()), (1, "Roof"))
		with controller(CASE, validate=compute_amount):
			self.make_tool(amount_field="amount", amount_above=300)
			result = self.start(self.change_case("few"), text("Changed."), user=self.requester)
			self.assertEqual((result["status"], self.title()), ("Success", "few"))

	def test_amount_that_a_new_document_computes_decides_whether_a_second_person_is_needed(self):
		create = make_tool(
			"Create Document",
			reference_doctype=CASE,
			second_person=1,
			amount_field="amount",
			amount_above=300,
		)
		agent = self.make_agent(create, approver=self.other)
		with controller(CASE, validate=lambda doc: doc.set("amount", 100 * len(doc.title))):
			call = tool_call(create, {"title": "few"})
			result = self.start(call, text("Created."), agent=agent, user=self.requester)
			self.assertEqual(result["status"], "Success")
			draft = self.draft(self.start(tool_call(create, {"title": "four"}), agent=agent, user=self.user))
			self.assertEqual(draft.second_person, 1)
		draft = self.draft(self.start(tool_call(create, {"title": "none"}), agent=agent, user=self.user))
		self.assertEqual(draft.second_person, 1, "an amount that nobody knows counts as above the limit")

	def test_computed_amount_below_the_limit_is_approved_by_the_user_once(self):
		rule = {"requires_approval": 1, "second_person": 1, "amount_field": "amount", "amount_above": 300}
		create = make_tool("Create Document", reference_doctype=CASE, **rule)
		agent = self.make_agent(create, approver=self.requester)
		title = unique("few")
		with controller(CASE, validate=lambda doc: doc.set("amount", 7)):
			call = tool_call(create, {"title": title})
			result = self.start(call, text("Created."), agent=agent, user=self.requester)
			draft = self.draft(result)
			self.assertEqual((draft.second_person, self.answer(draft, self.requester)), (0, "Approved"))
			self.go_on(result["run"])
		self.assertTrue(frappe.db.exists(CASE, {"title": title}))

	def test_call_whose_amount_no_dry_run_can_show_is_not_made(self):
		self.make_tool(amount_field="amount", amount_above=300)
		with controller(CASE, validate=lambda doc: frappe.db.commit()):
			result = self.start(self.change_case("few"), text("It failed."), user=self.requester)
		self.assertEqual((result["status"], self.title()), ("Success", "Roof"))

	def test_hidden_amount_above_the_limit_needs_a_second_person(self):
		customer = make(CUSTOMER, title=unique("Customer")).name
		rule = {"second_person": 1, "amount_field": "discount", "amount_above": 10}
		self.update = make_tool("Update Document", reference_doctype=CUSTOMER, **rule)
		agent = self.make_agent(self.update, approver=self.other)
		change = tool_call(self.update, {"name": customer, "values": {"city": "Oslo"}})
		with controller(CUSTOMER, validate=lambda doc: doc.set("discount", 90)):
			draft = self.draft(self.start(change, agent=agent, user=self.user))
		self.assertEqual(draft.second_person, 1)
		self.assertNotIn("discount", draft.difference)

	def test_call_above_the_limit_has_one_dry_run(self):
		self.make_tool(amount_field="amount", amount_above=300)
		tried = []

		def validate(doc):
			tried.append(doc.name)
			doc.amount = 400

		with controller(CASE, validate=validate):
			self.draft(self.start(self.change_case("four"), user=self.user))
		self.assertEqual(tried, [self.case.name])

	def test_amount_edited_above_the_limit_needs_a_second_person(self):
		self.make_tool(requires_approval=1, amount_field="amount", amount_above=100)
		draft = self.draft(self.start(self.change_case("few", amount=7), user=self.requester))
		self.assertEqual(draft.second_person, 0)
		edited = {"name": self.case.name, "values": {"title": "many", "amount": 5000}}
		with self.assertRaisesRegex(frappe.PermissionError, "Somebody else"):
			self.answer(draft, self.requester, arguments=edited)
		self.assertEqual(self.draft_status(draft), "Pending")
		self.assertEqual(
			self.answer(draft, self.requester), "Approved", "the proposed amount is below the limit"
		)

	def test_second_person_cannot_approve_an_own_amount_above_the_limit(self):
		self.make_tool(requires_approval=1, amount_field="amount", amount_above=100)
		edited = {"name": self.case.name, "values": {"title": "many", "amount": 9000}}
		for asked in (7, 5000):
			result = self.start(self.change_case("many", amount=asked), user=self.requester)
			draft = self.draft(result)
			with self.subTest(asked), self.assertRaisesRegex(UsageError, "needs two people"):
				self.answer(draft, self.other, arguments=edited)
			self.assertEqual(self.draft_status(draft), "Pending")
		edited["values"]["amount"] = 80
		self.assertEqual(self.answer(draft, self.other, arguments=edited), "Approved")
		self.server.script(text("Changed."))
		self.go_on(result["run"])
		self.assertEqual((self.title(), frappe.db.get_value(CASE, self.case.name, "amount")), ("many", 80))

	def test_amount_that_rises_after_the_approval_needs_a_second_person(self):
		self.make_tool(requires_approval=1, amount_field="amount", amount_above=100)
		result = self.start(self.change_case("new"), text("Changed."), user=self.requester)
		draft = self.draft(result)
		self.assertEqual(self.answer(draft, self.requester), "Approved")
		frappe.db.set_value(CASE, self.case.name, "amount", 900)
		self.go_on(result["run"])
		renewed = self.draft(result)
		self.assertEqual((renewed.status, renewed.second_person, self.title()), ("Pending", 1, "Roof"))
		self.assertEqual(renewed.approver, self.other)
		with self.assertRaisesRegex(frappe.PermissionError, "Somebody else"):
			self.answer(renewed, self.requester)
		self.assertEqual(self.answer(renewed, self.other), "Approved")
		self.go_on(result["run"])
		self.assertEqual(self.title(), "new")

	def test_draft_that_comes_to_need_a_second_person_has_no_longer_its_user_as_approver(self):
		self.make_tool(requires_approval=1, amount_field="amount", amount_above=100)
		frappe.db.set_value("Agent", self.agent, "approver", None)
		draft = self.draft(self.start(self.change_case("new"), user=self.requester))
		self.assertEqual(draft.approver, self.requester)
		self.case.reload()
		self.case.db_set("amount", 900)
		frappe.db.commit()
		with self.assertRaisesRegex(UsageError, "changed since"):
			self.answer(draft, self.requester)
		renewed = self.draft({"draft": {"draft": draft.name}})
		self.assertEqual((renewed.second_person, renewed.approver), (1, None))

	def test_stored_amount_of_the_named_document_is_compared_with_the_limit(self):
		frappe.db.set_value(CASE, self.case.name, "amount", 900)
		rule = SecondPerson("amount", 100, CASE)
		self.assertTrue(rule.is_needed({"name": self.case.name, "values": {"title": "x"}}))
		self.assertTrue(rule.is_needed({"names": [self.case.name], "values": {"amount": 1}}))
		frappe.db.set_value(CASE, self.case.name, "amount", 9)
		self.assertFalse(rule.is_needed({"name": self.case.name, "values": {"title": "x"}}))

	def test_new_amount_of_a_set_value_call_is_compared_with_the_limit(self):
		frappe.db.set_value(CASE, self.case.name, "amount", 9)
		rule = SecondPerson("amount", 100, CASE)
		change = {"name": self.case.name, "fieldname": "amount", "value": 99_999}
		self.assertTrue(rule.is_needed(change))
		self.assertFalse(rule.is_needed({**change, "value": 10}))
		self.assertFalse(rule.is_needed({**change, "fieldname": "title"}))

	def test_amount_in_the_query_of_an_address_is_compared_with_the_limit(self):
		rule = SecondPerson("amount", 100)
		body = {"body": {"amount": 5}}
		self.assertTrue(rule.is_needed({"url": "/pay?to=x&amount=99999", **body}))
		self.assertTrue(rule.is_needed({"url": "/pay?amount=", **body}))
		self.assertTrue(rule.is_needed({"url": "/pay?am\tou\nnt=99999", **body}))
		self.assertFalse(rule.is_needed({"url": "/pay?amount=7", **body}))

	def test_amounts_that_cannot_be_compared_count_as_above_the_limit(self):
		rule = SecondPerson("amount", 100)
		for amount in ("a lot", None, {"of": "money"}, float("nan"), "1e9", -5000):
			self.assertTrue(rule.is_needed({"rows": [{"amount": amount}]}), amount)
		self.assertTrue(rule.is_needed({"note": "x"}))
		self.assertFalse(rule.is_needed({"rows": [{"amount": "99.5"}, {"amount": 100}]}))

	def test_read_tools_need_no_second_person(self):
		read = make_tool("Get List", reference_doctype=CASE, second_person=1)
		agent = self.make_agent(read)
		result = self.start(tool_call(read, {}), text("None."), agent=agent)
		self.assertEqual(result["status"], "Success")
