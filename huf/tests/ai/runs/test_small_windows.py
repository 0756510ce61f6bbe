"""Long conversations with a local model fit its small context window and keep names and numbers."""

import unittest

import frappe

from huf.ai.runs.entry import run_agent_sync
from huf.ai.runs.summaries import INSTRUCTIONS, find_facts, loses_facts, trim
from huf.ai.storage.history import read_summary
from huf.tests.base import SiteTestCase, enter
from huf.tests.factories import make_agent, make_model, make_tool
from huf.tests.measuring import assert_bounded
from huf.tests.model_server import ModelServer, text

WINDOW, EXCHANGES = 2_048, 30
FILLER = "The weather is fine and the coffee is hot, so let us go on with the list. " * 3


class TestSmallWindow(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.server = enter(self, ModelServer())
		self.model = make_model(self.server, context_window=WINDOW)
		frappe.get_doc("AI Provider", frappe.db.get_value("AI Model", self.model, "provider")).update(
			{"is_local": 1}
		).save()
		tools = tuple(make_tool(types, reference_doctype="ToDo") for types in ("Get List", "Create Document"))
		self.agent = make_agent(self.model, tools, history_limit=6, tool_mode="Native")
		self.summary = "They talked about many things."
		self.server.forever(self.answer)

	def answer(self, body: dict):
		is_summary = body["messages"][0]["content"] == INSTRUCTIONS
		return text(self.summary if is_summary else f"Noted. {FILLER}")

	def talk(self, exchanges: int) -> str:
		conversation = None
		for number in range(1, exchanges + 1):
			prompt = f"Please note that Anna Kovač owes {1000 + number} crowns. {FILLER}"
			result = run_agent_sync(self.agent, prompt, conversation_id=conversation)
			self.assertEqual(result["status"], "Success", result)
			conversation = result["conversation"]
		return conversation

	def test_long_conversation_fits_a_small_window_and_keeps_recent_facts(self):
		conversation = self.talk(EXCHANGES)
		for body in self.server.requests:
			sent = sum(len(str(part)) for part in (*body["messages"], *body.get("tools", ())))
			self.assertLess(sent / 4, WINDOW)
		last = str(self.server.requests[-1]["messages"])
		for number in (EXCHANGES - 1, EXCHANGES):
			self.assertIn(f"{1000 + number} crowns", last)
		summary, until = read_summary(conversation)
		self.assertGreater(until, EXCHANGES)
		self.assertNotIn(self.summary, summary)
		self.assertRegex(summary, r"Anna Kovač owes 10\d\d crowns")
		self.assertLessEqual(len(summary), WINDOW // 4)

	def test_summary_that_keeps_names_and_numbers_is_stored(self):
		self.summary = "Anna Kovač owes 1001, 1002, 1003, 1004 and 1005 crowns."
		self.assertEqual(read_summary(self.talk(8))[0], self.summary)


class TestFacts(unittest.TestCase):
	def test_summary_that_loses_names_or_numbers_is_detected(self):
		talk = "Person: Please call Anna Berg about SO-0042.\nAgent: She pays 1,250.50 on 2026-11-22."
		self.assertEqual(set(find_facts(talk)), {"anna", "berg", "so-0042", "1,250.50", "2026-11-22"})
		self.assertFalse(loses_facts("Anna Berg pays 1,250.50 for SO-0042.", talk))
		self.assertTrue(loses_facts("They talked about an order.", talk))
		self.assertFalse(loses_facts("They greeted each other.", "hello there"))

	def test_facts_of_a_long_word_are_found_in_linear_time(self):
		for part in ("A", "AA-", "1-", "A1-"):
			with self.subTest(part):
				assert_bounded(self, find_facts, lambda chars, part=part: (part * chars)[:chars], 30_000)

	def test_trimming_keeps_the_last_lines(self):
		first = trim(None, "one\ntwo", 100)
		self.assertEqual(first, "Earlier messages, shortened:\none\ntwo")
		self.assertEqual(trim(first, "three\nfour", 36), "Earlier messages, shortened:\nfour")
