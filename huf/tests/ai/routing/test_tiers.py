"""Mode and tier of a task, in the words people use."""

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
SEVERAL = (
	"Find all overdue invoices of last month, then write a reminder for each customer and make a to-do for the ones over 1000 EUR.",
	"Suche alle offenen Bestellungen, danach erstelle für jede eine Aufgabe und schicke mir eine Übersicht.",
)


class TestTasks(unittest.TestCase):
	def test_a_simple_question_is_answered_at_once_by_a_small_model(self):
		for text in SIMPLE:
			with self.subTest(text):
				self.assertEqual(choose_task(text), Task(Mode.INLINE, SMALL))

	def test_several_steps_are_for_the_background_and_a_large_model(self):
		for text in SEVERAL:
			with self.subTest(text):
				self.assertEqual(choose_task(text), Task(Mode.BACKGROUND, LARGE))

	def test_only_tasks_that_are_named_may_go_to_the_cloud(self):
		text = "Entwirf einen Schriftsatz an das Amtsgericht"
		self.assertEqual(choose_task(text, ("Schriftsatz",)).tier, CLOUD)
		self.assertLess(choose_task(text, ("Klage",)).tier, CLOUD)
