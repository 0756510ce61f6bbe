"""Eval cases are read from YAML, and traces are checked against their expectations; needs no site."""

import unittest
from decimal import Decimal

from huf.ai.core.errors import UsageError
from huf.ai.evals.cases import CHECKS, RecordedTurn, dump_definition, parse_case, parse_cases
from huf.ai.evals.checks import (
	CHECKERS,
	CheckContext,
	Trace,
	TracedCall,
	estimate_pass_hat,
	find_faults,
	matches_expected,
)

GOOD = """
- case: one
  agent: Clerk
  prompt: How many?
  answers: [{call: count, with: {of: books}}, {say: Three.}]
  expect: [{says: three}]
"""


class TestReading(unittest.TestCase):
	def test_a_dumped_case_parses_to_the_same_answers_and_checks(self):
		(values,) = parse_cases(GOOD)
		case = parse_case("one", "Clerk", "How many?", dump_definition(values))
		first = RecordedTurn("", [("count", {"of": "books"})])
		self.assertEqual(case.answers, (first, RecordedTurn("Three.", [])))
		self.assertEqual(case.expect, ({"says": "three"},))

	def test_invalid_cases_are_reported_with_their_line(self):
		for lines, message in {
			"  color: red": "Line 7: 'color' is not known in a case",
			"- {agent: Clerk, prompt: x, expect: [{says: y}]}": "Line 7: a case needs case",
			"- {case: two, agent: Clerk, prompt: x}": "Line 7: the case two expects nothing",
			"- {case: two, agent: Clerk, expect: [{says: y}]}": "Line 7: the case two needs a prompt or a mail",
			"- {case: one, agent: Clerk, prompt: x, expect: [{says: y}]}": "Line 7: there are two cases",
			"- case: two\n  agent: C\n  prompt: x\n  expect:\n  - {shouts: y}": "Line 11: expect one of these",
			"- case: two\n  agent: C\n  prompt: x\n  expect:\n  - {matches: '['}": "not a regular expression",
			"- case: two\n  agent: C\n  prompt: x\n  expect: [{says: ' '}]": "Line 10: the check says is empty",
			"- case: two\n  agent: C\n  prompt: x\n  expect: [{says: 19}]": "text. Put the value into quotes",
			"- case: two\n  agent: C\n  prompt: x\n  expect:\n  - {calls: x, wiht: {}}": "Line 11: 'wiht' is not known",
		}.items():
			with self.subTest(lines), self.assertRaisesRegex(UsageError, message):
				parse_cases(f"{GOOD}{lines}\n")

	def test_times_of_day_and_dates_stay_text(self):
		text = "expect: [{calls: book, with: {at: 10:30, until: 9:05:00, seats: 3, price: 1.5, day: 2026-11-25}}]"
		values = parse_case("one", "Clerk", "?", text).expect[0]["with"]
		self.assertEqual((values["at"], values["until"]), ("10:30", "9:05:00"))
		self.assertEqual((values["seats"], values["price"], values["day"]), (3, 1.5, "2026-11-25"))

	def test_yaml_bombs_deep_nesting_and_invalid_values_are_refused(self):
		levels = "\n".join(f"- &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12))
		for history, message in (
			(f"\n- &a0 [x]\n{levels}", "more than 200,000 values"),
			("[" * 5000 + "]" * 5000, "nested too deeply"),
			("[0b_]", "a value cannot be read"),
		):
			with self.subTest(message), self.assertRaisesRegex(UsageError, f"Line 1: .*{message}"):
				parse_case("one", "Clerk", "?", f"expect: [{{says: x}}]\nhistory: {history}\n")


class TestChecks(unittest.TestCase):
	trace = Trace(
		"There are 3 Books.",
		(
			TracedCall("count", {"of": "Books", "limit": 5}, True, "3"),
			TracedCall("burn", {"all": True}, False, "no"),
		),
		"Success",
	)

	def faults(self, *expect: dict, rows=(), judged=None, answers="") -> list[str]:
		case = parse_case("one", "Clerk", "?", dump_definition({"expect": list(expect), "answers": answers}))
		return find_faults(case, self.trace, CheckContext(lambda check: list(rows), lambda question: judged))

	def test_each_check_passes_a_matching_trace_and_fails_another(self):
		row = {"title": "A", "pages": 100.0}
		for good, bad in (
			({"says": "3  books"}, {"says": "4"}),
			({"says_not": "4"}, {"says_not": "books"}),
			({"matches": r"\d+ books"}, {"matches": r"^\d"}),
			({"calls": "count", "with": {"of": "books"}}, {"calls": "count", "with": {"of": "pens"}}),
			({"calls": "count", "times": 1}, {"calls": "count", "times": 2}),
			({"calls": "sell", "times": 0}, {"calls": "count", "times": 0}),
			({"calls_not": "sell"}, {"calls_not": "count"}),
			({"fails": "burn", "with": {"all": True}}, {"fails": "count"}),
			({"fails": "burn", "error": "No"}, {"fails": "burn", "error": "is missing"}),
			({"record": "Book", "values": {"pages": 100}}, {"record": "Book", "values": {"pages": 99}}),
			({"record": "Book", "count": 1}, {"record": "Book", "count": 0}),
			({"ends": "Success"}, {"ends": "Failed"}),
		):
			with self.subTest(good):
				self.assertEqual(self.faults(good, rows=[row]), [])
				self.assertEqual(len(self.faults(bad, rows=[row])), 1, bad)

	def test_a_number_equals_its_text(self):
		for value in ("3.0", "3", 3, Decimal("3.00")):
			self.assertTrue(matches_expected(value, 3))
			self.assertFalse(matches_expected(value, 4))
		self.assertFalse(matches_expected(None, 0))
		self.assertFalse(matches_expected("three", 3))

	def test_every_known_check_has_a_checker(self):
		self.assertEqual(set(CHECKS), set(CHECKERS))

	def test_a_negative_verdict_of_the_judge_is_a_fault(self):
		self.assertEqual(self.faults({"judge": "Is it so?"}, judged="No."), ["No."])
		self.assertEqual(self.faults({"judge": "Is it so?"}), [])

	def test_a_fault_of_a_call_check_lists_the_actual_calls(self):
		(fault,) = self.faults({"calls": "count", "with": {"of": "pens"}})
		self.assertIn(
			"count was not called with {'of': 'pens'}; instead: count({'of': 'Books', 'limit': 5})", fault
		)

	def test_the_differs_check_fails_if_calls_and_answer_repeat_the_bad_run(self):
		calls = [
			{
				"calls": [
					{"call": "count", "with": {"of": "Books", "limit": 5}},
					{"call": "burn", "with": {"all": True}},
				]
			}
		]
		bad = [*calls, {"say": "There are 3 books."}]
		self.assertEqual(self.faults({"differs": True}, answers=bad), ["it did the same again"])
		self.assertEqual(self.faults({"differs": True}, answers=[*calls, {"say": "Four."}]), [])

	def test_pass_hat_estimates_the_chance_that_k_attempts_all_pass(self):
		self.assertEqual([estimate_pass_hat(3, 4, k) for k in (1, 2, 3, 4)], [0.75, 0.5, 0.25, 0.0])
		self.assertEqual(estimate_pass_hat(2, 2, 2), 1.0)
