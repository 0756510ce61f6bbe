"""A connection check reports which step failed, against real servers on loopback."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import frappe

from huf.api import mcp_connection
from huf.tests.ai.mcp.client.test_connections import CONNECTION, ConnectionTestCase
from huf.tests.ai.setup.test_openapi_import import Service
from huf.tests.base import enter
from huf.tests.factories import make_user
from huf.tests.mcp_servers import INJECTION, SECRET, McpServer


class OnlyEvents(BaseHTTPRequestHandler):
	"""Refuses POST, as the addresses of the older transport HTTP+SSE do."""

	def do_POST(self):
		self.send_error(405)

	def log_message(self, *args):
		pass


class TestCheck(ConnectionTestCase):
	@classmethod
	def setUpClass(cls):
		cls.server = enter(cls, McpServer())

	def setUp(self):
		super().setUp()
		self.server.set()

	def check(self, connection: str, **values) -> dict[str, tuple]:
		"""{step: (ok, message)} after the connection gets these values."""
		if values:
			frappe.db.set_value(CONNECTION, connection, values)
			frappe.clear_document_cache(CONNECTION, connection)
			frappe.db.commit()
		checked = mcp_connection.check(connection)
		steps = {each["step"]: (each["ok"], each["message"]) for each in checked["steps"]}
		self.assertEqual(checked["ok"], all(ok for ok, _ in steps.values()))
		return steps

	def assert_fails(self, steps: dict[str, tuple], step: str, reason: str) -> None:
		"""Assert that this step failed, those before it passed, and those after it have no result."""
		names = list(steps)
		index = names.index(step)
		expected = [True] * index + [False] + [None] * (len(names) - index - 1)
		self.assertEqual([ok for ok, _ in steps.values()], expected, steps)
		self.assertRegex(steps[step][1], reason)

	def test_every_step_of_a_working_connection_passes_with_its_finding(self):
		steps = self.check(self.connect(self.server))
		self.assertEqual([ok for ok, _ in steps.values()], [True] * 7)
		self.assertEqual(steps["address"][1], self.server.url)
		self.assertEqual((steps["dns"][1], steps["network"][1]), ("127.0.0.1", "Not encrypted"))
		self.assertEqual(steps["initialize"][1], "notes 1.0, MCP 2026-07-28")
		self.assertEqual(steps["tools"][1], "Tools: 4")

	def test_each_fault_is_reported_at_its_step_with_a_remedy(self):
		connection = self.connect(self.server)
		port = self.server.port
		for values, step, reason in (
			({"disabled": 1}, "address", "Enable it"),
			({"disabled": 0, "url": "http://no-such-name.invalid/mcp"}, "dns", "Check the URL"),
			({"url": self.server.url, "allow_private_hosts": 0}, "dns", "tick Allow Private Addresses"),
			(
				{"allow_private_hosts": 1, "url": "http://127.0.0.1:1/mcp"},
				"network",
				"refused. Check the port",
			),
			({"url": f"https://127.0.0.1:{port}/mcp"}, "network", "certificate"),
			({"url": f"http://127.0.0.1:{port}/elsewhere"}, "initialize", "end of the URL"),
		):
			with self.subTest(values):
				self.assert_fails(self.check(connection, **values), step, reason)

	def test_refused_credentials_and_non_mcp_servers_fail_at_different_steps(self):
		token_server = enter(self, McpServer(token=SECRET))
		steps = self.check(self.connect(token_server))
		self.assert_fails(steps, "authorize", "status 401. Check Authentication")
		connection = self.connect(token_server, auth="Bearer", bearer_token=SECRET)
		self.assertTrue(all(ok for ok, _ in self.check(connection).values()))
		for handler, reason in ((Service, "does not answer as an MCP server"), (OnlyEvents, "status 405")):
			with self.subTest(handler):
				url = f"http://127.0.0.1:{self.serve(handler)}/sse"
				steps = self.check(connection, url=url, auth="None")
				self.assert_fails(steps, "initialize", reason)
				self.assertNotIn(SECRET, str(steps))

	def serve(self, handler: type[BaseHTTPRequestHandler]) -> int:
		"""Serve with this handler; returns the port."""
		server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
		server.requests = []
		self.addCleanup(server.server_close)
		self.addCleanup(server.shutdown)
		threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
		return server.server_address[1]

	def test_a_changed_tool_is_named_and_the_change_is_stored(self):
		connection = self.connect(self.server, ["search.notes"])
		self.server.set(description=INJECTION)
		self.assert_fails(self.check(connection), "changes", "search.notes. Look at each change")
		self.assertEqual(self.row(connection, "search.notes").status, "Changed")

	def test_a_server_without_tools_fails_at_the_tools_step(self):
		self.server.set(gone=["search.notes", "send_note", "fail", "structured"])
		self.assert_fails(self.check(self.connect(self.server)), "tools", "0 tools")

	def test_only_managers_can_check_a_connection(self):
		connection = self.connect(self.server)
		frappe.set_user(make_user("Huf User"))
		self.assertRaises(frappe.PermissionError, mcp_connection.check, connection)
