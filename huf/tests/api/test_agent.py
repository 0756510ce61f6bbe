"""/agent/chat and /agent/stream over HTTP, including the tool results in their responses."""

import json
from dataclasses import replace
from unittest.mock import patch

import frappe

from huf.ai.chat import external
from huf.ai.core.errors import UsageError
from huf.ai.core.types import AgentRequest, Mode
from huf.ai.queries import event_stream
from huf.ai.runs import entry
from huf.ai.runs.queue import enqueue_run, work_on
from huf.ai.runs.start import start_run
from huf.ai.tools import registry
from huf.api import agent as api
from huf.tests.api.test_openai import SECRET, make_key
from huf.tests.base import SiteTestCase, enter
from huf.tests.factories import make_agent, make_file, make_model, make_tool, make_user, unique
from huf.tests.http import post, send
from huf.tests.model_server import ModelServer, text, tool_call

BROKEN_JSON = {'{"message": ': "not valid JSON", '{"message": "\\ud83d"}': "half of a character"}
"""The second has an unpaired surrogate, which cannot be encoded or stored."""
REPORT = {
	"tool": "sales_report_tool",
	"region": "EMEA",
	"year": 2024,
	"data": [],
	"summary": "Sales report for region=EMEA, year=2024",
}


@registry.tool(
	"Generate sales reports by region and year",
	effect="read",
	parameters={
		"type": "object",
		"properties": {"region": {"type": "string"}, "year": {"type": "integer"}},
	},
)
async def sales_report_tool(args, user_context):
	region, year = args.get("region", "ALL"), args.get("year")
	return {
		"tool": "sales_report_tool",
		"region": region,
		"year": year,
		"data": [],
		"summary": f"Sales report for region={region}, year={year}",
	}


class FrontEndTestCase(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.user = make_user("Huf User")
		self.headers = {"Authorization": f"token {make_key(self.user)}:{SECRET}"}
		self.server = enter(self, ModelServer())
		self.tool = make_tool("Get List", reference_doctype="ToDo")
		self.agent = make_agent(make_model(self.server), (self.tool,))

	def ask(self, path: str, **body):
		return post(path, json={"agent": self.agent, **body}, headers=self.headers)

	def add_report_tool(self) -> str:
		"""Register the code tool of this module and return the name of its record."""
		enter(self, patch.object(registry, "list_folder_modules", return_value=[__name__]))
		if frappe.db.exists("Agent Tool Function", "sales_report_tool"):
			return "sales_report_tool"
		self.addCleanup(self.remove_report_tool)
		return make_tool("App Provided", "sales_report_tool", provider_app="huf")

	def remove_report_tool(self) -> None:
		"""Remove the tool: a pack has one of the same name."""
		frappe.db.rollback()
		for agent in set(frappe.get_all("Agent Tool", {"tool": "sales_report_tool"}, pluck="parent")):
			frappe.get_doc("Agent", agent).update({"agent_tool": []}).save()
		frappe.delete_doc("Agent Tool Function", "sales_report_tool")
		frappe.db.commit()


class TestAgentChat(FrontEndTestCase):
	def test_attachments_must_be_files_that_the_caller_may_read(self):
		self.server.script(text("Four."))
		mine, other = (
			make_file("plan.md", unique("Tea"), user) for user in (self.user, make_user("Huf User"))
		)
		answer = self.ask("/agent/chat", message="When?", attachments=[mine])
		self.assertEqual(answer.json["response"], "Four.")
		# Frappe adds a suffix to a file name that is taken.
		self.assertRegex(self.server.requests[0]["messages"][-1]["content"], r"File plan\w*\.md:")
		self.assertEqual(self.ask("/agent/chat", message="When?", attachments=[other]).status_code, 403)
		self.assertEqual(self.ask("/agent/chat", message="When?", attachments={"a": 1}).status_code, 409)

	def test_planner_mode_executes_the_plan_and_returns_its_tool_results(self):
		tool = self.add_report_tool()
		self.agent = make_agent(make_model(self.server), (tool,), tool_mode="Planner")
		arguments = {"region": "EMEA", "year": 2024}
		plan = {"tool": tool, "reason": "It asks for sales.", "arguments": arguments}
		self.server.script(
			text(json.dumps(plan)), text('{"tool": "none", "reason": "", "arguments": {}}'), text("None yet.")
		)
		answer = self.ask("/agent/chat", message="Sales in EMEA in 2024?")
		self.assertEqual(answer.status_code, 200)
		self.assertEqual(answer.json["response"], "None yet.")
		self.assertEqual(
			answer.json["tool_results"], [{"tool": tool, "arguments": arguments, "result": REPORT}]
		)

	def test_message_behind_another_run_returns_202(self):
		self.server.script(text("Hello."))
		conversation = self.ask("/agent/chat", message="Hi", thread="t1").json["conversation"]
		start_run(AgentRequest(self.agent, "Busy", self.user, conversation))
		answer = self.ask("/agent/chat", message="And now?", conversation=conversation)
		known = (answer.status_code, answer.json["status"], answer.json["current_step"])
		self.assertEqual(known, (202, "Queued", "plan"))

	def test_native_tool_calls_are_returned_in_tool_results(self):
		self.server.script(tool_call(self.tool, {"limit": 1}), text("One."))
		answer = self.ask("/agent/chat", message="How many?").json
		self.assertEqual((answer["success"], answer["response"]), (True, "One."))
		self.assertEqual([each["tool"] for each in answer["tool_results"]], [self.tool])

	def test_same_thread_id_continues_the_conversation(self):
		self.server.script(text("Anna."), text("Anna, I said."))
		first = self.ask("/agent/chat", message="Who?", thread="t1").json
		second = self.ask("/agent/chat", message="Again?", thread="t1").json
		self.assertEqual(first["conversation"], second["conversation"])

	def test_a_message_sent_again_with_its_idempotency_key_runs_once(self):
		self.server.script(tool_call(self.tool, {"limit": 1}), text("One."))
		repeated = {"message": "How many?", "idempotency_key": frappe.generate_hash(length=32)}
		first, again = (self.ask("/agent/chat", **repeated) for _attempt in range(2))
		self.assertEqual((again.status_code, again.json), (200, {**again.json, **first.json}))
		body = self.ask("/agent/stream", **repeated).get_data(as_text=True)
		self.assertIn(f'event: run_finished\ndata: {{"run": "{first.json["run"]}"', body)
		self.assertNotIn("run_queued", body)
		refused = self.ask("/agent/chat", message="How many?", idempotency_key="short")
		self.assertEqual((refused.status_code, refused.json["code"]), (409, "CANNOT_RUN"))

	def test_stream_sends_the_events_of_the_run(self):
		self.server.script(text("Hello."))
		body = self.ask("/agent/stream", message="Hi").get_data(as_text=True)
		self.assertTrue(body.startswith("id: 1\nevent: run_started\n"))
		self.assertIn("event: run_finished\n", body)

	def test_stream_of_a_queued_run_starts_with_run_started(self):
		self.server.script(text("Hello."))
		follow = event_stream.follow_run_events

		def queue(request):
			return enqueue_run(replace(request, mode=Mode.BACKGROUND))

		def work_and_follow(run, after):
			work_on(run)
			return follow(run, after)

		with (
			patch.object(entry, "open_run", queue),
			patch.object(external, "follow_run_events", work_and_follow),
		):
			body = self.ask("/agent/stream", message="Hi").get_data(as_text=True)
		self.assertTrue(body.startswith("id: 1\nevent: run_started\n"), body)
		self.assertIn("event: run_finished\n", body)

	def test_stream_of_a_run_that_does_not_begin_ends_with_run_queued(self):
		change = make_tool("Create Document", reference_doctype="ToDo", requires_approval=1)
		self.agent = make_agent(make_model(self.server), (change,))
		self.server.script(tool_call(change, {"description": "Call Anna", "allocated_to": self.user}))
		self.ask("/agent/chat", message="Remind me", thread="t1")
		with patch.object(external, "QUEUED_S", 0), patch.object(event_stream, "KEEPALIVE_S", 0):
			body = self.ask("/agent/stream", message="Hi", thread="t1").get_data(as_text=True)
		self.assertTrue(body.strip().rpartition("\n\n")[2].startswith("event: run_queued\n"), body)

	def test_invalid_json_is_refused_in_the_error_format_of_each_endpoint(self):
		for body, reason in BROKEN_JSON.items():
			with self.subTest(body):
				self.check_broken(body, reason)

	def check_broken(self, body: str, reason: str):
		def send_broken(path, method="POST"):
			return send(path, method=method, data=body, content_type="application/json")

		for path in (
			"/agent/chat",
			"/agent/stream",
			"/copilotkit/action",
			"/api/chat/route",
			"/agent/hook/x",
		):
			with self.subTest(path):
				self.skip_where_frappe_fails(path)
				refused = send_broken(path)
				self.assertEqual((refused.status_code, refused.json["code"]), (400, "BAD_REQUEST"))
				self.assertIn(reason, refused.json["error"])
		for path in ("/v1/chat/completions", "/v1/responses"):
			with self.subTest(path):
				self.skip_where_frappe_fails(path)
				refused = send_broken(path)
				self.assertEqual(refused.status_code, 400)
				self.assertIn(reason, refused.json["error"]["message"])
		with self.subTest("/mcp-oauth/register"):
			self.skip_where_frappe_fails("/mcp-oauth/register")
			refused = send_broken("/mcp-oauth/register")
			self.assertEqual((refused.status_code, refused.json["error"]), (400, "invalid_client_metadata"))
		if "embedded" in frappe.__version__ or reason == "not valid JSON":
			self.assertIn("exc_type", send_broken("/api/method/ping").json, "Frappe's own form elsewhere")

	def skip_where_frappe_fails(self, path):
		if frappe.__version__.startswith("15.") and "embedded" not in frappe.__version__:
			if not path.startswith("/api/"):
				self.skipTest(
					"Frappe 15 reads the body before it has a session, and its error page needs one"
				)

	def test_invalid_chat_requests_are_refused(self):
		for body, status in (({}, 400), ({"message": " "}, 400), ({"message": "Hi", "agent": "Nobody"}, 403)):
			for path in ("/agent/chat", "/agent/stream"):
				answer = self.ask(path, **body)
				self.assertEqual(
					(answer.status_code, set(answer.json)), (status, {"error", "code", "suggestion"})
				)
		self.assertEqual(send("/agent/chat", method="POST", json={"message": "Hi"}).status_code, 403)


class TestCreate(SiteTestCase):
	def setUp(self):
		super().setUp()
		frappe.set_user(make_user("Huf Manager"))

	def test_create_adds_document_tools_and_run_agent_tools(self):
		other = make_agent(description="Counts")
		values = {"agent_name": unique("Agent"), "owner": "Guest", "total_run": 7}
		made = api.create(values, {"ToDo": ["list", "create"]}, [other], needs_approval=True)
		doc = frappe.get_doc("Agent", made["name"])
		self.assertEqual((doc.owner, doc.total_run), (frappe.session.user, 0))
		rows = [
			(frappe.db.get_value("Agent Tool Function", row.tool, "types"), row) for row in doc.agent_tool
		]
		approval = [(types, row.requires_approval) for types, row in rows]
		self.assertEqual(approval, [("Get List", 0), ("Create Document", 1), ("Run Agent", 0)])
		tool = frappe.get_doc("Agent Tool Function", doc.agent_tool[2].tool)
		self.assertEqual((tool.agent, tool.description), (other, "Counts"))
		again = api.create({"agent_name": unique("Agent")}, agents=[other])
		self.assertEqual(again["tools"], [tool.name])

	def test_refused_create_leaves_no_agent(self):
		wrong = (
			{"doctypes": {"ToDo": ["burn"]}},
			{"agents": '{"a": 1}'},
			{"doctypes": '["ToDo"]'},
			{"doctypes": {"ToDo": 5}},
			{"doctypes": {"ToDo": [{}]}},
			{"agents": [{}]},
			{"values": {"agent_name": "Never", "agent_tool": "x"}},
			{"values": {"agent_name": "Never", "agent_tool": [1]}},
		)
		for given in wrong:
			with self.subTest(given), self.assertRaises(UsageError):
				api.create(**{"values": {"agent_name": "Never"}, **given})
		frappe.set_user("Administrator")
		frappe.set_user(make_user("Huf User"))
		with self.assertRaises(frappe.PermissionError):
			api.create({"agent_name": "Never"}, {"ToDo": ["list"]})
		self.assertFalse(frappe.db.exists("Agent", "Never"))
