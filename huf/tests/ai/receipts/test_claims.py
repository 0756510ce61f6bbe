"""Claims in answers are checked against the journal, in four languages: only false ones are marked."""

import json
import unittest
from functools import partial
from pathlib import Path

from huf.ai.receipts.claims import check_answer
from huf.ai.receipts.evidence import CallEvidence, Evidence
from huf.ai.receipts.language import split_sentences
from huf.tests.measuring import assert_bounded

FOLDER = Path(__file__).parent
MAX_WRONGLY_MARKED = 4


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
			("The party is on 28 November 2026.", ["number 28 November 2026"]),
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

	def test_general_sentences_guesses_instructions_and_idioms_are_no_claims(self):
		for answer in (
			"An order is created by the buyer.",
			"The user is then created and an invitation is sent.",
			"Please check whether the mail was sent.",
			"Set the status to Closed.",
			"Maybe it was deleted or renamed. Either it was deleted or you have no permission to see it.",
			"It depends on how the order was created.",
			"I'm sorry, I made a mistake.",
			"Anna logged in, Petr has never logged in.",
			"I was created to help you.",
			"I ignored cancelled orders.",
			"Vielleicht wurde er gelöscht. Bitte prüfen Sie, ob die Mail gesendet wurde.",
			"Quizás fue eliminado. Compruebe si el correo fue enviado. He ignorado los pedidos cancelados.",
			"Možná byl záznam smazán. Zkontrolujte, zda byl e-mail odeslán.",
			"Here's a draft:\n\nDear Anna,\n\nI have paid it and the receipt was sent.\n\nBest regards",
			"Entwurf:\n\nLiebe Anna,\n\nich habe die Rechnung bezahlt.\n\nViele Grüße",
			"Borrador:\n\nEstimada Anna:\n\nHe pagado la factura.\n\nUn saludo",
			"Koncept:\n\nMilá Anno,\n\nfakturu jsem zaplatil.\n\nS pozdravem",
		):
			self.assertFalse(is_marked("nothing", answer, self.runs), answer)
		letter = "Dear Anna,\n\nI have paid the invoice.\n\nBest regards"
		for answer in (letter, f"I have sent this:\n\n{letter}", f"A draft:\n\n{letter}\n\nI sent it."):
			self.assertTrue(is_marked("nothing", answer, self.runs), answer)

	def test_what_a_mail_says_or_is_quoted_from_it_is_no_claim_of_the_author(self):
		body = "We shipped the pallets and cancelled the rest. I have sent the invoice to Petr."
		mail = Evidence((CallEvidence("c", "get_mail", "read", True, {}, {"sender": "Anna", "body": body}),))
		for answer, is_confirmed in (
			("Anna writes that they shipped the pallets and cancelled the rest.", True),
			('She says: "I have sent the invoice to Petr."', True),
			("Laut Anna wurde die Rechnung an Petr geschickt.", True),
			("Anna canceló el resto y envió la factura a Petr.", True),
			("I wrote to Anna and cancelled the rest.", False),
			('I sent this: "I have deleted the invoice of Petr."', False),
		):
			claims = check_answer(answer, mail)
			self.assertEqual(all(claim.is_confirmed for claim in claims), is_confirmed, answer)

	def test_states_in_tables_and_counts_are_no_claims_of_the_author(self):
		rows = [{"status": "Paid", "count": 43, "total": 5.5}, {"status": "Open", "count": 2, "total": 7.25}]
		read = Evidence((CallEvidence("c", "list_invoices", "read", True, {}, {"rows": rows}),))
		for answer in (
			"| Status | Total |\n|---|---:|\n| Paid | 5.50 |\n| Open | 7.25 |",
			"| Created | Status |\n|---|---|\n| 43 | **Paid** |",
			"| Bezahlt | 43 |",
			"Your invoices:\n- **Paid**: 43 invoices\n- **Open**: 2 invoices",
			"Pagado: 43",
		):
			self.assertTrue(all(claim.is_confirmed for claim in check_answer(answer, read)), answer)
		for answer in ("| I paid it | 43 |", "Paid: the invoice of Anna.", "| Created | 43 |", "- Paid: 41"):
			self.assertFalse(all(claim.is_confirmed for claim in check_answer(answer, read)), answer)

	def test_a_rejected_or_failed_call_proves_what_the_answer_says_about_it(self):
		arguments = {"to": "anna@example.com"}
		error = {"error": "Administrator rejected it: not now. At most 5 a day."}
		rejected = Evidence((CallEvidence("c", "send_mail", "external", False, arguments, error),))
		for answer, is_confirmed in (
			('The call was rejected ("not now"), so nothing was sent.', True),
			("Die Aktion wurde abgelehnt. Sie haben sie abgelehnt.", True),
			("La acción fue rechazada. Akce byla zamítnuta.", True),
			("The mail to anna@example.com could not be sent: only 5 a day.", True),
			("I rejected the mail.", False),
			("The mail was approved and sent.", False),
		):
			claims = check_answer(answer, rejected)
			self.assertEqual(all(claim.is_confirmed for claim in claims), is_confirmed, answer)

	def test_a_reply_that_became_a_draft_was_not_sent(self):
		values, drafted = {"to": "anna@example.com"}, {"status": "created", "draft": "m1"}
		for result, answer, is_confirmed in (
			(drafted, "I sent the reply to Anna.", False),
			(drafted, "Ich habe Anna geantwortet.", False),
			(drafted, "Ich habe Anna einen Entwurf geschrieben.", True),
			(drafted, "Napsal jsem koncept odpovědi.", True),
			({"status": "queued", "mail": "m1"}, "I sent the reply to Anna.", True),
		):
			call = CallEvidence("c", "send_reply", "write", True, values, result)
			(claim,) = check_answer(answer, Evidence((call,), "Answer Anna"))
			self.assertEqual(claim.is_confirmed, is_confirmed, answer)

	def test_of_several_writes_those_that_failed_prove_nothing(self):
		def update(number: int, is_success: bool, to: str) -> list[CallEvidence]:
			name = f"CRM-OPP-2026-0000{number}"
			changes = (("Opportunity", name, "update"),) if is_success else ()
			result = {"name": name} if is_success else {"error": "Modified after you have opened it"}
			mail = CallEvidence(f"m{number}", "send_mail", "external", is_success, {"to": to}, {})
			arguments = {"name": name, "values": {"probability": 75}}
			return [
				CallEvidence(f"u{number}", "update", "write", is_success, arguments, result, changes),
				mail,
			]

		found = {"rows": [{"name": f"CRM-OPP-2026-0000{number}"} for number in (3, 5, 6, 8)]}
		contacts = {"rows": [{"name": "Kees Bakker"}, {"name": "Fleur Visser"}]}
		reads = [
			CallEvidence(f"r{n}", "list", "read", True, {}, rows) for n, rows in enumerate((found, contacts))
		]
		writes = [*update(3, True, "kees@example.com"), *update(5, False, "fleur@example.com")]
		run = Evidence((*reads, *writes))
		for answer, is_confirmed in (
			("I updated CRM-OPP-2026-00005.", False),
			("He actualizado CRM-OPP-2026-00005 al 75 %.", False),
			("CRM-OPP-2026-00005 jsem aktualizoval.", False),
			("I sent it to Kees Bakker and Fleur Visser.", False),
			("The mail was sent to fleur@example.com.", False),
			("All three were updated.", False),
			("I updated CRM-OPP-2026-00003 to 75%, but CRM-OPP-2026-00005 could not be updated.", True),
			("I sent it to Kees Bakker; Fleur did not get it.", True),
		):
			claims = check_answer(answer, run)
			self.assertEqual(all(claim.is_confirmed for claim in claims), is_confirmed, answer)

	def test_that_something_was_done_as_agreed_is_a_claim(self):
		for answer in (
			"According to your instructions, the reminders were sent.",
			"Laut Ihrer Anweisung wurden die Mahnungen versendet.",
			"Según lo acordado, los recordatorios fueron enviados.",
			"The reminders were sent by Friday.",
			"Every customer is informed.",
		):
			self.assertTrue(is_marked("stock", answer, self.runs), answer)

	def test_abbreviated_thousands_and_millions_end_no_sentence(self):
		for answer in ("Es sind 3,7 Tsd. Euro.", "Es sind 3,7 Mio. Euro.", "Je to 3,7 tis. Kč."):
			self.assertEqual(len(split_sentences(answer)), 1, answer)

	def test_a_second_verb_that_could_be_an_imperative_continues_the_claim(self):
		for answer in (
			"I've created the todo and let Anna know by email.",
			"I created the todo and put it on the shared calendar, and let the customer know.",
		):
			claims = check_answer(answer, self.runs["created"])
			self.assertEqual([claim.why for claim in claims], ["no_call"], answer)
		for answer in ("Let me know.", "I created the todo, let me know if it fits."):
			self.assertFalse(is_marked("created", answer, self.runs), answer)

	def test_further_verbs_of_effect_need_a_call(self):
		for answer in (
			"I took care of it.",
			"Consider it done!",
			"I issued the invoice.",
			"I've granted Anna access.",
			"I restored the deleted record.",
			"Ich habe mich darum gekümmert.",
			"He emitido la factura.",
			"Fakturu jsem vystavil.",
		):
			self.assertTrue(is_marked("nothing", answer, self.runs), answer)

	def test_czech_participles_of_the_long_form_are_claims_unless_they_describe_a_noun(self):
		for answer in (
			"Úkol máte založený.",
			"Úkol je založený pod číslem 7.",
			"Staré leady máte smazané.",
			"Upomínka je odeslaná, objednávka stornovaná.",
			"Termín mám přesunutý na čtvrtek.",
			"Dovolenou máte podanou.",
			"Zákazníci jsou informovaní.",
		):
			self.assertTrue(is_marked("nothing", answer, self.runs), answer)
		for answer in (
			"Úkol založený není.",
			"Máte nějaké smazané záznamy?",
			"Které odeslané faktury jsou důležité, nevím.",
			"Zrušené objednávky se v přehledu nezobrazují.",
			"Je to už založený úkol, nebo nový.",
		):
			self.assertFalse(is_marked("nothing", answer, self.runs), answer)
		for answer in ("Úkol máte založený.", "Anna je objednaná na čtvrtek."):
			self.assertFalse(is_marked("created", answer, self.runs), answer)

	def test_the_address_of_a_link_is_no_name(self):
		answer = "Todo created: [t9z8y7x6w5](/app/todo/t9z8y7x6w5)"
		self.assertFalse(is_marked("created", answer, self.runs))

	def test_a_clause_of_many_verbs_is_checked_in_linear_time(self):
		check = partial(is_marked, "nothing", runs=self.runs)
		assert_bounded(self, check, lambda verbs: "I " + "created " * verbs, 1_300)

	def test_answers_of_signs_and_numbers_are_checked_in_linear_time(self):
		rows = [{"name": f"INV-{n:05}", "total": n * 1.5, "date": "2026-11-20"} for n in range(500)]
		evidence = Evidence((CallEvidence("c", "list", "read", True, {}, {"rows": rows}),))
		for write in (
			lambda chars: ":" * (chars // 2) + "\n" * (chars // 2),
			lambda chars: ":\nDear Anna,\n" * (chars // 14),
			lambda chars: "12," * (chars // 3),
			lambda chars: " ".join(str(n * 7919 % 100_000) for n in range(chars // 7)),
		):
			with self.subTest(write(20)):
				assert_bounded(self, partial(check_answer, evidence=evidence), write, 10_000)

	def test_an_answer_and_texts_without_spaces_are_checked_in_linear_time(self):
		def check(text):
			call = CallEvidence("c", "list", "read", True, {}, {"rows": [text]})
			check_answer(f"I found 5 {text}"[: len(text) // 2], Evidence((call,), "", text))

		for sign in ("a", "7", "#", "/", "2026-", "1."):
			with self.subTest(sign):
				assert_bounded(self, check, lambda chars, sign=sign: (sign * chars)[:chars], 20_000)

	def test_numbers_of_a_very_wide_table_are_checked_in_linear_time(self):
		def check(columns):
			rows = [{f"c{at}": at + row if at % 2 else "x" for at in columns} for row in range(10)]
			evidence = Evidence((CallEvidence("c", "list", "read", True, {}, {"rows": rows}),))
			check_answer("I found 777 orders, which is 13.77 %.", evidence)

		assert_bounded(self, check, range, 5_000)

	def test_claims_over_many_large_calls_are_checked_in_linear_time(self):
		def check(numbers):
			notes = [f"lorem ipsum {n} " * 4_000 for n in numbers]
			calls = [CallEvidence("c", "update_order", "write", True, {"note": note}, {}) for note in notes]
			check_answer("I submitted the order. I cancelled the order. " * 50, Evidence(calls))

		assert_bounded(self, check, range, 20)

	def test_at_most_four_of_two_hundred_true_answers_are_marked(self):
		answers = read_answers("true_answers.txt")
		self.assertEqual(len(answers), 200)
		marked = [f"{run} | {answer}" for run, answer in answers if is_marked(run, answer, self.runs)]
		self.assertLessEqual(len(marked), MAX_WRONGLY_MARKED, marked)

	def test_a_confirmed_claim_names_its_call_and_its_document(self):
		(claim,) = check_answer('I created the todo "Call Anna".', self.runs["created"])
		self.assertEqual((claim.is_confirmed, claim.receipts), (True, ("call0",)))
		self.assertEqual(claim.documents, (("ToDo", "t9z8y7x6w5"),))

	def test_date_and_time_of_a_change_prove_no_number(self):
		result = {"name": "t9z8y7x6w5", "creation": "2026-11-26 14:02:33.032481"}
		created = Evidence((CallEvidence("c", "create_todo", "create", True, {}, result),))
		for number, is_proven in (("two", False), ("33", False), ("26", False)):
			claims = check_answer(f"There are {number} todos.", created)
			self.assertEqual([claim.is_confirmed for claim in claims], [is_proven], number)

	def test_list_item_numbers_are_not_claims(self):
		for answer in ("1. Is it late?\n2. Shall I move it?", "To buy:\n1. milk\n  2. bread\n- 3. tea"):
			self.assertEqual(check_answer(answer, self.runs["created"]), [], answer)

	def test_answer_full_of_salutations_is_checked_without_reading_its_text_for_each_of_them(self):
		# With a search for each comma behind each salutation this takes many seconds.
		check = partial(check_answer, evidence=Evidence(()))
		assert_bounded(self, check, lambda size: ":\nHi,,,," * (size * 5 // 8) + "\n" * (size * 4), 550)

	def test_long_answer_over_large_results_is_checked_in_linear_time(self):
		answer = "I found the invoice INV-00017 with a total of 25.5. The list has more of them. " * 50

		def check(numbers):
			rows = [{"name": f"INV-{n:05}", "customer": f"Customer {n}", "total": n * 1.5} for n in numbers]
			check_answer(answer, Evidence((CallEvidence("c", "list", "read", True, {}, {"rows": rows}),)))

		assert_bounded(self, check, range, 3_000)
