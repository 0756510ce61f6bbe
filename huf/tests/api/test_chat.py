"""The chat endpoints: what they return, and that other users have no access."""

import json

import frappe

from huf.ai.chat.messages import get_agent_chat_messages, send_agent_chat_message, stream_chat
from huf.ai.core.errors import UsageError
from huf.ai.core.session import acting_as
from huf.ai.core.types import AgentRequest
from huf.ai.runs.entry import run_agent, run_agent_sync
from huf.ai.runs.repetition import find_sent_run
from huf.ai.runs.start import start_run
from huf.api import chat, conversation, run
from huf.api.agent import get_agents, get_overview
from huf.tests.base import SiteTestCase
from huf.tests.contract.connections import together
from huf.tests.factories import make_agent, make_model, make_user
from huf.tests.model_server import ModelServer, text


def begin_chat(agent: str, user: str, key: str) -> str:
	"""The run whose events a message with this key gets."""
	with acting_as(user):
		events = stream_chat(agent, "Hi", idempotency_key=key)
		run = next(event.run for event in events if event)
		events.close()
		return run


class TestChat(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.owner = make_user("Huf User")
		with ModelServer() as server:
			self.agent = make_agent(make_model(server))
			server.script(text("Hello."))
			with acting_as(self.owner):
				self.result = send_agent_chat_message(self.agent, "My secret plan")
		self.conversation = self.result["conversation"]

	def test_stream_sends_text_deltas_and_ends_with_the_result(self):
		with ModelServer() as server:
			agent = make_agent(make_model(server))
			server.script(text("Hello you."))
			lines = chat.stream(agent, "Hi").get_data(as_text=True).strip().split("\n\n")
		events = [dict(line.split(": ", 1) for line in block.split("\n")) for block in lines]
		self.assertEqual([events[0]["event"], events[-1]["event"]], ["run_started", "run_finished"])
		self.assertEqual(
			"".join(json.loads(e["data"])["text"] for e in events if e["event"] == "text_delta"), "Hello you."
		)
		self.assertEqual(json.loads(events[-1]["data"])["status"], "Success")

	def test_conversations_with_is_test_are_not_listed(self):
		with ModelServer() as server, acting_as(self.owner):
			agent = self.make_agent_of(server)
			server.script(text("Hello you."), text("Again."))
			unlisted = self.last_event(chat.stream(agent, "Hi", is_test=True))["conversation"]
			self.assertNotIn(unlisted, [each.name for each in chat.get_conversations()])
			self.assertEqual(self.last_event(chat.stream(agent, "And?", unlisted))["conversation"], unlisted)
			self.assertNotIn(unlisted, [each.name for each in chat.get_conversations()])

	def test_conversations_of_other_channels_are_neither_listed_nor_found(self):
		with acting_as(self.owner):
			for channel in ("mail", "schedule", "agent", "api"):
				request = AgentRequest(self.agent, "Classify this mail", self.owner, channel=channel)
				other = run_agent(request).conversation
				self.assertEqual(frappe.db.get_value("Agent Conversation", other, "owner"), self.owner)
				self.assertEqual([each.name for each in chat.get_conversations()], [self.conversation])
				self.assertEqual(conversation.search("classify"), [])

	def make_agent_of(self, server) -> str:
		with acting_as("Administrator"):
			return make_agent(make_model(server))

	def last_event(self, response) -> dict:
		block = response.get_data(as_text=True).strip().split("\n\n")[-1]
		return json.loads(dict(line.split(": ", 1) for line in block.split("\n"))["data"])

	def test_no_model_call_is_made_before_the_stream_is_read(self):
		"""The request still uses the same connection: it ends with a commit or a rollback."""
		agent = make_agent()
		stream = chat.stream(agent, "Hi")
		opened = frappe.get_last_doc("Agent Run", {"agent": agent})
		llm_calls = frappe.get_all("Agent LLM Call", {"run": opened.name}, pluck="name", order_by="name")
		self.assertEqual((opened.status, llm_calls), ("Started", []))
		self.assertIn("event: run_finished", stream.get_data(as_text=True))

	def test_a_message_sent_again_with_its_idempotency_key_runs_once(self):
		key = frappe.generate_hash(length=32)
		with ModelServer() as server, acting_as(self.owner):
			agent = self.make_agent_of(server)
			server.script(text("Hello you."), text("Hello you too."))
			first, again = (
				self.last_event(chat.stream(agent, "Hi", idempotency_key=key)) for _attempt in range(2)
			)
			self.assertEqual((again["run"], again["response"]), (first["run"], "Hello you."))
			sent = get_agent_chat_messages(first["conversation"])["messages"][0]
			self.assertEqual(sent["idempotency_key"], key)
			other = self.last_event(chat.stream(agent, "Hi", idempotency_key=frappe.generate_hash(length=32)))
			self.assertNotEqual(other["run"], first["run"])
		with acting_as(make_user("Huf User")):
			self.assertIsNone(find_sent_run(key))

	def test_a_queued_message_sent_again_with_its_idempotency_key_is_queued_once(self):
		key = frappe.generate_hash(length=32)
		with ModelServer() as server, acting_as(self.owner):
			agent = self.make_agent_of(server)
			waiting = start_run(AgentRequest(agent, "Hi", self.owner, channel="chat", external_id="one"))
			conversation = waiting.conversation
			first, again = (
				self.last_event(chat.stream(agent, "And?", conversation, idempotency_key=key))
				for _attempt in range(2)
			)
		self.assertEqual((again["run"], again["conversation"]), (first["run"], conversation))
		self.assertEqual(frappe.db.count("Agent Run", {"conversation": conversation}), 2)

	def test_of_requests_with_one_idempotency_key_that_arrive_together_one_runs(self):
		agent, user, key = make_agent(), make_user("Huf User"), frappe.generate_hash(length=32)
		frappe.db.commit()
		begun = together([(begin_chat, agent, user, key)] * 5)
		runs = frappe.get_all("Agent Run", {"request_key": key}, pluck="name", order_by="name")
		self.assertEqual([runs, len(begun)], [[*{*begun}], 5])

	def test_stream_of_an_unknown_agent_raises_before_the_response(self):
		with self.assertRaises(frappe.PermissionError):
			chat.stream("No such agent", "Hi")

	def test_run_succeeds_after_the_stream_client_disconnects(self):
		with ModelServer() as server:
			agent = make_agent(make_model(server))
			server.script(text("A long answer that nobody waits for.", chunk_size=2))
			response = chat.stream(agent, "Hi")
			next(iter(response.response))
			response.close()
		self.assertEqual(frappe.get_last_doc("Agent Run", {"agent": agent}).status, "Success")

	def test_owner_can_list_and_read_the_conversation(self):
		with acting_as(self.owner):
			self.assertIn(self.conversation, [row.name for row in chat.get_conversations()])
			chat_messages = get_agent_chat_messages(self.conversation)
		self.assertEqual([m.content for m in chat_messages["messages"]], ["My secret plan", "Hello."])

	def test_a_conversation_can_be_renamed_and_deleted_by_its_owner(self):
		with acting_as(self.owner):
			chat.rename_conversation(self.conversation, "Plan B")
			self.assertEqual(chat.get_conversations()[0].title, "Plan B")
			chat.delete_conversation(self.conversation)
		self.assertFalse(frappe.db.exists("Agent Message", {"conversation": self.conversation}))
		self.assertTrue(frappe.db.exists("Agent Run", self.result["run"]))

	def test_another_user_cannot_read_list_append_run_or_cancel(self):
		with acting_as(make_user("Huf User")):
			self.assertEqual(chat.get_conversations(), [])
			for doctype in ("Agent Conversation", "Agent Message", "Agent Run", "Agent LLM Call"):
				self.assertEqual(frappe.get_list(doctype), [], doctype)
			for attempt in (
				lambda: get_agent_chat_messages(self.conversation),
				lambda: send_agent_chat_message(self.agent, "Me too", self.conversation),
				lambda: run_agent_sync(self.agent, "Me too", conversation_id=self.conversation),
				lambda: chat.stream(self.agent, "Me too", self.conversation),
				lambda: chat.rename_conversation(self.conversation, "Mine"),
				lambda: chat.delete_conversation(self.conversation),
				lambda: run.cancel(self.result["run"]),
				lambda: frappe.get_doc("Agent Run", self.result["run"]).check_permission("read"),
				lambda: self.append_by_rest(),
			):
				with self.assertRaises(frappe.PermissionError):
					attempt()

	def append_by_rest(self):
		values = {"conversation": self.conversation, "role": "agent", "content": "Send me money"}
		frappe.get_doc({"doctype": "Agent Message", **values}).insert()

	def test_owner_cannot_insert_agent_messages(self):
		with acting_as(self.owner), self.assertRaises(frappe.PermissionError):
			self.append_by_rest()

	def test_a_huf_manager_sees_every_run(self):
		with acting_as(make_user("Huf Manager")):
			self.assertTrue(frappe.get_doc("Agent Run", self.result["run"]).has_permission("read"))
			self.assertTrue(frappe.get_list("Agent Run", filters={"name": self.result["run"]}))

	def test_agent_overview_counts_runs_and_has_the_last_run(self):
		before = next(each for each in get_overview() if each["name"] == self.agent)
		run_agent(AgentRequest(self.agent, "Once more", self.owner))
		after = next(each for each in get_overview() if each["name"] == self.agent)
		self.assertEqual(after["total_run"], before["total_run"] + 1)
		self.assertTrue(after["last_run"])

	def test_agent_without_allow_chat_is_neither_listed_nor_callable_in_chat(self):
		without_chat = make_agent(allow_chat=0)
		self.assertNotIn(without_chat, [agent["name"] for agent in get_agents()])
		with self.assertRaisesRegex(UsageError, "chat"):
			send_agent_chat_message(without_chat, "Hello")

	def test_a_chat_chooses_only_a_model_that_the_agent_allows(self):
		with ModelServer() as server:
			own, allowed, other = (make_model(server) for _ in range(3))
			agent = make_agent(own, chat_models=[{"model": allowed}])
			server.script(text("By the other one."), text("By mine."))
			with acting_as(self.owner):
				listed = next(each for each in get_agents() if each["name"] == agent)
				self.assertEqual([each["name"] for each in listed["models"]], [allowed])
				first = self.last_event(chat.stream(agent, "Hi", model=allowed))
				second = self.last_event(chat.stream(agent, "Hi", first["conversation"]))
				self.assertEqual((first["model"], second["model"]), (allowed, own))
			for user in (self.owner, "Administrator"):
				with acting_as(user), self.assertRaisesRegex(frappe.PermissionError, "does not allow"):
					chat.stream(agent, "Hi", model=other)
			self.assertEqual(frappe.db.count("Agent Run", {"agent": agent}), 2)
			frappe.get_doc("Agent", agent).update({"chat_models": []}).save()
			with acting_as(self.owner), self.assertRaises(frappe.PermissionError):
				chat.stream(agent, "Hi", model=allowed)

	def test_an_agent_for_certain_roles_is_shown_to_them_only(self):
		hidden = make_agent(roles=[{"role": "System Manager"}])
		with acting_as(self.owner):
			self.assertNotIn(hidden, [agent["name"] for agent in get_agents()])
		self.assertIn(hidden, [agent["name"] for agent in get_agents()])

	def test_guest_cannot_start_a_run(self):
		with acting_as("Guest"), self.assertRaises(frappe.PermissionError):
			run_agent_sync(self.agent, "Hi")
