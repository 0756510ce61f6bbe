"""What expressions of users may contain, and how everything else is refused. Runs on both runtimes."""

import frappe

from huf.tests.base import SiteTestCase

KNOWN = {"doc": frappe._dict(rows=[(1, 2), (3, 4)], text="abc"), "number": 3.5}


def value_of(expression: str):
	return frappe.safe_eval(expression, dict(KNOWN))


class TestExpressions(SiteTestCase):
	def test_expressions_are_evaluated_with_the_given_names(self):
		for expression, value in (
			("doc.text.upper() + doc['text'][0]", "ABCa"),
			("[a + b for a, b in doc.rows]", [3, 7]),
			("[row[1] for row in doc.rows if row[0] > 1]", [4]),
			("int(number) + round(number) + float('1') + long(2)", 10.0),
			("doc.missing", None),
			("{'a': 1}.get('b', 7)", 7),
			("number if doc.text == 'abc' else 0", 3.5),
			("f'{number}'", "3.5"),
		):
			with self.subTest(expression):
				self.assertEqual(value_of(expression), value)

	def test_a_missing_attribute_raises_attribute_error(self):
		for expression in ("doc.text.missing", "number.missing", "(1).missing or 5"):
			with self.subTest(expression):
				self.assertRaises(AttributeError, value_of, expression)

	def test_builtins_and_frappe_helpers_raise_name_error(self):
		for name in (
			*(
				"len",
				"str",
				"bool",
				"list",
				"dict",
				"sorted",
				"sum",
				"min",
				"max",
				"abs",
				"any",
				"all",
				"print",
			),
			*(
				"date",
				"datetime",
				"timedelta",
				"cint",
				"flt",
				"getdate",
				"nowdate",
				"today",
				"frappe",
				"type",
			),
		):
			with self.subTest(name):
				self.assertRaises(NameError, value_of, name)

	def test_sandbox_escapes_are_refused(self):
		for expression in (
			*("doc.__class__", "doc['_x']", "(1)._x", "'{}'.format(1)", "'{}'.format_map({})", "(x := 1)"),
			*(
				"[].__len__()",
				"(i for i in ()).gi_frame",
				"doc.f_globals",
				"exec('1')",
				"import os",
				" number",
				"ａ.__x__",
			),
		):
			with self.subTest(expression):
				self.assertRaises((SyntaxError, AttributeError, NameError), value_of, expression)

	def test_safe_eval_accepts_globals_and_locals(self):
		self.assertEqual(frappe.safe_eval("number + more", {"number": 1}, {"more": 2}), 3)
