"""User-written expressions are evaluated, and refused if they need too much time or memory."""

from datetime import datetime

from huf.ai.core.errors import UsageError
from huf.ai.core.expressions import TooMuchWork, evaluate_expression
from huf.ai.triggers.conditions import Snapshot, evaluate_condition, validate_condition
from huf.tests.base import SiteTestCase
from huf.tests.measuring import measure

TEXT = "Urgent: the printer is on fire. " * 100_000
"""3.2 million characters."""
DOC = Snapshot(
	{"text": TEXT, "title": "Fire", "amount": 12.5, "items": [{"qty": 2}, {"qty": 3}], "tags": ["a"]}
)
NOW = datetime(2026, 3, 2, 9, 30)

ORDINARY = (
	("doc.title.lower() == 'fire' and doc.amount > 10", True),
	("'urgent' in doc.text.lower()", True),
	("[row.qty * 2 for row in doc.items] == [4, 6]", True),
	("doc.amount ** 2 + 2 ** 10 % 7", 158.25),
	("f'{doc.title}: {doc.amount:>8.2f}'", "Fire:    12.50"),
	("'%s costs %05.1f in %%' % (doc.title, doc.amount)", "Fire costs 012.5 in %"),
	("'-' * 20 + doc.title.zfill(10)", "-" * 20 + "000000Fire"),
	("', '.join(str_.upper() for str_ in ['a', 'b'])", "A, B"),
	("{key: value for key, value in [('a', 1)]}.get('a')", 1),
	("now.strftime('%H:%M') == '09:30' and now.weekday() < 5", True),
	("round(doc.amount / 3, 2)", 4.17),
	("doc.get('missing', 'x') in ('x', 'y')", True),
	("(1 << 8 | 1) - ~2", 260),
	("doc.missing or not doc.tags or doc.tags[0]", "a"),
)

NESTED = "[[a, a, a, a] for a in [[a, a, a, a] for a in [[a, a, a, a] for a in [0]]]]"
BOMBS = (
	"9**9**9 > 1",
	"(-9)**-(9**9)",
	"2**doc.amount.is_integer() + 10**(10**10)",
	"1 << 10**10",
	"7 * (7 ** 1000) * (7 ** 1000)",
	"'a' * 10**9",
	"10**9 * [0]",
	"(0,) * 10**9 == ()",
	"b'a' * 10**10",
	"'%1000000000d' % 1",
	"'%(a)-1000000000d' % {'a': 1}",
	"'%.1000000000f' % 1",
	"'%*d' % (10**9, 1)",
	"b'%1000000000d' % 1",
	"f'{1:1000000000}'",
	"f'{1:{doc.amount}}'",
	"f'{1:>{10**9}}'",
	"'a'.zfill(10**9)",
	"'a'.center(10**9)",
	"'a'.expandtabs(10**9)",
	"'\\t'.expandtabs(10**9)",
	"doc.text.replace('', doc.text)",
	"doc.text.replace('e', 'e' * 1000)",
	"doc.text.translate({101: doc.text})",
	"doc.text.join(doc.text)",
	"doc.text.join([doc.text for a in doc.text])",
	"[0 for a in doc.text for b in doc.text for c in doc.text]",
	"[b for a in doc.text.split() for b in doc.text.split() if b == 'x']",
	"[doc.text.upper() for a in doc.text]",
	"['a' * 1000000 for a in doc.text]",
	"f'{doc.text}' + doc.text + doc.text + doc.text",
	NESTED.replace("[0]", NESTED.replace("[0]", NESTED.replace("[0]", NESTED))),
	"[[*a, *a] for a in [[0]]]",
	"(lambda f: f(f))(lambda f: f(f) or f(f))",
	"[a.append(a) for a in [[]] for b in doc.text]",
	"[a.extend(a) for a in [[0]] for b in doc.text]",
	"[10**9 * 'b' for limited_product in ['a'.ljust]]",
	"[10**9 * 'b' for (limited_product, b) in [('a'.ljust, 1)]]",
	"[0 for limited_loop in [{1: 'ab' * 1000}.get] for a in 1 for b in 1 for c in 1]",
	"['a'.zfill(10**9) for limited_call in [doc.get]]",
	"now.strftime('%999d' * 200000)",
	"now.date().strftime('%999d' * 200000)",
	"now.strptime('1' * 10**6, '%d' * 10**6)",
	"round(1, -10**9)",
	"round(1, ndigits=-10**9)",
	"(1).to_bytes(10**9, 'big')",
	"int('1' * 100000, 2)",
	"'x' in '-' * 10**9",
	"-" * 4000 + "1",
	"(" * 400 + "1" + ")" * 400,
	"1 + " * 3000 + "1",
	"[" * 90 + "]" * 90 + "*10**8",
)


class TestExpressions(SiteTestCase):
	def test_ordinary_expressions_are_calculated(self):
		for expression, value in ORDINARY:
			with self.subTest(expression):
				names = {"doc": DOC, "now": NOW, "user": "a@example.com"}
				self.assertEqual(evaluate_expression(expression, names), value)

	def test_expensive_expressions_are_refused_within_time_and_memory_limits(self):
		def refuse():
			with self.assertRaises((TooMuchWork, SyntaxError, ValueError, AttributeError)):
				evaluate_expression(expression, {"doc": DOC, "now": NOW, "user": "x"})

		for expression in BOMBS:
			with self.subTest(expression[:80]):
				seconds, peak = measure(refuse)
				self.assertLess(seconds, 10)
				self.assertLess(peak, 200_000_000)

	def test_full_width_quotation_marks_and_braces_neither_end_a_text_nor_begin_an_expression(self):
		for text in (
			"\uff07 + \uff07a\uff07 * 10**8 + \uff07",
			"\uff5b10**8 * \uff02a\uff02\uff5d",
			"\u2026\xbd",
		):
			for source in (f"'{text}'", f"f'{text}'", ascii(text)):
				with self.subTest(source):
					self.assertEqual(evaluate_expression(source, {}), text)

	def test_the_parts_of_a_condition_share_the_limits(self):
		part = "[0 for a in doc.text[:15000]] != 0"
		checks, error = evaluate_condition(f"{part} and {part}", DOC, "x", NOW)
		self.assertEqual([check.ok for check in checks], [True, False])
		self.assertIn("too many iterations", error)

	def test_evidently_expensive_condition_is_refused_by_validation(self):
		for condition in ("9**9**9 > 1", "(lambda: 1)()", "'a' * 10**9 == doc.x", "-" * 4000 + "1"):
			with self.subTest(condition[:40]), self.assertRaises(UsageError):
				validate_condition(condition)
		validate_condition("doc.amount ** 2 > 100 and doc.title.lower() != 'x'")

	def test_conditions_count_and_search_the_rows_of_a_table(self):
		doc = Snapshot({"items": [Snapshot({"qty": 1}), Snapshot({"qty": 7})]})
		for condition, expected in (
			("len(doc.items) > 1", True),
			("len(doc.items) > 2", False),
			("any(row.qty > 5 for row in doc.items)", True),
			("all(row.qty > 5 for row in doc.items)", False),
			("any(row.qty > 5 and user == 'y' for row in doc.items)", False),
		):
			with self.subTest(condition):
				validate_condition(condition)
				[check], error = evaluate_condition(condition, doc, "x", NOW)
				self.assertEqual((check.ok, error), (expected, None))
				self.assertIn("len(items) = 2", check.saw)
