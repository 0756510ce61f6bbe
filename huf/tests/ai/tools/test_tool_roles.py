"""Tool roles of a law firm, checked when tools are offered to the model and again at each call."""

import frappe

from huf.ai.agents.manager import AgentManager
from huf.ai.core.errors import ToolError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.session import acting_as
from huf.ai.core.types import AgentRequest
from huf.ai.runs.entry import run_agent
from huf.tests.base import SiteTestCase, enter
from huf.tests.factories import make, make_agent, make_model, make_tool, make_user
from huf.tests.model_server import ModelServer, text, tool_call

ADMIN, LAWYER, PARALEGAL, SECRETARY, INTERN = FIRM = [
	f"Huf Test {name}" for name in ("Admin", "Lawyer", "Paralegal", "Secretary", "Intern")
]
ALL = {"read": 1, "write": 1, "external": 1}
TOOLS = ("read", "create_deadline", "create_note", "delete", "web")


class TestToolRoles(SiteTestCase):
	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		frappe.set_user("Administrator")
		for role in FIRM:
			if not frappe.db.exists("Role", role):
				make("Role", role_name=role)
		frappe.db.commit()

	def setUp(self):
		super().setUp()
		todo = {"reference_doctype": "ToDo"}
		self.tools = {
			"read": make_tool("Get List", **todo),
			"create_deadline": make_tool("Create Document", roles=roles(ADMIN, LAWYER, PARALEGAL), **todo),
			"create_note": make_tool("Create Document", roles=roles(*FIRM[:4]), **todo),
			"delete": make_tool("Delete Document", **todo),
			"web": make_tool("GET"),
		}
		full_rights = [{"role": role, **ALL} for role in (ADMIN, LAWYER)]
		read_rights = [{"role": role, "read": 1} for role in FIRM[2:]]
		self.server = enter(self, ModelServer(strict=False))
		self.agent = make_agent(
			make_model(self.server), tuple(self.tools.values()), tool_roles=full_rights + read_rights
		)

	def offered(self, *roles: str) -> set[str]:
		with acting_as(make_user("Huf User", *roles)):
			names = {tool.name for tool in AgentManager(self.agent).prepare_agent().tools}
		return {key for key, name in self.tools.items() if name in names}

	def test_each_role_is_offered_its_tools(self):
		for role, tools in (
			(ADMIN, TOOLS),
			(LAWYER, TOOLS),
			(PARALEGAL, ("read", "create_deadline", "create_note")),
			(SECRETARY, ("read", "create_note")),
			(INTERN, ("read",)),
		):
			with self.subTest(role):
				self.assertEqual(self.offered(role), set(tools))

	def test_tools_of_several_roles_add_up_and_no_role_offers_none(self):
		self.assertEqual(self.offered(INTERN, SECRETARY), {"read", "create_note"})
		self.assertEqual(self.offered(), set())

	def test_agent_without_tool_roles_offers_unrestricted_tools_to_all_users(self):
		doc = frappe.get_doc("Agent", self.agent)
		doc.tool_roles = []
		doc.save()
		self.assertEqual(self.offered(), {"read", "delete", "web"})

	def test_tool_outside_the_user_roles_is_neither_offered_nor_callable(self):
		user, before = make_user("Huf User", INTERN), frappe.db.count("ToDo")
		self.server.script(tool_call(self.tools["create_note"], {"description": "x"}), text("I may not."))
		result = run_agent(AgentRequest(self.agent, "Note it", user))
		sent = {each["function"]["name"] for each in self.server.requests[0]["tools"]}
		self.assertEqual(sent, {self.tools["read"]})
		call = frappe.db.get_value("Agent Tool Call", {"run": result.run}, ["status", "result"])
		self.assertEqual((call[0], "There is no tool" in call[1]), ("Refused", True))
		self.assertEqual(frappe.db.count("ToDo"), before)

	def test_role_removed_after_preparation_is_enforced_at_the_call(self):
		user = make_user("Huf User", SECRETARY)
		with acting_as(user):
			tools = {tool.name: tool for tool in AgentManager(self.agent).prepare_agent().tools}
		doc = frappe.get_doc("User", user)
		doc.roles = [row for row in doc.roles if row.role != SECRETARY]
		doc.save()
		frappe.db.commit()
		with acting_as(user), self.assertRaisesRegex(ToolError, "has no role that may use"):
			run_coroutine(tools[self.tools["create_note"]].on_invoke_tool(None, '{"description": "x"}'))


def roles(*names: str) -> list[dict]:
	return [{"role": name} for name in names]
