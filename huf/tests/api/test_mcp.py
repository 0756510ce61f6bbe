"""MCP over HTTP, byte for byte: sign-in, lists, calls as runs, and who sees what."""

import json

import frappe

from huf.tests.api.test_openai import SECRET, make_key
from huf.tests.drafting import DraftTestCase
from huf.tests.factories import make, make_agent, make_model, make_role, make_tool, unique
from huf.tests.http import send
from huf.tests.model_server import text

REVISION = "2026-07-28"
META = {
	"io.modelcontextprotocol/protocolVersion": REVISION,
	"io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
	"io.modelcontextprotocol/clientCapabilities": {},
}


ELICITATION = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
TASKS = {
	"io.modelcontextprotocol/clientCapabilities": {
		"elicitation": {},
		"extensions": {"io.modelcontextprotocol/tasks": {}},
	}
}


class McpTestCase(DraftTestCase):
	def setUp(self):
		super().setUp()
		self.headers = {"Authorization": f"Bearer {make_key(self.user)}:{SECRET}"}
		self.create = make_tool("Create Document", reference_doctype="ToDo")
		self.read = make_tool("Get List", reference_doctype="ToDo")
		self.hidden = make_tool("Get List", reference_doctype="ToDo", roles=[{"role": make_role()}])
		self.asked = make_agent(make_model(self.server), (self.create, self.read, self.hidden))
		self.slug = self.make_server(self.asked, (self.create, self.read, self.hidden), (self.asked,))

	def make_server(self, agent, tools=(), agents=(), **values) -> str:
		offers = [{"offer_type": "Agent Tool Function", "offer": each} for each in tools]
		offers += [{"offer_type": "Agent", "offer": each} for each in agents]
		server = make("MCP Server", server_name=unique("Server"), agent=agent, offers=offers, **values)
		frappe.db.commit()
		return server.slug

	def post(self, method: str, params: dict | None = None, path: str | None = None, **options):
		"""A request of the newest revision; `headers` and `meta` add to what such a request has."""
		params = {**(params or {}), "_meta": {**META, **options.pop("meta", {})}}
		headers = {
			"Accept": "application/json, text/event-stream",
			"MCP-Protocol-Version": REVISION,
			"Mcp-Method": method,
			"Mcp-Name": next((params[each] for each in ("name", "uri", "taskId") if each in params), ""),
			**self.headers,
			**options.pop("headers", {}),
		}
		body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
		return send(
			path or f"/mcp/{self.slug}",
			method="POST",
			json=body,
			headers=headers,
			base_url="http://127.0.0.1:8000",
		)

	def result(self, method: str, params: dict | None = None, **options) -> dict:
		response = self.post(method, params, **options)
		self.assertEqual(response.status_code, 200, response.get_data(as_text=True))
		self.assertIn("result", response.json)
		return response.json["result"]

	def call(self, name: str, arguments: dict | None = None, **options) -> dict:
		return self.result("tools/call", {"name": name, "arguments": arguments or {}}, **options)

	def names(self, **options) -> list[str]:
		return [each["name"] for each in self.result("tools/list", **options)["tools"]]


class TestSignIn(McpTestCase):
	def test_a_stranger_is_asked_to_sign_in(self):
		self.headers = {}
		response = self.post("tools/list")
		self.assertEqual(response.status_code, 401)
		self.assertTrue(response.headers["WWW-Authenticate"].startswith("Bearer"))

	def test_a_key_is_taken_as_bearer_and_as_frappe_s_own_token(self):
		key = self.headers["Authorization"].partition(" ")[2]
		self.assertEqual(self.names(headers={"Authorization": f"token {key}"}), self.names())


class TestTools(McpTestCase):
	def test_a_tool_is_called_in_a_run_of_the_server_s_agent(self):
		description = unique("Call Anna")
		result = self.call(self.create, {"description": description})
		self.assertFalse(result.get("isError"))
		made = result["structuredContent"]
		self.assertEqual(frappe.db.get_value("ToDo", {"description": description}, "owner"), self.user)
		self.assertEqual(json.loads(result["content"][0]["text"]), made)
		run = frappe.get_last_doc("Agent Run", {"agent": self.asked})
		self.assertEqual((run.run_as, run.status), (self.user, "Success"))
		self.assertEqual(self.calls(run.name), [(self.create, "Success")])

	def test_an_agent_is_asked_and_its_conversation_continued(self):
		ask = next(name for name in self.names() if name.startswith("ask_"))
		self.server.script(text("Anna."), text("Anna, I said."))
		first = self.call(ask, {"message": "Who?"})["structuredContent"]
		self.assertEqual((first["answer"], first["status"]), ("Anna.", "Success"))
		second = self.call(ask, {"message": "Who?", "conversation": first["conversation"]})
		self.assertEqual(second["structuredContent"]["conversation"], first["conversation"])
		self.assertEqual(second["content"][0]["text"], "Anna, I said.")
		self.assertIn("Anna.", [each["content"] for each in self.server.requests[-1]["messages"]])


class TestApproval(McpTestCase):
	"""A call that needs a person: the difference goes to the client, and one answer counts."""

	def setUp(self):
		super().setUp()
		self.slug = self.make_server(self.agent, (self.update,))
		self.arguments = {"name": self.order.name, "values": {"note": "new"}}

	def ask(self, **options) -> dict:
		return self.call(self.update, self.arguments, meta=ELICITATION, **options)

	def answer(self, asked: dict, action: str, **content) -> dict:
		(key,) = asked["inputRequests"]
		response = {"action": action, **({"content": content} if content else {})}
		params = {
			"name": self.update,
			"arguments": self.arguments,
			"inputResponses": {key: response},
			"requestState": asked["requestState"],
		}
		return self.result("tools/call", params, meta=ELICITATION)

	def test_the_change_is_asked_and_made_when_the_user_accepts(self):
		asked = self.ask()
		self.assertEqual(asked["resultType"], "input_required")
		((_key, request),) = asked["inputRequests"].items()
		self.assertEqual(request["method"], "elicitation/create")
		self.assertIn('"new"', request["params"]["message"])
		self.assertEqual(self.note(), "old")
		done = self.answer(asked, "accept")
		self.assertFalse(done.get("isError"), done)
		self.assertEqual(self.note(), "new")

	def test_what_the_user_declines_is_not_done(self):
		done = self.answer(self.ask(), "decline", reason="Not today")
		self.assertTrue(done["isError"])
		self.assertIn("Not today", done["content"][0]["text"])
		self.assertEqual(self.note(), "old")


class TestTasks(McpTestCase):
	"""A task is a queued run: any process may start it, work on it and answer for it."""

	def setUp(self):
		super().setUp()
		self.slug = self.make_server(self.agent, (self.update,), (self.agent,))
		frappe.db.set_value("MCP Server Offer", {"offer": self.update}, "background", "If Possible")
		frappe.db.commit()
		frappe.clear_document_cache("MCP Server", frappe.db.get_value("MCP Server", {"slug": self.slug}))
		self.arguments = {"name": self.order.name, "values": {"note": "new"}}

	def task(self, method: str, task: str, **params) -> dict:
		return self.result(f"tasks/{method}", {"taskId": task, **params}, meta=TASKS)

	def test_a_task_waits_for_a_person_and_goes_on_in_another_process(self):
		task = self.call(self.update, self.arguments, meta=TASKS)
		self.assertEqual((task["resultType"], task["status"]), ("task", "working"))
		self.go_on(task["taskId"])
		asked = self.task("get", task["taskId"])
		self.assertEqual(asked["status"], "input_required", asked)
		(key,) = asked["inputRequests"]
		self.task("update", task["taskId"], inputResponses={key: {"action": "accept"}})
		self.go_on(task["taskId"])
		done = self.task("get", task["taskId"])
		self.assertEqual((done["status"], done["result"]["isError"]), ("completed", False))
		self.assertEqual(self.note(), "new")
