"""Malformed HTTP requests are refused with a 4xx status and not logged as errors."""

import json

import frappe

from huf.ai.core.request_values import MAX_START, clamp_start, parse_request_json
from huf.api import run as run_api
from huf.tests.api.test_openai import SECRET, OpenAITestCase, make_key
from huf.tests.http import send
from huf.tests.model_server import text
from huf.tests.triggers import SECRET as WEBHOOK_SECRET
from huf.tests.triggers import WebhookTestCase

DEEP = "[" * 100_000
SURROGATE = '"\\ud800"'
HUGE = 10**30
MODEL_TOOLS = [{"type": "mcp", "server_label": "huf", "server_url": "https://example.com"}]


class MalformedTestCase(OpenAITestCase):
	def setUp(self):
		super().setUp()
		self.token = {"Authorization": f"token {make_key(self.user)}:{SECRET}"}
		self.headers = {"Authorization": f"Bearer {self.token['Authorization'].partition(' ')[2]}"}
		self.errors = frappe.db.count("Error Log")

	def check_refused(self, path: str, body: dict, **options):
		response = send(path, json=body, headers=self.token, **{"method": "POST", **options})
		answer = response.get_data(as_text=True)[:300]
		self.assertTrue(400 <= response.status_code < 500, f"{path} {str(body)[:80]}: {answer}")
		self.check_unlogged()
		return response

	def check_unlogged(self):
		self.assertEqual(frappe.db.count("Error Log"), self.errors)


class TestTypes(MalformedTestCase):
	def test_values_of_another_type_are_refused(self):
		hello = {"model": self.todo_agent, "messages": [{"role": "user", "content": "Hi"}]}
		action = {"action": "chat", "agent": self.todo_agent, "message": "Hi"}
		stream = {"threadId": "t", "runId": "r", "messages": [], "tools": [], "context": [], "state": {}}
		for wrong in (["a"], {"a": 1}):
			for path, body in (
				("/v1/chat/completions", {**hello, "metadata": {"conversation_id": wrong}}),
				("/v1/chat/completions", {**hello, "stream": wrong}),
				("/copilotkit/action", {**action, "threadId": wrong}),
				("/copilotkit/action", {**action, "agent": wrong}),
				("/copilotkit/stream", {**stream, "forwardedProps": {"agent": wrong}}),
			):
				with self.subTest(path, body=body):
					self.assertEqual(self.check_refused(path, body).status_code, 400)

	def test_bodies_with_many_wrong_values_are_refused_before_each_is_validated(self):
		many = [1] * 30_000
		client = {"name": "x", "version": "1", "icons": many}
		started = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
		message = {"role": "user", "kind": "message", "messageId": "1", "parts": many}
		rpc = {"jsonrpc": "2.0", "id": 1}
		stream = {"threadId": "t", "runId": "r", "messages": [], "tools": [], "state": {}}
		for path, body, reason in (
			("/copilotkit/stream", {**stream, "context": many}, "at most 20,000 values"),
			("/mcp", {**rpc, "method": "initialize", "params": started}, "at most 20,000 values"),
			(
				f"/a2a/{self.todo_agent}",
				{**rpc, "method": "message/send", "params": {"message": message}},
				"at most 20,000",
			),
			("/mcp-oauth/register", {"redirect_uris": many}, "at most 32,768 bytes"),
			("/api/method/huf.api.undo.preview", {"runs": many}, "must be a list of names"),
		):
			with self.subTest(path):
				self.assertIn(reason, self.check_refused(path, body).get_data(as_text=True))

	def test_stream_given_as_the_string_false_is_not_streamed(self):
		self.server.script(text("Hello."))
		answer = self.post(stream="false").json
		self.assertEqual(answer["choices"][0]["message"]["content"], "Hello.")

	def test_approval_payload_with_wrong_types_is_refused(self):
		self.server.script(self.change("new"))
		given = {"model": self.agent, "input": "Hi", "tools": MODEL_TOOLS}
		output = send("/v1/responses", method="POST", json=given, headers=self.headers).json["output"]
		request = next(each["id"] for each in output if each["type"] == "mcp_approval_request")
		answer = {"type": "mcp_approval_response", "approval_request_id": request, "approve": False}
		self.check_refused("/v1/responses", {**given, "input": [{**answer, "reason": 5}]})
		interrupt = request.removeprefix("mcpr_").replace("_", ".")
		stream = {"threadId": "t", "runId": "r", "messages": [], "tools": [], "context": [], "state": {}}
		for payload in ({"reason": 5}, {"approved": True, "arguments": "x"}, {"arguments": [1]}):
			entry = {"interruptId": interrupt, "status": "resolved", "payload": payload}
			path = f"/copilotkit/stream?agent={self.agent}"
			response = self.check_refused(path, {**stream, "resume": [entry]})
			self.assertEqual(response.status_code, 400)
		self.assertEqual(frappe.db.get_value("Agent Draft", {"agent": self.agent}, "status"), "Pending")


class TestJson(MalformedTestCase):
	def test_json_as_text_may_not_be_nested_too_deeply(self):
		for path, body in (
			("huf.api.agent.chat", {"message": "x", "agent": self.todo_agent, "attachments": DEEP}),
			("huf.api.record.get_records", {"doctype": "ToDo", "filters": DEEP}),
			("huf.api.client.get_count", {"doctype": "ToDo", "filters": DEEP}),
			("huf.api.knowledge.search", {"query": "x", "sources": DEEP}),
			("huf.api.desk.get_days", {"filters": DEEP}),
			("huf.api.undo.preview", {"runs": DEEP}),
			("huf.api.undo.preview", {"runs": ["x"], "decisions": DEEP}),
			("huf.api.undo.preview", {"runs": ["x"], "decisions": {"*": ["keep"]}}),
			("huf.api.run.rerun", {"run": "x", "step": 1, "edits": DEEP}),
			("huf.api.draft.approve", {"draft": "x", "digest": "x", "arguments": DEEP}),
			("huf.api.copilotkit.action", {"action": self.tool, "agent": self.todo_agent, "arguments": DEEP}),
		):
			with self.subTest(path):
				method = "GET" if ".get_" in path else "POST"
				self.check_refused(f"/api/method/{path}", body, method=method)

	def test_json_scalar_bodies_are_refused_in_the_error_format_of_each_endpoint(self):
		for path, key in (
			("/v1/chat/completions", "error"),
			("/v1/responses", "error"),
			("/agent/chat", "suggestion"),
			("/copilotkit/stream", "suggestion"),
			("/agent/hook/any", "suggestion"),
			("/mcp", "jsonrpc"),
			("/a2a/any", "jsonrpc"),
			("/mcp-oauth/register", "error_description"),
		):
			for body in (b'"x"', b"null", b"5", b'{"a": NaN}', '{"a": 1}'.encode("utf-16")):
				with self.subTest(path, body=body):
					# Otherwise Frappe 15 renders an error page, which fails without a session.
					options = {"content_type": "application/json", "headers": {"Accept": "application/json"}}
					response = send(path, method="POST", data=body, **options)
					# Frappe accepts some of these bodies and then requires a sign-in.
					self.assertIn(response.status_code, (400, 401, 403))
					if response.status_code == 400:
						self.assertIn(key, response.json)
		self.check_unlogged()

	def test_json_that_is_sent_as_a_form_is_refused_with_the_header_to_send(self):
		for path in ("/v1/chat/completions", "/v1/responses", "/agent/chat", "/copilotkit/stream"):
			for form in ("text/plain", "application/x-www-form-urlencoded"):
				with self.subTest(path, form=form):
					body = json.dumps({"model": self.todo_agent, "input": "Hi", "message": "Hi"})
					options = {"data": body, "content_type": form, "headers": self.token}
					response = send(path, method="POST", **options)
					self.assertEqual(response.status_code, 400)
					self.assertIn("Content-Type: application/json", response.text)

	def test_deep_nesting_and_lone_surrogates_are_invalid_json(self):
		for broken in (DEEP, SURROGATE, DEEP + "]" * len(DEEP), "{", ""):
			with self.assertRaises(ValueError):
				parse_request_json(broken)
		self.assertEqual(parse_request_json('{"a": ["\\u00e4"]}'), {"a": ["ä"]})


class TestNumbers(MalformedTestCase):
	def test_list_start_is_clamped_to_0_and_max_start(self):
		self.assertEqual(list(map(clamp_start, (-5, 7, HUGE))), [0, 7, MAX_START])
		for path, body in (
			("chat.get_conversations", {}),
			("conversation.search", {"text": "x"}),
			("run.get_runs", {}),
			("draft.get_drafts", {}),
			("mail.get_mails", {}),
			("record.get_records", {"doctype": "ToDo"}),
		):
			for start in (-5, HUGE):
				with self.subTest(path, start=start):
					self.check_listed(path, {**body, "start": start})

	def test_searches_accept_very_long_texts(self):
		for path, body in (
			("record.find", {}),
			("record.get_records", {"doctype": "ToDo"}),
			("conversation.search", {}),
			("run.get_runs", {}),
		):
			with self.subTest(path):
				self.check_listed(path, {**body, "text": "a" * 60_000})

	def check_listed(self, path: str, body: dict):
		response = send(f"/api/method/huf.api.{path}", method="GET", query_string=body, headers=self.token)
		self.assertEqual(response.status_code, 200, response.get_data(as_text=True)[:300])
		self.check_unlogged()

	def test_to_date_of_the_run_list_includes_the_whole_day(self):
		self.server.script(text("Hello."))
		run = self.post().json["metadata"]["run"]
		frappe.set_user(self.user)
		for last, is_found in ((frappe.utils.today(), True), ("9999-12-31", True), ("2020-01-01", False)):
			names = [row["name"] for row in run_api.get_runs(agent=self.todo_agent, to_date=last)]
			self.assertEqual(run in names, is_found, last)

	def test_invalid_last_event_id_is_ignored(self):
		self.server.script(text("Hello."))
		run = self.post().json["metadata"]["run"]
		for given in ("9" * 5000, "x"):
			headers = {**self.token, "Last-Event-ID": given}
			response = send(f"/api/method/huf.api.chat.rejoin?run={run}", method="GET", headers=headers)
			self.assertEqual(response.status_code, 200)
			self.assertIn("run_finished", response.get_data(as_text=True))
		self.check_unlogged()


class TestTriggers(WebhookTestCase):
	def test_webhook_accepts_plain_text_that_is_not_json(self):
		for body in ('{"a":' + DEEP, f'{{"a":{SURROGATE}}}'):
			trigger = self.webhook()
			path = f"/agent/hook/{trigger.webhook_slug}"
			headers = {"X-Huf-Secret": WEBHOOK_SECRET}
			response = send(path, method="POST", data=body, content_type="text/plain", headers=headers)
			self.assertEqual(response.status_code, 202, response.get_data(as_text=True)[:300])

	def test_webhook_refuses_invalid_json_with_a_json_content_type(self):
		path = f"/agent/hook/{self.webhook().webhook_slug}"
		for content_type in ("application/json", "text/json"):
			headers = {"X-Huf-Secret": WEBHOOK_SECRET, "Accept": "application/json"}
			options = {"content_type": content_type, "headers": headers}
			response = send(path, method="POST", data='{"a":', **options)
			self.assertEqual(response.status_code, 400, content_type)

	def test_manual_trigger_accepts_a_payload_that_is_not_json(self):
		headers = {"Authorization": f"token {make_key(self.user)}:{SECRET}"}
		body = {"trigger": self.trigger("Manual").name, "payload": DEEP}
		response = send("/api/method/huf.api.trigger.fire", method="POST", json=body, headers=headers)
		self.assertEqual(response.status_code, 200, json.dumps(response.json)[:300])
