"""Creating tools of a DocType, trying tools, requests for DocTypes, and versions of instructions."""

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.core.session import acting_as
from huf.ai.setup import doctype_requests
from huf.ai.tools.registry import tool as write_tool
from huf.api import agent, tool
from huf.tests.base import SiteTestCase
from huf.tests.factories import make, make_agent, make_tool, make_user, unique
from huf.tests.model_server import ModelServer


class TestToolMaking(SiteTestCase):
	def test_tools_of_a_doctype_are_created_only_once(self):
		doctype = make("DocType", **own_doctype()).name
		made = tool.make_for(doctype, ["list", "update"])
		rows = [frappe.get_doc("Agent Tool Function", name) for name in made]
		self.assertEqual([row.types for row in rows], ["Get List", "Update Document"])
		self.assertEqual(tool.make_for(doctype, '["update"]'), made[1:])

	def test_creating_tools_needs_permission_for_tools_and_the_doctype(self):
		user, manager = make_user("Huf User"), make_user("Huf Manager")
		frappe.set_user(user)
		self.assertRaises(frappe.PermissionError, tool.make_for, "ToDo", ["list"])
		frappe.set_user(manager)
		self.assertRaises(frappe.PermissionError, tool.make_for, "Error Log", ["list"])
		for kinds in (["drop"], "5", [["list"]]):
			self.assertRaises(UsageError, tool.make_for, "ToDo", kinds)

	def test_a_repeated_doctype_request_notifies_system_managers_once(self):
		# A test site has more System Managers than are notified by default.
		self.addCleanup(setattr, doctype_requests, "MAX_ASKED", doctype_requests.MAX_ASKED)
		doctype_requests.MAX_ASKED = 10_000
		system, manager = make_user("System Manager"), make_user("Huf Manager")
		for user in (system, manager):
			frappe.get_doc("User", user).update({"first_name": unique("Name"), "last_name": ""}).save()
		# Frappe caches full names until the request ends.
		frappe.local.fullnames = {}
		names = frappe.get_all("User", {"name": ["in", [system, manager]]}, ["name", "full_name"])
		full_names = {row.name: row.full_name for row in names}
		frappe.set_user(manager)
		for request in ("Stock <b>of\nscrews</b>", "stock bof screws/b"):
			notified = tool.ask_for_doctype(request)
			self.assertIn(full_names[system], notified)
			self.assertNotIn(full_names[manager], notified)
		fields = ["subject", "document_type", "document_name", "for_user"]
		notices = frappe.get_all("Notification Log", {"from_user": manager}, fields)
		self.assertEqual(len(notices), len(notified))
		(notice,) = [row for row in notices if row.for_user == system]
		self.assertEqual(notice.subject, f"{full_names[manager]} asks for a DocType: Stock bof screws/b")
		self.assertEqual((notice.document_type, notice.document_name), ("DocType", "new"))

	def test_doctype_requests_are_limited_and_need_permission_to_create_tools(self):
		user, manager = make_user("Huf User"), make_user("Huf Manager")
		frappe.set_user(manager)
		for request in ("", " \n<>", "x" * 141):
			self.assertRaises(UsageError, tool.ask_for_doctype, request)
		for number in range(10):
			tool.ask_for_doctype(f"Part {number}")
		self.assertRaises(UsageError, tool.ask_for_doctype, "One more")
		self.assertTrue(tool.ask_for_doctype("Part 9"))
		frappe.set_user(user)
		self.assertRaises(frappe.PermissionError, tool.ask_for_doctype, "Stock")
		frappe.set_user("Administrator")
		self.assertRaises(UsageError, tool.ask_for_doctype, "Stock")

	def test_the_tool_list_shows_agents_roles_and_effect(self):
		name = make_tool("Get List", reference_doctype="ToDo", roles=[{"role": "Huf Manager"}])
		owner = make_agent(tools=(name,))
		row = next(row for row in tool.get_tools() if row["name"] == name)
		self.assertEqual((row["agents"], row["roles"], row["effect"]), ([owner], ["Huf Manager"], "read"))

	def test_the_tool_list_names_agents_only_to_users_who_may_change_them(self):
		name = make_tool("Get List", reference_doctype="ToDo")
		owner = make_agent(tools=(name,), roles=[{"role": "Huf Manager"}])
		for user, agents in ((make_user("Huf User"), []), (make_user("Huf Manager"), [owner])):
			with acting_as(user):
				row = next(row for row in tool.get_tools() if row["name"] == name)
			self.assertEqual(row["agents"], agents)


@write_tool(effect="write")
def delete_everything(confirmed: bool):
	"""Delete everything."""
	raise AssertionError("it was run")


class TestTrying(SiteTestCase):
	def test_a_tried_write_is_previewed_and_rolled_back(self):
		user = make_user("Huf User")
		name = make_tool("Create Document", reference_doctype="ToDo")
		frappe.db.commit()
		before = frappe.db.count("ToDo")
		result = tool.try_it(name, user, {"description": "Call Anna", "allocated_to": user})
		self.assertTrue(result["ok"], result)
		change = result["difference"]["changes"][0]
		self.assertEqual((change["action"], change["doctype"]), ("create", "ToDo"))
		self.assertIn({"Call Anna"}, [{field["after"]} for field in change["fields"]])
		self.assertEqual((frappe.db.count("ToDo"), frappe.session.user), (before, "Administrator"))

	def test_a_write_that_may_do_more_than_change_documents_is_not_run_and_says_so(self):
		name = make_tool("Custom Function", function_path=f"{__name__}.delete_everything", effect="write")
		frappe.db.commit()
		result = tool.try_it(name, "Administrator", {"confirmed": True})
		self.assertEqual(result["difference"]["request"]["arguments"], {"confirmed": True})
		self.assertIn("There is no preview", result["difference"]["request"]["note"])

	def test_a_tried_tool_has_the_permissions_of_the_user_and_returns_its_error(self):
		user = make_user("Huf User")
		name = make_tool("Get List", reference_doctype="Error Log")
		frappe.db.commit()
		self.assertTrue(tool.try_it(name, "Administrator")["ok"])
		result = tool.try_it(name, user)
		self.assertEqual((result["ok"], result["difference"]), (False, None))
		self.assertIn("fit the tool", tool.try_it(name, user, {"limit": "many"})["text"])
		with self.assertRaisesRegex(UsageError, "arguments must be a JSON object"):
			tool.try_it(name, user, "[1]")

	def test_a_tried_external_request_is_previewed_and_sent_only_on_demand(self):
		with ModelServer(strict=False) as server:
			name = make_tool("POST", base_url=server.base_url, allow_private_hosts=1)
			frappe.db.commit()
			arguments = {"url": "things", "body": {"a": 1}}
			result = tool.try_it(name, "Administrator", arguments)
			self.assertEqual(result["difference"]["request"]["url"], f"{server.base_url}/things")
			self.assertEqual((server.requests, result["was_sent"]), ([], False))
			tool.try_it(name, "Administrator", arguments, send=True)
			self.assertEqual(server.requests, [{"a": 1}])
		agent = make_tool("Run Agent", agent=make_agent())
		self.assertRaises(UsageError, tool.try_it, agent, "Administrator", {"prompt": "Hi"}, send=True)

	def test_only_system_managers_can_try_tools_and_never_as_administrator(self):
		name = make_tool("Get List", reference_doctype="ToDo")
		manager, system = make_user("Huf Manager"), make_user("System Manager")
		for user, other in ((manager, manager), (system, "Administrator")):
			frappe.set_user(user)
			self.assertRaises(frappe.PermissionError, tool.try_it, name, other)
		self.assertRaises(UsageError, tool.try_it, name, "nobody@example.com")
		self.assertTrue(tool.try_it(name, manager)["ok"])


class TestVersions(SiteTestCase):
	def test_versions_of_instructions_are_listed_newest_first(self):
		doc = frappe.get_doc("Agent", make_agent(instructions="One."))
		for text in ("Two.", "Three."):
			doc.instructions = text
			doc.save(ignore_version=False)
		doc.description = "Not about its instructions"
		doc.save(ignore_version=False)
		self.assertEqual([each["text"] for each in agent.get_versions(doc.name)], ["Three.", "Two.", "One."])

	def test_versions_of_instructions_need_write_permission_on_the_agent(self):
		name = make_agent()
		frappe.set_user(make_user("Huf User"))
		self.assertRaises(frappe.PermissionError, agent.get_versions, name)


def own_doctype() -> dict:
	field = {"fieldname": "title", "fieldtype": "Data", "label": "Title"}
	rules = [{"role": "System Manager", "read": 1, "write": 1, "create": 1}]
	return {"name": unique("Thing"), "module": "Huf", "custom": 1, "fields": [field], "permissions": rules}
