"""The dimensions of a message that call for tools are measured in four languages."""

import unittest

from huf.ai.routing.complexity import measure_complexity, read_concepts
from huf.ai.routing.languages import detect_language
from huf.ai.routing.router import decide_route

EXAMPLES = (
	("own", "our invoices", "nuestras facturas", "unsere Rechnungen", "naše faktury"),
	("fresh", "the rate today", "el tiempo hoy", "das Wetter heute", "počasí dnes"),
	("web", "on the internet", "por internet", "im Netz", "na internetu"),
	("files", "as a PDF", "en pdf", "als PDF", "do PDF"),
	("attached", "what I uploaded", "lo adjunto", "das hochgeladene", "co jsem nahrál"),
	("changes", "create it", "créalo y actualiza", "lösche ihn", "smaž to"),
	("sends", "forward it", "reenvía esto", "verschicke das", "pošli to"),
	("steps", "and then", "y luego", "und danach", "a potom"),
)
LANGUAGES = {
	"en": "How many of them are there?",
	"es": "¿Cuántos hay en el almacén?",
	"de": "Wie viele gibt es noch?",
	"cs": "Kolik jich ještě máme?",
}


class TestComplexity(unittest.TestCase):
	def test_each_complexity_dimension_is_detected_in_four_languages(self):
		for name, *messages in EXAMPLES:
			for message in messages:
				with self.subTest(name, message=message):
					self.assertGreater(getattr(measure_complexity(message), name), 0)

	def test_general_knowledge_questions_score_zero_in_every_dimension(self):
		for message in ("What is a ledger?", "Write a poem"):
			self.assertEqual(set(vars(measure_complexity(message)).values()), {0.0}, message)

	def test_accents_and_case_are_ignored(self):
		self.assertEqual(read_concepts("Příští TÝDEN"), read_concepts("pristi tyden"))

	def test_detected_dimensions_become_tool_needs_and_plan_steps(self):
		decision = decide_route("Delete the old leads of our Berlin office, then tell Anna by mail")
		self.assertEqual(decision.tool_needs, ("find_records", "change_records", "send_message"))
		self.assertIn("Takes several steps", decision.reasons)
		self.assertEqual(decision.plan_hint[-2:], ("Send the message", "Give the final answer"))

	def test_deeds_and_states_in_questions_suggest_no_change_and_no_message(self):
		for message in (
			"How many todos are open?",
			"List my open todos",
			"Which orders did we send last week?",
			"¿Cuántos pedidos se han enviado?",
			"What is due today?",
		):
			with self.subTest(message):
				self.assertEqual(decide_route(message).tool_needs, ("find_records",))

	def test_deed_at_the_beginning_of_a_sentence_is_suggested(self):
		for message in (
			"Can you open a ticket?",
			"Which tickets are open? Open one more",
			"What is open, then close it",
		):
			with self.subTest(message):
				self.assertIn("change_records", decide_route(message).tool_needs)


class TestLanguage(unittest.TestCase):
	def test_language_is_detected_or_falls_back_to_the_user_language(self):
		for language, message in LANGUAGES.items():
			self.assertEqual(detect_language(message), language)
		self.assertEqual(detect_language("12 + 7", "de"), "de")
		self.assertEqual(detect_language("IBAN", "cs"), "cs")
