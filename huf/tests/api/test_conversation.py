"""Searching, branching, editing and sharing chats, with permissions."""

import base64
from unittest.mock import patch

import frappe

from huf.ai.chat import messages
from huf.ai.chat.messages import get_agent_chat_messages, send_agent_chat_message
from huf.ai.core.errors import UsageError
from huf.ai.core.session import acting_as
from huf.ai.core.types import AgentRequest
from huf.ai.queries.runs import describe_runs
from huf.ai.runs.queue import enqueue_run, work_on
from huf.ai.tools.taint import find_origins
from huf.api import chat, conversation
from huf.api.agent import get_agents
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_agent, make_model, make_tool, make_user
from huf.tests.model_server import ModelServer, error, text


class TestConversation(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.owner, self.other = make_user("Huf User"), make_user("Huf User")
		self.agent = make_agent()
		with acting_as(self.owner):
			self.first = self.say("Paint the fence 100% green")
			self.name = self.first["conversation"]
			self.second = self.say("Then the door", self.name)

	def say(self, words: str, name: str | None = None) -> dict:
		return send_agent_chat_message(self.agent, words, name)

	def said(self, name: str, user: str) -> list[str]:
		with acting_as(user):
			messages = get_agent_chat_messages(name)["messages"]
		return [each.content for each in messages if each.role == "user"]

	def send_second_before_first_answer(self) -> None:
		for sequence, result in ((98, self.first), (99, self.second)):
			answer = {"run": result["run"], "role": "agent"}
			frappe.db.set_value("Agent Message", answer, "sequence", sequence)
		frappe.db.commit()

	def test_search_finds_words_in_titles_and_messages_with_an_excerpt(self):
		with acting_as(self.owner):
			(row,) = conversation.search("FENCE 100%")
			self.assertEqual((row.name, row.is_shared), (self.name, False))
			self.assertIn("Paint the fence", row.found)
			self.assertEqual(conversation.search("then THE door")[0].name, self.name)
			for none in ("100_ green", "10% green", "", "   "):
				self.assertEqual(conversation.search(none), [], none)

	def test_search_finds_accented_capitals_in_either_case(self):
		with acting_as(self.owner):
			self.say("Ärger mit der TÜR", self.name)
			for words in ("ärger", "ÄRGER", "tür"):
				self.assertIn("Ärger", conversation.search(words)[0].found, words)

	def test_search_finds_no_conversations_of_other_users(self):
		for user in (self.other, make_user("Huf Manager")):
			with acting_as(user):
				self.assertEqual(conversation.search("fence"), [])

	def test_before_returns_the_older_messages(self):
		with acting_as(self.owner):
			newest = get_agent_chat_messages(self.name, limit=1)["messages"]
			older = get_agent_chat_messages(self.name, before=newest[0].sequence)["messages"]
			whole = get_agent_chat_messages(self.name)["messages"]
		self.assertEqual([m.name for m in [*older, *newest]], [m.name for m in whole])

	def test_a_run_that_ends_while_messages_are_read_is_not_shown_as_ended_without_its_answer(self):
		answer = {"run": self.second["run"], "role": "agent"}
		frappe.db.set_value("Agent Message", answer, "content", "")

		def end_before(names: list[str], **options):
			runs = describe_runs(names, **options)
			frappe.db.set_value("Agent Message", answer, "content", "It is painted.")
			return runs

		with acting_as(self.owner), patch.object(messages, "describe_runs", end_before):
			shown = get_agent_chat_messages(self.name)["messages"]
		self.assertIn("It is painted.", [each.content for each in shown])

	def test_branch_copies_earlier_messages_and_keeps_the_original(self):
		with acting_as(self.owner):
			before = conversation.branch(self.name, self.second["run"], keep=False)
			whole = conversation.branch(self.name, self.first["run"])
			self.say("Then the roof", before)
			self.assertEqual(len(chat.get_conversations()), 3)
		self.assertEqual(self.said(before, self.owner), ["Paint the fence 100% green", "Then the roof"])
		self.assertEqual(self.said(whole, self.owner), ["Paint the fence 100% green"])
		self.assertEqual(self.said(self.name, self.owner), ["Paint the fence 100% green", "Then the door"])

	def edit(self, name: str, run: str, words: str) -> dict:
		version = conversation.edit(name, run)
		said = self.say(words, version)
		conversation.show(version)
		return said

	def test_each_version_finds_all_versions_and_one_conversation_is_listed(self):
		with acting_as(self.owner):
			gate = self.edit(self.name, self.second["run"], "Then the gate")
			roof = self.edit(gate["conversation"], gate["run"], "Then the roof")
			names = [self.name, gate["conversation"], roof["conversation"]]
			for place, name in enumerate(names):
				(point,) = conversation.get_versions(name)
				self.assertEqual((point["place"], point["conversations"]), (place, names))
			self.assertEqual([row.name for row in chat.get_conversations()], [names[2]])
			conversation.show(names[0])
			self.assertEqual([row.name for row in chat.get_conversations()], [names[0]])
		self.assertEqual(self.said(names[1], self.owner), ["Paint the fence 100% green", "Then the gate"])

	def test_versions_of_different_messages_are_tracked_independently(self):
		with acting_as(self.owner):
			gate = self.edit(self.name, self.second["run"], "Then the gate")["conversation"]
			first_in_gate = get_agent_chat_messages(gate)["messages"][0].run
			wall = self.edit(gate, first_in_gate, "Paint the wall")["conversation"]
			self.assertEqual(
				[p["conversations"] for p in conversation.get_versions(wall)], [[self.name, wall]]
			)
			places = [(p["place"], p["conversations"]) for p in conversation.get_versions(gate)]
		self.assertEqual(places, [(0, [self.name, wall]), (1, [self.name, gate])])

	def test_edit_without_a_new_message_does_not_hide_the_original(self):
		with acting_as(self.owner):
			version = conversation.edit(self.name, self.second["run"])
			self.assertEqual([row.name for row in chat.get_conversations()], [self.name])
			self.assertEqual(conversation.get_versions(self.name), [])
			self.assertEqual(self.said(version, self.owner), ["Paint the fence 100% green"])

	def test_delete_conversation_deletes_all_versions_delete_doc_only_one(self):
		with acting_as(self.owner):
			gate = self.edit(self.name, self.second["run"], "Then the gate")["conversation"]
			roof = self.edit(self.name, self.second["run"], "Then the roof")["conversation"]
			frappe.delete_doc("Agent Conversation", roof)
			self.assertEqual([row.name for row in chat.get_conversations()], [gate])
			chat.delete_conversation(gate)
		self.assertEqual(frappe.get_all("Agent Conversation", {"owner": self.owner}), [])

	def test_edit_of_a_shared_chat_is_a_branch_and_keeps_the_original_listed(self):
		with acting_as(self.owner):
			conversation.share(self.name, self.other, write=True)
		with acting_as(self.other):
			branch = conversation.edit(self.name, self.second["run"])
			self.assertEqual(conversation.get_versions(self.name), [])
			self.assertEqual({row.name for row in chat.get_conversations()}, {self.name, branch})
		with acting_as(self.owner):
			self.edit(self.name, self.second["run"], "Then the gate")
			self.assertEqual(len(chat.get_conversations()), 2)
		with acting_as(self.other):
			self.assertIn(self.name, {row.name for row in chat.get_conversations()})
			self.assertEqual(conversation.get_versions(self.name), [])

	def test_branch_excludes_messages_of_unanswered_runs(self):
		with acting_as(self.owner):
			enqueue_run(AgentRequest(self.agent, "A secret", self.owner, self.name, channel="chat"))
			# A message sent while another run is open comes before the answer of that run.
			answer = {"run": self.second["run"], "role": "agent"}
			frappe.db.set_value("Agent Message", answer, "sequence", 99)
			frappe.db.commit()
			branch = conversation.branch(self.name, self.second["run"])
		self.assertEqual(self.said(branch, self.owner), ["Paint the fence 100% green", "Then the door"])

	def test_edit_of_a_queued_message_keeps_the_answer_before_it(self):
		with acting_as(self.owner):
			self.send_second_before_first_answer()
			edited = conversation.edit(self.name, self.second["run"])
			branch = conversation.branch(self.name, self.first["run"])
			messages = [get_agent_chat_messages(each)["messages"] for each in (edited, branch)]
		for each in messages:
			self.assertEqual([message.role for message in each], ["user", "agent"])
			self.assertEqual({message.run for message in each}, {self.first["run"]})

	def test_branch_after_a_queued_message_keeps_the_answer_of_a_deleted_run(self):
		self.send_second_before_first_answer()
		frappe.delete_doc("Agent Run", self.first["run"], ignore_permissions=True)
		frappe.db.commit()
		with acting_as(self.owner):
			branch = conversation.branch(self.name, self.second["run"])
			messages = get_agent_chat_messages(branch)["messages"]
		first, second = None, self.second["run"]
		told = [(message.role, message.run) for message in messages]
		self.assertEqual(told, [("user", first), ("user", second), ("agent", first), ("agent", second)])

	def test_search_without_read_permission_is_refused(self):
		user = frappe.get_doc("User", self.owner)
		user.roles = []
		user.save()
		with acting_as(self.owner), self.assertRaises(frappe.PermissionError):
			conversation.search("fence")

	def test_branch_before_the_first_run_is_empty_and_at_an_unknown_run_refused(self):
		with acting_as(self.owner):
			self.assertEqual(
				self.said(conversation.branch(self.name, self.first["run"], keep=False), self.owner), []
			)
			with self.assertRaises(UsageError):
				conversation.branch(self.name, "no such run")

	def test_other_users_cannot_branch_share_edit_or_list_shares(self):
		with acting_as(self.other):
			for call in (
				lambda: conversation.branch(self.name, self.first["run"]),
				lambda: conversation.share(self.name, self.other),
				lambda: conversation.unshare(self.name, self.other),
				lambda: conversation.get_shares(self.name),
				lambda: conversation.edit(self.name, self.first["run"]),
				lambda: conversation.show(self.name),
				lambda: conversation.get_versions(self.name),
			):
				with self.assertRaises(frappe.PermissionError):
					call()

	def test_branch_inherits_the_untrusted_origins_of_its_runs(self):
		frappe.get_doc(
			{
				"doctype": "Agent Tool Call",
				"run": self.first["run"],
				"tool": make_tool("GET", base_url="https://example.com"),
				"origin": "web example.com",
				"effect": "external",
				"status": "Success",
				"step": 1,
			}
		).insert(ignore_permissions=True)
		with acting_as(self.owner):
			branch = conversation.branch(self.name, self.first["run"])
			run = self.say("Go on", branch)["run"]
		self.assertEqual(find_origins(run), ("web example.com",))

	def test_shared_conversation_is_read_only_until_write_is_granted(self):
		with acting_as(self.owner):
			(row,) = conversation.share(self.name, self.other)
			self.assertEqual((row["user"], row["write"]), (self.other, 0))
		with acting_as(self.other):
			(listed,) = chat.get_conversations()
			self.assertEqual((listed.name, listed.is_shared), (self.name, True))
			self.assertEqual(conversation.search("fence")[0].name, self.name)
			chat_state = get_agent_chat_messages(self.name)
			self.assertEqual(len(chat_state["runs"]), 2)
			self.assertFalse(chat_state["conversation"]["may_write"])
			for call in (
				lambda: self.say("Me too", self.name),
				lambda: chat.rename_conversation(self.name, "Mine"),
				lambda: chat.delete_conversation(self.name),
				lambda: conversation.share(self.name, make_user("Huf User")),
			):
				with self.assertRaises(frappe.PermissionError):
					call()
		with acting_as(self.owner):
			conversation.share(self.name, self.other, write=1)
		with acting_as(self.other):
			self.assertTrue(get_agent_chat_messages(self.name)["conversation"]["may_write"])
			self.say("Me too", self.name)
		self.assertEqual(self.said(self.name, self.owner)[-1], "Me too")

	def test_messages_of_other_users_in_a_shared_chat_name_their_author(self):
		with acting_as(self.owner):
			conversation.share(self.name, self.other, write=1)
		with acting_as(self.other):
			self.say("Me too", self.name)
		names = [frappe.utils.get_fullname(user) for user in (self.owner, self.other)]
		for reader, expected in ((self.owner, {None, names[1]}), (self.other, {names[0], None})):
			with acting_as(reader):
				messages = get_agent_chat_messages(self.name)["messages"]
			self.assertEqual({row.get("author") for row in messages if row.role == "user"}, expected)
			self.assertFalse([row for row in messages if "owner" in row])

	def test_unshared_conversation_is_no_longer_readable(self):
		with acting_as(self.owner):
			conversation.share(self.name, self.other)
			self.assertEqual(conversation.unshare(self.name, self.other), [])
		with acting_as(self.other):
			self.assertEqual(chat.get_conversations(), [])
			with self.assertRaises(frappe.PermissionError):
				get_agent_chat_messages(self.name)

	def test_a_message_queued_before_unsharing_does_not_read_the_conversation(self):
		with acting_as(self.owner):
			conversation.share(self.name, self.other, write=True)
		with acting_as(self.other):
			run = enqueue_run(AgentRequest(self.agent, "Repeat it all", self.other, self.name)).name
		with acting_as(self.owner):
			conversation.unshare(self.name, self.other)
			self.say("My salary is 12345", self.name)
		result = work_on(run)
		self.assertEqual((result.status.value, result.response), ("Failed", ""))
		self.assertIn("no conversation", result.error)

	def test_conversation_can_be_shared_only_with_another_chat_user(self):
		without_role = make_user()
		with acting_as(self.owner):
			for user in ("nobody@example.com", "Guest", self.owner, self.owner.upper(), without_role):
				with self.assertRaises(UsageError, msg=user):
					conversation.share(self.name, user)

	def test_recording_is_transcribed_by_the_speech_tool_of_the_agent(self):
		with ModelServer() as server:
			server.script(text(" Paint the fence. "))
			tool = make_tool("Speech to Text", model=make_model(server))
			agent = make_agent(tools=[tool])
			with acting_as(self.owner):
				audio = base64.b64encode(b"audio").decode()
				transcript = conversation.transcribe(agent, audio, "audio/webm;codecs=opus")
				self.assertTrue(next(row for row in get_agents() if row["name"] == agent)["hears"])
		self.assertEqual(transcript, {"text": "Paint the fence."})

	def test_failed_transcription_says_what_the_provider_says(self):
		with ModelServer() as server:
			server.script(error(429, "Slow down."))
			agent = make_agent(tools=[make_tool("Speech to Text", model=make_model(server))])
			with acting_as(self.owner), self.assertRaisesRegex(UsageError, "quota is used up.*Slow down"):
				conversation.transcribe(agent, base64.b64encode(b"audio").decode(), "audio/webm")

	def test_transcription_without_a_speech_tool_or_valid_audio_is_refused(self):
		with ModelServer() as server:
			tool = make_tool("Speech to Text", model=make_model(server))
		without_speech, with_speech = make_agent(), make_agent(tools=[tool])
		with acting_as(self.owner):
			for agent, audio, kind in (
				(without_speech, "", "audio/webm"),
				(with_speech, "", "text/html"),
				(with_speech, "no base64!", "audio/webm"),
				(with_speech, "Gespräch", "audio/webm"),
				(with_speech, "A" * 14_000_000, "audio/webm"),
			):
				with self.assertRaises(UsageError):
					conversation.transcribe(agent, audio, kind)
