"""The MCP Inspector's command line lists and calls the tools of a served site, with an API key and OAuth.

The Inspector is an npm package; the tests are skipped offline.
"""

import json
import os
import re
import tempfile

import frappe
import requests

from huf.tests.api.test_mcp_oauth import OAuthTestCase
from huf.tests.base import enter
from huf.tests.factories import make, make_agent, unique
from huf.tests.npm import TIMEOUT_S, install_package, run_node, start_node
from huf.tests.ports import find_free_port

PACKAGE, VERSION = "@modelcontextprotocol/inspector", "2.12.0"


class TestInspector(OAuthTestCase):
	def setUp(self):
		super().setUp()
		folder = install_package(PACKAGE, VERSION)
		# The Inspector would store tokens in the user's home or keychain; here each call signs in again.
		home = enter(self, tempfile.TemporaryDirectory())
		self.environment = {"HOME": home, "MCP_INSPECTOR_SECRET_STORE": "memory"}
		launcher = folder / "clients" / "launcher" / "build" / "index.js"
		self.command = [launcher, "--cli", "--format", "json", "--quiet"]

	def inspect(self, method: str, *arguments: str, url: str | None = None) -> dict:
		"""The result of one request with the API key."""
		key = f"Authorization: {self.headers['Authorization']}"
		options = ("--server-url", url or self.url, "--transport", "http", "--header", key)
		done = run_node(*self.command, *options, "--method", method, *arguments, **self.environment)
		self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
		return json.loads(done.stdout)

	def inspect_signed_in(self, method: str, *arguments: str) -> dict:
		"""The result of one request with OAuth; the test plays the user's browser."""
		callback = f"http://127.0.0.1:{find_free_port()}/oauth/callback"
		options = ("--server-url", self.url, "--transport", "http", "--callback-url", callback)
		# The Inspector signs in only on a terminal.
		terminal, stdin = os.openpty()
		self.addCleanup(os.close, terminal)
		command = (*self.command, *options, "--method", method, *arguments)
		inspector = start_node(*command, stdin=stdin, MCP_AUTO_OPEN_ENABLED="false", **self.environment)
		os.close(stdin)
		self.addCleanup(inspector.stdout.close)
		self.addCleanup(inspector.kill)
		sign_in_line = next((line for line in inspector.stdout if "/mcp-oauth/authorize?" in line), "")
		address = re.search(r"http\S+", sign_in_line)
		requests.get(self.answer(address[0], "allow", "Inspector")).raise_for_status()
		lines = inspector.stdout.read().splitlines()
		self.assertEqual(inspector.wait(TIMEOUT_S), 0, lines)
		return json.loads(next(line for line in lines if line.startswith('{"result"')))

	def test_inspector_lists_and_calls_tools_with_an_api_key_in_both_eras(self):
		for era in ("legacy", "modern"):
			with self.subTest(era):
				self.assert_lists_and_calls(self.inspect, "--protocol-era", era)

	def test_inspector_lists_and_calls_tools_after_oauth_sign_in(self):
		self.assert_lists_and_calls(self.inspect_signed_in)

	def assert_lists_and_calls(self, inspect, *options: str) -> None:
		listed = inspect("tools/list", *options, "--strict")
		self.assertIn(self.create, [tool["name"] for tool in listed["result"]["tools"]])
		description = unique("Inspected")
		arguments = json.dumps({"description": description, "allocated_to": self.user})
		call = ("--tool-name", self.create, "--tool-args-json", arguments)
		called = inspect("tools/call", *options, *call)
		self.assertFalse(called["result"].get("isError"), called)
		frappe.db.rollback()
		self.assertEqual(frappe.db.get_value("ToDo", {"description": description}, "owner"), self.user)

	def test_inspector_verifies_skills(self):
		agent = make_agent(None, instructions="Be kind.")
		offers = [{"offer_type": "Agent", "offer": agent, "as_skill": 1}]
		slug = make("MCP Server", server_name=unique("Skills"), offers=offers).slug
		frappe.db.commit()
		options = ("--protocol-era", "modern", "--verify", "--require-digests")
		report = self.inspect("skills/list", *options, url=f"{self.base}/mcp/{slug}")
		self.assertEqual((report["ok"], report["outcome"]), (True, "verified"), report)
