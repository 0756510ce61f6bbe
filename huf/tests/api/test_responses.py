"""/v1/responses gives access only to the caller's own responses, conversations and approvals.

Formats are tested with OpenAI's clients in responses_clients_test.
"""

import json
import re
from unittest.mock import patch

import frappe

from huf.ai.chat import approvals, external
from huf.ai.queries import event_stream
from huf.ai.runs import queue, stopping
from huf.ai.runs.queue import work_on
from huf.ai.storage import retention
from huf.tests.api.test_openai import SECRET, OpenAITestCase, make_key
from huf.tests.doctypes import make_order
from huf.tests.factories import make_agent, make_user, remove_stops
from huf.tests.http import send
from huf.tests.model_server import call, error, text, tool_call, tool_calls, usage


class TestResponses(OpenAITestCase):
	def setUp(self):
		super().setUp()
		self.other = {"Authorization": f"Bearer {make_key(make_user('Huf User'))}:{SECRET}"}

	def create(self, headers=None, **body):
		body = {"model": self.todo_agent, "input": "Hi", **body}
		return send("/v1/responses", method="POST", json=body, headers=headers or self.headers)

	def test_only_its_user_reads_continues_and_cancels_a_response(self):
		self.server.script(text("Hello."))
		answer = self.create().json
		self.assertEqual((answer["status"], answer["object"]), ("completed", "response"))
		address = f"/v1/responses/{answer['id']}"
		for method, path in (("GET", ""), ("GET", "/input_items"), ("POST", "/cancel"), ("DELETE", "")):
			with self.subTest(method + path):
				# OpenAI's clients say JSON also where they send no body.
				options = {"headers": self.other, "content_type": "application/json"}
				refused = send(address + path, method=method, **options)
				self.assertEqual((refused.status_code, refused.json["error"]["code"]), (404, "not_found"))
				self.assertNotIn("Hello", refused.text)
		self.assertEqual(self.create(self.other, previous_response_id=answer["id"]).status_code, 404)
		self.assertEqual(
			send(address, headers=self.headers).json["output"][0]["content"][0]["text"], "Hello."
		)
		self.assertEqual(send(address).status_code, 401)

	def test_a_stored_response_repeats_fields_of_its_request_until_contents_are_blanked(self):
		self.server.script(text("Hello."), text("Again.", usage=usage(50, 5, cached=8)))
		first = self.create().json["id"]
		fields = {"instructions": "Be brief.", "metadata": {"order": "7"}, "previous_response_id": first}
		created = self.create(**fields).json
		found = send(f"/v1/responses/{created['id']}", headers=self.headers).json
		for response in (created, found):
			run = response["metadata"].pop("run")
			response["metadata"].pop("stop_reason")
			self.assertEqual({name: response[name] for name in fields}, fields)
			self.assertEqual(response["usage"]["input_tokens_details"]["cached_tokens"], 8)
		retention.blank_runs([run])
		frappe.db.commit()
		found = send(f"/v1/responses/{created['id']}", headers=self.headers).json
		self.assertEqual((found["instructions"], found["output"]), (None, []))

	def test_references_stand_for_the_messages_of_the_callers_own_responses(self):
		self.server.script(
			tool_call(self.tool, {"limit": 1}, content="Let me look."), text("One."), text("Yes.")
		)
		answer = self.create().json
		sent = [f"msg_{answer['metadata']['run']}_in", *(each["id"] for each in answer["output"])]
		items = [{"type": "item_reference", "id": each} for each in sent]
		last = {"role": "user", "content": "Only one?"}
		self.assertEqual(self.create(input=[*items, last]).json["status"], "completed")
		read = [each for each in self.server.requests[-1]["messages"] if each["role"] != "system"]
		self.assertEqual([each["content"] for each in read], ["Hi", "One.", "Only one?"])
		self.assertEqual(self.create(self.other, input=[*items, last]).status_code, 404)
		self.assertEqual(self.create(input=[last, *items]).status_code, 400)
		self.assertEqual(self.create(input=[last, items[2]]).status_code, 400)

	def test_a_run_that_fails_before_the_answer_is_an_error_that_is_not_retried(self):
		self.server.forever(error(401, "no such key"))
		answer = self.create()
		self.assertEqual((answer.status_code, answer.json["error"]["code"]), (400, "agent_error"))
		background = self.create(background=True).json["id"]
		work_on(background.removeprefix("resp_"))
		stored = re.search(r"GET (\S+) shows", answer.json["error"]["message"])[1]
		for path in (stored, f"/v1/responses/{background}"):
			found = send(path, headers=self.headers)
			self.assertEqual((found.status_code, found.json["status"]), (200, "failed"))
			# With an error of the server, the Vercel AI SDK sends a streamed request again.
			self.assertEqual(found.json["error"]["code"], "invalid_prompt")

	def test_deleting_a_response_is_forbidden_to_its_user(self):
		self.server.script(text("Hello."))
		address = f"/v1/responses/{self.create().json['id']}"
		self.assertEqual(send(address, method="DELETE", headers=self.headers).status_code, 403)
		self.assertEqual(send(address, headers=self.headers).status_code, 200)

	def test_conversations_of_another_user_are_neither_listed_nor_continued(self):
		self.server.script(text("Hello."), text("Who are you?"))
		name = send("/v1/conversations", method="POST", json={}, headers=self.headers).json["id"]
		self.create(conversation=name)
		self.assertEqual(send(f"/v1/conversations/{name}/items", headers=self.other).status_code, 404)
		self.create(self.other, conversation=name)
		self.assertNotIn("Hello.", json.dumps(self.server.requests[-1]["messages"]))

	def test_a_new_conversation_is_found_empty_and_deleted_before_its_first_response(self):
		created = send(
			"/v1/conversations", method="POST", json={"metadata": {"a": "b"}}, headers=self.headers
		)
		address = f"/v1/conversations/{created.json['id']}"
		self.assertEqual(send(address, headers=self.headers).json, created.json)
		self.assertEqual(send(f"{address}/items", headers=self.headers).json["data"], [])
		for method in ("GET", "DELETE"):
			self.assertEqual(send(address, method=method, headers=self.other).status_code, 404)
		self.assertTrue(send(address, method="DELETE", headers=self.headers).json["deleted"])
		self.assertEqual(send(address, headers=self.headers).status_code, 404)

	def test_a_conversation_with_a_response_is_deleted_for_good(self):
		self.server.script(text("Hello."))
		name = send("/v1/conversations", method="POST", json={}, headers=self.headers).json["id"]
		self.create(conversation=name)
		address = f"/v1/conversations/{name}"
		self.assertEqual(len(send(f"{address}/items", headers=self.headers).json["data"]), 2)
		self.assertIn("does not offer", send(f"{address}/items/1", headers=self.headers).text)
		deleted = send(address, method="DELETE", headers=self.headers)
		self.assertEqual((deleted.status_code, deleted.json["deleted"]), (200, True))
		self.assertEqual(send(address, headers=self.headers).status_code, 404)

	def test_approvals_by_other_users_or_with_a_stale_digest_are_refused(self):
		self.server.script(self.change("new"))
		tools = [{"type": "mcp", "server_label": "huf", "server_url": "https://example.com"}]
		waiting = self.create(model=self.agent, tools=tools).json
		request = next(each for each in waiting["output"] if each["type"] == "mcp_approval_request")
		self.assertTrue(request["preview"]["changes"])
		answer = {"type": "mcp_approval_response", "approval_request_id": request["id"], "approve": True}
		self.assertEqual(self.create(self.other, input=[answer]).status_code, 403)
		stale = {**answer, "approval_request_id": f"{request['id'][:-4]}0000"}
		self.assertEqual(self.create(input=[stale]).status_code, 400)
		for broken in ({**answer, "approve": "yes"}, {**answer, "approval_request_id": "mcpr_x"}):
			self.assertEqual(self.create(input=[broken]).status_code, 400)
		self.assertEqual(self.note(), "old")
		approvals.cancel_run(waiting["metadata"]["run"])

	def test_all_calls_of_a_step_can_be_approved_in_one_request(self):
		other = make_order("screw", note="old")
		arguments = [{"name": name, "values": {"note": "new"}} for name in (self.order.name, other.name)]
		self.server.script(tool_calls([call(self.update, each) for each in arguments]), text("Both."))
		tools = [{"type": "mcp", "server_label": "huf", "server_url": "https://example.com"}]
		waiting = self.create(model=self.agent, tools=tools).json
		requests = [each for each in waiting["output"] if each["type"] == "mcp_approval_request"]
		self.assertEqual([json.loads(each["arguments"]) for each in requests], arguments)
		answers = [
			{"type": "mcp_approval_response", "approval_request_id": each["id"], "approve": True}
			for each in requests
		]
		with patch.object(queue, "enqueue_work", work_on):
			done = self.create(input=answers).json
		self.assertEqual([each["type"] for each in done["output"]], ["mcp_call", "mcp_call", "message"])
		self.assertEqual(done["output"][-1]["content"][0]["text"], "Both.")

	def test_an_approved_run_without_a_worker_returns_queued(self):
		self.server.script(self.change("new"))
		tools = [{"type": "mcp", "server_label": "huf", "server_url": "https://example.com"}]
		waiting = self.create(model=self.agent, tools=tools).json
		(request,) = [each for each in waiting["output"] if each["type"] == "mcp_approval_request"]
		answer = {"type": "mcp_approval_response", "approval_request_id": request["id"], "approve": True}
		with (
			patch.object(queue, "enqueue_work"),
			patch.object(external, "QUEUED_S", 0),
			patch.object(event_stream, "KEEPALIVE_S", 0),
		):
			self.assertEqual(self.create(input=[answer]).json["status"], "queued")

	def test_two_answers_for_one_draft_in_a_request_are_refused(self):
		self.server.script(self.change("new"))
		tools = [{"type": "mcp", "server_label": "huf", "server_url": "https://example.com"}]
		waiting = self.create(model=self.agent, tools=tools).json
		(request,) = [each for each in waiting["output"] if each["type"] == "mcp_approval_request"]
		answers = [
			{"type": "mcp_approval_response", "approval_request_id": request["id"], "approve": approve}
			for approve in (True, False)
		]
		self.assertEqual(self.create(input=answers).status_code, 400)
		self.assertEqual(frappe.db.get_value("Agent Draft", {"agent": self.agent}, "status"), "Pending")
		approvals.cancel_run(waiting["metadata"]["run"])

	def test_calls_of_different_steps_with_the_same_id_are_all_listed(self):
		calls = [tool_call(self.tool, {"limit": number}, id="call_0") for number in (1, 2)]
		self.server.script(*calls, text("None."))
		answer = self.create().json
		for shown in (answer, send(f"/v1/responses/{answer['id']}", headers=self.headers).json):
			arguments = [json.loads(each["arguments"]) for each in shown["output"] if "arguments" in each]
			self.assertEqual(arguments, [{"limit": 1}, {"limit": 2}])
			self.assertEqual(len({each["id"] for each in shown["output"]}), 3)

	def test_a_streamed_call_has_the_events_of_openai(self):
		for arguments, status in (({"limit": 1}, "completed"), ({"limit": "many"}, "failed")):
			self.server.script(tool_call(self.tool, arguments), text("None."))
			body = self.create(stream=True).get_data(as_text=True)
			data = [json.loads(line[6:]) for line in body.splitlines() if line.startswith("data: ")]
			events = [each for each in data if each.get("output_index") == 0]
			added, _begun, delta, done, _ended, ended = events
			with self.subTest(status):
				self.assertEqual(
					[each["type"].removeprefix("response.") for each in events],
					[
						"output_item.added",
						"mcp_call.in_progress",
						"mcp_call_arguments.delta",
						"mcp_call_arguments.done",
						f"mcp_call.{status}",
						"output_item.done",
					],
				)
				self.assertEqual((added["item"]["arguments"], json.loads(delta["delta"])), ("", arguments))
				self.assertEqual(delta["delta"], done["arguments"])
				self.assertEqual(
					(ended["item"]["status"], ended["item"]["arguments"]), (status, delta["delta"])
				)
				kind = (ended["item"]["error"] or {}).get("type")
				self.assertEqual(kind, "mcp_tool_execution_error" if status == "failed" else None)

	def test_a_run_behind_one_that_awaits_approval_returns_queued(self):
		self.server.script(self.change("new"))
		name = f"conv_{frappe.generate_hash()}"
		self.create(model=self.agent, conversation=name)
		with patch.object(external, "QUEUED_S", 0), patch.object(event_stream, "KEEPALIVE_S", 0):
			answer = self.create(model=self.agent, conversation=name).json
			for background in (False, True):
				asked = {"model": self.agent, "conversation": name, "background": background}
				stream = self.create(stream=True, **asked).get_data(as_text=True)
				self.assertTrue(stream.startswith("event: response.created\n"), stream)
				self.assertIn("event: response.queued\n", stream)
		self.assertEqual(answer["status"], "queued")
		found = send(f"/v1/responses/{answer['id']}", headers=self.headers).json
		self.assertEqual(found["status"], "queued")

	def test_a_run_held_by_a_stopped_tool_has_status_queued(self):
		self.addCleanup(remove_stops)
		stopping.stop("Tool", self.tool)
		self.server.script(*[tool_call(self.tool, {"limit": 1})] * 2)
		self.assertEqual(self.create().json["status"], "queued")
		last = self.create(stream=True).get_data(as_text=True).strip().rpartition("\n\n")[2]
		self.assertTrue(last.startswith("event: response.queued\n"), last)

	def test_a_followed_stream_ends_with_the_result_of_a_held_call(self):
		self.addCleanup(remove_stops)
		stopping.stop("Tool", self.tool)
		self.server.script(tool_call(self.tool, {"limit": 1}), text("None."))
		follow = event_stream.follow_run_events

		def resume_and_follow(run, after):
			work_on(run)
			remove_stops()
			frappe.db.commit()
			work_on(run)
			return follow(run, after)

		with patch.object(external, "follow_run_events", resume_and_follow):
			body = self.create(background=True, stream=True).get_data(as_text=True)
		last = json.loads(body.strip().rpartition("data: ")[2])
		called, message = last["response"]["output"]
		self.assertEqual((called["status"], message["content"][0]["text"]), ("completed", "None."))

	def test_a_stream_of_a_run_that_is_deleted_ends_as_failed(self):
		follow = event_stream.follow_run_events

		def delete_and_follow(run, after):
			frappe.db.delete("Agent Run", run)
			frappe.db.commit()
			return follow(run, after)

		with patch.object(external, "follow_run_events", delete_and_follow):
			body = self.create(background=True, stream=True).get_data(as_text=True)
		last = json.loads(body.strip().rpartition("data: ")[2])
		self.assertEqual((last["type"], last["response"]["status"]), ("response.failed", "failed"))
		self.assertEqual(last["response"]["error"]["message"], event_stream.DELETED)

	def test_an_operation_that_huf_does_not_offer_is_no_missing_response(self):
		for path in ("compact", "input_tokens"):
			answer = send(f"/v1/responses/{path}", method="POST", json={"input": "Hi"}, headers=self.headers)
			self.assertEqual((answer.status_code, answer.json["error"]["code"]), (404, "not_found"))
			self.assertIn("does not offer", answer.json["error"]["message"])

	def test_streaming_a_stored_response_is_refused(self):
		self.server.script(text("Hello."))
		address = f"/v1/responses/{self.create().json['id']}?stream=true"
		self.assertEqual(send(address, headers=self.headers).json["error"]["code"], "invalid_value")

	def test_items_and_metadata_of_a_conversation_cannot_be_set(self):
		name = send("/v1/conversations", method="POST", json={}, headers=self.headers).json["id"]
		for path in (name, f"{name}/items"):
			answer = send(f"/v1/conversations/{path}", method="POST", json={}, headers=self.headers)
			self.assertEqual(answer.status_code, 400)
			self.assertIn("Only responses add", answer.json["error"]["message"])

	def test_invalid_parameters_of_an_item_list_are_refused(self):
		self.server.script(text("Hello."), text("Again."))
		name = send("/v1/conversations", method="POST", json={}, headers=self.headers).json["id"]
		self.create(conversation=name)
		other = self.create().json["output"][0]["id"]
		address = f"/v1/conversations/{name}/items"
		for query in ("limit=0", "limit=x", "limit=101", "order=up", "after=x", f"after={other}"):
			with self.subTest(query):
				answer = send(f"{address}?{query}", headers=self.headers)
				self.assertEqual((answer.status_code, answer.json["error"]["code"]), (400, "invalid_value"))

	def test_agents_of_other_roles_return_model_not_found(self):
		hidden = make_agent(roles=[{"role": "System Manager"}])
		self.assertEqual(self.create(model=hidden).json["error"]["code"], "model_not_found")

	def test_malformed_requests_return_invalid_request_error(self):
		for body in (
			{"input": []},
			{"input": 5},
			{"input": [{"role": "assistant", "content": "Hi"}]},
			{"input": [{"role": "user", "content": [{"type": "input_audio"}]}]},
			{"tools": [{"type": "web_search"}]},
			{"tools": ["mine"]},
			{"tools": 5},
			{"tools": True},
			{"text": {"format": {"type": "json_object"}}},
			{"text": "x"},
			{"metadata": {str(n): "x" for n in range(20)}},
			{"conversation": "mine"},
			{"instructions": ["x"]},
			{"stream": "perhaps"},
		):
			with self.subTest(body):
				answer = self.create(**body)
				self.assertEqual(
					(answer.status_code, answer.json["error"]["type"]), (400, "invalid_request_error")
				)
		self.assertEqual(frappe.session.user, "Administrator")
