"""Over HTTP, no path or method gives other users access to a conversation or its runs."""

import json

import frappe

from huf.ai.core.session import acting_as
from huf.ai.runs.entry import run_agent_sync
from huf.embedded.tests.sites import Browser, SiteTestCase
from huf.install import DEMO_AGENT

PRIVATE = ("Agent Conversation", "Agent Message", "Agent Run", "Agent LLM Call", "Agent Tool Call")


class TestPrivacy(SiteTestCase):
	def setUp(self):
		super().setUp()
		owner = self.make_user("owner@example.com", "Huf User", "System Manager")
		with acting_as(owner):
			self.result = run_agent_sync(DEMO_AGENT, "How many users are there?")
		self.assertEqual(self.result["status"], "Success")
		of_run = {"run": self.result["run"]}
		self.rows = {
			"Agent Conversation": self.result["conversation"],
			"Agent Run": self.result["run"],
			**{
				doctype: frappe.get_all(doctype, of_run, pluck="name", order_by="name")[0]
				for doctype in ("Agent Message", "Agent LLM Call", "Agent Tool Call")
			},
		}
		self.owner, self.other = (
			self.log_in(owner),
			self.log_in(self.make_user("other@example.com", "Huf User")),
		)

	def log_in(self, user) -> Browser:
		browser = Browser()
		self.assertEqual(browser.login(user).status_code, 200)
		return browser

	def test_private_records_are_readable_by_their_owner_only(self):
		for doctype in PRIVATE:
			path = f"/api/resource/{doctype}/{self.rows[doctype]}"
			with self.subTest(doctype):
				self.assertEqual(self.owner.open(path).status_code, 200)
				self.assertEqual(self.other.open(path).status_code, 403)
				self.assertEqual(self.other.open(f"/api/resource/{doctype}").json["data"], [])

	def test_private_records_cannot_be_changed_or_deleted_by_another_user(self):
		for doctype in PRIVATE:
			path = f"/api/resource/{doctype}/{self.rows[doctype]}"
			with self.subTest(doctype):
				self.assertEqual(self.other.open(path, "PUT", json={"title": "Mine"}).status_code, 403)
				# A request with a forged owner passes the permission check, but cannot change the owner.
				claim = self.other.open(path, "PUT", json={"owner": "other@example.com"})
				self.assertIn(claim.status_code, (403, 417))
				self.assertEqual(self.other.open(path, "DELETE").status_code, 403)
				self.assertEqual(
					frappe.db.get_value(doctype, self.rows[doctype], "owner"), "owner@example.com"
				)

	def test_owner_cannot_create_records_that_only_runs_write(self):
		for doctype in PRIVATE:
			values = {
				"conversation": self.result["conversation"],
				"run": self.result["run"],
				"agent": DEMO_AGENT,
			}
			with self.subTest(doctype):
				answer = self.owner.post(
					f"/api/resource/{doctype}", json={**values, "role": "agent", "content": "x"}
				)
				self.assertEqual(answer.status_code, 403)

	def test_chat_and_run_methods_refuse_another_user(self):
		conversation, run = self.result["conversation"], self.result["run"]
		for method, arguments in (
			("huf.ai.agent_chat.get_agent_chat_messages", {"conversation": conversation}),
			(
				"huf.ai.agent_chat.send_agent_chat_message",
				{"agent": DEMO_AGENT, "prompt": "x", "conversation": conversation},
			),
			(
				"huf.ai.agent_integration.run_agent_sync",
				{"agent_name": DEMO_AGENT, "prompt": "x", "conversation_id": conversation},
			),
			("huf.api.chat.stream", {"agent": DEMO_AGENT, "prompt": "x", "conversation": conversation}),
			("huf.api.chat.rename_conversation", {"conversation": conversation, "title": "Mine"}),
			("huf.api.chat.delete_conversation", {"conversation": conversation}),
			("huf.api.run.cancel", {"run": run}),
			("huf.api.run.settle_call", {"call": self.rows["Agent Tool Call"], "verdict": "done"}),
			("huf.api.run.retry_call", {"call": self.rows["Agent Tool Call"]}),
		):
			with self.subTest(method):
				self.assertEqual(self.other.post(f"/api/method/{method}", json=arguments).status_code, 403)

	def test_the_timeline_refuses_another_user(self):
		for query in (
			f"huf.api.run.get_run?run={self.result['run']}",
			f"huf.api.run.compare?run={self.result['run']}&other={self.result['run']}",
		):
			self.assertEqual(self.owner.open(f"/api/method/{query}").status_code, 200)
			self.assertEqual(self.other.open(f"/api/method/{query}").status_code, 403)
		self.assertEqual(self.other.open("/api/method/huf.api.run.get_runs").json["message"], [])

	def test_filter_by_run_returns_no_records_of_another_user(self):
		filters = json.dumps([["run", "=", self.result["run"]]])
		for doctype in ("Agent Message", "Agent LLM Call", "Agent Tool Call"):
			answer = self.other.open(
				f'/api/resource/{doctype}?filters={filters}&fields=["*"]&limit_page_length=0'
			)
			self.assertEqual(answer.json["data"], [])
