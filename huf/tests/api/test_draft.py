"""Drafts over REST: who sees and answers them, and that exactly one of several concurrent answers counts."""

import json

import frappe
from frappe.share import add_docshare

from huf.ai.core.errors import UsageError
from huf.ai.core.session import acting_as
from huf.ai.dry_run.diff import translate_labels
from huf.ai.runs.queue import work_on
from huf.ai.tools.schemas import field_schema
from huf.api.draft import approve, count_drafts, get_draft, get_drafts, reject, translate_schema
from huf.api.run import cancel
from huf.tests.benchmarks.run_cost import count_statements
from huf.tests.contract.connections import together
from huf.tests.doctypes import EDITOR, LINE, ORDER
from huf.tests.drafting import DraftTestCase
from huf.tests.factories import make_tool, make_user
from huf.tests.http import send
from huf.tests.model_server import text, tool_call, tool_calls


class TestAccess(DraftTestCase):
	def setUp(self):
		super().setUp()
		self.approver, self.other = make_user("Huf User", EDITOR), make_user("Huf User")
		self.manager = make_user("Huf Manager")
		frappe.db.set_value("Agent", self.agent, "approver", self.approver)
		frappe.db.commit()
		self.result = self.start_change("new")
		self.name, self.digest = self.result["draft"]["draft"], self.result["draft"]["digest"]

	def test_only_run_user_approver_and_managers_see_a_draft(self):
		for user, sees, answers in (
			(self.user, True, False),
			(self.approver, True, True),
			(self.manager, True, True),
			(self.other, False, False),
		):
			with self.subTest(user), acting_as(user):
				listed = [row["draft"] for row in get_drafts(run=self.result["run"])]
				self.assertEqual(listed, [self.name] if sees else [])
				if sees:
					self.assertEqual(get_draft(self.name)["may_answer"], answers)
				else:
					self.assertRaises(frappe.PermissionError, get_draft, self.name)

	def test_pending_drafts_are_counted_per_user_and_have_a_parameter_schema(self):
		for user, count in ((self.user, 0), (self.approver, 1), (self.other, 0)):
			with self.subTest(user), acting_as(user):
				self.assertEqual(count_drafts(), count)
		with acting_as(self.manager):
			before = count_drafts()
			shown = get_draft(self.name)
			reject(self.name)
			self.assertEqual(count_drafts(), before - 1)
		self.assertEqual((shown["user"], shown["parameters"]["required"]), (self.user, ["name", "values"]))
		frappe.db.set_value("Agent Draft", self.name, "tool", "gone")
		with acting_as(self.approver):
			self.assertIsNone(get_draft(self.name)["parameters"])

	def test_draft_includes_the_other_drafts_of_its_step_and_the_model_text(self):
		change = self.change("newer")
		second = {**change.message["tool_calls"][0], "id": "c2"}
		changes = [
			{**second, "id": "c1"},
			{**second, "function": self.change("x").message["tool_calls"][0]["function"]},
		]
		result = self.start(tool_calls(changes, content="I change it twice."))
		with acting_as(self.approver):
			shown = get_draft(result["drafts"][1]["draft"])
		self.assertEqual(shown["text"], "I change it twice.")
		self.assertEqual(
			[each["draft"] for each in shown["turn"]], [each["draft"] for each in result["drafts"]]
		)
		self.assertTrue(all(each["may_answer"] and each["parameters"] for each in shown["turn"]))

	def test_document_status_is_shown_in_the_language_of_the_reader(self):
		submit = make_tool("Submit Document", reference_doctype=ORDER, requires_approval=1)
		turn, agent = tool_call(submit, {"name": self.order.name}), self.make_agent(submit)
		draft = self.start(turn, agent=agent)["draft"]["draft"]
		self.addCleanup(setattr, frappe.local, "lang", frappe.local.lang)
		frappe.local.lang = "de"
		(field,) = get_draft(draft)["difference"]["changes"][0]["fields"]
		self.assertEqual((field["before"], field["after"]), (frappe._("Draft"), frappe._("Submitted")))

	def test_fields_to_edit_have_their_labels_in_the_language_of_the_reader(self):
		todo = make_tool("Create Document", reference_doctype="ToDo", requires_approval=1)
		turn, agent = tool_call(todo, {"description": "Call Anna"}), self.make_agent(todo)
		draft = self.start(turn, agent=agent)["draft"]["draft"]
		self.addCleanup(setattr, frappe.local, "lang", frappe.local.lang)
		frappe.local.lang = "de"
		if frappe._("Description") == "Description":
			self.skipTest("Frappe's German texts are missing: bench compile-po-to-mo --app frappe")
		fields = get_draft(draft)["parameters"]["properties"]
		labels = [fields[name]["description"] for name in ("description", "allocated_to")]
		self.assertEqual(labels, [frappe._("Description"), f"{frappe._('Allocated To')}: name of a User"])

	def test_fields_of_rows_to_edit_have_their_labels_in_the_language_of_the_reader(self):
		self.addCleanup(setattr, frappe.local, "lang", frappe.local.lang)
		frappe.local.lang = "de"
		lines = translate_schema(field_schema(frappe.get_meta(ORDER).get_field("lines")))
		label = lines["items"]["properties"]["item"]["description"]
		self.assertEqual((label, label == "Item"), (frappe._("Item"), False))

	def test_choices_and_refused_answers_are_in_the_language_of_the_reader(self):
		field = {
			"fieldname": "scope",
			"label": "Scope",
			"fieldtype": "Select",
			"before": None,
			"after": "Trigger",
		}
		change = {"doctype": "Agent Stop", "fields": [field]}
		self.addCleanup(setattr, frappe.local, "lang", frappe.local.lang)
		frappe.local.lang = "de"
		(shown,) = translate_labels({"changes": [change]})["changes"][0]["fields"]
		self.assertEqual((shown["before"], shown["after"]), (None, "Auslöser"))
		with acting_as(self.manager), self.assertRaisesRegex(UsageError, "hat sich geändert"):
			approve(self.name, "another digest")

	def test_fields_that_lists_show_and_typed_amounts_are_marked_for_a_reader(self):
		def read(doctype: str, *names: str) -> list:
			fields = [{"fieldname": name, "label": name, "before": None, "after": "x"} for name in names]
			(change,) = translate_labels({"changes": [{"doctype": doctype, "fields": fields}]})["changes"]
			return [field.get("main") for field in change["fields"]]

		self.assertEqual(read(LINE, "item", "margin"), [1, 1])
		self.assertEqual(read(ORDER, "note", "docstatus"), [None, None])
		self.assertEqual(read("No Such DocType", "item"), [None])

	def test_only_the_approver_and_managers_may_answer(self):
		for user in (self.user, self.other, "Guest"):
			with self.subTest(user), acting_as(user):
				self.assertRaises(frappe.PermissionError, approve, self.name, self.digest)
				self.assertRaises(frappe.PermissionError, reject, self.name)
		self.assertEqual(self.draft(self.result).status, "Pending")
		with acting_as(self.manager):
			self.assertEqual(approve(self.name, self.digest)["answered_by"], self.manager)

	def test_draft_list_does_not_query_the_enabled_state_of_users_again(self):
		self.start_change()
		self.start_change()
		with acting_as(self.approver):
			get_drafts()
			seen = count_statements(get_drafts)
		self.assertEqual([each for each in seen if "enabled" in each], [])

	def test_draft_cannot_be_saved_or_deleted_directly(self):
		for user in (self.user, self.approver, self.other):
			with self.subTest(user), acting_as(user):
				doc = frappe.get_doc("Agent Draft", self.name)
				doc.status = "Approved"
				self.assertRaises(frappe.PermissionError, doc.save)
				with self.assertRaises(frappe.PermissionError):
					frappe.delete_doc("Agent Draft", self.name)

	def test_a_share_with_write_access_changes_no_record_of_a_run(self):
		run = self.result["run"]
		call = frappe.get_all("Agent LLM Call", {"run": run}, pluck="name")[0]
		for doctype, name, values in (
			("Agent Draft", self.name, {"status": "Approved", "answered_by": self.approver}),
			("Agent Run", run, {"run_as": "Administrator"}),
			("Agent LLM Call", call, {"response": "{}"}),
		):
			with self.subTest(doctype), acting_as(self.manager):
				# On Frappe 17 a manager cannot share what they may not write; older sites have such shares.
				flags = {"ignore_share_permission": True}
				add_docshare(doctype, name, self.manager, write=1, flags=flags)
				doc = frappe.get_doc(doctype, name).update(values)
				self.assertRaises(frappe.PermissionError, doc.save)

	def test_approval_with_another_digest_is_refused(self):
		with acting_as(self.approver), self.assertRaisesRegex(UsageError, "Look at it again"):
			approve(self.name, "another digest")

	def test_edited_arguments_can_be_a_json_string(self):
		given = {"name": self.order.name, "values": {"note": "text"}}
		with acting_as(self.approver):
			self.assertEqual(approve(self.name, self.digest, json.dumps(given))["edited_arguments"], given)

	def test_approval_preserves_the_session_of_the_approver(self):
		given = {"name": self.order.name, "values": {"note": "edited"}}
		frappe.set_user(self.approver)
		frappe.local.session.data["kept"] = "token"
		approve(self.name, self.digest, given)
		self.assertEqual(
			(frappe.session.user, frappe.local.session.data.get("kept")), (self.approver, "token")
		)

	def test_cancel_ends_a_waiting_run(self):
		with acting_as(self.user):
			cancel(self.result["run"])
		self.assertEqual(self.go_on(self.result["run"]).status.value, "Cancelled")

	def test_guest_cannot_read_a_draft_over_http(self):
		answer = send(f"/api/method/huf.api.draft.get_draft?draft={self.name}")
		self.assertIn(answer.status_code, (401, 403))


class TestRace(DraftTestCase):
	def test_one_of_five_concurrent_answers_wins_and_the_call_runs_once(self):
		for _ in range(4):
			self.assert_one_wins()

	def assert_one_wins(self):
		create = make_tool("Create Document", reference_doctype="ToDo", requires_approval=1)
		agent, title = self.make_agent(create), f"race {frappe.generate_hash(length=8)}"
		card = self.start(tool_call(create, {"description": title, "allocated_to": self.user}), agent=agent)[
			"draft"
		]
		name, digest = card["draft"], card["digest"]
		edited = {"description": f"{title} edited", "allocated_to": self.user}
		answers = [
			(approve, name, digest),
			(approve, name, digest),
			(approve, name, digest, edited),
			(reject, name, "no"),
			(reject, name),
		]
		frappe.db.commit()
		results = together([(attempt, self.user, *answer) for answer in answers])
		frappe.db.rollback()
		accepted = [each for each in results if isinstance(each, dict)]
		self.assertEqual(len(accepted), 1, results)
		for each in results:
			if isinstance(each, str):
				self.assertRegex(each, f"answered before: {accepted[0]['status']} by {self.user}")
		self.server.script(text("Done."))
		ended = together([(work_on, card["run"])] * 3)
		self.assertEqual(sum(result is not None for result in ended), 1)
		frappe.db.rollback()
		expected = 0 if accepted[0]["status"] == "Rejected" else 1
		self.assertEqual(frappe.db.count("ToDo", {"description": ["like", f"%{title}%"]}), expected)


def attempt(user: str, answer, *args):
	"""The result of an answer, or the message with which it is refused."""
	with acting_as(user):
		try:
			return answer(*args)
		except UsageError as error:
			return str(error)
