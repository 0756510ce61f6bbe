import frappe
import frappe.client
import frappe.share

from huf.ai.core.errors import UsageError
from huf.ai.storage.conversations import ConversationManager
from huf.ai.storage.leases import claim_conversation
from huf.ai.storage.message_rows import sort_by_run, to_model_messages
from huf.ai.storage.untrusted_records import mark_conversations
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_agent, make_user


class TestAgentConversation(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.conversations = ConversationManager(make_agent())
		self.name = self.conversations.get_or_create_conversation(title="A plan")

	def test_messages_are_counted_and_keep_their_order(self):
		for text in ("One", "Two", "Three"):
			self.conversations.add_message("user", text)
		self.assertEqual(frappe.db.get_value("Agent Conversation", self.name, "total_messages"), 3)
		history = self.conversations.get_conversation_history()
		self.assertEqual([m["content"] for m in history], ["One", "Two", "Three"])

	def test_the_history_is_the_last_messages_not_the_first(self):
		for number in range(6):
			self.conversations.add_message("user", str(number))
		history = self.conversations.get_conversation_history(limit=2)
		self.assertEqual([m["content"] for m in history], ["4", "5"])

	def test_errors_are_not_part_of_the_history(self):
		self.conversations.add_message("user", "Hi")
		self.conversations.add_message("system", "It failed", kind="Error")
		self.assertEqual(len(self.conversations.get_conversation_history()), 1)

	def test_add_message_refuses_an_unknown_role(self):
		with self.assertRaisesRegex(UsageError, "user, agent, system"):
			self.conversations.add_message("assistant", "Hi")
		self.assertEqual(self.conversations.get_conversation_history(), [])

	def test_history_leaves_out_tool_results_without_their_call(self):
		rows = [make_row("Tool Result", "r", "c1"), make_row("Message", "Done.")]
		self.assertEqual(to_model_messages(rows), [{"role": "assistant", "content": "Done."}])

	def test_answers_are_read_after_their_own_prompts_and_keep_their_order(self):
		for stored, read in (
			("1? 2? 1! 2!", "1? 1! 2? 2!"),
			("1? 2? 3? 1! 1! 3!", "1? 1! 1! 2? 3? 3!"),  # the second one was cancelled
			("2? 1! 2!", "1! 2? 2!"),  # the first prompt is further back than what was read
			("1? 1! 2! 3? 3!", "1? 1! 2! 3? 3!"),  # the second prompt was deleted
			("? 2? ! 2!", "? ! 2? 2!"),  # the first run was deleted
		):
			with self.subTest(stored):
				rows = [make_turn(each) for each in stored.split()]
				self.assertEqual([row.said for row in sort_by_run(rows)], read.split())
		tool_result = make_turn("1!")
		tool_result.role = "system"
		rows = [make_turn("2?"), tool_result, make_turn("2!")]
		self.assertEqual([row["said"] for row in sort_by_run(rows)], ["1!", "2?", "2!"])

	def test_long_external_ids_map_to_distinct_reusable_sessions(self):
		agent = self.conversations.agent_name
		names = {
			ConversationManager(agent, "api", external_id).get_or_create_conversation()
			for external_id in ("x" * 500, "x" * 500, "x" * 499 + "y")
		}
		self.assertEqual(len(names), 2)
		longest = max(map(len, frappe.get_all("Agent Conversation", {"agent": agent}, pluck="session_id")))
		self.assertLessEqual(longest, 140)

	def test_users_can_change_the_title_but_not_fields_that_runs_write(self):
		mark_conversations([self.name], ["a mail"])
		user = make_user("Huf User")
		frappe.share.add("Agent Conversation", self.name, user, write=1)
		frappe.set_user(user)
		for field, value in (
			("origin", ""),
			("summary", "Send all"),
			("total_messages", 9),
			("active_run", "x"),
		):
			frappe.client.set_value("Agent Conversation", self.name, field, value)
		frappe.client.set_value("Agent Conversation", self.name, "title", "Another plan")
		stored = frappe.db.get_value(
			"Agent Conversation", self.name, ["title", "origin", "summary", "total_messages", "active_run"]
		)
		self.assertEqual(stored, ("Another plan", "a mail", None, 0, None))

	def test_a_title_is_changed_while_a_run_works(self):
		doc = frappe.get_doc("Agent Conversation", self.name)
		claim_conversation(self.name, "a run")
		doc.title = "Another plan"
		doc.save()
		stored = frappe.db.get_value("Agent Conversation", self.name, ["title", "active_run"])
		self.assertEqual(stored, ("Another plan", "a run"))

	def test_deleting_a_conversation_deletes_its_messages(self):
		self.conversations.add_message("user", "Hi")
		frappe.delete_doc("Agent Conversation", self.name)
		self.assertFalse(frappe.db.exists("Agent Message", {"conversation": self.name}))


def make_row(kind, content, tool_call_id=None):
	values = {
		"kind": kind,
		"role": "agent",
		"content": content,
		"tool_call_id": tool_call_id,
		"run": "r",
		"step": 1,
	}
	return frappe._dict(values)


def make_turn(said: str):
	"""A prompt ("1?") or an answer ("1!") of the run 1; "?" and "!" name no run."""
	return frappe._dict(said=said, run=said[:-1] or None, role="user" if said[-1] == "?" else "agent")
