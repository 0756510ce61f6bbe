"""The offline planner: what it makes of requests, and of what it does not understand."""

import random
import subprocess
import sys
import unittest
from copy import deepcopy

from jsonschema import validate

from huf.ai.providers.offline import describe_abilities, plan
from huf.tests.ai.providers.offline_requests import (
	COUNT,
	IN_OTHER_LANGUAGES,
	LEFT_ALONE,
	OF_OTHER_KINDS,
	REQUESTS,
)
from huf.tests.ai.providers.offline_tools import OFFICE, RESULTS, TOOLS, Talk, ask, calls_of, text, tool


class Requests(unittest.TestCase):
	def check(self, table: dict, tools: list[dict]) -> None:
		for request, expected in table.items():
			with self.subTest(request):
				self.assertEqual(calls_of(ask(request, tools)), [expected])

	def test_plain_requests_become_the_right_call(self):
		self.check(REQUESTS, TOOLS)

	def test_requests_in_german_spanish_and_czech_become_the_same_calls(self):
		self.check(IN_OTHER_LANGUAGES, TOOLS)

	def test_tools_of_other_kinds_are_found_by_their_names(self):
		self.check(OF_OTHER_KINDS, OFFICE)

	def test_a_tools_name_and_schema_are_enough_without_the_extension_key(self):
		tools = deepcopy(TOOLS)
		for one in tools:
			one["function"].pop("x-huf", None)
		self.check(REQUESTS | IN_OTHER_LANGUAGES, tools)

	def test_a_tool_for_any_doctype_is_told_which(self):
		tools = [tool("get_list", {"doctype": text(), "filters": {"type": "object"}}, ["doctype"])]
		expected = ("get_list", {"doctype": "ToDo", "filters": {"status": "Open"}})
		self.assertEqual(calls_of(ask("List my open todos", tools)), [expected])

	def test_several_exact_names_make_several_calls(self):
		self.assertEqual(
			calls_of(ask("Delete todo a1 and b2")),
			[("delete_todo", {"name": "a1"}), ("delete_todo", {"name": "b2"})],
		)

	def test_nothing_is_called_on_a_guess_a_question_or_a_ban(self):
		for request in LEFT_ALONE:
			with self.subTest(request):
				message = ask(request)
				self.assertEqual(message["tool_calls"], [])
				self.assertTrue(message["content"])

	def test_a_function_that_changes_things_is_not_called_because_it_is_mentioned(self):
		mentioned = (
			"The customer wants us to refund order 17",
			"should I refund order 17?",
			"What is the refund order status?",
		)
		for request in mentioned:
			self.assertEqual(ask(request, OFFICE)["tool_calls"], [], request)

	def test_a_deletion_without_an_exact_name_to_give_is_refused(self):
		self.assertEqual(ask("delete old logs", OFFICE)["tool_calls"], [])

	def test_two_tools_that_fit_alike_are_asked_about(self):
		self.assertIn("**Sales Invoice** or **Purchase Invoice**", ask("list invoices", OFFICE)["content"])

	def test_the_same_input_gives_the_same_output(self):
		self.assertEqual(ask("Create a todo to call Anna"), ask("Create a todo to call Anna"))

	def test_calls_are_numbered_through_the_conversation(self):
		talk = Talk(RESULTS)
		talk.say("How many users are there?")
		talk.say("List todos")
		ids = [call["id"] for message in talk.messages for call in message.get("tool_calls") or ()]
		self.assertEqual(ids, ["call_1", "call_2"])

	def test_content_in_parts_is_read_as_text(self):
		parts = [{"type": "text", "text": "How many users are there?"}]
		message = plan([{"role": "user", "content": parts}], TOOLS)
		self.assertEqual(calls_of(message), [("list_users", COUNT)])


class Honesty(unittest.TestCase):
	def test_small_talk_is_answered(self):
		self.assertEqual(ask("Thanks!")["content"], "You are welcome.")
		self.assertEqual(ask("Danke!")["content"], "Gern geschehen.")
		self.assertTrue(ask("hello")["content"].startswith("Hello! No model is configured"))
		self.assertTrue(ask("Ahoj")["content"].startswith("Dobrý den! Není nastaven žádný model"))

	def test_asked_what_it_is_or_can_do_it_says_so(self):
		for request in (
			"what can you do?",
			"are you an AI?",
			"Who are you?",
			"Was kannst du?",
			"¿Qué puedes hacer?",
		):
			with self.subTest(request):
				content = ask(request)["content"]
				self.assertIn("**ToDo**", content)
				self.assertIn("AI Provider", content)

	def test_what_is_not_understood_is_admitted_and_the_way_to_a_model_shown(self):
		content = ask("What is love?")["content"]
		self.assertIn("did not understand", content)
		self.assertIn("No model is configured", content)
		self.assertIn("open **Models** in Huf and add an AI Provider", content)

	def test_that_no_model_is_configured_is_said_once(self):
		talk = Talk(RESULTS)
		talk.say("What is love?")
		self.assertNotIn("No model", talk.say("And what is hate?"))

	def test_asked_again_what_it_is_it_says_so_again(self):
		talk = Talk(RESULTS)
		self.assertEqual(talk.say("what can you do?"), talk.say("are you a model?"))

	def test_a_deed_no_tool_does_is_told_from_a_request_not_understood(self):
		content = ask("Delete user anna@example.com")["content"]
		self.assertTrue(
			content.startswith("None of my tools does that with User. What I can do with it: count and list")
		)
		self.assertIn("No model is configured", content)

	def test_a_wish_that_no_field_takes_is_owned_up_to(self):
		answer = Talk(RESULTS).say("Create a purple todo to call Anna")
		self.assertIn("could not take these words into account: purple.", answer)

	def test_a_good_answer_says_nothing_about_models(self):
		self.assertNotIn("odel", Talk(RESULTS).say("How many users are there?"))

	def test_abilities_are_told_in_plain_words(self):
		told = describe_abilities(TOOLS)
		self.assertIn("- **User**: count and list, show one", told)
		self.assertIn("- **Note**: create", told)
		self.assertIn("- **get weather**: Current weather in a city", told)

	def test_without_tools_it_says_that_it_can_do_nothing(self):
		self.assertIn("has no tools", describe_abilities([]))
		self.assertIn("has no tools", ask("How many users are there?", [])["content"])


class Robustness(unittest.TestCase):
	WORDS = """delete remove list create todo todos user note a1 abc "x y" to as and then not all the : , . ? 5 tomorrow
		closed high lösche Aufgabe nicht borra tarea smaž úkol úkoly with title called my please cancel mark add""".split()

	def test_whatever_is_said_arguments_fit_and_names_are_never_made_up(self):
		chance = random.Random(7)
		schemas = {one["function"]["name"]: one["function"]["parameters"] for one in TOOLS}
		for _ in range(400):
			request = " ".join(chance.choices(self.WORDS, k=chance.randint(0, 9)))
			for name, arguments in calls_of(ask(request)):
				validate(arguments, schemas[name])
				if name == "delete_todo":
					self.assertIn(arguments["name"], request)

	def test_a_long_text_is_not_searched_for_orders(self):
		request = "Dear all, here is what happened at the fair. " * 2000 + "Delete todo abc."
		self.assertEqual(ask(request)["tool_calls"], [])

	def test_odd_results_do_not_break_it(self):
		for odd in (
			None,
			[],
			{},
			"",
			5,
			{"rows": None},
			{"rows": [{}], "count": None},
			[1, [2]],
			{"a": {"b": 1}},
		):
			for request in ("List todos", "How many todos?", "Mark the todo to call Anna as done"):
				with self.subTest(request, odd=odd):
					self.assertTrue(Talk({**RESULTS, "list_todos": odd}).say(request))

	def test_it_needs_neither_frappe_nor_litellm(self):
		code = "import sys, huf.ai.providers.offline_planner.conversation\nassert not {'frappe', 'litellm'} & set(sys.modules)"
		subprocess.run([sys.executable, "-c", code], check=True)


if __name__ == "__main__":
	unittest.main()
