"""Which calls of a run that has read untrusted content need approval."""

import json

import frappe

from huf.ai.chat.approvals import approve_call, reject_call
from huf.ai.core.session import acting_as
from huf.ai.runs.queue import work_on
from huf.ai.runs.replay import replay
from huf.ai.tools.trust import trust_record
from huf.tests.ai.runs.test_taint import HERE, MESSAGE_TEXT, SENT, STRANGER, TaintCase
from huf.tests.base import enter
from huf.tests.factories import make, make_model, make_tool, make_user, unique
from huf.tests.model_server import ModelServer, text, tool_call, tool_calls


class TestCalls(TaintCase):
	def test_links_of_an_untrusted_page_need_approval(self):
		link = tool_call(self.fetch, {"url": f"{self.outside.url}/link/77"})
		result = self.run_agent(self.read_page(), link, tools=(self.fetch,))
		self.assert_waits(result)
		self.assertEqual(self.outside.paths, ["/page"])

	def test_links_named_in_the_prompt_need_no_approval(self):
		link = tool_call(self.fetch, {"url": f"{self.outside.url}/link/7"})
		result = self.run_agent(
			self.read_page(),
			link,
			text("Read."),
			tools=(self.fetch,),
			prompt=f"Read {self.outside.url}/page and {self.outside.url}/link/7",
		)
		self.assertEqual((result["status"], self.outside.paths), ("Success", ["/page", "/link/7"]))

	def test_hosts_allowed_in_the_settings_need_no_approval(self):
		self.addCleanup(self.allow_for_all, "")
		result = self.run_agent(self.read_page(), self.drop(), tools=(self.fetch, self.post))
		self.assert_waits(result)
		self.allow_for_all("127.0.0.1")
		self.run_agent(self.read_page(), self.drop(), text("Posted."), tools=(self.fetch, self.post))
		self.assertEqual(len(self.outside.bodies), 1)

	def allow_for_all(self, hosts: str):
		frappe.db.rollback()
		settings = frappe.get_doc("Huf Settings")
		settings.allowed_hosts = hosts
		settings.save()
		frappe.db.commit()

	def test_undeclared_tool_needs_approval_and_the_draft_names_the_origin(self):
		tool = make_tool("Custom Function", function_path=f"{HERE}.publish")
		call = tool_call(tool, {"text": "DE02120300000000202051"})
		result = self.run_agent(self.read_page(), call, tools=(self.fetch, tool))
		self.assertEqual((result["status"], SENT), ("Waiting", []))
		concern = json.loads(self.draft_of(result["run"]).concern)
		(value,) = concern["values"]
		self.assertEqual(
			(value["parameter"], value["value"], value["origin"]),
			("text", "DE02120300000000202051", "web 127.0.0.1"),
		)

	def test_undeclared_tool_needs_no_approval_without_untrusted_content(self):
		tool = make_tool("Custom Function", function_path=f"{HERE}.publish")
		result = self.run_agent(
			tool_call(tool, {"text": "Hi"}), text("Done."), tools=(tool,), prompt="Publish"
		)
		self.assertEqual((result["status"], SENT), ("Success", [{"text": "Hi"}]))

	def test_deleting_publishing_and_assigning_need_approval_own_todos_do_not(self):
		with acting_as(self.person):
			note = make("Note", title=unique("Note"), content="x", public=0).name
		frappe.db.commit()
		for types, doctype, arguments in (
			("Delete Document", "Note", {"name": note}),
			("Update Document", "Note", {"name": note, "values": {"public": 1}}),
			("Set Value", "Note", {"name": note, "fieldname": "public", "value": 1}),
			("Create Document", "ToDo", {"description": "x", "allocated_to": "Administrator"}),
			("Update Document", "User", {"name": self.person, "values": {"first_name": "Mallory"}}),
			("Delete Document", "User", {"name": self.person}),
		):
			with self.subTest(types=types, doctype=doctype):
				tool = make_tool(types, reference_doctype=doctype)
				result = self.run_agent(
					self.read_page(), tool_call(tool, arguments), tools=(self.fetch, tool)
				)
				self.assertEqual(result["status"], "Waiting", result)
		tool = make_tool("Create Document", reference_doctype="ToDo")
		create = tool_call(tool, {"description": STRANGER, "allocated_to": self.person})
		result = self.run_agent(self.read_page(), create, text("Filed."), tools=(self.fetch, tool))
		self.assertEqual(result["status"], "Success")

	def test_mail_and_notifications_to_recipients_not_in_the_prompt_need_approval(self):
		known = make_user("Huf User")
		prompt = f"Read {self.outside.url}/page, then write to anna@a.example and {known}"
		for types, to, words, status in (
			("Send Mail", ["thief@evil.example"], "Hello", "Waiting"),
			("Send Mail", "thief@evil.example, me@ours.example", "Hello", "Waiting"),
			("Send Mail", ["anna@a.example"], STRANGER, "Waiting"),
			("Send Mail", ["anna@a.example", "me@ours.example"], "Hello", "Success"),
			("Notify", [make_user("Huf User")], "Hello", "Waiting"),
			("Notify", [known], STRANGER, "Success"),
		):
			with self.subTest(types=types, to=to, words=words):
				tool = make_tool(types)
				call = tool_call(tool, {"to": to, "subject": "News", MESSAGE_TEXT[types]: words})
				ending = () if status == "Waiting" else (text("Done."),)
				hosts = {"allowed_hosts": "@ours.example"}
				result = self.run_agent(
					self.read_page(), call, *ending, tools=(self.fetch, tool), prompt=prompt, **hosts
				)
				self.assertEqual(result["status"], status, result)

	def test_a_name_that_a_portal_user_chose_is_no_recipient_without_a_person(self):
		tool, name = make_tool("Send Mail"), unique("Anna")
		user = make_user()
		values = {"owner": "Guest", "full_name": name, "user_type": "Website User"}
		frappe.db.set_value("User", user, values)
		frappe.db.commit()
		call = tool_call(tool, {"to": [name], "subject": "News", "body": "Hello"})
		result = self.run_agent(call, tools=(tool,), prompt=f"Write to {name}")
		self.assert_waits(result)
		concern = frappe.parse_json(self.draft_of(result["run"]).concern)
		self.assertEqual(concern["values"][0]["value"], f"{name} <{user}>")
		with acting_as(self.person):
			trust_record("User", user)
		result = self.run_agent(call, text("Sent."), tools=(tool,), prompt=f"Write to {name}")
		self.assertEqual(result["status"], "Success", result)

	def test_a_colleague_who_signed_up_is_a_recipient_by_name(self):
		tool, name, user = make_tool("Send Mail"), unique("Anna"), make_user("Huf User")
		frappe.db.set_value("User", user, {"owner": "Guest", "full_name": name})
		frappe.db.commit()
		call = tool_call(tool, {"to": [name], "subject": "News", "body": "Hello"})
		result = self.run_agent(call, text("Sent."), tools=(tool,), prompt=f"Write to {name}")
		self.assertEqual(result["status"], "Success", result)

	def test_address_among_the_allowed_hosts_is_a_named_recipient(self):
		tool = make_tool("Send Mail")
		for to, status in (("anna@office.example", "Success"), ("eve@office.example", "Waiting")):
			call = tool_call(tool, {"to": [to], "subject": "News", "body": "Hello"})
			ending = () if status == "Waiting" else (text("Done."),)
			hosts = {"allowed_hosts": "anna@office.example"}
			result = self.run_agent(self.read_page(), call, *ending, tools=(self.fetch, tool), **hosts)
			self.assertEqual(result["status"], status, to)

	def test_calls_of_the_same_turn_do_not_taint_each_other(self):
		"""The model wrote their arguments before it saw the result of either."""
		link = tool_call(self.fetch, {"url": f"{self.outside.url}/link/7"})
		both = tool_calls([*self.read_page().message["tool_calls"], *link.message["tool_calls"]])
		result = self.run_agent(both, self.drop(), tools=(self.fetch, self.post))
		self.assertEqual(sorted(self.outside.paths), ["/link/7", "/page"])
		self.assert_waits(result)

	def test_caution_setting_of_the_agent_decides_about_approval(self):
		tool = make_tool(
			"Custom Function", function_path=f"{HERE}.publish", effect="external", sensitive_parameters="-"
		)
		call = tool_call(tool, {"text": "A new sentence"})
		for caution, status in (("Strict", "Waiting"), ("Standard", "Success"), ("Off", "Success")):
			self.server.close()
			self.server = enter(self, ModelServer())
			self.model = make_model(self.server)
			ending = () if status == "Waiting" else (text("Done."),)
			result = self.run_agent(
				self.read_page(), call, *ending, tools=(self.fetch, tool), caution=caution
			)
			self.assertEqual(result["status"], status, caution)

	def test_a_resumed_run_is_still_tainted_and_its_replay_is_identical(self):
		tool = make_tool("Custom Function", function_path=f"{HERE}.publish")
		call = lambda words: tool_call(tool, {"text": words})  # noqa: E731
		result = self.run_agent(
			self.read_page(), call("One"), call("Two"), text("Done."), tools=(self.fetch, tool)
		)
		for answer in (approve_call, reject_call):
			draft = self.draft_of(result["run"])
			answer(draft.name, draft.digest)
			frappe.db.commit()
			frappe.set_user("Administrator")
			work_on(result["run"])
		self.assertEqual(SENT, [{"text": "One"}])
		self.assertEqual(frappe.db.get_value("Agent Run", result["run"], "status"), "Success")
		self.assertTrue(replay(result["run"]).identical)
