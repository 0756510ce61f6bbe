"""No tool type lets a user see or do what their permissions forbid."""

import frappe

from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.session import acting_as
from huf.ai.tools.document_tools import create_document, get_list
from huf.ai.tools.types import TOOL_TYPES
from huf.tests.base import SiteTestCase
from huf.tests.doctypes import CASE, EDITOR, LEAD, OWNER, READER, TEAM, make_case, make_doctypes
from huf.tests.factories import make, make_agent, make_tool, make_user, unique

SECRETS = ("SECRET-TITLE", "SECRET-FEE", "SECRET-PIN")
ARGUMENTS = {
	"Get Document": lambda name: {"name": name},
	"Get Multiple Documents": lambda name: {"names": [name]},
	"Get List": lambda name: {"fields": ["title"]},
	"Read Document": lambda name: {"filters": {"status": "Open"}},
	"Create Document": lambda name: {"title": "New"},
	"Create Multiple Documents": lambda name: {"documents": [{"title": "New"}]},
	"Update Document": lambda name: {"name": name, "values": {"status": "Closed"}},
	"Update Multiple Documents": lambda name: {"documents": [{"name": name, "values": {"status": "Closed"}}]},
	"Delete Document": lambda name: {"name": name},
	"Delete Multiple Documents": lambda name: {"names": [name]},
	"Submit Document": lambda name: {"name": name},
	"Cancel Document": lambda name: {"name": name},
	"Amend Document": lambda name: {"name": name},
	"Get Amended Document": lambda name: {"name": name},
	"Custom Function": lambda name: {"doctype": CASE, "name": name},
	"App Provided": lambda name: {"doctype": CASE, "name": name},
	"Attach File to Document": lambda name: {"name": name, "file_name": "a.txt", "content": "a"},
	"Get Report Result": lambda name: {"filters": {}},
	"Get Value": lambda name: {"name": name, "fieldname": "title"},
	"Set Value": lambda name: {"name": name, "fieldname": "status", "value": "Closed"},
}
ELSEWHERE = {
	"GET",
	"POST",
	"Run Agent",
	"Search Knowledge",
	"Speech to Text",
	"MCP Tool",
	"Send Mail",
	"Notify",
	"Remember",
	"Recall",
}
"""Types that read no documents of the DocType, tested below and in test_http, test_admission,
test_canary, test_connections, test_memory and test_messages.
"""


class TestToolPermissions(SiteTestCase):
	@classmethod
	def setUpClass(cls):
		frappe.set_user("Administrator")
		make_doctypes()

	def setUp(self):
		super().setUp()
		self.case = make_case(title="SECRET-TITLE", team=make(TEAM, title=unique("Team")).name)
		frappe.db.commit()

	def test_every_tool_type_is_in_the_permission_matrix(self):
		self.assertEqual(set(ARGUMENTS) | ELSEWHERE, set(TOOL_TYPES))

	def test_user_without_a_role_can_neither_read_nor_write(self):
		self.assert_gets_nothing(make_user("Huf User"))

	def test_if_owner_permission_hides_documents_of_other_users(self):
		self.assert_gets_nothing(make_user("Huf User", OWNER), reads=True, creates=True)

	def test_user_permission_hides_documents_linked_to_another_team(self):
		user = make_user("Huf User", EDITOR)
		mine = make(TEAM, title=unique("Mine")).name
		make("User Permission", user=user, allow=TEAM, for_value=mine)
		frappe.db.commit()
		self.assert_gets_nothing(user, reads=True, creates=True)

	def test_a_reader_reads_but_changes_nothing(self):
		user = make_user("Huf User", READER)
		for types, arguments in ARGUMENTS.items():
			with self.subTest(types):
				ok, output = invoke(user, types, arguments(self.case.name))
				self.assertEqual(
					ok,
					types
					in (
						"Get Document",
						"Get Multiple Documents",
						"Get List",
						"Read Document",
						"Get Value",
						"Custom Function",
						"App Provided",
					),
					output,
				)
		self.assertEqual(frappe.db.get_value(CASE, self.case.name, "status"), "Open")

	def test_a_share_opens_one_document_for_reading_only(self):
		user, other = make_user("Huf User"), make_case(title="Other")
		frappe.share.add(CASE, self.case.name, user, read=1)
		frappe.db.commit()
		ok, output = invoke(user, "Get Document", {"name": self.case.name})
		self.assertTrue(ok and "SECRET-TITLE" in output, output)
		self.assertFalse(invoke(user, "Get Document", {"name": other.name})[0])
		self.assertFalse(
			invoke(user, "Set Value", {"name": self.case.name, "fieldname": "status", "value": "Closed"})[0]
		)

	def test_field_above_the_user_permlevel_is_not_read_filtered_sorted_or_written(self):
		user, name = make_user("Huf User", EDITOR), self.case.name
		for types, arguments in (
			("Get Document", {"name": name}),
			("Get Value", {"name": name, "fieldname": "fee"}),
			("Get List", {"fields": ["fee"]}),
			("Get List", {"filters": {"fee": ["like", "SECRET%"]}}),
			("Get List", {"filters": [["fee", "is", "set"]]}),
			("Get List", {"order_by": "fee asc"}),
			("Read Document", {"filters": {"fee": ["like", "SECRET%"]}}),
			("Set Value", {"name": name, "fieldname": "fee", "value": "mine"}),
			("Update Document", {"name": name, "values": {"fee": "mine"}}),
			("Create Document", {"title": "x", "fee": "mine"}),
		):
			with self.subTest(types, arguments=arguments):
				ok, output = invoke(user, types, arguments)
				self.assertNotIn("SECRET-FEE", output)
				self.assertEqual(ok, types == "Get Document", output)
		self.assertEqual(frappe.db.get_value(CASE, name, "fee"), "SECRET-FEE")

	def test_user_with_the_permlevel_reads_and_writes_the_field(self):
		user = make_user("Huf User", LEAD)
		self.assertIn("SECRET-FEE", invoke(user, "Get Document", {"name": self.case.name})[1])
		self.assertTrue(
			invoke(user, "Set Value", {"name": self.case.name, "fieldname": "fee", "value": "new"})[0]
		)

	def test_api_key_of_a_user_is_hidden_from_agents(self):
		user = frappe.get_doc("User", make_user("Huf User"))
		secret = frappe.generate_hash(length=15)
		user.db_set("api_key", secret)
		for types, arguments in (
			("Get Document", {"name": user.name}),
			("Get List", {"filters": {"api_key": ["like", "secret%"]}}),
			("Get List", {"filters": {}, "order_by": "api_key asc"}),
			("Get Value", {"fieldname": "api_key", "name": user.name}),
		):
			with self.subTest(types, arguments=arguments):
				ok, text = invoke("Administrator", types, arguments, reference_doctype="User")
				self.assertNotIn(secret, text)
				self.assertEqual(ok, types == "Get Document", text)

	def test_password_field_is_hidden_even_from_administrator(self):
		for types, arguments in (
			("Get Document", {"name": self.case.name}),
			("Get Value", {"name": self.case.name, "fieldname": "pin"}),
			("Get List", {"fields": ["pin"]}),
			("Set Value", {"name": self.case.name, "fieldname": "pin", "value": "x"}),
		):
			_ok, output = invoke("Administrator", types, arguments)
			self.assertNotIn("SECRET-PIN", output)
			self.assertNotIn('"pin"', output)
		stored = frappe.get_doc(CASE, self.case.name).get_password("pin")
		self.assertEqual(stored, "SECRET-PIN")

	def test_an_unknown_field_is_an_error_never_dropped(self):
		for arguments in (
			{"filters": {"colour": "red"}},
			{"fields": ["colour"]},
			{"order_by": "colour"},
			{"filters": ["colour"]},
		):
			ok, output = invoke("Administrator", "Get List", arguments)
			self.assertFalse(ok)
			self.assertIn("colour", output)

	def test_forbidden_and_missing_documents_return_the_same_error(self):
		user = make_user("Huf User", OWNER)
		hidden, missing = self.case.name, "no-such-name"
		for types in ("Get Document", "Set Value", "Delete Document"):
			errors = [
				invoke(user, types, ARGUMENTS[types](name))[1].replace(name, "X")
				for name in (hidden, missing)
			]
			self.assertEqual(errors[0], errors[1])

	def assert_gets_nothing(self, user, reads=False, creates=False):
		"""`reads`: the user may list the DocType, but sees no rows; `creates`: may create documents."""
		for types, arguments in ARGUMENTS.items():
			with self.subTest(types):
				ok, output = invoke(user, types, arguments(self.case.name))
				self.assertFalse([secret for secret in SECRETS if secret in output], output)
				own = (reads and types in ("Get List", "Read Document")) or (
					creates and types.startswith("Create")
				)
				self.assertEqual(ok, own, output)
		doc = frappe.get_doc(CASE, self.case.name)
		self.assertEqual((doc.status, doc.docstatus), ("Open", 0))
		self.assertFalse(frappe.db.exists("File", {"attached_to_name": self.case.name}))


class TestToDos(SiteTestCase):
	def test_users_create_todos_only_in_their_own_name(self):
		user = make_user("Huf User")
		frappe.set_user(user)
		self.assertEqual(create_document("ToDo", {"description": "Call Anna"})["assigned_by"], user)
		self.assertEqual(get_list("ToDo")["count"], 1)
		other = {"description": "Spy", "assigned_by": "Administrator"}
		self.assertRaises(frappe.PermissionError, create_document, "ToDo", other)


class TestRunAgentPermissions(SiteTestCase):
	def test_a_tool_cannot_reach_an_agent_that_the_user_may_not_use(self):
		lead_only = make_agent(roles=[{"role": "System Manager"}])
		user = make_user("Huf User")
		ok, output = invoke(user, "Run Agent", {"prompt": "Hi"}, agent=lead_only)
		self.assertFalse(ok)
		self.assertIn("no agent", output)

	def test_speech_to_text_reads_only_files_the_user_may_read(self):
		doc = make("File", file_name=f"{unique('a')}.wav", content="SECRET", is_private=1)
		frappe.db.commit()
		ok, output = invoke(
			make_user("Huf User"), "Speech to Text", {"file_url": doc.file_url}, model=make_any_model()
		)
		self.assertFalse(ok)
		self.assertIn("no file", output)

	def test_private_file_of_another_user_cannot_be_attached(self):
		make_doctypes()
		doc = make("File", file_name=f"{unique('a')}.txt", content="SECRET", is_private=1)
		user = make_user("Huf User", OWNER)
		with acting_as(user):
			mine = make_case().name
		ok, output = invoke(user, "Attach File to Document", {"name": mine, "file_url": doc.file_url})
		self.assertFalse(ok, output)


def invoke(user: str, types: str, arguments: dict, **values) -> tuple[bool, str]:
	"""Runs a tool of this type on Case as this user; returns (success, result or error)."""
	from huf.ai.agents.tool_factory import create_tool
	from huf.ai.runs.execution import run_child

	name = tool_of(types, **values)
	tool = create_tool(frappe.get_cached_doc("Agent Tool Function", name), run_child=run_child)
	frappe.db.commit()
	with acting_as(user):
		try:
			output = run_coroutine(tool.on_invoke_tool(None, frappe.as_json(arguments)))
			frappe.db.commit()
			return True, output
		except Exception as error:  # the loop catches every error of a tool as well
			frappe.db.rollback()
			return False, str(error) or type(error).__name__


def tool_of(types: str, **values) -> str:
	needed = {
		"Custom Function": {"function_path": "huf.ai.tool_functions.get_document"},
		"Get Report Result": {"report": "" if types != "Get Report Result" else make_report()},
		"App Provided": {"provider_app": "huf", "function_path": "get_document"},
	}
	target = {} if types in ELSEWHERE else needed.get(types, {"reference_doctype": CASE})
	return make_tool(types, **{**target, **values})


def make_report() -> str:
	name = unique("Cases")
	values = {
		"ref_doctype": CASE,
		"report_type": "Query Report",
		"is_standard": "No",
		"roles": [{"role": LEAD}],
	}
	return make(
		"Report", report_name=name, query=f"select title as `Title:Data:100` from `tab{CASE}`", **values
	).name


def make_any_model() -> str:
	provider = make("AI Provider", provide_name=unique("Local"), is_local=1, api_base="http://127.0.0.1:9")
	return make("AI Model", model_name=unique("whisper"), provider=provider.name).name
