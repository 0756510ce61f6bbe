"""The diagnosis of MCP connections names the failing step and stores no contents of requests."""

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

	def test_connect_step_has_the_url_before_any_request(self):
		steps = self.steps()
		self.assertIsNone(steps["connect"][0])
		self.assertIn(f"/mcp/{self.slug}", steps["connect"][1])

	def test_all_steps_pass_for_a_working_client(self):
		self.names()
		self.call(self.read)
		self.assertEqual([ok for ok, _ in self.steps().values()], [True] * 4)

	def test_authorize_step_fails_without_sign_in_or_with_an_invalid_token(self):
		known = self.headers
		for header, word in ({}, "without signing in"), ({"Authorization": "Bearer old"}, "not accepted"):
			self.headers = header
			self.post("tools/list")
			self.headers = known
			ok, message = self.steps()["authorize"]
			self.assertIs(ok, False)
			self.assertIn(word, message)

	def test_connect_step_reports_a_foreign_host(self):
		self.post("tools/list", headers={"Host": "evil.example"})
		self.assertIn("host_name", self.steps()["connect"][1])

	def test_default_server_without_a_record_is_diagnosed(self):
		if not frappe.db.exists("MCP Server", {"slug": "default"}):
			self.assertIsNot(self.steps("default")["connect"][0], False)

	def test_connect_step_fails_for_an_unknown_server(self):
		self.assertIs(self.steps("never-was")["connect"][0], False)

	def test_list_step_names_each_cause_of_an_empty_tool_list(self):
		inaccessible = make_agent(None, (self.read,), roles=[{"role": make_role()}])
		causes = {
			"offers no agent": self.make_server(None),
			"open to you": self.make_server(None, (), (inaccessible,)),
			"There is no agent": self.make_server(inaccessible, (self.read,)),
		}
		for cause, slug in causes.items():
			ok, message = self.steps(slug)["list"]
			self.assertIs(ok, False)
			self.assertIn(cause, message)

	def test_call_step_shows_tool_errors_and_refused_calls(self):
		self.call(self.read, {"limit": "many"})
		self.assertIn("/huf/runs", self.steps()["call"][1])
		self.post("tools/call", {"name": "unknown"})
		self.assertIn("-32602", self.steps()["call"][1])

	def test_diagnosis_keeps_recent_requests_without_their_contents(self):
		secret = unique("Secret")
		for _ in range(MAX_REQUESTS + 2):
			self.call(self.create, {"description": secret, "allocated_to": self.user})
		found = self.diagnose()
		self.assertEqual(len(found["requests"]), MAX_REQUESTS)
		self.assertNotIn(secret, json.dumps(found))
		self.assertNotIn(self.headers["Authorization"].partition(" ")[2], json.dumps(found))

	def test_unauthenticated_requests_to_unknown_servers_are_not_stored(self):
		self.headers = {}
		self.post("tools/list", path="/mcp/never-was")
		self.assertIsNone(frappe.cache.get_value("mcp_requests:never-was:Guest", expires=True))


del McpTestCase
