"""The A2A 1.0 endpoints, called over HTTP with the client of the A2A SDK."""

import asyncio
import base64
import sys
from unittest.mock import patch
from urllib.parse import quote

import frappe
import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import (
	CancelTaskRequest,
	GetTaskRequest,
	ListTasksRequest,
	Message,
	Part,
	Role,
	SendMessageConfiguration,
	SendMessageRequest,
	SubscribeToTaskRequest,
	TaskState,
)
from a2a.utils.errors import A2AError
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Value

from huf.ai.mcp.server import grants
from huf.ai.mcp.server.oauth import issue_tokens
from huf.ai.queries import event_stream
from huf.tests.api.test_openai import PICTURE, SECRET, make_key
from huf.tests.base import enter
from huf.tests.drafting import DraftTestCase
from huf.tests.factories import make_role, make_user, unique
from huf.tests.http import leave, send
from huf.tests.mcp_fixture.server import serve
from huf.tests.model_server import error, slow, text

COMPLETED, FAILED = TaskState.TASK_STATE_COMPLETED, TaskState.TASK_STATE_FAILED
INPUT_REQUIRED, CANCELED = TaskState.TASK_STATE_INPUT_REQUIRED, TaskState.TASK_STATE_CANCELED
SUBMITTED = TaskState.TASK_STATE_SUBMITTED
CARD = "/.well-known/agent-card.json"
IMAGE = base64.b64decode(PICTURE.partition(",")[2])


def make_part(given: str | bytes | dict | Part) -> Part:
	if isinstance(given, bytes | Part):
		return given if isinstance(given, Part) else Part(raw=given, media_type="image/gif")
	return Part(text=given) if isinstance(given, str) else Part(data=ParseDict(given, Value()))


class A2ATestCase(DraftTestCase):
	def setUp(self):
		super().setUp()
		self.site = enter(self, serve())

	def address(self, agent: str | None = None) -> str:
		return f"/a2a/{quote(agent or self.agent)}"

	def use(self, work, user: str | None = None, agent: str | None = None, streaming: bool = False):
		"""Run `work(client)` with a client that has fetched the agent's card."""
		frappe.db.commit()
		headers = {"Authorization": f"Bearer {make_key(user or self.user)}:{SECRET}"}
		frappe.db.commit()

		async def run():
			async with httpx.AsyncClient(headers=headers, timeout=30) as http:
				card = await A2ACardResolver(http, self.site + self.address(agent)).get_agent_card()
				card.supported_interfaces[0].url = self.site + self.address(agent)
				config = ClientConfig(httpx_client=http, streaming=streaming)
				return await work(ClientFactory(config).create(card))

		found = asyncio.run(run())
		frappe.db.rollback()
		return found

	def send(self, *parts, streaming: bool = False, immediately: bool = False, user=None, **ids) -> list:
		"""Send one message, each part a text, data or the bytes of a GIF, and return the responses."""
		made = list(map(make_part, parts))
		message = Message(message_id=frappe.generate_hash(), role=Role.ROLE_USER, parts=made, **ids)
		configuration = SendMessageConfiguration(return_immediately=immediately)
		request = SendMessageRequest(message=message, configuration=configuration)

		async def work(client):
			return [each async for each in client.send_message(request)]

		return self.use(work, user, streaming=streaming)

	def ask(self, *parts, **options):
		"""Send one message without streaming and return its task."""
		(response,) = self.send(*parts, **options)
		return response.task

	def ask_for_change(self, *then):
		self.server.script(self.change("new"), *then)
		task = self.ask("Change the order")
		self.assertEqual(task.status.state, INPUT_REQUIRED)
		return task, MessageToDict(task.status.message.parts[1].data)

	def leave(self, method: str, params: dict) -> bytes:
		"""Disconnect after the first chunk of a stream, and return that chunk."""
		headers = {"Authorization": f"Bearer {make_key(self.user)}:{SECRET}", "A2A-Version": "1.0"}
		body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
		return leave(self.address(), method="POST", json=body, headers=headers)

	def get(self, task: str, **options):
		async def work(client):
			return await client.get_task(GetTaskRequest(id=task))

		return self.use(work, **options)


class TestCard(A2ATestCase):
	def test_card_has_the_agent_name_url_and_capabilities(self):
		frappe.db.set_value("Agent", self.agent, {"description": "Knows orders", "starters": "What is due?"})
		frappe.clear_document_cache("Agent", self.agent)
		headers = {"Authorization": f"Bearer {make_key(self.user)}:{SECRET}"}
		card = send(self.address() + CARD, method="GET", headers=headers).json
		self.assertEqual((card["name"], card["description"]), (self.agent, "Knows orders"))
		interface = card["supportedInterfaces"][0]
		self.assertTrue(interface["url"].endswith(self.address()))
		self.assertEqual((interface["protocolBinding"], interface["protocolVersion"]), ("JSONRPC", "1.0"))
		self.assertEqual(card["skills"][0]["examples"], ["What is due?"])
		self.assertTrue(card["capabilities"]["streaming"])

	def test_card_is_checked_anew_each_time_it_is_used(self):
		headers = {"Authorization": f"Bearer {make_key(self.user)}:{SECRET}"}
		first = send(self.address() + CARD, method="GET", headers=headers)
		self.assertIn("max-age=0", first.headers["Cache-Control"])
		headers["If-None-Match"] = first.headers["ETag"]
		self.assertEqual(send(self.address() + CARD, method="GET", headers=headers).status_code, 304)

	def test_request_that_is_not_json_is_refused(self):
		headers = {"Authorization": f"Bearer {make_key(self.user)}:{SECRET}", "Content-Type": "text/plain"}
		answer = httpx.post(self.site + self.address(), content=b"{}", headers=headers)
		self.assertEqual((answer.status_code, "Content-Type: application/json" in answer.text), (415, True))

	def test_card_requires_sign_in_and_is_not_found_without_agent_access(self):
		refused = send(self.address() + CARD, method="GET")
		self.assertEqual(refused.status_code, 401)
		self.assertIn("/.well-known/oauth-protected-resource/a2a", refused.headers["WWW-Authenticate"])
		described = send("/.well-known/oauth-protected-resource/a2a", method="GET").json
		self.assertTrue(described["resource"].endswith("/a2a"))
		hidden = self.make_agent(self.update, roles=[{"role": make_role()}])
		headers = {"Authorization": f"Bearer {make_key(self.user)}:{SECRET}"}
		for agent in (hidden, "Nobody"):
			for method, address in (("GET", CARD), ("POST", "")):
				found = send(self.address(agent) + address, method=method, headers=headers, json={})
				self.assertEqual(found.status_code, 404, agent)
		self.assertFalse(frappe.db.exists("Agent Run", {"agent": hidden}))

	def test_token_issued_for_another_resource_is_refused(self):
		for resource, status in (("/a2a", 200), ("/mcp", 401)):
			grant = grants.insert_grant(unique("code"), self.user, "client", "A client", self.site + resource)
			token = issue_tokens(grant, 0).access_token
			headers = {"Authorization": f"Bearer {token}"}
			answer = httpx.get(self.site + self.address() + CARD, headers=headers)
			self.assertEqual(answer.status_code, status, resource)

	def test_missing_sdk_returns_501_with_the_install_command(self):
		headers = {"Authorization": f"Bearer {make_key(self.user)}:{SECRET}"}
		hidden = {name: None for name in sys.modules if name.partition(".")[0] == "a2a"}
		own = [name for name in sys.modules if name.startswith("huf.api.") and "a2a_" in name]
		with patch.dict(sys.modules, {**hidden, "a2a": None}):
			for name in [*own, "huf.api.wire.a2a"]:
				sys.modules.pop(name, None)
			answer = send(self.address() + CARD, method="GET", headers=headers)
		self.assertEqual(answer.status_code, 501)
		self.assertIn("pip install 'huf[a2a]'", answer.json["error"])


class TestMessages(A2ATestCase):
	def test_message_starts_a_run_and_context_id_continues_the_conversation(self):
		self.server.script(text("Anna."), text("Anna, I said."))
		first = self.ask("Who?")
		self.assertEqual((first.status.state, first.artifacts[0].parts[0].text), (COMPLETED, "Anna."))
		run = frappe.get_doc("Agent Run", first.id)
		thread = frappe.db.get_value("Agent Conversation", run.conversation, "external_id")
		self.assertEqual((run.run_as, run.agent, thread), (self.user, self.agent, first.context_id))
		second = self.ask("Who?", context_id=first.context_id)
		self.assertEqual(second.context_id, first.context_id)
		self.assertNotEqual(second.id, first.id)
		self.assertIn("Anna.", [each["content"] for each in self.server.requests[-1]["messages"]])

	def test_a_stream_begins_with_the_task_and_ends_with_its_status(self):
		self.server.script(text("Nothing is due."))
		responses = self.send("Due?", streaming=True)
		self.assertEqual(responses[0].task.id, frappe.get_last_doc("Agent Run", {"agent": self.agent}).name)
		artifacts = [each.artifact_update for each in responses if each.HasField("artifact_update")]
		streamed = "".join(each.artifact.parts[0].text for each in artifacts[:-1])
		self.assertEqual(streamed, "Nothing is due.")
		self.assertTrue(artifacts[-1].last_chunk and not artifacts[-1].append)
		self.assertEqual(artifacts[-1].artifact.parts[0].text, "Nothing is due.")
		self.assertEqual(responses[-1].status_update.status.state, COMPLETED)

	def test_stream_preserves_unicode_line_separators(self):
		answer = "One\u2028two\x85three"
		self.server.script(text(answer))
		responses = self.send("Due?", streaming=True)
		self.assertEqual(responses[-2].artifact_update.artifact.parts[0].text, answer)

	def test_run_finishes_after_its_client_disconnects(self):
		self.server.script(slow(0.5, text("Done.")))
		message = {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "Due?"}]}
		chunk = self.leave("SendStreamingMessage", {"message": message})
		self.assertIn(b"TASK_STATE_WORKING", chunk)
		run = frappe.get_last_doc("Agent Run", {"agent": self.agent})
		self.assertEqual((run.status, run.response), ("Success", "Done."))

	def test_a_failed_run_is_a_failed_task_and_no_protocol_error(self):
		self.server.script(error(401, "No such key"))
		task = self.ask("Due?")
		self.assertEqual(task.status.state, FAILED)
		self.assertTrue(task.status.message.parts[0].text)

	def test_an_image_alone_is_a_message(self):
		self.server.script(text("A dot."))
		task = self.ask(IMAGE)
		self.assertEqual(task.status.state, COMPLETED)
		conversation = frappe.db.get_value("Agent Run", task.id, "conversation")
		self.assertEqual(frappe.db.count("File", {"attached_to_name": conversation}), 1)

	def test_empty_message_or_long_context_id_starts_no_run_and_keeps_no_image(self):
		before, long = (frappe.db.count("Agent Run"), frappe.db.count("File")), {"context_id": "c" * 141}
		for prompt, ids in ((" ", {}), ("Who?", long), (IMAGE, long)):
			with self.subTest(ids), self.assertRaises(A2AError):
				self.ask(prompt, **ids)
		frappe.db.rollback()
		self.assertEqual((frappe.db.count("Agent Run"), frappe.db.count("File")), before)

	def test_a_context_id_of_the_client_names_a_conversation_of_its_user_alone(self):
		context = self.start(text("Hello."))["conversation"]
		self.server.script(*[text("Yes.")] * 3)
		tasks = [
			self.ask("Yes?", context_id=context, user=user) for user in (None, None, make_user("Huf User"))
		]
		self.assertEqual({each.context_id for each in tasks}, {context})
		first, second, other = (frappe.db.get_value("Agent Run", each.id, "conversation") for each in tasks)
		self.assertEqual((first, len({first, other, context})), (second, 3))

		async def work(client):
			return await client.list_tasks(ListTasksRequest(context_id=context))

		self.assertEqual([each.id for each in self.use(work).tasks], [tasks[1].id, tasks[0].id])


class TestTasks(A2ATestCase):
	def test_a_data_part_with_an_infinite_number_is_refused(self):
		headers = {"Authorization": f"Bearer {make_key(self.user)}:{SECRET}", "A2A-Version": "1.0"}
		for method in ("SendMessage", "SendStreamingMessage"):
			message = '{"messageId": "1", "role": "ROLE_USER", "parts": [{"data": [1e999]}]}'
			body = f'{{"jsonrpc": "2.0", "id": 1, "method": "{method}", "params": {{"message": {message}}}}}'
			options = {"data": body, "headers": headers, "content_type": "application/json"}
			answer = send(self.address(), method="POST", **options)
			self.assertRegex(answer.text, '"code": ?-32602.*not finite')

	def test_whole_numbers_of_a_data_part_reach_the_agent_without_a_fraction(self):
		self.server.script(text("Sent."))
		self.ask({"orders": [12345678, -2, 1.5]})
		prompt = self.server.requests[-1]["messages"][-1]["content"]
		self.assertEqual(prompt, '{"orders": [12345678, -2, 1.5]}')

	def test_return_immediately_task_is_completed_later(self):
		self.server.script(text("Anna."))
		task = self.ask("Who?", immediately=True)
		self.assertEqual(task.status.state, SUBMITTED)
		self.go_on(task.id)
		found = self.get(task.id)
		self.assertEqual((found.status.state, found.artifacts[0].parts[0].text), (COMPLETED, "Anna."))

	def test_tasks_of_others_are_not_found_listed_cancelled_or_answered(self):
		task, approval = self.ask_for_change()
		other = make_user("Huf User")

		async def work(client):
			return await client.list_tasks(ListTasksRequest())

		async def cancel(client):
			return await client.cancel_task(CancelTaskRequest(id=task.id))

		self.assertEqual(self.use(work, user=other).total_size, 0)
		for attempt in (
			lambda: self.get(task.id, user=other),
			lambda: self.use(cancel, user=other),
			lambda: self.ask({**approval, "approve": True}, task_id=task.id, user=other),
		):
			with self.assertRaisesRegex(A2AError, "not found"):
				attempt()
		self.assertEqual(self.note(), "old")

	def test_own_tasks_are_listed_by_pages(self):
		self.server.script(*[text("Yes.")] * 3)
		ids = [self.ask("Yes?").id for _ in range(3)]

		async def work(client):
			first = await client.list_tasks(ListTasksRequest(page_size=2))
			rest = await client.list_tasks(ListTasksRequest(page_size=2, page_token=first.next_page_token))
			done = await client.list_tasks(ListTasksRequest(status=CANCELED))
			return first, rest, done

		first, rest, done = self.use(work)
		self.assertEqual([each.id for each in (*first.tasks, *rest.tasks)], ids[::-1])
		self.assertEqual((first.total_size, rest.next_page_token, done.total_size), (3, "", 0))

	def test_a_task_is_listed_in_the_state_that_it_shows(self):
		task, _ = self.ask_for_change()

		async def work(client):
			states = (INPUT_REQUIRED, TaskState.TASK_STATE_WORKING)
			found = [await client.list_tasks(ListTasksRequest(status=each)) for each in states]
			return [[each.id for each in page.tasks] for page in found]

		self.assertEqual(self.use(work), [[task.id], []])
		frappe.db.set_value("Agent Draft", {"run": task.id}, "status", "Expired")
		self.assertEqual(self.use(work), [[], [task.id]])

	def test_status_timestamp_changes_with_the_task_state(self):
		self.server.script(text("Later."), text("Sooner."))
		early = self.ask("Anna?", immediately=True)
		late = self.ask("Eve?")
		self.go_on(early.id)
		since = late.status.timestamp

		async def work(client):
			every = await client.list_tasks(ListTasksRequest())
			new = await client.list_tasks(ListTasksRequest(status_timestamp_after=since))
			return [[each.id for each in found.tasks] for found in (every, new)]

		every, new = self.use(work)
		self.assertEqual((every, new), ([early.id, late.id], [early.id]))
		self.assertGreater(self.get(early.id).status.timestamp.ToDatetime(), since.ToDatetime())

	def test_invalid_page_token_is_refused(self):
		for token in ("x", "-1", "٣", "9" * 5000):

			async def work(client, token=token):
				return await client.list_tasks(ListTasksRequest(page_token=token))

			with self.subTest(token[:9]), self.assertRaisesRegex(A2AError, "not one of this list"):
				self.use(work)

	def test_history_has_the_message_of_the_task_unless_its_length_is_zero(self):
		self.server.script(text("Yes."))
		task = self.ask("Is Anna in?")

		async def work(client):
			every = await client.get_task(GetTaskRequest(id=task.id))
			none = await client.get_task(GetTaskRequest(id=task.id, history_length=0))
			listed = await client.list_tasks(ListTasksRequest(history_length=1))
			return every, none, listed.tasks[0]

		every, none, listed = self.use(work)
		for shown in (task, every, listed):
			(message,) = shown.history
			self.assertEqual((message.role, message.task_id), (Role.ROLE_USER, task.id))
			self.assertEqual([part.text for part in message.parts], ["Is Anna in?"])
		self.assertEqual(len(none.history), 0)

	def test_page_size_of_zero_and_negative_history_length_are_refused(self):
		for request, expected in (
			(ListTasksRequest(page_size=0), "minimum page size"),
			(ListTasksRequest(history_length=-1), "non-negative"),
		):

			async def work(client, request=request):
				return await client.list_tasks(request)

			with self.subTest(expected), self.assertRaisesRegex(A2AError, expected):
				self.use(work)

	def test_a_waiting_task_is_cancelled_and_a_finished_one_cannot_be(self):
		task, _ = self.ask_for_change()

		async def work(client):
			return await client.cancel_task(CancelTaskRequest(id=task.id))

		self.assertEqual(self.use(work).status.state, CANCELED)
		with self.assertRaisesRegex(A2AError, "has ended"):
			self.use(work)
		self.assertEqual(self.note(), "old")

	def test_disconnect_ends_the_subscription_to_a_queued_task(self):
		task, _ = self.ask_for_change()
		queued = self.ask("And now?", context_id=task.context_id, immediately=True)
		with patch.object(event_stream, "KEEPALIVE_S", 0.1):
			chunk = self.leave("SubscribeToTask", {"id": queued.id})
		self.assertIn(b"TASK_STATE_SUBMITTED", chunk)
		self.assertEqual(self.get(queued.id).status.state, SUBMITTED)

	def test_subscription_to_a_waiting_task_ends_with_input_required(self):
		task, _ = self.ask_for_change()

		async def work(client):
			return [each async for each in client.subscribe(SubscribeToTaskRequest(id=task.id))]

		responses = self.use(work, streaming=True)
		self.assertEqual(responses[0].task.id, task.id)
		self.assertEqual(responses[-1].status_update.status.state, INPUT_REQUIRED)
