"""A conversation keeps its route in the middle of a task."""

import unittest

from huf.ai.routing.continuity import Previous, continues_task
from huf.ai.routing.languages import detect_language
from huf.ai.routing.types import Route

FOLLOW_UPS = (
	*("yes", "ok, do it", "go ahead", "and in May?", "only the open ones", "the second one", "same for Anna"),
	*("sí", "hazlo", "adelante", "y en mayo?", "el segundo"),
	*("ja, mach das", "genau", "und im Mai?", "nur die offenen"),
	*("ano, udělej to", "pokračuj", "a v květnu?", "jen ty otevřené"),
)
NEW_TOPICS = (
	*("thanks", "ok thanks", "What is a credit note?", "gracias", "danke dir", "díky"),
	*("I want a poem", "A short joke, please"),
	"and by the way, could you explain to me what a ledger is?",
)


class TestContinuity(unittest.TestCase):
	def test_a_short_follow_up_stays_with_the_agent(self):
		for message in FOLLOW_UPS:
			with self.subTest(message):
				self.assertTrue(continues_task(message, Previous(Route.AGENT), detect_language(message)))
		self.assertTrue(
			continues_task("a faktury?", Previous(Route.AGENT), detect_language("a faktury?", "cs"))
		)

	def test_thanks_and_new_questions_are_routed_again(self):
		for message in NEW_TOPICS:
			with self.subTest(message):
				self.assertFalse(continues_task(message, Previous(Route.AGENT), detect_language(message)))

	def test_every_message_continues_the_task_while_a_run_is_active(self):
		for message in (*FOLLOW_UPS, *NEW_TOPICS):
			self.assertTrue(continues_task(message, Previous(Route.AGENT, is_running=True)))

	def test_follow_up_without_a_previous_agent_route_is_routed_again(self):
		for previous in (None, Previous(Route.CHAT)):
			self.assertFalse(continues_task("yes", previous))
