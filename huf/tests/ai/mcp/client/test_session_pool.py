"""MCP sessions are kept between calls, with real servers: processes of commands, and one over HTTP."""

import os
import signal
import sys
import time
from unittest.mock import patch

import frappe

from huf.ai.core.errors import ToolError
from huf.ai.core.session import acting_as
from huf.ai.mcp.client import session_pool
from huf.ai.mcp.client.connections import COMMANDS_KEY
from huf.ai.runs.entry import run_agent_sync
from huf.tests.ai.mcp.client.test_connections import ConnectionTestCase
from huf.tests.base import enter
from huf.tests.factories import make_agent, make_model, make_user
from huf.tests.mcp_servers import INJECTION, McpServer
from huf.tests.model_server import ModelServer, text, tool_call


class TestCommands(ConnectionTestCase):
	"""Each session is a process, so a process id identifies the session."""

	def setUp(self):
		super().setUp()
		self.server = McpServer()
		self.addCleanup(self.server.folder.cleanup)
		arguments = ["-m", "huf.tests.mcp_servers", self.server.folder.name]
		environment = {"PYTHONPATH": ":".join(sys.path)}
		command = {"command": sys.executable, "args": arguments, "env": environment}
		frappe.local.conf[COMMANDS_KEY] = {"notes": command}
		self.addCleanup(frappe.local.conf.pop, COMMANDS_KEY)
		self.connect(self.server, ["search.notes"], transport="Command", command="notes", timeout=60)
		self.before = len(self.server.starts())

	def list_started(self) -> list[int]:
		"""Ids of the processes started since the connection was refreshed."""
		return self.server.starts()[self.before :]

	def search(self) -> str:
		return self.call("search.notes", query="x")

	def test_a_session_is_shared_only_within_a_conversation(self):
		model = enter(self, ModelServer())
		agent = make_agent(make_model(model), (self.name_of("search.notes"),))
		users = [make_user("Huf User") for _ in range(2)]
		turns = [tool_call(self.name_of("search.notes"), {"query": each}) for each in ("Anna", "Ben")]

		def run(user: str, external_id: str) -> None:
			model.script(*turns, text("Three."))
			with acting_as(user):
				result = run_agent_sync(agent, "Look", external_id=external_id)
			self.assertEqual(result["status"], "Success", result)

		for user, conversation, count in ((0, "one", 1), (0, "one", 1), (0, "two", 2), (1, "one", 3)):
			run(users[user], conversation)
			self.assertEqual(len(self.list_started()), count)
		self.assertEqual(len(self.server.calls()), 8)

	def test_a_result_above_the_maximum_answer_size_is_refused(self):
		self.server.set(result="x" * 3_000_000)
		with self.assertRaisesRegex(ToolError, "sent more than 2,000,000 bytes"):
			self.search()

	def test_a_dead_session_is_replaced_and_each_call_is_sent_once(self):
		self.search()
		os.kill(self.list_started()[0], signal.SIGKILL)
		self.assertIn("3 notes", self.search())
		self.assertEqual((len(self.list_started()), len(self.server.calls())), (2, 2))

	def test_an_idle_session_is_closed_after_the_idle_timeout(self):
		with patch.object(session_pool, "IDLE_S", 0.2):
			self.search()
		self.assert_ends(self.list_started()[0])

	def test_the_oldest_idle_session_is_closed_above_the_limit(self):
		with patch.object(session_pool, "MAX_IDLE", 1):
			self.search()
			frappe.set_user(make_user("Huf User"))
			self.search()
		first, second = self.list_started()
		self.assert_ends(first)
		os.kill(second, 0)

	def assert_ends(self, process: int) -> None:
		deadline = time.monotonic() + 20
		while is_alive(process):
			self.assertLess(time.monotonic(), deadline, "the server process still runs")
			time.sleep(0.05)


def is_alive(process: int) -> bool:
	try:
		os.kill(process, 0)
	except ProcessLookupError:
		return False
	return True


class TestHttp(ConnectionTestCase):
	def setUp(self):
		super().setUp()
		self.server = enter(self, McpServer())

	def test_a_changed_tool_is_noticed_in_a_pooled_session(self):
		self.connect(self.server, ["search.notes"])
		self.call("search.notes", query="x")
		self.server.set(description=INJECTION)
		with self.assertRaisesRegex(ToolError, "accept the change"):
			self.call("search.notes", query="secret")
		self.assertEqual(len(self.server.calls()), 1)

	def test_calls_succeed_after_the_server_restarts(self):
		self.connect(self.server, ["search.notes"])
		for _ in range(2):
			self.assertIn("3 notes", self.call("search.notes", query="x"))
			self.server.process.kill()
			self.server.process.join()
			self.server.__enter__()
		self.assertEqual(len(self.server.calls()), 2)

	def test_the_limit_on_bytes_is_for_each_call(self):
		self.connect(self.server, ["search.notes"], max_bytes=8_000)
		for _ in range(10):
			self.assertIn("3 notes", self.call("search.notes", query="x"))
