"""The offline provider: which call it makes for a request, and what it answers without a call."""

import random
import re
import sys
import unittest
from collections.abc import Iterator
from contextlib import contextmanager

from jsonschema import validate

from huf.ai.providers.offline import plan
from huf.ai.providers.offline.language import CODES, Language, get_language
from huf.ai.receipts.claims import check_answer
from huf.ai.receipts.evidence import Evidence
from huf.tests.ai.providers.offline_requests import NOT_INSTRUCTIONS, REQUESTS, USERS
from huf.tests.ai.providers.offline_tools import TODAY, TOOLS, Talk, calls_of, respond


@contextmanager
def recording_calls() -> Iterator[list[str]]:
	"""Record the function calls of this thread, a measure of work that does not depend on the machine."""
	calls: list[str] = []
	before = sys.getprofile()
	sys.setprofile(lambda frame, event, arg: calls.append(event))
	try:
		yield calls
	finally:
		sys.setprofile(before)


class Requests(unittest.TestCase):
	def test_a_plain_request_becomes_one_call_in_every_language(self):
		for language, requests in REQUESTS.items():
			for request, expected in requests.items():
				with self.subTest(request, language=language):
					self.assertEqual(calls_of(respond(request)), [expected])

	def test_vague_requests_questions_and_prohibitions_make_no_call(self):
		for request in NOT_INSTRUCTIONS:
			with self.subTest(request):
				reply = respond(request)
				self.assertEqual(reply.calls, ())
				self.assertTrue(reply.text)

	def test_the_same_input_gives_the_same_output(self):
		self.assertEqual(respond("Create a todo to call Anna"), respond("Create a todo to call Anna"))

	def test_content_in_parts_is_read_as_text(self):
		parts = [{"type": "text", "text": "How many users are there?"}]
		self.assertEqual(calls_of(plan([{"role": "user", "content": parts}], TOOLS, TODAY)), [USERS])

	def test_calls_of_a_conversation_have_different_ids(self):
		talk = Talk()
		talk.say("How many users are there?")
		talk.say("List todos")
		ids = [call["id"] for message in talk.messages for call in message.get("tool_calls") or ()]
		self.assertEqual(len(set(ids)), 2)


class Introduction(unittest.TestCase):
	def test_the_introduction_lists_tools_and_how_to_connect_a_model(self):
		texts = {
			"What can you do?": ("No model is connected", "To connect a model, open **Models**"),
			"Are you an AI?": ("No model is connected", "To connect a model, open **Models**"),
			"Was kannst du?": (
				"Es ist kein Modell verbunden",
				"Um ein Modell zu verbinden, öffnen Sie in Huf **Modelle**",
			),
			"¿Qué puedes hacer?": (
				"no se ha conectado ningún modelo",
				"Para conectar un modelo, abra **Modelos**",
			),
			"Co umíš?": ("Není připojen žádný model", "Chcete-li připojit model, otevřete v Huf **Modely**"),
		}
		for request, expected in texts.items():
			for part in (*expected, "**ToDo**", "**get weather**: Current weather in a city"):
				with self.subTest(request):
					self.assertIn(part, respond(request).text)

	def test_small_talk_is_answered(self):
		self.assertEqual(respond("Thanks!").text, "You are welcome.")
		self.assertEqual(respond("Danke!").text, "Gern geschehen.")
		self.assertTrue(respond("hello").text.startswith("Hello! No model is connected"))
		self.assertTrue(respond("Ahoj").text.startswith("Dobrý den! Není připojen žádný model"))

	def test_an_unknown_request_is_admitted_with_a_list_of_abilities(self):
		content = respond("What is love?").text
		self.assertTrue(
			content.startswith("I did not understand that, or no tool of this agent does it. No model")
		)
		self.assertIn("- **ToDo**: count and list, create, change, delete by exact name, show one", content)
		self.assertNotIn("refund", content)

	def test_the_answer_without_tools_states_that_they_are_missing(self):
		self.assertIn("Without tools", respond("How many users are there?", []).text)

	def test_fixed_sentences_claim_no_action(self):
		about_results = ("count", "list", "create", "update", "delete")
		for language in map(get_language, CODES):
			for name, text in language.sentences.items():
				if not name.startswith(about_results):
					self.assertEqual(check_answer(text, Evidence(())), [], (language.code, name))

	def test_a_good_answer_says_nothing_about_models(self):
		self.assertNotIn("odel", Talk().say("How many users are there?"))


class Languages(unittest.TestCase):
	def test_every_language_has_the_same_lists_and_sentences(self):
		english, *others = map(get_language, CODES)
		for language in others:
			with self.subTest(language.code):
				self.assertEqual(list_meanings(language), list_meanings(english))
				self.assertEqual(set(language.sentences), set(english.sentences))
				self.assertEqual(list_placeholders(language), list_placeholders(english))


def list_meanings(language: Language) -> dict[str, set[str]]:
	return {name: set(words.values()) for name, words in language.lists.items() if name != "nouns"}


def list_placeholders(language: Language) -> dict[str, set[str]]:
	"""The names of the placeholders in each sentence."""
	return {name: set(re.findall(r"{(\w+)}", text)) for name, text in language.sentences.items()}


class Robustness(unittest.TestCase):
	WORDS = """delete delete remove list create todo todo todos user note a1 abc "x y" to as and then not all the : , . ? 5 tomorrow
		closed high lösche Aufgabe nicht borra tarea smaž úkol úkoly with title called my please cancel mark add""".split()

	def test_random_requests_yield_valid_arguments_and_no_invented_names(self):
		rng = random.Random(7)
		schemas = {one.name: one.parameters for one in TOOLS}
		called = set()
		for _ in range(1500):
			request = " ".join(rng.choices(self.WORDS, k=rng.randint(0, 6)))
			for name, arguments in calls_of(respond(request)):
				validate(arguments, schemas[name])
				called.add(name)
				if name in ("delete_todo", "update_todo"):
					self.assertIn(arguments["name"], request)
		self.assertLessEqual({"list_todos", "create_todo", "delete_todo"}, called)

	def test_a_long_text_is_not_searched_for_orders(self):
		long_text = "Dear all, here is what happened at the fair. " * 2000
		self.assertEqual(respond(long_text + "Delete todo abc.").calls, ())

	def test_work_grows_linearly_with_the_length_of_a_request(self):
		def count_steps(words: int) -> int:
			request = "Create a todo: " + "milk, bread with butter and 'jam' " * words
			with recording_calls() as steps:
				[(_, arguments)] = calls_of(respond(request))
			self.assertIn("jam", arguments["description"])
			return len(steps)

		count_steps(10)  # fills the word caches
		self.assertLess(count_steps(500), 10 * 1.1 * count_steps(50))

	def test_unusual_numbers_and_quotes_are_handled_without_errors(self):
		for unusual in (
			"9" * 5000,
			"007",
			"2026-02-31",
			'"',
			"“",
			"''",
			"```",
			"a" + "." * 5000,
			"ß",
			"\x00",
			"{thing}",
		):
			for request in (
				f"List todos {unusual}",
				f"Create a todo, due {unusual}",
				f"Mark todo {unusual} as closed",
				unusual,
			):
				with self.subTest(request[:40]):
					reply = respond(request)
					self.assertTrue(reply.text or reply.calls)


if __name__ == "__main__":
	unittest.main()
