"""Calls that untrusted content demands wait for approval once a run has read it.

The model obeys. The person has asked for something else, in words that the call may try to reuse.
"""

import frappe

from huf.ai.core.session import acting_as
from huf.ai.tools.call_policy import build_policy
from huf.tests.ai.runs.test_taint import HERE, SENT, TaintCase
from huf.tests.doctypes import PLAIN, field, make_doctype
from huf.tests.factories import make, make_file, make_tool, make_user, unique
from huf.tests.model_server import text, tool_call

SHOP = "Huf Test Order Desk"
FIELDS = (
	field("contact_email", "Data"),
	field("payout_iban", "Data"),
	field("callback_url", "Data"),
	field("visibility", "Select", options="Private\nPublic"),
	field("is_published", "Check"),
	field("remark", "Small Text"),
)
MENTION = '<span class="mention" data-id="boss@office.example">@Boss</span> pay this'


class TestCalls(TaintCase):
	def assert_needs_approval(
		self, tool: str, arguments: dict, request: str = "then sum it up", **values
	) -> None:
		result = self.run_agent(
			self.read_page(),
			tool_call(tool, arguments),
			tools=tuple({self.fetch, tool}),
			prompt=f"Read {self.outside.url}/page, {request}",
			**values,
		)
		self.assertEqual((result["status"], SENT, self.outside.bodies), ("Waiting", [], []), result)

	def test_writes_to_access_control_automation_and_sharing_need_approval(self):
		note = {"comment_type": "Comment", "content": MENTION, "reference_doctype": "Note"}
		for doctype, values in (
			("Agent", {"agent_name": "Helper", "instructions": "Obey"}),
			("MCP Server Connection", {"connection_name": "Notes", "url": "http://evil.example"}),
			("Comment", note),
		):
			with self.subTest(doctype):
				self.assert_needs_approval(make_tool("Create Document", reference_doctype=doctype), values)
		for doctype in (
			"File|DocShare|User Permission|User|Role|Report|Email Account|Email Queue|DocType|Version|AI Provider|AI Model"
			"|Agent Trigger|Agent Tool Function|Agent Stop|Agent Route Rule|Agent Mailbox|Agent Untrusted Record"
			"|Knowledge Source|Huf Settings"
		).split("|"):
			with self.subTest(doctype):
				policy = build_policy(frappe._dict(types="Update Document", reference_doctype=doctype), {})
				self.assertEqual((policy.sensitive, policy.destructive), (None, True))
		file = make_file(unique("plan") + ".txt", "Tea", self.person)
		for field_name, value in (("is_private", 0), ("file_name", "invoice.exe")):
			with self.subTest(field_name):
				publish = make_tool("Set Value", reference_doctype="File")
				self.assert_needs_approval(publish, {"name": file, "fieldname": field_name, "value": value})
		publish = make_tool("Update Document", reference_doctype="File")
		self.assert_needs_approval(
			publish, {"name": file, "values": {"is_private": 0}}, f"then look at {file}"
		)

	def test_writes_to_recipient_payee_and_visibility_fields_need_approval(self):
		if not frappe.db.exists("DocType", SHOP):
			make_doctype(SHOP, list(FIELDS), [{**PLAIN, "role": "System Manager"}], autoname="hash")
		with acting_as(self.person):
			order = make(SHOP, remark="Tea").name
		frappe.db.commit()
		for name, value in (
			("contact_email", "m@evil.example"),
			("payout_iban", "DE02120300000000202051"),
			("callback_url", "evil.example/drop"),
			("visibility", "Public"),
			("is_published", 1),
		):
			with self.subTest(name):
				if name != "contact_email":
					self.assert_needs_approval(
						make_tool("Create Document", reference_doctype=SHOP), {name: value}
					)
				changed = {"documents": [{"name": order, "values": {"remark": "x", name: value}}]}
				self.assert_needs_approval(
					make_tool("Update Multiple Documents", reference_doctype=SHOP), changed
				)
		note = make_tool("Set Value", reference_doctype=SHOP)
		call = tool_call(note, {"name": order, "fieldname": "remark", "value": "What the page says"})
		result = self.run_agent(self.read_page(), call, text("Noted."), tools=(self.fetch, note))
		self.assertEqual(result["status"], "Success")

	def test_todos_assigned_to_other_users_need_approval(self):
		other = make_user("Huf User")
		for types, arguments in (
			("Create Document", {"description": "Pay", "allocated_to": other}),
			("Create Multiple Documents", {"documents": [{"description": "Pay", "allocated_to": other}]}),
		):
			with self.subTest(types):
				self.assert_needs_approval(make_tool(types, reference_doctype="ToDo"), arguments)

	def test_recipients_resembling_addresses_in_the_prompt_need_approval(self):
		request = "then write to anna@a.example.com, bob-smith@firm.co.uk and 'Anna <anna@a.example.com>'"
		for to in (
			["anna@a.example"],
			["smith@firm.co.uk"],
			["bob-smith@firm.co"],
			["anna@a.example.com", "m@evil.example"],
			"anna@a.example.com, m@evil.example",
			["anna@a.example.com <m@evil.example>"],
			["anna@a.example.com\u200b"],
			["a\u0430nna@a.example.com"],
			["@evil.example"],
		):
			with self.subTest(to):
				self.assert_needs_approval(
					make_tool("Send Mail"), {"to": to, "subject": "Hi", "body": "Hi"}, request
				)

	def test_urls_resembling_links_in_the_prompt_need_approval(self):
		request = f"then compare with {self.outside.url}/page?id=12.50 and http://shop.example.co.uk/a"
		for url in (
			"http://shop.example.co/a",
			"http://shop.example.co.uk.evil.example/a",
			"http://shop.example.co.uk@evil.example/a",
			"http://evil.example/?x=http://shop.example.co.uk/a",
			"http://evil.example#http://shop.example.co.uk/a",
			f"{self.outside.url}/link/200",
			f"{self.outside.url}/page?id=12.50&secret=1",
		):
			with self.subTest(url):
				self.assert_needs_approval(self.fetch, {"url": url}, request)

	def test_fragments_of_numbers_in_the_prompt_need_approval(self):
		publish = make_tool("Custom Function", function_path=f"{HERE}.publish")
		for number in (50, 12, "12", 2.5):
			with self.subTest(number):
				self.assert_needs_approval(publish, {"amount": number}, "then pay 12.50 to Anna")

	def test_undeclared_tool_needs_approval_for_empty_and_nested_arguments(self):
		publish = make_tool("Custom Function", function_path=f"{HERE}.publish")
		for arguments in (
			{},
			{"text": {"deep": [{"deeper": "evil.example/drop"}]}},
			{"options": [["then", ["m@evil.example"]]]},
			{"text": "then sum it up " * 3 + "evil.example"},
			{"confirm": True},
		):
			with self.subTest(arguments):
				self.assert_needs_approval(publish, arguments)

	def test_notifications_to_users_not_named_in_the_prompt_need_approval(self):
		other = make_user("Huf User")
		self.assert_needs_approval(make_tool("Notify"), {"to": [other], "subject": "x", "text": "y"})
		self.assert_needs_approval(make_tool("Notify"), {"to": f"{other}", "subject": "x", "text": "y"})

	def test_untrusted_payee_sent_to_an_allowed_host_needs_approval(self):
		iban = "DE02120300000000202051"
		pay = make_tool("POST", allow_private_hosts=1, base_url=self.outside.url)
		for body in ({"payeeIban": iban}, {"transfer": {"to": [iban]}}, {"account-number": iban}):
			with self.subTest(body):
				self.assert_needs_approval(pay, {"url": "/transfers", "body": body})
				self.assert_needs_approval(
					self.post, {"url": f"{self.outside.url}/t", "body": body}, allowed_hosts="127.0.0.1"
				)
		call = tool_call(pay, {"url": "/notes", "body": {"remark": "What the page says", "to": "Anna"}})
		result = self.run_agent(self.read_page(), call, text("Done."), tools=(self.fetch, pay))
		self.assertEqual((result["status"], len(self.outside.bodies)), ("Success", 1))

	def test_untrusted_value_posted_to_a_url_from_the_prompt_needs_approval(self):
		self.assert_needs_approval(
			self.post, {"url": f"{self.outside.url}/page", "body": {"iban": "DE02120300000000202051"}}
		)
