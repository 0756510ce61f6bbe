"""The diagnosis of MCP connections: it names the step that fails, and keeps nothing of what was said."""

import json

import frappe

from huf.ai.mcp.server.diagnosis import MAX_REQUESTS
from huf.tests.api.test_mcp import McpTestCase
from huf.tests.factories import make_agent, make_role, unique
from huf.tests.http import send


class TestDiagnosis(McpTestCase):
	def diagnose(self, slug: str | None = None) -> dict:
		query = {"server": slug or self.slug}
		headers = {"Authorization": self.headers["Authorization"].replace("Bearer", "token")}
		answer = send("/api/method/huf.api.mcp_diagnosis.diagnose", query_string=query, headers=headers)
		self.assertEqual(answer.status_code, 200, answer.get_data(as_text=True))
		return answer.json["message"]

	def steps(self, slug: str | None = None) -> dict[str, tuple]:
		return {each["step"]: (each["ok"], each["message"]) for each in self.diagnose(slug)["steps"]}

	def test_before_any_request_it_says_where_to_connect(self):
		steps = self.steps()
		self.assertIsNone(steps["connect"][0])
		self.assertIn(f"/mcp/{self.slug}", steps["connect"][1])

	def test_a_working_client(self):
		self.names()
		self.call(self.read)
		self.assertEqual([ok for ok, _ in self.steps().values()], [True] * 4)

	def test_a_client_that_does_not_sign_in_and_one_with_an_old_token(self):
		known = self.headers
		for header, word in ({}, "without signing in"), ({"Authorization": "Bearer old"}, "not accepted"):
			self.headers = header
			self.post("tools/list")
			self.headers = known
			ok, message = self.steps()["authorize"]
			self.assertIs(ok, False)
			self.assertIn(word, message)

	def test_a_foreign_host(self):
		self.post("tools/list", headers={"Host": "evil.example"})
		self.assertIn("host_name", self.steps()["connect"][1])

	def test_the_server_without_a_record_is_found_by_its_name(self):
		if not frappe.db.exists("MCP Server", {"slug": "default"}):
			self.assertIsNot(self.steps("default")["connect"][0], False)

	def test_no_server_of_this_name(self):
		self.assertIs(self.steps("never-was")["connect"][0], False)

	def test_each_cause_of_no_tools(self):
		closed = make_agent(None, (self.read,), roles=[{"role": make_role()}])
		causes = {
			"offers no agent": self.make_server(None),
			"open to you": self.make_server(None, (), (closed,)),
			"There is no agent": self.make_server(closed, (self.read,)),
		}
		for cause, slug in causes.items():
			ok, message = self.steps(slug)["list"]
			self.assertIs(ok, False)
			self.assertIn(cause, message)

	def test_a_tool_s_error_and_a_refused_call(self):
		self.call(self.read, {"limit": "many"})
		self.assertIn("/huf/runs", self.steps()["call"][1])
		self.post("tools/call", {"name": "unknown"})
		self.assertIn("-32602", self.steps()["call"][1])

	def test_it_keeps_the_last_requests_without_contents(self):
		secret = unique("Secret")
		for _ in range(MAX_REQUESTS + 2):
			self.call(self.create, {"description": secret, "allocated_to": self.user})
		found = self.diagnose()
		self.assertEqual(len(found["requests"]), MAX_REQUESTS)
		self.assertNotIn(secret, json.dumps(found))
		self.assertNotIn(self.headers["Authorization"].partition(" ")[2], json.dumps(found))

	def test_strangers_fill_no_cache(self):
		self.headers = {}
		self.post("tools/list", path="/mcp/never-was")
		self.assertIsNone(frappe.cache.get_value("mcp_requests:never-was:Guest", expires=True))


del McpTestCase
