"""RVG fees match the tables printed in the law (Anlage 2 RVG), and bills follow its rules."""

import json
import unittest
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import frappe

import huf.packs.helena as pack
from huf.packs.helena.kosten import NUMBER, TABLE, build_number, build_table
from huf.packs.helena.rvg import calculate_bill, choose_fee_table, round_to_cent

RECORDS = json.loads((Path(pack.__file__).parent / "records.json").read_text(encoding="utf-8"))
VALUES = (
	*(500, 1000, 1500, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 10000),
	*(13000, 16000, 19000, 22000, 25000, 30000, 35000, 40000, 45000, 50000),
	*(65000, 80000, 95000, 110000, 125000, 140000, 155000, 170000, 185000, 200000),
	*(230000, 260000, 290000, 320000, 350000),
)
IN_2021 = (
	"49 88 127 166 222 278 334 390 446 502 558 614 666 718 770 822 874 955 1036 1117 1198 1279 "
	"1373 1467 1561 1655 1749 1843 1937 2031 2125 2219 2351 2483 2615 2747 2879"
)
IN_2025 = (
	"51.50 93 134.50 176 235.50 295 354.50 414 473.50 533 592.50 652 707 762 817 872 927 1013 1099 1185 1271 1357 "
	"1456.50 1556 1655.50 1755 1854.50 1954 2053.50 2153 2252.50 2352 2492 2632 2772 2912 3052"
)


class TestTheTable(unittest.TestCase):
	def test_fees_are_those_of_the_table_printed_since_june_2025(self):
		self.assertEqual([TABLES[1].full_fee(Decimal(value)) for value in VALUES], amounts(IN_2025))

	def test_fees_are_those_of_the_table_printed_in_2021(self):
		self.assertEqual([TABLES[0].full_fee(Decimal(value)) for value in VALUES], amounts(IN_2021))

	def test_table_rows_match_the_printed_values_and_end_at_500000(self):
		rows = list(TABLES[1].rows())
		self.assertEqual([int(value) for value, _ in rows][: len(VALUES)], list(VALUES))
		self.assertEqual(rows[-1], (500_000, 3752))
		self.assertEqual(list(TABLES[0].rows())[-1], (500_000, 3539))

	def test_a_partial_step_of_value_is_charged_in_full(self):
		table = TABLES[1]
		self.assertEqual(table.full_fee(Decimal("500.01")), 93)
		self.assertEqual(table.full_fee(Decimal("10000.01")), 707)
		self.assertEqual(table.full_fee(Decimal("500000.01")), 3752 + 175)
		self.assertEqual(TABLES[0].full_fee(Decimal(600_000)), 3539 + 2 * 165)

	def test_the_value_is_capped_at_30_million(self):
		table = TABLES[1]
		self.assertEqual(table.full_fee(Decimal(90_000_000)), table.full_fee(Decimal(30_000_000)))

	def test_the_fee_table_is_chosen_by_the_order_date(self):
		self.assertIs(choose_fee_table(TABLES, date(2025, 5, 31)), TABLES[0])
		self.assertIs(choose_fee_table(TABLES, date(2025, 6, 1)), TABLES[1])
		self.assertIs(choose_fee_table(TABLES[::-1], date(2030, 1, 1)), TABLES[1])
		with self.assertRaisesRegex(ValueError, "2021-01-01.* Enter that table in Helena RVG Tabelle"):
			choose_fee_table(TABLES, date(2020, 12, 31))

	def test_without_a_fee_table_the_error_says_what_to_do(self):
		with self.assertRaisesRegex(ValueError, "no fee table.* Enter one in Helena RVG Tabelle"):
			choose_fee_table([], date(2025, 6, 1))


class TestTheBill(unittest.TestCase):
	def test_half_a_cent_is_rounded_up(self):
		self.assertEqual(round_to_cent(Decimal("66.945")), Decimal("66.95"))
		self.assertEqual(TABLES[1].fee(Decimal(500), Decimal("1.3")), Decimal("66.95"))
		self.assertEqual(TABLES[1].fee(Decimal(1500), Decimal("1.3")), Decimal("174.85"))

	def test_no_fee_is_below_15_euros(self):
		self.assertEqual(billed(300, "3309"), [("3309", "15.45")])
		self.assertEqual(billed(300, "3309", table=TABLES[0]), [("3309", "15.00")])
		self.assertEqual(TABLES[0].fee(Decimal(500), Decimal("0.3")), 15)

	def test_an_out_of_court_bill_has_fee_expenses_and_tax(self):
		lines = billed(5000, "2300", "7002", "7008")
		self.assertEqual(lines, [("2300", "460.85"), ("7002", "20.00"), ("7008", "91.36")])

	def test_expenses_are_a_fifth_of_small_fees(self):
		self.assertEqual(billed(500, "3309", "7002"), [("3309", "15.45"), ("7002", "3.09")])

	def test_half_of_the_business_fee_is_credited_to_the_fee_of_the_lawsuit(self):
		lines = billed(5000, "2300", "7002", "3100", "3104", "7002", "7008")
		expected = [
			"2300 460.85",
			"7002 20.00",
			"3100 460.85",
			"2300 -230.43",
			"3104 425.40",
			"7002 20.00",
			"7008 219.77",
		]
		self.assertEqual([" ".join(line) for line in lines], expected)

	def test_no_more_than_a_rate_of_075_is_credited(self):
		lines = billed(10_000, ("2300", "2.5"), "3100")
		self.assertEqual(lines, [("2300", "1630.00"), ("3100", "847.60"), ("2300", "-489.00")])

	def test_without_a_business_fee_nothing_is_credited(self):
		self.assertEqual(billed(10_000, "3100", "3104"), [("3100", "847.60"), ("3104", "782.40")])

	def test_each_further_client_raises_the_rate_by_0_3_up_to_2_0(self):
		self.assertEqual(billed(10_000, "3100", "3104", clients=3), [("3100", "1238.80"), ("3104", "782.40")])
		self.assertEqual(billed(10_000, "3100", clients=20), [("3100", "2151.60")])

	def test_settlement_fees_differ_out_of_court_and_in_court(self):
		self.assertEqual(billed(10_000, "1000"), [("1000", "978.00")])
		self.assertEqual(billed(10_000, "1003"), [("1003", "652.00")])

	def test_a_rate_outside_its_range_is_refused(self):
		for number, rate in (("2300", "2.6"), ("2300", "0.4"), ("3100", "1.5")):
			with self.subTest(number=number), self.assertRaisesRegex(ValueError, number):
				billed(5000, (number, rate))


def billed(value, *items, table=None, clients=1):
	chosen = [
		NUMBERS[item] if isinstance(item, str) else replace(NUMBERS[item[0]], rate=Decimal(item[1]))
		for item in items
	]
	lines = calculate_bill(table or TABLES[1], Decimal(value), chosen, clients)
	return [(line.number, f"{line.amount:.2f}") for line in lines]


def amounts(text: str) -> list[Decimal]:
	return [Decimal(each) for each in text.split()]


def shipped(doctype: str) -> list:
	"""The pack's records of a DocType, in the form that a site returns."""
	plain = [frappe._dict(each) for each in RECORDS if each["doctype"] == doctype]
	return [
		frappe._dict(each, stufen=[frappe._dict(row) for row in each.get("stufen", ())]) for each in plain
	]


TABLES = [build_table(each) for each in shipped(TABLE)]
NUMBERS = {each.nummer: build_number(each) for each in shipped(NUMBER)}
