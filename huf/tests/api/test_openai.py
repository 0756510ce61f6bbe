"""/v1/models and /v1/chat/completions: OpenAI's formats, errors, keys and stored conversations."""

import json
from unittest.mock import patch

import frappe
from frappe.utils import add_to_date, now_datetime

from huf.ai.chat import approvals, external
from huf.ai.queries import event_stream
from huf.ai.runs import stopping
from huf.ai.runs.queue import work_on
from huf.api import openai
from huf.tests.drafting import DraftTestCase
from huf.tests.factories import make_agent, make_model, make_tool, make_user, remove_stops
from huf.tests.http import send
from huf.tests.model_server import error, text, tool_call, usage

PICTURE = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="
JPEG = (
	"/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAP////////////////////////////////////////////////////////////////////////"
	"//////////////wAALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAA//EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AR//Z"
)
SECRET = "a-secret-of-this-test"


class OpenAITestCase(DraftTestCase):
	def setUp(self):
		super().setUp()
		self.headers = {"Authorization": f"Bearer {make_key(self.user)}:{SECRET}"}
		self.todo_agent = make_agent(make_model(self.server), (self.make_list(),), instructions="You help.")

	def make_list(self):
		self.tool = make_tool("Get List", reference_doctype="ToDo")
		return self.tool

	def post(self, *messages, headers=None, **more):
		body = {"model": self.todo_agent, "messages": list(messages) or [user("Hi")], **more}
		return send("/v1/chat/completions", method="POST", json=body, headers=self.headers | (headers or {}))

	def get(self, path, headers=None):
		return send(path, method="GET", headers=self.headers if headers is None else headers)

	def chunks(self, response) -> list:
		lines = [each for each in response.get_data(as_text=True).split("\n\n") if each.startswith("data: ")]
		self.assertEqual(lines.pop(), "data: [DONE]")
		return [json.loads(each.removeprefix("data: ")) for each in lines]


def make_key(name: str) -> str:
	doc = frappe.get_doc("User", name)
	doc.api_key, doc.api_secret = frappe.generate_hash(length=15), SECRET
	doc.save()
	frappe.db.commit()
	return doc.api_key


def user(content) -> dict:
	return {"role": "user", "content": content}


def picture(url: str) -> dict:
	return {"type": "image_url", "image_url": {"url": url}}


class TestModels(OpenAITestCase):
	def test_agents_the_user_may_use_are_models(self):
		hidden = make_agent(roles=[{"role": "System Manager"}])
		listed = self.get("/v1/models").json
		self.assertEqual(listed["object"], "list")
		mine = next(each for each in listed["data"] if each["id"] == self.todo_agent)
		self.assertEqual((mine["object"], mine["owned_by"], type(mine["created"])), ("model", "huf", int))
		self.assertNotIn(hidden, [each["id"] for each in listed["data"]])
		self.assertEqual(self.get(f"/v1/models/{self.todo_agent}").json, mine)
		self.assertEqual(self.get(f"/v1/models/{hidden}").json["error"]["code"], "model_not_found")

	def test_bearer_and_token_keys_are_accepted_and_invalid_keys_get_401(self):
		key = self.headers["Authorization"].partition(" ")[2]
		for header, status in (
			(f"Bearer {key}", 200),
			(f"token {key}", 200),
			(f"Bearer {key}x", 401),
			(None, 401),
		):
			answer = self.get("/v1/models", {"Authorization": header} if header else {})
			self.assertEqual(answer.status_code, status, header)
			if status == 401:
				self.assertEqual(answer.json["error"]["code"], "invalid_api_key")
				expected = "not accepted" if header else "Send the API key"
				self.assertIn(expected, answer.json["error"]["message"])

	def test_user_without_the_role_for_agents_is_told_which_role_they_need(self):
		key = make_key(make_user())
		answer = self.get("/v1/models", {"Authorization": f"Bearer {key}:{SECRET}"})
		self.assertEqual((answer.status_code, answer.json["error"]["code"]), (403, "permission_denied"))
		self.assertIn("need the role Huf User", answer.json["error"]["message"])

	def test_bearer_key_is_refused_by_other_endpoints(self):
		answer = self.get("/api/method/frappe.auth.get_logged_user")
		self.assertEqual(answer.status_code, 401)


class TestCompletions(OpenAITestCase):
	def test_completion_has_the_openai_format_after_an_internal_tool_call(self):
		self.server.script(tool_call(self.tool, {"limit": 1}), text("You have one.", usage=usage(50, 5)))
		answer = self.post(user("How many?")).json
		run = answer["metadata"]["run"]
		self.assertEqual(answer["id"], f"chatcmpl-{run}")
		self.assertEqual((answer["object"], answer["model"]), ("chat.completion", self.todo_agent))
		message = {"role": "assistant", "content": "You have one.", "refusal": None}
		choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
		self.assertEqual(answer["choices"], [choice])
		self.assertEqual(answer["usage"], usage(150, 15, cached=0))
		self.assertEqual(frappe.db.get_value("Agent Run", run, "run_as"), self.user)

	def test_a_request_sent_again_gets_the_run_of_its_first_time_while_it_is_recent(self):
		self.server.script(*[text(f"Answer {number}.") for number in range(1, 5)])
		again = {"X-Stainless-Retry-Count": "1"}
		for headers, prompt, expected in (
			({}, "Hi", "Answer 1."),
			(again, "Hi", "Answer 1."),
			(again, "Hello", "Answer 2."),
			({}, "Hi", "Answer 3."),
			(again, "Hi", "Answer 3."),
		):
			answer = self.post(user(prompt), headers=headers).json
			self.assertEqual(answer["choices"][0]["message"]["content"], expected)
		ago = {"ended_at": add_to_date(now_datetime(), minutes=-2)}
		frappe.db.set_value("Agent Run", answer["metadata"]["run"], ago, update_modified=False)
		frappe.db.commit()
		self.assertEqual(self.post(headers=again).json["choices"][0]["message"]["content"], "Answer 4.")

	def test_a_stream_requested_again_has_the_text_of_its_run(self):
		self.server.script(text("Hello you."))
		self.post(stream=True).get_data()
		chunks = self.chunks(self.post(stream=True, headers={"X-Stainless-Retry-Count": "2"}))
		written = [each["choices"][0]["delta"].get("content", "") for each in chunks]
		self.assertEqual("".join(written), "Hello you.")

	def test_model_call_streams_only_if_the_request_does(self):
		for is_stream in (False, True):
			self.server.script(text("Hello."))
			self.post(stream=is_stream)
			self.assertEqual(bool(self.server.requests[-1].get("stream")), is_stream)

	def test_stream_has_openai_chunks_and_final_usage(self):
		self.server.script(text("Hello you.", usage=usage(50, 5, cached=8)))
		response = self.post(stream=True, stream_options={"include_usage": True})
		self.assertEqual(response.mimetype, "text/event-stream")
		chunks = self.chunks(response)
		self.assertEqual({each["object"] for each in chunks}, {"chat.completion.chunk"})
		self.assertEqual(len({(each["id"], each["created"], each["model"]) for each in chunks}), 1)
		self.assertEqual(chunks[0]["choices"][0]["delta"], {"role": "assistant", "content": ""})
		self.assertEqual(
			"".join(each["choices"][0]["delta"].get("content", "") for each in chunks[:-1]), "Hello you."
		)
		self.assertEqual(
			(chunks[-2]["choices"][0]["delta"], chunks[-2]["choices"][0]["finish_reason"]), ({}, "stop")
		)
		self.assertEqual([each["usage"] for each in chunks[:-1]], [None] * len(chunks[:-1]))
		self.assertEqual(chunks[-1]["choices"], [])
		self.assertEqual(chunks[-1]["usage"], usage(50, 5, cached=8))

	def test_stream_omits_usage_without_include_usage(self):
		self.server.script(text("Hello."))
		chunks = self.chunks(self.post(stream=True))
		self.assertFalse([each for each in chunks if "usage" in each])

	def test_steps_are_separate_paragraphs_and_max_iterations_ends_with_length(self):
		frappe.db.set_value("Agent", self.todo_agent, "max_iterations", 2)
		frappe.clear_document_cache("Agent", self.todo_agent)
		self.server.script(
			tool_call(self.tool, {"limit": 1}, content="Let me look."),
			text("So far.", finish_reason="length"),
		)
		chunks = self.chunks(self.post(stream=True))
		content = "".join(each["choices"][0]["delta"].get("content", "") for each in chunks)
		self.assertEqual(content, "Let me look.\n\nSo far.")
		self.assertEqual(chunks[-1]["choices"][0]["finish_reason"], "length")

	def test_model_failure_is_an_error_that_no_client_retries(self):
		self.server.forever(error(401, "no such key"))
		answer = self.post()
		for found in (answer.json, self.chunks(self.post(stream=True))[-1]):
			error_type, code = found["error"]["type"], found["error"]["code"]
			self.assertEqual((error_type, code), ("invalid_request_error", "agent_error"))
		self.assertEqual(answer.status_code, 400)

	def test_a_request_that_is_too_long_for_the_model_is_the_callers_error(self):
		self.server.script(*[error(400, "This model's maximum context length is 100 tokens.")] * 2)
		for message in ("Hi", "x " * 200_000):
			stream = self.chunks(self.post(user(message), stream=True))
			answer = self.post(user(message))
			self.assertEqual(answer.status_code, 400)
			for found in (answer.json, stream[-1]):
				error_type, code = found["error"]["type"], found["error"]["code"]
				self.assertEqual((error_type, code), ("invalid_request_error", "context_length_exceeded"))

	def test_an_exhausted_budget_is_a_used_up_quota(self):
		frappe.db.set_value("Agent", self.todo_agent, "daily_token_limit", 1)
		frappe.clear_document_cache("Agent", self.todo_agent)
		answer = self.post()
		self.assertEqual((answer.status_code, answer.json["error"]["code"]), (402, "insufficient_quota"))

	def test_unsupported_request_parameters_are_refused(self):
		for more, code in (
			({"model": "Nobody"}, "model_not_found"),
			({"model": None}, "model_not_found"),
			({"tools": [{"type": "function"}]}, "invalid_value"),
			({"n": 2}, "invalid_value"),
			({"response_format": {"type": "json_object"}}, "invalid_value"),
			({"response_format": "text"}, "invalid_value"),
			({"messages": []}, "invalid_value"),
			({"messages": "Hi"}, "invalid_value"),
			({"messages": [{"role": "assistant", "content": "Hi"}]}, "invalid_value"),
			({"messages": [user([{"type": "image_url", "image_url": {}}])]}, "invalid_value"),
			({"messages": [user([picture("https://example.com/a.png")])]}, "invalid_value"),
			({"messages": [user([picture("data:text/html;base64,PGI+")])]}, "invalid_value"),
			({"messages": [user([{"type": "input_audio"}])]}, "invalid_value"),
		):
			answer = self.post(**more)
			self.assertEqual(
				(answer.status_code, answer.json["error"]["code"]), (404 if "model" in more else 400, code)
			)
		for address in ("/v1/embeddings", "/v1"):
			self.assertEqual(self.get(address).json["error"]["code"], "not_found")
		self.assertIn("the name of an agent", self.post(model=None).json["error"]["message"])

	def test_run_held_by_a_stop_returns_an_error_that_is_not_retried(self):
		self.addCleanup(remove_stops)
		stopping.stop("Tool", self.tool)
		self.server.script(*[tool_call(self.tool, {"limit": 1})] * 2)
		answer = self.post()
		self.assertEqual((answer.status_code, answer.json["error"]["code"]), (400, "not_ended"))
		self.assertEqual(self.chunks(self.post(stream=True))[-1]["error"]["code"], "not_ended")

	def test_waiting_run_returns_the_whole_address_of_the_approval(self):
		self.todo_agent = self.agent
		self.server.script(self.change("new"), self.change("new"))
		for answer in (
			self.post().json["choices"][0]["message"]["content"],
			"".join(
				each["choices"][0]["delta"].get("content", "") for each in self.chunks(self.post(stream=True))
			),
		):
			self.assertRegex(answer, f"{self.update}: https?://[^ ]+/huf/runs/")


class TestConversation(OpenAITestCase):
	def test_request_without_a_conversation_id_uses_the_sent_history(self):
		self.server.script(text("Anna."), text("Anna, I said."))
		self.post({"role": "system", "content": "Be brief."}, user("Who?"))
		self.post(
			{"role": "system", "content": "Be brief."},
			user("Who?"),
			{"role": "assistant", "content": "Eve."},
			user("Who?"),
		)
		instructions, *messages = self.server.requests[-1]["messages"]
		self.assertIn("You help.", instructions["content"])
		self.assertEqual(
			messages,
			[
				user("Be brief."),
				user("Who?"),
				{"role": "assistant", "content": "Eve."},
				user("Who?"),
			],
		)
		self.assertEqual(len(frappe.get_all("Agent Conversation", {"agent": self.todo_agent})), 2)

	def test_refusals_of_earlier_answers_are_read_as_their_text(self):
		part = {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}
		for refused in (part, {"role": "assistant", "content": None, "refusal": "No."}):
			self.server.script(text("I did."))
			self.post(user("Do it."), refused, user("Why not?"))
			self.assertEqual(self.server.requests[-1]["messages"][-2]["content"], "No.")

	def test_images_of_earlier_messages_are_replaced_by_placeholders(self):
		self.todo_agent = make_agent(make_model(self.server, vision="Yes"))
		with_image = user([{"type": "text", "text": "What is it?"}, picture(PICTURE)])
		self.server.script(text("Tea."), text("Tea, too."))
		self.post(with_image)
		self.assertEqual(self.server.requests[0]["messages"][-1]["content"][1], picture(PICTURE))
		self.post(with_image, {"role": "assistant", "content": "Tea."}, user("And now?"))
		contents = [each["content"] for each in self.server.requests[1]["messages"]]
		self.assertEqual(
			contents[1:], ["What is it?\n[An image that is no longer shown]", "Tea.", "And now?"]
		)

	def test_image_types_are_read_as_programs_write_them(self):
		self.todo_agent = make_agent(make_model(self.server, vision="Yes"))
		data = PICTURE.partition(",")[2]
		for sent, received in (
			# Frappe writes a JPEG anew, without its metadata.
			(f"data:image/jpg;base64,{JPEG}", "data:image/jpeg"),
			(f"data:image/GIF;base64,{data}", "data:image/gif"),
			(f"data:image/gif;name=a.gif;base64,{data}", "data:image/gif"),
		):
			self.server.script(text("Tea."))
			self.post(user([picture(sent)]))
			with self.subTest(sent):
				image = self.server.requests[-1]["messages"][-1]["content"][-1]["image_url"]
				self.assertEqual(image["url"].partition(";base64,")[0], received)

	def test_conversation_id_uses_the_stored_history(self):
		for options in ({"headers": {"X-Conversation-Id": "c1"}}, {"metadata": {"conversation_id": "c2"}}):
			self.server.script(text("Anna."), text("Anna, I said."))
			self.post(user("Who?"), **options)
			self.post(user("Who?"), {"role": "assistant", "content": "Eve."}, user("Again?"), **options)
			instructions, *contents = [each["content"] for each in self.server.requests[-1]["messages"]]
			self.assertIn("You help.", instructions)
			self.assertEqual(contents, ["Who?", "Anna.", "Again?"])

	def test_response_waits_for_an_earlier_run_of_the_conversation(self):
		self.todo_agent = self.agent
		self.server.script(self.change("new"), text("Here I am."))
		options = {"metadata": {"conversation_id": "c4"}}
		waiting = self.post(**options).json["metadata"]["run"]

		def end_both(run, after):
			approvals.cancel_run(waiting)
			work_on(waiting)
			work_on(run)
			return event_stream.follow_run_events(run, after)

		with patch.object(external, "follow_run_events", end_both):
			answer = self.post(**options).json
		self.assertEqual(answer["choices"][0]["message"]["content"], "Here I am.")

	def test_response_behind_a_waiting_run_times_out_with_an_error_that_is_not_retried(self):
		self.todo_agent = self.agent
		self.server.script(self.change("new"))
		options = {"metadata": {"conversation_id": "c5"}}
		self.post(**options)
		with patch.object(external, "QUEUED_S", 0), patch.object(event_stream, "KEEPALIVE_S", 0):
			busy = self.post(**options)
			chunks = self.chunks(self.post(stream=True, **options))
		self.assertEqual((busy.status_code, busy.json["error"]["code"]), (400, "not_ended"))
		self.assertEqual(chunks[-1]["error"]["code"], "not_ended")

	def test_images_of_a_refused_request_are_not_kept(self):
		broken = [picture(PICTURE), picture("data:text/html;base64,PGI+")]
		before = frappe.db.count("File")
		for content, route in (([picture(PICTURE)], "nowhere"), (broken, "auto")):
			message = user([{"type": "text", "text": "What is it?"}, *content])
			answer = self.post(message, metadata={"route": route})
			self.assertEqual(answer.status_code, 400)
			frappe.db.rollback()
			self.assertEqual(frappe.db.count("File"), before)

	def test_images_of_a_request_that_fails_unexpectedly_are_not_kept(self):
		before = frappe.db.count("File")
		with patch.object(openai, "run_agent", side_effect=OSError("The disk is full")):
			answer = self.post(user([picture(PICTURE)]))
		self.assertEqual(answer.status_code, 500)
		frappe.db.rollback()
		self.assertEqual(frappe.db.count("File"), before)

	def test_an_image_is_kept_if_the_conversation_waits_for_a_person(self):
		self.todo_agent = self.agent
		self.server.script(self.change("new"))
		options = {"metadata": {"conversation_id": "c5"}}
		self.post(**options)
		with patch.object(external, "QUEUED_S", 0), patch.object(event_stream, "KEEPALIVE_S", 0):
			busy = self.post(user([{"type": "text", "text": "What is it?"}, picture(PICTURE)]), **options)
		self.assertEqual((busy.status_code, busy.json["error"]["code"]), (400, "not_ended"))
		run = frappe.get_last_doc("Agent Run", {"agent": self.agent})
		attachments = frappe.db.get_value("Agent Message", {"run": run.name, "role": "user"}, "attachments")
		(file,) = json.loads(attachments)
		self.assertTrue(frappe.db.exists("File", file["name"]))

	def test_conversation_id_of_another_user_gives_no_access(self):
		self.server.script(text("Anna."), text("I do not know."))
		self.post(user("My secret"), headers={"X-Conversation-Id": "c3"})
		key = make_key(make_user("Huf User"))
		self.post(
			user("What did I say?"),
			headers={"X-Conversation-Id": "c3", "Authorization": f"Bearer {key}:{SECRET}"},
		)
		self.assertNotIn("My secret", json.dumps(self.server.requests[-1]))
