"""OAuth sign-in at a server on loopback, through the endpoints that a manager's browser uses."""

import asyncio
import time
from unittest import mock
from urllib.parse import parse_qs, urlsplit

import frappe
import requests

from huf.ai.agents.tool_factory import create_tool
from huf.ai.core.errors import UsageError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.mcp.client import session
from huf.api import mcp_connection
from huf.tests.ai.mcp.client.test_connections import CONNECTION, FUNCTION, ConnectionTestCase
from huf.tests.base import WorkerEnds, enter
from huf.tests.factories import make_user
from huf.tests.http import send
from huf.tests.mcp_conformance_client import follow_as_browser
from huf.tests.mcp_servers import SECRET, McpServer


class TestSignIn(ConnectionTestCase):
	def setUp(self):
		super().setUp()
		self.server = enter(self, McpServer("oauth"))
		self.connection = self.connect(self.server, auth="OAuth")

	def check_connection(self):
		refreshed = mcp_connection.refresh(self.connection)
		self.assertTrue(refreshed["ok"], refreshed)

	def test_a_manager_signs_in_once_and_calls_refresh_the_token(self):
		self.assertFalse(self.refreshed["ok"])
		self.assertIn("Nobody is signed in", self.refreshed["error"])
		self.assertIsNone(self.sign_in())
		self.check_connection()
		self.choose(self.connection, search=1)
		time.sleep(1.2)
		self.assertIn("done", self.call("search", query="x"))
		grants = [each["grant"] for each in self.server.calls()]
		self.assertEqual(grants[0], "authorization_code")
		self.assertEqual(set(grants[1:]), {"refresh_token"})
		self.assertNotIn(SECRET, repr(frappe.get_doc(CONNECTION, self.connection).as_dict()))

	def test_concurrent_calls_use_a_refresh_token_once(self):
		self.sign_in()
		mcp_connection.refresh(self.connection)
		self.choose(self.connection, search=1)
		time.sleep(1.2)

		async def call_both() -> list[str]:
			function = create_tool(frappe.get_doc(FUNCTION, self.name_of("search")))
			calls = [function.on_invoke_tool(None, '{"query": "x"}') for _ in range(2)]
			return await asyncio.gather(*calls)

		for result in run_coroutine(call_both()):
			self.assertIn("done", result)

	def test_an_oauth_callback_is_accepted_once_and_only_from_the_same_user(self):
		answer = follow_as_browser(mcp_connection.sign_in(self.connection))
		frappe.set_user(make_user("Huf User"))
		with self.assertRaises((UsageError, frappe.PermissionError)):
			mcp_connection.callback(**answer)
		frappe.set_user("Administrator")
		with self.assertRaises(UsageError):
			mcp_connection.callback(**{**answer, "state": "another"})
		with self.assertRaises(frappe.Redirect):
			mcp_connection.callback(**answer)
		with self.assertRaises(UsageError):
			mcp_connection.callback(**answer)

	def test_an_unfinished_or_denied_sign_in_keeps_the_previous_tokens(self):
		self.sign_in()
		mcp_connection.sign_in(self.connection)
		self.check_connection()
		answer = follow_as_browser(mcp_connection.sign_in(self.connection))
		with self.assertRaises(UsageError):
			mcp_connection.callback(state=answer["state"], error="access_denied")
		time.sleep(1.2)
		self.check_connection()

	def test_the_tokens_stay_if_the_worker_that_begins_a_sign_in_is_lost(self):
		self.sign_in()
		lost = mock.patch.object(session, "read_offer", side_effect=WorkerEnds)
		with lost, self.assertRaises(WorkerEnds):
			mcp_connection.sign_in(self.connection)
		frappe.db.rollback()
		self.check_connection()

	def test_a_token_that_the_server_ends_early_is_refreshed(self):
		self.sign_in()
		self.check_connection()
		self.choose(self.connection, search=1)
		for _ in range(2):
			requests.delete(f"http://127.0.0.1:{self.server.port}/tokens", timeout=10)
			self.assertIn("done", self.call("search", query="x"))
		grants = [each["grant"] for each in self.server.calls() if "grant" in each]
		self.assertEqual(grants[:3], ["authorization_code", "refresh_token", "refresh_token"])

	def test_a_call_does_not_end_a_sign_in_in_progress(self):
		answer = follow_as_browser(mcp_connection.sign_in(self.connection))
		self.assertIn("Nobody is signed in", mcp_connection.refresh(self.connection)["error"])
		with self.assertRaises(frappe.Redirect):
			mcp_connection.callback(**answer)
		self.check_connection()

	def test_oauth_tokens_are_not_used_after_the_url_changes(self):
		self.sign_in()
		doc = frappe.get_doc(CONNECTION, self.connection)
		doc.url = f"{self.server.url}/other"
		doc.save()
		frappe.db.commit()
		self.assertIn("Nobody is signed in", mcp_connection.refresh(self.connection)["error"])

	def test_sign_in_uses_pkce_and_the_client_metadata_is_public(self):
		address = urlsplit(mcp_connection.sign_in(self.connection))
		query = parse_qs(address.query)
		self.assertEqual(query["code_challenge_method"], ["S256"])
		answer = send("/api/method/huf.api.mcp_connection.client_metadata")
		self.assertEqual(answer.status_code, 200)
		self.assertEqual(
			answer.json["redirect_uris"][0].rpartition("/")[2], "huf.api.mcp_connection.callback"
		)

	def sign_in(self) -> None:
		answer = follow_as_browser(mcp_connection.sign_in(self.connection))
		with self.assertRaises(frappe.Redirect):
			mcp_connection.callback(**answer)
