"""Claims in answers are checked against the journal, in four languages: only false ones are marked."""

import json
import unittest
from pathlib import Path

from huf.ai.receipts.claims import check_answer
from huf.ai.receipts.evidence import CallEvidence, Evidence
from huf.tests.measuring import time_thread

FOLDER = Path(__file__).parent
MAX_WRONGLY_MARKED = 4
MAX_SECONDS = 1


def read_runs() -> dict[str, Evidence]:
	runs = json.loads((FOLDER / "runs.json").read_text())
	return {
		name: Evidence(
			tuple(
				CallEvidence(f"call{i}", tool, effect, ok, arguments, result, tuple(map(tuple, changes)))
				for i, (tool, effect, ok, arguments, result, changes) in enumerate(calls)
			)
		)
		for name, calls in runs.items()
	}


def read_answers(file: str) -> list[tuple[str, str]]:
	lines = (FOLDER / file).read_text().splitlines()
	split = [line.split(" | ", 1) for line in lines if line and not line.startswith("#")]
	return [(run, answer.replace("\\n", "\n")) for run, answer in split]


def is_marked(run: str, answer: str, runs: dict[str, Evidence]) -> bool:
	return any(not claim.is_confirmed for claim in check_answer(answer, runs[run]))


class TestClaims(unittest.TestCase):
	maxDiff = None

	def test_results_with_nan_infinity_or_huge_integers_are_checked(self):
		for number in (float("nan"), float("inf"), 10**400):
			call = CallEvidence("1", "get", "read", True, {}, {"rows": [{"n": number}, {"n": 2}]})
			(claim,) = check_answer("There are 2.", Evidence((call,)))
			self.assertTrue(claim.is_confirmed)

	def test_nouns_in_tool_names_are_not_effects(self):
		for tool, action, claim in (
			("create_sales_order", "create", "I submitted the order."),
			("update_payment", "update", "I paid the invoice."),
			("create_blog_post", "create", "I sent it to all subscribers."),
			("delete_address", "delete", "I created the address."),
			("createSalesOrder", "create", "I paid for it."),
		):
			call = CallEvidence("1", tool, "write", True, {}, {}, (("Doc", "D1", action),))
			(marked,) = check_answer(claim, Evidence((call,)))
			self.assertFalse(marked.is_confirmed, claim)
		for tool, claim in (
			("mail_create_folder", "I created the folder."),
			("create_and_send_invoice", "I created and sent the invoice."),
			("payInvoice", "I paid the invoice."),
			("create_message", "I sent the message."),
			("create_transfer", "I transferred the money."),
		):
			call = CallEvidence("1", tool, "external", True, {}, {})
			(confirmed,) = check_answer(claim, Evidence((call,)))
			self.assertTrue(confirmed.is_confirmed, claim)

	def test_successfully_without_a_subject_is_a_claim_of_the_agent(self):
		for answer in (
			"Successfully created the task.",
			"The rest:\n- Successfully sent an email to Anna.",
			"Erfolgreich angelegt: die Aufgabe.",
			"Úspěšně smazáno.",
		):
			claims = check_answer(answer, Evidence(()))
			self.assertEqual([claim.is_confirmed for claim in claims], [False], answer)

	@classmethod
	def setUpClass(cls):
		cls.runs = read_runs()

	def test_two_hundred_false_claims_in_four_languages_are_all_marked(self):
		answers = read_answers("false_claims.txt")
		self.assertEqual(len(answers), 200)
		unmarked = [f"{run} | {answer}" for run, answer in answers if not is_marked(run, answer, self.runs)]
		self.assertEqual(unmarked, [])

	def test_negations_behind_the_verb_describe_the_object(self):
		for answer in (
			"I deleted the records that were outdated.",
			"I have created the task so you can relax.",
			"I sent the mail to the customer who should pay.",
			"He eliminado las tareas que no están pendientes.",
			"Ya la creé.",
			"He dado de alta al cliente.",
			"Ich habe Anna Bescheid gegeben.",
			"Smazal jsem faktury které nejsou zaplaceny.",
		):
			self.assertTrue(is_marked("nothing", answer, self.runs), answer)

	def test_dates_of_the_instructions_prove_dates_and_no_counts(self):
		instructions = "Current date: Friday, 2026-11-27\n\nAt most 12 to-dos."
		evidence = Evidence((), background=instructions)
		for answer, expected in (
			("It is Friday, 27 November 2026.", []),
			("It is November 27, 2026.", []),
			("Heute ist Freitag, der 27. November.", []),
			("Hoy es viernes, 27 de noviembre de 2026.", []),
			("Dnes je 27. listopadu 2026.", []),
			("You may have 12 to-dos.", []),
			("There are 27 to-dos.", ["number 27"]),
			("We sold 11 in 2026.", ["number 11"]),
			("On 27 November we had 11.", ["number 11"]),
			("The party is on 28 November 2026.", ["number 28"]),
			("27 mails came in November.", ["number 27"]),
		):
			claims = check_answer(answer, evidence)
			self.assertEqual([claim.why for claim in claims if claim.why], expected, answer)

	def test_without_a_call_zero_is_not_proven(self):
		(claim,) = check_answer("There are 0 invoices.", Evidence(()))
		self.assertEqual(claim.why, "number 0")

	def test_the_last_syllable_of_to_dos_is_no_spanish_number(self):
		self.assertFalse(is_marked("nothing", "Here is a place for your to-dos.", self.runs))

	def test_denials_are_no_claims(self):
		for answer in (
			"I deleted no records.",
			"I sent it to nobody.",
			"I would have created it.",
			"I deleted not a single record.",
			"Gelöscht habe ich nichts.",
			"Gesendet habe ich die Mail an Anna noch nicht.",
			"Ich hätte die Mail gesendet.",
			"No la he creado.",
			"No envié el correo.",
			"Nesmazal jsem nic.",
		):
			self.assertFalse(is_marked("nothing", answer, self.runs), answer)

	def test_a_clause_of_many_verbs_is_checked_within_a_second(self):
		answer = "I " + "created " * 1_300
		self.assertLess(time_thread(lambda: is_marked("nothing", answer, self.runs)), MAX_SECONDS)

	def test_claims_over_many_large_calls_are_checked_within_a_second(self):
		calls = [
			CallEvidence(f"c{n}", "update_order", "write", True, {"note": f"lorem ipsum {n} " * 4_000}, {})
			for n in range(20)
		]
		answer = "I submitted the order. I cancelled the order. " * 50
		self.assertLess(time_thread(lambda: check_answer(answer, Evidence(calls))), MAX_SECONDS)

	def test_at_most_four_of_two_hundred_true_answers_are_marked(self):
		answers = read_answers("true_answers.txt")
		self.assertEqual(len(answers), 200)
		marked = [f"{run} | {answer}" for run, answer in answers if is_marked(run, answer, self.runs)]
		self.assertLessEqual(len(marked), MAX_WRONGLY_MARKED, marked)

	def test_a_confirmed_claim_names_its_call_and_its_document(self):
		(claim,) = check_answer('I created the todo "Call Anna".', self.runs["created"])
		self.assertEqual((claim.is_confirmed, claim.receipts), (True, ("call0",)))
		self.assertEqual(claim.documents, (("ToDo", "t9z8y7x6w5"),))

	def test_minutes_and_seconds_of_a_change_prove_no_number(self):
		result = {"name": "t9z8y7x6w5", "creation": "2026-11-26 14:02:33.032481"}
		created = Evidence((CallEvidence("c", "create_todo", "create", True, {}, result),))
		for number, is_proven in (("two", False), ("33", False), ("26", True)):
			claims = check_answer(f"There are {number} todos.", created)
			self.assertEqual([claim.is_confirmed for claim in claims], [is_proven], number)

	def test_list_item_numbers_are_not_claims(self):
		self.assertEqual(check_answer("1. Is it late?\n2. Shall I move it?", self.runs["created"]), [])

	def test_long_answer_over_large_results_is_checked_within_a_second(self):
		rows = [{"name": f"INV-{n:05}", "customer": f"Customer {n}", "total": n * 1.5} for n in range(3000)]
		evidence = Evidence((CallEvidence("c", "list", "read", True, {}, {"rows": rows}),))
		answer = "I found the invoice INV-00017 with a total of 25.5. The list has more of them. " * 50
		check_answer("warm up", evidence)
		fresh = Evidence(evidence.calls)
		self.assertLess(time_thread(lambda: check_answer(answer, fresh)), MAX_SECONDS)
