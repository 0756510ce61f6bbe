"""The mode and model tier of a task are chosen by its wording."""

import unittest

from huf.ai.core.types import Mode
from huf.ai.routing.tiers import CLOUD, LARGE, SMALL, Task, choose_task

SIMPLE = (
	"What is a delivery note?",
	"Hallo!",
	"¿Qué es una factura rectificativa?",
	"Co je to dobropis?",
	"How many open invoices does Müller GmbH have?",
)
MULTI_STEP = (
	"Find all overdue invoices of last month, then write a reminder for each customer and make a to-do for the ones over 1000 EUR.",
	"Suche alle offenen Bestellungen, danach erstelle für jede eine Aufgabe und schicke mir eine Übersicht.",
)


class TestTasks(unittest.TestCase):
	def test_simple_questions_run_inline_on_the_small_tier(self):
		for text in SIMPLE:
			with self.subTest(text):
				self.assertEqual(choose_task(text), Task(Mode.INLINE, SMALL))

	def test_multi_step_tasks_run_in_the_background_on_the_large_tier(self):
		for text in MULTI_STEP:
			with self.subTest(text):
				self.assertEqual(choose_task(text), Task(Mode.BACKGROUND, LARGE))

	def test_only_tasks_matching_a_listed_word_use_the_cloud_tier(self):
		text = "Entwirf einen Schriftsatz an das Amtsgericht"
		self.assertEqual(choose_task(text, ("Schriftsatz",)).tier, CLOUD)
		self.assertLess(choose_task(text, ("Klage",)).tier, CLOUD)

	def test_cloud_tasks_match_whole_words(self):
		for text, word in (("Was ist mit der Akte?", "IT"), ("Die Berichtigung lesen", "Bericht")):
			self.assertLess(choose_task(text, (word,)).tier, CLOUD, text)
		for text, word in (("Unsere IT", "IT"), ("Zwei Schriftsätze", "Schriftsatz"), ("请起草合同", "起草")):
			self.assertEqual(choose_task(text, (word,)).tier, CLOUD, text)
