"""Answers of local models are limited in length and stopped when they repeat themselves."""

import logging
import unittest

import frappe

from huf.ai.core.session import acting_as
from huf.ai.providers.repetition import RepetitionWatch
from huf.ai.runs.entry import run_agent_sync
from huf.tests.base import SiteTestCase, enter
from huf.tests.factories import make_agent, make_model, make_tool, make_user
from huf.tests.model_server import ModelServer, text, tool_call, usage

LOOP = "The to-do is done. I will now do the next one. " * 60


class TestRepetition(unittest.TestCase):
	def is_endless(self, answer: str, size: int) -> bool:
		watch = RepetitionWatch()
		for start in range(0, len(answer), size):
			watch.feed(answer[start : start + size])
		return watch.is_endless

	def test_a_loop_is_noticed_however_the_text_is_cut(self):
		for size in (1, 7, 64, 5_000):
			self.assertTrue(self.is_endless(f"Here they are: {LOOP}", size), size)
			self.assertTrue(self.is_endless("x" * 600, size), size)
			self.assertTrue(self.is_endless("".join(f'{{"row": {n}}},' for n in range(55)) * 4, size), size)

	def test_lists_tables_and_code_are_no_loop(self):
		table = "|---|---|---|\n" * 3 + "".join(f"| {n} | Anna {n} | open |\n" for n in range(200))
		code = "".join(f"    assert add({n}, 1) == {n + 1}\n" for n in range(200))
		for answer in (table, code, "-" * 120, "Yes. " * 20):
			self.assertFalse(self.is_endless(answer, 5), answer[:30])


class TestLocalAnswers(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.server = enter(self, ModelServer())

	def make_agent(self, *tools: str, is_local: int = 1, **values) -> str:
		model = make_model(self.server, context_window=8192)
		provider = frappe.db.get_value("AI Model", model, "provider")
		frappe.get_doc("AI Provider", provider).update({"is_local": is_local}).save()
		frappe.db.commit()
		return make_agent(model, tools, **values)

	def test_the_reason_of_a_stop_is_in_the_language_of_the_user(self):
		user, agent = make_user("Huf User"), self.make_agent()
		frappe.db.set_value("User", user, "language", "de")
		frappe.db.commit()
		self.server.script(text(LOOP))
		with acting_as(user):
			result = run_agent_sync(agent, "What is done?")
		self.assertIn("endlos wiederholt", result["error"])

	def test_an_endlessly_repeating_answer_stops_the_run_as_stalled(self):
		self.server.script(text(LOOP))
		result = run_agent_sync(self.make_agent(), "What now?")
		self.assertEqual((result["status"], result["stop_reason"]), ("Stopped", "stalled"))
		self.assertLess(len(result["response"]), len(LOOP))

	def test_local_models_get_a_token_limit_if_the_agent_sets_none(self):
		self.server.script(*[text("Hello.")] * 3)
		for agent in (self.make_agent(), self.make_agent(max_tokens=77), self.make_agent(is_local=0)):
			run_agent_sync(agent, "Hi")
		limits = [each.get("max_tokens") for each in self.server.requests]
		self.assertEqual((limits[0] in range(1, 2049), *limits[1:]), (True, 77, None))

	def test_an_invalid_date_is_an_error_that_the_model_can_correct(self):
		tool = make_tool("Create Document", reference_doctype="ToDo")
		self.server.script(
			tool_call(tool, {"description": "Call Anna", "date": "next Friday"}),
			tool_call(tool, {"description": "Call Anna", "date": "2026-11-27"}),
			text("Done."),
		)
		result = run_agent_sync(self.make_agent(tool), "Remind me")
		self.assertEqual(result["status"], "Success")
		error = self.server.requests[1]["messages"][-1]["content"]
		self.assertIn("date: 'next Friday' is not a date. Write it as YYYY-MM-DD.", error)

	def test_a_prompt_usage_below_the_size_of_its_tools_logs_a_warning(self):
		tool = make_tool("Create Document", reference_doctype="ToDo")
		agent = self.make_agent(tool)
		for tokens, expected in ((5, True), (5_000, False)):
			self.server.script(text("Hello.", usage=usage(tokens, 10)))
			with self.subTest(tokens), self.assertLogs("huf", "INFO") as logs:
				logging.getLogger("huf").info("begin")
				run_agent_sync(agent, "Hi")
			self.assertEqual("does not show them" in str(logs.output), expected)
