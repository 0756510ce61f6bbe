"""Runs survive hostile MCP servers and send no data to redirect targets or changed servers."""

import time
from unittest.mock import patch

import frappe
import httpx2
from mcp_types import ListToolsResult

from huf.ai.agents.tool_factory import find_tool
from huf.ai.core.event_loops import run_coroutine
from huf.ai.mcp.client import session
from huf.ai.mcp.client.oauth import SignInNeeded
from huf.ai.runs.entry import run_agent_sync
from huf.api import mcp_connection
from huf.tests.ai.mcp.client.test_connections import CONNECTION, FUNCTION, ConnectionTestCase
from huf.tests.base import enter
from huf.tests.factories import make_agent, make_model, make_user
from huf.tests.mcp_servers import HOSTILE, INJECTION, McpServer
from huf.tests.model_server import ModelServer, text, tool_call


class NotSignedIn(httpx2.Auth):
	async def async_auth_flow(self, request):
		response = yield request
		if response.status_code == 429:
			raise SignInNeeded


class TestHostileServers(ConnectionTestCase):
	def test_a_run_survives_every_hostile_server_and_follows_no_redirect(self):
		reasons = {
			"hang": "did not answer within 3 seconds",
			"endless": "sent more than 2,000,000 bytes",
			"huge": "sent more than 2,000,000 bytes",
			"huge_json": "sent more than 2,000,000 bytes",
			"many_values": "more than 20,000 values",
			"gzip": "compresses its answers",
			"progress": "did not answer within 5 seconds",
			"redirect": "not followed",
			"redirect_loop": "failed|redirect",
			"slow_close": "done",
			"garbage": "failed",
			"crash": "failed|could not be reached",
		}
		self.assertEqual(set(reasons), set(HOSTILE))
		for mode, reason in reasons.items():
			with self.subTest(mode), McpServer(mode) as server, ModelServer() as model:
				# Servers that answer need a longer timeout on a busy machine.
				self.connect(server, ["search"], timeout=3 if mode == "hang" else 12)
				self.assertTrue(self.refreshed["ok"], self.refreshed)
				agent = make_agent(make_model(model), (self.name_of("search"),))
				model.script(tool_call(self.name_of("search"), {"query": "x"}), text("It failed."))
				self.assert_survives(agent, model, reason, 5 if mode == "progress" else session.MAX_SESSION_S)
				self.assertEqual(server.calls(), [])
				self.assertLess(len(server.received()), 30 if mode == "redirect_loop" else 2)

	def assert_survives(self, agent: str, model: ModelServer, reason: str, max_session_s: float) -> None:
		started = time.monotonic()
		with patch.object(session, "MAX_SESSION_S", max_session_s):
			result = run_agent_sync(agent, "Search")
		self.assertLess(time.monotonic() - started, 30)
		self.assertEqual((result["status"], result["response"]), ("Success", "It failed."))
		self.assertRegex(model.requests[-1]["messages"][-1]["content"], reason)

	def test_an_external_call_whose_answer_is_lost_or_unreadable_is_unknown(self):
		for mode, tool, effect, status in (
			("hang", "search", "external", "Unknown"),
			("huge", "search", "external", "Unknown"),
			("garbage", "search", "external", "Unknown"),
			("crash", "search", "external", "Unknown"),
			("crash", "search", "read", "Failed"),
			("refuse", "search", "external", "Failed"),
			("good", "fail", "external", "Failed"),
		):
			with self.subTest(mode), McpServer(mode) as server, ModelServer() as model:
				connection = self.connect(server, [tool], timeout=3 if mode == "hang" else 12)
				doc = frappe.get_doc(CONNECTION, connection)
				for row in doc.tools:
					row.effect, row.requires_approval = effect, 0
				doc.save()
				agent = make_agent(make_model(model), (self.name_of(tool),))
				model.script(tool_call(self.name_of(tool), {}), text("It failed."))
				run = run_agent_sync(agent, "Search")["run"]
				self.assertEqual(frappe.db.get_value("Agent Tool Call", {"run": run}, "status"), status)
				read = model.requests[-1]["messages"][-1]["content"]
				self.assertEqual("is not known" in read, status == "Unknown", read)

	def test_a_call_that_needs_a_sign_in_was_not_made(self):
		with McpServer("refuse") as server:
			target = session.ServerTarget("Notes", url=server.url, allow_private=True, auth=NotSignedIn())
			(tool,) = run_coroutine(session.read_offer(target)).tools
			with self.assertRaises(SignInNeeded):
				run_coroutine(session.call_tool(target, tool, {}))

	def test_a_server_that_becomes_hostile_before_the_call_gets_no_arguments(self):
		"""Calls and refreshes both list the tools first; both end, and the accepted definition stays."""
		reasons = {
			"hang": "did not answer within 3 seconds",
			"endless": "sent more than 2,000,000 bytes",
			"huge": "sent more than 2,000,000 bytes",
			"gzip": "compresses its answers",
			"redirect": "not followed",
			"pages": "no longer offers",
			"injected": "accept the change",
			"refuse": "HTTP 429",
			"garbage": "failed",
			"crash": "failed|could not be reached",
		}
		for mode, reason in reasons.items():
			with self.subTest(mode), McpServer("redirect") as server, ModelServer() as model:
				connection = self.connect(server, ["search"], timeout=3 if mode == "hang" else 12)
				agent = make_agent(make_model(model), (self.name_of("search"),))
				server.set(**{"tools/list": mode})
				model.script(tool_call(self.name_of("search"), {"query": "secret"}), text("It failed."))
				self.assert_survives(agent, model, reason, 5 if mode == "progress" else session.MAX_SESSION_S)
				started = time.monotonic()
				refreshed = mcp_connection.refresh(connection)
				self.assertLess(time.monotonic() - started, 15)
				self.assertEqual(refreshed["ok"], mode in ("pages", "injected"), refreshed)
				self.assertLess(len(frappe.get_doc(CONNECTION, connection).tools), 210)
				definition = frappe.db.get_value(FUNCTION, self.name_of("search"), "function_definition")
				self.assertNotIn("Ignore all", str(definition))
				self.assertEqual(server.calls() + server.received(), [])

	def test_choosing_a_tool_accepts_only_the_description_that_was_on_the_form(self):
		server = enter(self, McpServer())
		connection = self.connect(server)
		rows = [row.as_dict() for row in frappe.get_doc(CONNECTION, connection).tools]
		server.set(description=INJECTION)
		mcp_connection.refresh(connection)
		doc = frappe.get_doc(CONNECTION, connection)
		doc.set("tools", [{**row, "chosen": 1} for row in rows if row.tool_name == "search.notes"])
		with self.assertRaisesRegex(frappe.ValidationError, "review the change again"):
			doc.save()
		self.assertEqual(self.row(connection, "search.notes").status, "New")
		self.choose(connection, search_notes=1)
		self.assertEqual(self.row(connection, "search.notes").status, "Accepted")

	def test_an_invalid_answer_is_described_without_a_copy_of_it(self):
		with self.assertRaises(ValueError) as caught:
			ListToolsResult.model_validate({"tools": [{"name": "find", "inputSchema": True}]})
		described = session.describe_failure(caught.exception, [200])
		self.assertRegex(described, r"tools\.0\.inputSchema Input should be a valid dictionary")
		self.assertNotRegex(described, r"input_value|https://")

	def test_tools_that_the_sdk_refuses_are_left_out_and_the_others_can_be_called(self):
		with McpServer("slow_close") as server:
			server.set(**{"tools/list": "refused"})
			connection = self.connect(server, ["search"])
			self.assertTrue(self.refreshed["ok"], self.refreshed)
			refused = r"any: .*inputSchema: Input should be a valid dictionary.*many: .*outputSchema\.type"
			self.assertRegex(" ".join(self.refreshed["faults"]), refused)
			self.assertEqual([r.tool_name for r in frappe.get_doc(CONNECTION, connection).tools], ["search"])
			self.assertIn("done", self.call("search", query="Anna"))

	def test_a_private_address_is_refused_without_allow_private_hosts(self):
		with McpServer("crash") as server:
			self.connect(server, allow_private_hosts=0)
			self.assertFalse(self.refreshed["ok"])
			self.assertIn("private address", self.refreshed["error"])

	def test_a_tool_restricted_to_a_role_is_hidden_from_other_users(self):
		with McpServer() as server:
			self.connect(server, ["search.notes"])
			agent = make_agent(
				tools=(self.name_of("search.notes"),), tool_roles=[{"role": "Huf Manager", "read": 1}]
			)
			frappe.set_user(make_user("Huf User"))
			self.assertIsNone(find_tool(agent, self.name_of("search.notes")))
