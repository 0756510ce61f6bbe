"""Get List counts and adds up documents by groups, and filters by fields of table rows."""

import frappe

from huf.ai.core.errors import ToolError
from huf.ai.core.session import acting_as
from huf.ai.tools import document_tools as tools
from huf.ai.tools.reads import tracking_reads
from huf.tests.ai.tools.test_erp_documents import COMPANY, INVOICE, PLAIN_RULES, ErpTestCase
from huf.tests.doctypes import CASE, EDITOR, READER, field, make_case, make_doctype
from huf.tests.factories import make, make_user, unique

QUOTE, QUOTE_ITEM, QUOTE_TAX = "Huf Test Quote", "Huf Test Quote Item", "Huf Test Quote Tax"


class TestTotals(ErpTestCase):
	def setUp(self):
		super().setUp()
		for company, due_on, rows in (
			(self.company, "2026-01-05", {"Bolt": (2, 5), "Nut": (10, 0.1)}),
			(self.company, "2026-01-28", {"Bolt": (1, 5)}),
			(self.company, "2026-02-01", {"Nail": (1, 0.2)}),
			(self.other, "2026-02-02", {"Bolt": (4, 5)}),
		):
			items = [{"item": item, "qty": qty, "rate": rate} for item, (qty, rate) in rows.items()]
			with acting_as(self.user):
				tools.create_document(INVOICE, {"company": company, "due_on": due_on, "items": items})
		self.own = {"company": ["in", [self.company, self.other]]}

	def total(self, user: str | None = None, filters: dict | list | None = None, **query) -> list[dict]:
		with acting_as(user or self.user):
			found = tools.get_list(INVOICE, self.own if filters is None else filters, **query)
		self.assertEqual(found["count"], len(found["rows"]))
		return found["rows"]

	def refused(self, words: str, **query):
		with self.assertRaisesRegex(ToolError, words):
			self.total(**query)

	def test_all_documents_are_counted_and_added_up(self):
		self.assertEqual(self.total(group_by=[]), [{"count": 4}])
		self.assertEqual(self.total(sum=["total"]), [{"count": 4, "total": 36.2}])
		none = {"company": "No such company"}
		self.assertEqual(self.total(filters=none, sum=["total"]), [{"count": 0, "total": 0}])
		self.assertEqual(self.total(filters=none, group_by=["company"]), [])

	def test_groups_have_the_largest_first_unless_an_order_is_given(self):
		by_company = self.total(group_by=["company"], sum=["total"])
		self.assertEqual(
			by_company,
			[
				{"company": self.other, "count": 1, "total": 20},
				{"company": self.company, "count": 3, "total": 16.2},
			],
		)
		reverse = self.total(group_by=["company"], sum=["total"], order_by="total asc")
		self.assertEqual(reverse, by_company[::-1])
		upper = self.total(group_by=["company"], sum=["total"], order_by="total  DESC")
		self.assertEqual(upper, by_company)
		self.assertEqual(self.total(group_by=["company"])[0], {"company": self.company, "count": 3})

	def test_dates_are_grouped_by_periods_in_the_order_of_time(self):
		months = self.total(group_by=["due_on month"], sum=["total"])
		self.assertEqual([row["due_on"] for row in months], ["2026-01", "2026-02"])
		self.assertEqual([row["total"] for row in months], [16, 20.2])
		self.assertEqual(self.total(group_by=["due_on week"])[0], {"due_on": "2026-W02", "count": 1})
		self.assertEqual(self.total(group_by=["due_on year"]), [{"due_on": "2026", "count": 4}])
		self.assertEqual(len(self.total(group_by=["due_on day"])), 4)

	def test_no_more_groups_than_the_limit(self):
		with acting_as(self.user):
			found = tools.get_list(INVOICE, self.own, group_by=["due_on"], order_by="due_on", limit=3)
			rest = tools.get_list(INVOICE, self.own, group_by=["due_on"], order_by="due_on", limit=3, start=3)
		self.assertEqual((found["count"], found["more"], rest["count"], rest["more"]), (3, True, 1, False))

	def test_rows_of_tables_are_grouped_and_added_up(self):
		by_item = self.total(group_by=["items.item"], sum=["items.qty", "total"])
		self.assertEqual(
			by_item,
			[
				{"items.item": "Nut", "count": 1, "items.qty": 10, "total": 11},
				{"items.item": "Bolt", "count": 3, "items.qty": 7, "total": 36},
				{"items.item": "Nail", "count": 1, "items.qty": 1, "total": 0.2},
			],
		)
		bolts = self.total(filters={**self.own, "items.item": "Bolt"}, sum=["items.qty", "items.amount"])
		self.assertEqual(bolts, [{"count": 3, "items.qty": 7, "items.amount": 35}], "only the rows that fit")

	def test_list_is_filtered_by_rows_of_a_table(self):
		for condition in (["items.item", "=", "Bolt"], ["Huf Test Bill Item", "item", "=", "Bolt"]):
			filters = [["company", "=", self.company], condition, [INVOICE, "total", ">", 5]]
			with self.subTest(condition):
				rows = self.total(filters=filters, fields=["due_on"], order_by="due_on")
				self.assertEqual([str(row["due_on"]) for row in rows], ["2026-01-05"])
		both = [["items.item", "in", ["Bolt", "Nut"]], ["items.qty", ">", 0], ["company", "=", self.company]]
		self.assertEqual(len(self.total(filters=both)), 2, "a document with two such rows is listed once")
		same_row = {"items.item": "Nut", "items.qty": 2, "company": self.company}
		self.assertEqual(self.total(filters=same_row), [])

	def test_what_cannot_be_added_up_or_grouped_is_refused_with_words(self):
		self.refused("no numbers", sum=["company"])
		self.refused("has no field 'sum", sum=["sum(total)"])
		self.refused("only day, week, month, year", group_by=["company month"])
		self.refused("only day, week, month, year", group_by=["due_on decade"])
		self.refused("no table 'lines'", group_by=["lines.item"])
		self.refused("has no field 'price'", filters={"items.price": 5})
		self.refused(
			"order_by is one of company, total, count", group_by=["company"], sum=["total"], order_by="x"
		)
		self.refused("is not a filter", filters=[["Huf Test Case", "title", "=", "x"]])
		self.refused("Give a list of", filters=["company", "=", self.company])

	def test_nothing_found_by_a_value_that_is_no_option_is_refused_with_the_options(self):
		make_case(title=unique("case"), status="Open")
		for filters in ({"status": "Offen"}, [["status", "in", ["Pending"]]], {"status": ["=", "Done"]}):
			for query in ({}, {"group_by": []}):
				with self.subTest(filters, **query), self.assertRaisesRegex(ToolError, "Open, Closed"):
					tools.get_list(CASE, filters, **query)
		self.assertTrue(tools.get_list(CASE, {"status": ["in", ["Open", "Pending"]]})["rows"])
		self.assertEqual(tools.get_list(CASE, {"status": "Open", "title": unique("none")})["rows"], [])

	def test_hidden_fields_and_documents_do_not_count(self):
		make_case(title=unique("Case"), fee="7")
		reader = make_user("Huf User", READER)
		with acting_as(reader):
			for query in ({"group_by": ["fee"]}, {"group_by": ["pin"]}, {"sum": ["fee"]}):
				with self.subTest(query), self.assertRaisesRegex(ToolError, "has no field"):
					tools.get_list(CASE, **query)
		self.refused("has no field", group_by=["items.name"])
		with acting_as(make_user("Huf User", EDITOR)), self.assertRaises(Exception) as caught:
			tools.get_list(INVOICE, group_by=[])
		self.assertIn("PermissionError", type(caught.exception).__name__)

	def test_groups_are_read_from_their_documents(self):
		with tracking_reads() as reads:
			self.total(group_by=["company", "items.item"])
		self.assertEqual(len(reads.documents[INVOICE]), 4)
		self.assertEqual(set(reads.documents[INVOICE].values()), {frozenset(["company", "items"])})


class TestCurrencies(ErpTestCase):
	def setUp(self):
		super().setUp()
		if not frappe.db.exists("DocType", QUOTE):
			row = [field("net", "Currency", options="currency"), field("item", "Data")]
			make_doctype(QUOTE_ITEM, row, [], istable=1)
			make_doctype(QUOTE_TAX, [field("rate", "Percent")], [], istable=1)
			fields = [
				field("currency", "Data"),
				field("taxes", "Table", options=QUOTE_TAX),
				field("company", "Link", options=COMPANY),
				field("total", "Currency", options="currency"),
				field("base_total", "Currency", options="Company:company:default_currency"),
				field("items", "Table", options=QUOTE_ITEM),
			]
			make_doctype(QUOTE, fields, PLAIN_RULES)
		for currency in ("EUR", "EUR", "USD"):
			rows = [{"item": "Bolt", "net": 5}]
			make(QUOTE, company=self.company, currency=currency, total=5, base_total=4, items=rows)

	def test_rows_of_two_tables_are_not_multiplied(self):
		with self.assertRaisesRegex(ToolError, "one table only"):
			self.total(group_by=["taxes.rate"], sum=["items.net"])
		with self.assertRaisesRegex(ToolError, "one table only"):
			tools.get_list(QUOTE, {"taxes.rate": 19}, sum=["items.net"])

	def total(self, **query) -> list[dict]:
		return tools.get_list(QUOTE, {"company": self.company}, **query)["rows"]

	def test_amounts_in_different_currencies_are_not_added_up(self):
		for name in ("total", "items.net"):
			with self.subTest(name):
				expected = [
					{"currency": "EUR", "count": 2, name: 10},
					{"currency": "USD", "count": 1, name: 5},
				]
				self.assertEqual(self.total(sum=[name]), expected)
				self.assertEqual(self.total(group_by=["currency"], sum=[name]), expected)

	def test_amounts_in_the_currency_of_a_company_are_added_up_per_company(self):
		expected = [{"company": self.company, "count": 3, "base_total": 12}]
		self.assertEqual(self.total(sum=["base_total"]), expected)
