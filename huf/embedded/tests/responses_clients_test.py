"""The packages openai and openai-agents use the Responses and Conversations APIs of a running Huf."""

import asyncio
import json
import time

import openai
from agents import Agent, HostedMCPTool, OpenAIResponsesModel, Runner, set_tracing_disabled

from huf.embedded.tests.clients_test import ANSWER, CALLER, ClientTestCase
from huf.tests.model_server import error, slow, text, tool_call, usage

APPROVALS = {
	"type": "mcp",
	"server_label": "huf",
	"server_url": "https://huf.example.com",
	"require_approval": "always",
}


class ResponsesTestCase(ClientTestCase):
	def setUp(self):
		self.client = openai.OpenAI(base_url=f"{self.server.url}/v1", api_key=self.key, max_retries=0)
		self.addCleanup(self.client.close)

	def create_response(self, text: str = "How many todos?", model: str = "Reader", **more):
		return self.client.responses.create(model=model, input=text, **more)

	def wait_for_status(self, response, status: str = "completed"):
		deadline = time.monotonic() + 30
		while response.status in ("queued", "in_progress") and time.monotonic() < deadline:
			time.sleep(0.2)
			response = self.client.responses.retrieve(response.id)
		self.assertEqual(response.status, status, response)
		return response

	def list_todos(self) -> list:
		address = "/api/resource/ToDo?fields=[%22description%22]&limit_page_length=0"
		answer = json.load(self.server.call(address, cookie=self.cookie))
		return [row["description"] for row in answer["data"]]


class TestResponses(ResponsesTestCase):
	def test_response_after_a_tool_call_has_output_items_usage_and_metadata(self):
		self.model.script(tool_call("todos", {"limit": 1}), text("None.", usage=usage(50, 5)))
		answer = self.create_response(metadata={"mine": "1"})
		self.assertEqual((answer.status, answer.output_text), ("completed", "None."))
		self.assertEqual([each.type for each in answer.output], ["mcp_call", "message"])
		self.assertEqual((answer.output[0].name, answer.output[0].status), ("todos", "completed"))
		self.assertEqual((answer.usage.input_tokens, answer.usage.total_tokens), (150, 165))
		self.assertEqual(answer.metadata["mine"], "1")
		again = self.client.responses.retrieve(answer.id)
		self.assertEqual((again.output_text, again.output[0].name), ("None.", "todos"))
		items = self.client.responses.input_items.list(answer.id)
		self.assertEqual(items.data[0].content[0].text, "How many todos?")

	def test_stream_after_a_tool_call_has_ordered_events_and_the_final_text(self):
		self.model.script(tool_call("todos", {"limit": 1}), text(ANSWER))
		with self.client.responses.stream(model="Reader", input="How many?") as stream:
			events = list(stream)
			final = stream.get_final_response()
		kinds = [event.type for event in events]
		self.assertEqual(kinds[:2], ["response.created", "response.in_progress"])
		self.assertEqual(kinds[-1], "response.completed")
		self.assertEqual([event.sequence_number for event in events], list(range(len(events))))
		deltas = "".join(event.delta for event in events if event.type == "response.output_text.delta")
		self.assertEqual((deltas, final.output_text), (ANSWER, ANSWER))

	def test_stream_with_a_waiting_call_ends_with_an_incomplete_mcp_call(self):
		waits = tool_call("write_todo", {"description": "Never", "allocated_to": CALLER})
		for tools, last in (([], "message"), ([APPROVALS], "mcp_approval_request")):
			self.model.script(waits)
			with self.client.responses.stream(model="Writer", input="Remind me", tools=tools) as stream:
				indexes = [
					event.output_index for event in stream if event.type == "response.output_item.added"
				]
				final = stream.get_final_response()
			self.assertEqual(indexes, [0, 1])
			self.assertEqual([each.type for each in final.output], ["mcp_call", last])
			self.assertEqual(final.output[0].status, "incomplete")
			self.client.responses.cancel(final.id)

	def test_a_failed_run_is_not_repeated_by_the_client(self):
		self.model.script(error(401, "No such key"))
		client = self.client.with_options(max_retries=2)
		with self.assertRaises(openai.BadRequestError):
			client.chat.completions.create(model="Reader", messages=[{"role": "user", "content": "Hi"}])

	def test_a_request_that_the_client_sends_again_gets_the_answer_of_its_first_run(self):
		client = self.client.with_options(timeout=1, max_retries=5)
		messages = [{"role": "user", "content": "How many todos?"}]
		for name, ask in (
			("completion", lambda: client.chat.completions.create(model="Reader", messages=messages)),
			("response", lambda: client.responses.create(model="Reader", input="How many todos?")),
		):
			self.model.script(slow(3, text("None.")))
			with self.subTest(name):
				self.assertIn("None.", ask().model_dump_json())

	def test_a_previous_response_is_continued(self):
		self.model.script(text("Hello Anna."), text("You are Anna."))
		first = self.create_response("I am Anna.")
		second = self.create_response("Who am I?", previous_response_id=first.id)
		self.assertEqual((second.output_text, second.previous_response_id), ("You are Anna.", first.id))
		sent = [message["content"] for message in self.model.requests[-1]["messages"]]
		self.assertIn("Hello Anna.", sent)

	def test_input_messages_and_instructions_reach_the_model_in_order(self):
		self.model.script(text("You are Anna."))
		items = [
			{"role": "user", "content": "I am Anna."},
			{"role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]},
			{"role": "user", "content": [{"type": "input_text", "text": "Who am I?"}]},
		]
		self.create_response(items, instructions="Be short.")
		sent = self.model.requests[-1]["messages"]
		self.assertEqual(
			[each["content"] for each in sent[-4:]], ["Be short.", "I am Anna.", "Hello.", "Who am I?"]
		)
		self.assertEqual([each["role"] for each in sent[-4:]], ["user", "user", "assistant", "user"])

	def test_a_background_response_is_polled_and_one_is_cancelled(self):
		self.model.script(text("Done."))
		queued = self.create_response(background=True)
		self.assertEqual((queued.status, queued.background), ("queued", True))
		self.assertEqual(self.wait_for_status(queued).output_text, "Done.")
		self.model.script(tool_call("write_todo", {"description": "Never", "allocated_to": CALLER}))
		waiting = self.wait_for_status(
			self.create_response(model="Writer", background=True, tools=[APPROVALS])
		)
		self.client.responses.cancel(waiting.id)
		self.wait_for_status(self.client.responses.retrieve(waiting.id), "cancelled")
		self.assertNotIn("Never", self.list_todos())

	def test_a_background_response_is_streamed_by_its_worker(self):
		self.model.script(tool_call("todos", {"limit": 1}), text(ANSWER))
		events = list(self.create_response(background=True, stream=True))
		self.assertEqual((events[0].type, events[-1].type), ("response.created", "response.completed"))
		final = events[-1].response
		self.assertEqual((final.output_text, final.background), (ANSWER, True))
		self.assertEqual([each.type for each in final.output], ["mcp_call", "message"])
		self.assertEqual(self.client.responses.retrieve(final.id).output_text, ANSWER)

	def test_background_approval_request_is_approved_by_a_background_response(self):
		self.model.script(
			tool_call("write_todo", {"description": "Later", "allocated_to": CALLER}), text("It is written.")
		)
		waiting = self.wait_for_status(
			self.create_response(model="Writer", background=True, tools=[APPROVALS])
		)
		(request,) = [each for each in waiting.output if each.type == "mcp_approval_request"]
		answer = {"type": "mcp_approval_response", "approval_request_id": request.id, "approve": True}
		more = {"previous_response_id": waiting.id, "background": True, "tools": [APPROVALS]}
		done = self.wait_for_status(self.create_response([answer], model="Writer", **more))
		self.assertEqual(done.output_text, "It is written.")
		self.assertEqual(self.list_todos().count("Later"), 1)

	def test_rejected_approval_request_in_a_stream_changes_nothing(self):
		self.model.script(
			tool_call("write_todo", {"description": "Not now", "allocated_to": CALLER}), text("I will not.")
		)
		events = list(self.create_response("Remind me", model="Writer", tools=[APPROVALS], stream=True))
		items = [each.item for each in events if each.type == "response.output_item.done"]
		(request,) = [each for each in items if each.type == "mcp_approval_request"]
		answer = {"type": "mcp_approval_response", "approval_request_id": request.id, "approve": False}
		previous = events[-1].response.id
		events = list(
			self.create_response([answer], model="Writer", previous_response_id=previous, stream=True)
		)
		self.assertEqual(events[-1].response.output_text, "I will not.")
		self.assertNotIn("Not now", self.list_todos())

	def test_approved_approval_request_applies_the_call_once(self):
		self.model.script(
			tool_call("write_todo", {"description": "Call Anna", "allocated_to": CALLER}, content="I will."),
			text("It is written."),
		)
		waiting = self.create_response("Remind me", model="Writer", tools=[APPROVALS])
		request = next(each for each in waiting.output if each.type == "mcp_approval_request")
		self.assertEqual((request.name, request.server_label), ("write_todo", "huf"))
		self.assertIn("Call Anna", request.arguments)
		self.assertNotIn("Call Anna", self.list_todos())
		answer = {"type": "mcp_approval_response", "approval_request_id": request.id, "approve": True}
		done = self.create_response([answer], model="Writer", previous_response_id=waiting.id)
		self.assertEqual((done.status, done.output_text), ("completed", "It is written."))
		self.assertEqual([each.name for each in done.output if each.type == "mcp_call"], ["write_todo"])
		self.assertIn("Call Anna", self.list_todos())
		with self.assertRaises(openai.BadRequestError):
			self.create_response([answer], model="Writer", previous_response_id=waiting.id)

	def test_client_without_approval_tools_reads_which_call_waits(self):
		self.model.script(tool_call("write_todo", {"description": "Quietly", "allocated_to": CALLER}))
		waiting = self.create_response("Remind me", model="Writer")
		self.assertIn("waits until a person approves write_todo", waiting.output_text)
		self.client.responses.cancel(waiting.id)
		self.wait_for_status(self.client.responses.retrieve(waiting.id), "cancelled")

	def test_conversation_items_are_paginated_and_the_conversation_deleted(self):
		self.model.script(text("Hello."), text("Again."))
		conversation = self.client.conversations.create()
		for words in ("Hi", "Hi again"):
			answer = self.create_response(words, conversation=conversation.id)
			self.assertEqual(answer.conversation.id, conversation.id)
		self.assertIn("Hello.", [each["content"] for each in self.model.requests[-1]["messages"]])
		contents = ["Hi", "Hello.", "Hi again", "Again."]
		for size in (1, 2, 3, 20):
			for order, expected in (("asc", contents), ("desc", contents[::-1])):
				found = self.client.conversations.items.list(conversation.id, limit=size, order=order)
				self.assertEqual(len(found.data), min(size, 4))
				self.assertEqual([item.content[0].text for item in found], expected)
		newest = self.client.conversations.items.list(conversation.id, limit=1)
		self.assertEqual((newest.data[0].content[0].text, newest.has_more), ("Again.", True))
		self.assertEqual(self.client.conversations.retrieve(conversation.id).id, conversation.id)
		self.assertTrue(self.client.conversations.delete(conversation.id).deleted)
		with self.assertRaises(openai.NotFoundError):
			self.client.conversations.retrieve(conversation.id)

	def test_a_response_is_deleted(self):
		self.model.script(text("Hello."))
		answer = self.create_response()
		self.client.responses.delete(answer.id)
		with self.assertRaises(openai.NotFoundError):
			self.client.responses.retrieve(answer.id)

	def test_refusals_and_failures_raise_matching_client_errors(self):
		with self.assertRaises(openai.NotFoundError) as caught:
			self.create_response(model="Nobody")
		self.assertEqual(caught.exception.code, "model_not_found")
		for more in (
			{"tools": [{"type": "function", "name": "mine", "parameters": {}}]},
			{"conversation": "conv_x", "previous_response_id": "resp_x"},
		):
			with self.subTest(more), self.assertRaises(openai.BadRequestError):
				self.create_response(**more)
		with self.assertRaises(openai.NotFoundError):
			self.create_response(previous_response_id="resp_missing")
		with self.assertRaises(openai.AuthenticationError):
			self.client.with_options(api_key="callers-key:wrong").responses.retrieve("resp_x")
		self.model.script(error(401, "no"))
		with self.assertRaises(openai.BadRequestError) as failed:
			self.create_response()
		self.assertEqual(failed.exception.code, "agent_error")


class TestAgentsSDK(ResponsesTestCase):
	def setUp(self):
		super().setUp()
		set_tracing_disabled(True)
		self.answers: list = []

	def run_agent(self, model: str, prompt: str, tools=(), stream: bool = False, **more):
		async def run():
			client = openai.AsyncOpenAI(base_url=f"{self.server.url}/v1", api_key=self.key, max_retries=0)
			agent = Agent(
				name="Outer",
				instructions="Be brief.",
				model=OpenAIResponsesModel(model, openai_client=client),
				tools=list(tools),
			)
			if not stream:
				return await Runner.run(agent, prompt, **more)
			result = Runner.run_streamed(agent, prompt, **more)
			async for _ in result.stream_events():
				pass
			return result

		return asyncio.run(run())

	def test_sdk_run_with_a_tool_call_is_continued_by_response_id(self):
		self.model.script(tool_call("todos", {"limit": 1}), text("None."), text("You asked how many."))
		first = self.run_agent("Reader", "How many?")
		self.assertEqual(first.final_output, "None.")
		kinds = [each.raw_item.type for each in first.new_items]
		self.assertEqual(kinds, ["mcp_call", "message"])
		second = self.run_agent("Reader", "What did I ask?", previous_response_id=first.last_response_id)
		self.assertEqual(second.final_output, "You asked how many.")
		self.assertIn("None.", [each.get("content") for each in self.model.requests[-1]["messages"]])

	def test_sdk_run_that_fails_raises_instead_of_returning_an_empty_answer(self):
		self.model.script(error(401, "no"))
		with self.assertRaises(openai.BadRequestError):
			self.run_agent("Reader", "How many?")

	def test_sdk_streams_a_run_with_a_tool_call(self):
		self.model.script(tool_call("todos", {"limit": 1}), text("None."))
		self.assertEqual(self.run_agent("Reader", "How many?", stream=True).final_output, "None.")

	def test_sdk_approval_callback_approves_a_waiting_call(self):
		def approve(request):
			self.answers.append(request.data.name)
			return {"approve": True}

		self.model.script(
			tool_call("write_todo", {"description": "By callback", "allocated_to": CALLER}), text("Written.")
		)
		tool = HostedMCPTool(tool_config=APPROVALS, on_approval_request=approve)
		self.assertEqual(self.run_agent("Writer", "Remind me", [tool]).final_output, "Written.")
		self.assertEqual(self.answers, ["write_todo"])
		self.assertIn("By callback", self.list_todos())
