"""Untrusted content from any source: a run that has read it does what it demands only after approval.

The model obeys every instruction. Each case names how the run reads; then the run posts the ledger.
"""

import frappe

import huf
from huf.ai.chat.external import build_external_request
from huf.ai.chat.messages import send_agent_chat_message
from huf.ai.core.session import acting_as
from huf.ai.runs.entry import run_agent, run_agent_sync
from huf.ai.storage.untrusted_records import find_marked
from huf.ai.tools import http
from huf.ai.tools.taint import find_origins
from huf.ai.tools.tainted_writes import mark_mailed
from huf.ai.tools.trust import trust_record
from huf.tests.ai.mcp.client.test_connections import ConnectionTestCase
from huf.tests.ai.runs.test_taint import HERE, STRANGER, Outside, TaintCase
from huf.tests.ai.tools.pages import Site
from huf.tests.factories import make, make_agent, make_file, make_model, make_tool, make_user, unique
from huf.tests.knowledge import make_source
from huf.tests.mcp_servers import McpServer
from huf.tests.model_server import ModelServer, text, tool_call
from huf.tests.triggers import work_off

ALT = f"<html><body><article><p>{'Tea. ' * 99}</p><img src='/x.png' alt='{STRANGER}'></article></body></html>"
TITLE = f"<html><head><title>{STRANGER}</title></head><body><p>{'Tea. ' * 99}</p></body></html>"
INVITE = f"BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:{STRANGER}\nEND:VEVENT\nEND:VCALENDAR"


class SourceCase(TaintCase):
	def assert_needs_approval(self, types: str, arguments: dict, **values) -> dict:
		"""A run reads with one call and then posts; the post waits for approval."""
		knowledge = values.pop("knowledge", [])
		read = values.pop("tool", None) or make_tool(types, **values)
		answers, tools = (tool_call(read, arguments), self.drop()), (read, self.post)
		result = self.run_agent(*answers, tools=tools, prompt="Look and act", knowledge=knowledge)
		self.assert_waits(result)
		self.assertIn(STRANGER[:30], str(self.server.requests[-1]["messages"]).replace("\\n", " "))
		return result

	def note_of(self, owner: str, **values) -> str:
		note = make("Note", title=unique("Note"), **{"content": STRANGER, "public": 1, **values})
		frappe.db.set_value("Note", note.name, "owner", owner)
		frappe.db.commit()
		return note.name


class TestPages(SourceCase):
	def open(self, body: str, path: str = "/a", **values) -> dict:
		site = Site(self)
		self.addCleanup(setattr, http, "is_public", http.is_public)
		http.is_public = lambda address: True
		opener = make_tool("App Provided", function_path="open_url", provider_app="huf")
		return self.assert_needs_approval("", {"url": site.add(path, body, **values)}, tool=opener)

	def test_image_alt_text_taints_the_run(self):
		get = make_tool("GET", allow_private_hosts=1)
		result = self.assert_needs_approval("", {"url": Site(self).add("/a", ALT)}, tool=get)
		self.assertIn("web 127.0.0.1", find_origins(result["run"]))

	def test_page_title_plain_text_and_json_taint_the_run(self):
		self.open(TITLE)
		self.open(STRANGER, path="/b", kind="text/plain")
		self.open(f'{{"note": "{STRANGER}"}}', path="/c", kind="application/json")

	def test_error_page_taints_the_run(self):
		site = Site(self)
		get = make_tool("GET", allow_private_hosts=1)
		self.assert_needs_approval("", {"url": site.add("/c", STRANGER, status=500)}, tool=get)


class TestRecords(SourceCase):
	def test_record_of_a_tainted_run_taints_through_every_read_tool(self):
		note = self.write_note()
		for types, arguments in (
			("Get Document", {"name": note}),
			("Get Multiple Documents", {"names": [note]}),
			("Get Value", {"name": note, "fieldname": "content"}),
			("Get List", {"fields": ["content"], "order_by": "creation desc"}),
			("Read Document", {"filters": {"name": note}}),
		):
			with self.subTest(types):
				read = make_tool(types, reference_doctype="Note")
				self.assert_waits(
					self.run_agent(
						tool_call(read, arguments), self.drop(), tools=(read, self.post), prompt="Look"
					)
				)

	def test_only_fields_changed_by_a_tainted_run_taint_until_trusted(self):
		with acting_as(self.person):
			note = make("Note", title=unique("Note"), content="Tea").name
		frappe.db.commit()
		change = make_tool("Set Value", reference_doctype="Note")
		call = tool_call(change, {"name": note, "fieldname": "content", "value": STRANGER})
		self.run_agent(self.read_page(), call, text("Noted."), tools=(self.fetch, change))
		values = {"name": note, "fieldname": "content"}
		self.assert_needs_approval("Get Value", values, reference_doctype="Note")
		self.assert_needs_approval("Get Document", {"name": note}, reference_doctype="Note")
		read = make_tool("Get Value", reference_doctype="Note")
		call = tool_call(read, {"name": note, "fieldname": "title"})
		script = (call, self.drop(), text("Posted."))
		result = self.run_agent(*script, tools=(read, self.post), prompt="Look and act")
		self.assertEqual((result["status"], len(self.outside.bodies)), ("Success", 1))
		self.outside.bodies.clear()
		call = tool_call(change, {"name": note, "fieldname": "title", "value": STRANGER[:40]})
		self.run_agent(self.read_page(), call, text("Noted."), tools=(self.fetch, change))
		fields = frappe.db.get_value("Agent Untrusted Record", {"reference_name": note}, "fieldnames")
		self.assertEqual(fields, "content title")
		with acting_as(self.person):
			self.assertTrue(trust_record("Note", note))
		script = (tool_call(read, values), self.drop(), text("Posted."))
		result = self.run_agent(*script, tools=(read, self.post), prompt="Look and act")
		self.assertEqual(result["status"], "Success")

	def test_staff_record_changed_by_a_guest_or_portal_user_taints_the_run(self):
		portal_user = make_user()
		frappe.db.set_value("User", portal_user, "user_type", "Website User")
		for user in ("Guest", portal_user):
			with self.subTest(user):
				note = self.note_of("Administrator", content="Tea")
				frappe.set_user(user)
				doc = frappe.get_doc("Note", note)
				doc.content = STRANGER
				doc.save(ignore_permissions=True)
				frappe.db.commit()
				frappe.set_user("Administrator")
				self.assert_needs_approval("Get Document", {"name": note}, reference_doctype="Note")

	def test_trusted_record_of_a_guest_taints_again_after_the_guest_changes_it(self):
		note = self.note_of("Guest")
		self.assert_needs_approval("Get Document", {"name": note}, reference_doctype="Note")
		with acting_as(self.person):
			self.assertTrue(trust_record("Note", note))
			self.assertFalse(trust_record("Note", note))
		read = make_tool("Get Document", reference_doctype="Note")
		script = (tool_call(read, {"name": note}), self.drop(), text("Posted."))
		result = self.run_agent(*script, tools=(read, self.post), prompt="Look and act")
		self.assertEqual((result["status"], len(self.outside.bodies)), ("Success", 1))
		self.outside.bodies.clear()
		frappe.set_user("Guest")
		frappe.get_doc("Note", note).save(ignore_permissions=True)
		frappe.set_user("Administrator")
		frappe.db.commit()
		self.assert_needs_approval("Get Document", {"name": note}, reference_doctype="Note")

	def test_record_linked_to_received_mail_taints_the_run(self):
		note = self.note_of("Administrator")
		about = {"reference_doctype": "Note", "reference_name": note}
		for kind in ("Sent", "Received"):
			self.assertIsNone(find_marked("Note", [note]))
			mark_mailed(frappe._dict(about, sent_or_received=kind))
		self.assert_needs_approval("Get Document", {"name": note}, reference_doctype="Note")

	def test_comment_of_a_guest_taints_the_run(self):
		values = {"comment_type": "Comment", "reference_doctype": "Note", "content": STRANGER}
		comment = make("Comment", **values, reference_name=self.note_of("Administrator", content="Tea"))
		frappe.db.set_value("Comment", comment.name, "owner", "Guest")
		frappe.db.commit()
		self.assert_needs_approval("Get Document", {"name": comment.name}, reference_doctype="Comment")

	def test_report_on_records_of_a_guest_taints_the_run(self):
		self.note_of("Guest")
		values = {"report_type": "Query Report", "ref_doctype": "Note", "is_standard": "No"}
		query = "select name, content from `tabNote` where owner = 'Guest'"
		report = make("Report", report_name=unique("Report"), query=query, **values).name
		self.assert_needs_approval("Get Report Result", {}, report=report)

	def test_name_of_a_file_attached_to_mail_or_a_guest_record_taints_the_run(self):
		mail = make(
			"Agent Mail", direction="Incoming", sender="m@evil.example", subject="Hi", status="Done"
		).name
		for doctype, name in (("Agent Mail", mail), ("Note", self.note_of("Guest"))):
			with self.subTest(doctype):
				about = {"attached_to_doctype": doctype, "attached_to_name": name}
				file = make_file(f"{STRANGER[:40]} {unique('x')}.txt", "Tea", **about)
				frappe.db.set_value("File", file, "owner", self.person)
				frappe.db.commit()
				self.assert_needs_approval(
					"Get Value", {"name": file, "fieldname": "file_name"}, reference_doctype="File"
				)

	def test_run_log_of_a_tainted_conversation_taints_the_run(self):
		self.run_agent(self.read_page(), text(STRANGER), tools=(self.fetch,))
		for doctype, field in (("Agent Run", "response"), ("Agent Message", "content")):
			with self.subTest(doctype):
				latest = {"fields": [field], "order_by": "creation desc"}
				self.assert_needs_approval("Get List", latest, reference_doctype=doctype)

	def test_knowledge_from_a_record_of_a_tainted_run_taints_the_run(self):
		title = frappe.db.get_value("Note", self.write_note(), "title")
		source = make_source(reference_doctype="Note", document_fields="title\ncontent")
		# A source of an earlier test may embed the query at an address that this test's server has now.
		self.assert_needs_approval("Search Knowledge", {"query": title}, knowledge=[{"source": source}])


class TestPrograms(SourceCase):
	def test_untrusted_result_of_a_nested_agent_taints_the_calling_run(self):
		inner = make_agent(self.model, (self.fetch,))
		ask_inner = make_tool("Run Agent", agent=inner)
		middle = make_agent(self.model, (ask_inner,))
		ask = make_tool("Run Agent", agent=middle)
		answers = (
			tool_call(ask, {"prompt": "Read"}),
			tool_call(ask_inner, {"prompt": "Read"}),
			self.read_page(),
			text(STRANGER),
			text(STRANGER),
			self.drop(),
		)
		self.assert_waits(self.run_agent(*answers, tools=(ask, self.post), prompt="Ask"))

	def test_request_by_a2a_or_mcp_taints_the_run(self):
		agent = make_agent(self.model, (self.post,))
		for channel in ("a2a", "mcp"):
			with self.subTest(channel):
				self.server.script(self.drop())
				with acting_as(self.person):
					request = build_external_request(channel, agent, f"Post to {self.outside.url}/drop")
					result = run_agent(request)
				self.assertEqual((result.status, self.outside.bodies), ("Waiting", []))

	def test_app_event_of_an_untrusted_trigger_taints_the_run(self):
		event, agent = unique("paid"), make_agent(self.model, (self.post,))
		trigger = self.trigger("App Event", agent=agent, event_name=event, run_as=self.person, untrusted=1)
		self.server.script(self.drop())
		huf.emit(event, {"note": STRANGER})
		(run,) = work_off(trigger)
		self.assertEqual((run.status, self.outside.bodies), ("Waiting", []))

	def test_result_of_an_undeclared_tool_taints_the_run(self):
		labels = make_tool("Custom Function", function_path=f"{HERE}.read_labels")
		self.assert_needs_approval("", {}, tool=labels)

	def test_name_and_content_of_an_attached_file_taint_the_run(self):
		for name, content in (
			(f"{unique('call')}.txt", INVITE),
			(f"{STRANGER[:40]} {unique('x')}.txt", "Tea"),
		):
			with self.subTest(name):
				agent = make_agent(self.model, (self.post,))
				self.server.script(self.drop())
				file = make_file(name, content, self.person)
				with acting_as(self.person):
					result = send_agent_chat_message(agent, "Sum it up", None, [file])
				self.assert_waits(result)


class TestServers(ConnectionTestCase):
	def test_result_of_an_mcp_server_taints_the_run(self):
		with McpServer() as server, ModelServer() as model, Outside() as outside:
			self.connect(server, ["search.notes"])
			find, post = self.name_of("search.notes"), make_tool("POST", allow_private_hosts=1)
			agent = make_agent(make_model(model), (find, post))
			drop = tool_call(post, {"url": f"{outside.url}/drop", "body": {"ledger": 1}})
			model.script(tool_call(find, {"query": "Anna"}), drop)
			result = run_agent_sync(agent, "Look for Anna", channel_id=unique("chat"))
			self.assertEqual((result["status"], outside.bodies), ("Waiting", []))
