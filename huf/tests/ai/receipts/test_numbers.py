"""Numbers of an answer that follow from what was read are confirmed; others are not, also beside dates."""

import unittest

from huf.ai.receipts.claims import check_answer
from huf.ai.receipts.evidence import CallEvidence, Evidence

TODAY = "Current date: Friday, 2026-11-27. The discount limit is 15 %."
ORDERS = [
	("SO-0101", "Hofer GmbH", 1200.0, "To Deliver", "2026-11-20"),
	("SO-0102", "Novák s.r.o.", 880.5, "Completed", "2026-11-25"),
	("SO-0103", "Hofer GmbH", 2450.0, "To Deliver", "2026-12-01"),
	("SO-0104", "Ruiz SL", 312.75, "Cancelled", "2026-12-03"),
	("SO-0105", "Li Trading", 5600.0, "To Deliver", "2026-12-10"),
]
FIELDS = ("name", "customer", "grand_total", "status", "delivery_date")
RESULTS = {
	"orders": {"rows": [dict(zip(FIELDS, row, strict=True)) for row in ORDERS], "count": 5},
	"months": {
		"rows": [{"month": m, "sales": s} for m, s in (("Sep", 15000), ("Oct", 18000), ("Nov", 13500))]
	},
	"event": {"starts_on": "2026-12-01 14:00:00", "ends_on": "2026-12-01 15:30:00"},
	"clock": {"place": "Linz", "opens": "08:00:00", "closes": "18:00:00", "days": [30, 0, 12]},
	"login": {"full_name": "Anna Berg", "last_login": "2026-11-26 17:42:10.001"},
	"item": {"item_code": "ITM-9", "price": 49.9, "stock": 140, "reorder_level": 50, "vat": 20},
	"leads": {
		"rows": [
			{"name": f"CRM-LEAD-2026-{number:05}", "employees": employees, "status": status, "score": score}
			for number, employees, status, score in (
				(6, 45, "Open", 69.7),
				(31, 28, "Lost", 16.6),
				(33, 61, "Open", 80.2),
				(34, 130, "Replied", 31.2),
			)
		]
	},
	"invoices": {"rows": [{"amount": amount} for amount in (1234.5, 980, 1520)]},
	"report": {"revenue": 84312.4, "previous": {"revenue": 79105.0}},
	"tickets": {"Oct": 47, "Nov": 12},
	"seals": {"rows": [{"place": "Linz", "qty": 1840}, {"place": "Brno", "qty": 655}], "reorder_level": 500},
	"sales": {
		"rows": [{"month": m, "total": t} for m, t in (("Aug", 41200), ("Sep", 38750), ("Oct", 47890))]
	},
	"calendar": {
		"rows": [
			{"from": "2026-12-02 15:00:00", "to": "2026-12-02 16:30:00"},
			{"from": "2026-12-02 09:30:00"},
		]
	},
	"handbook": {"text": "Employees have 25 days of vacation. Ask two weeks in advance."},
}
TRUE = """
orders | The three open orders come to €9,250.00 in total.
orders | Hofer GmbH has two orders worth 3,650 EUR.
orders | 60% of the orders are open, and Li Trading accounts for about 54 percent of the value.
orders | SO-0105 (5,600 EUR) is 3,150 EUR larger than SO-0103 (2,450 EUR).
orders | SO-0101 was due on 20 November, so it is 7 days late.
orders | Auf Hofer GmbH entfallen zwei Aufträge über insgesamt 3.650 €. Das sind 40 % aller Aufträge.
orders | SO-0101 war am 20.11. fällig und ist damit seit einer Woche und 7 Tagen überfällig.
orders | Vom 20. bis 25. November waren zwei Lieferungen fällig.
orders | El 60 % está sin entregar. SO-0101 lleva 7 días de retraso.
orders | Del 20 al 25 de noviembre había dos entregas.
orders | K dodání zbývá 60 % objednávek. SO-0101 je 7 dní po termínu. Dnes je 27. 11. 2026.
months | Sales rose by 20% from 15,000 in September to 18,000, and then fell by 25% from 18,000 to 13,500.
months | In total we sold 46,500, on average 15,500.
event | The review is on 1 December from 2 pm to 3:30 pm (90 minutes, 1.5 hours).
event | Der Termin ist am 1. Dezember von 14:00 bis 15:30 Uhr und dauert 90 Minuten.
event | It takes place from 2 to 3:30 pm. Von 14 bis 15:30 Uhr. De 14 a 15:30. Schůzka je od 14 do 15:30.
event | Von 14.00 bis 15.30 Uhr, also 14 bis 15.30 Uhr. Schůzka je od 14.00 do 15.30. Es de 14:00 a 15:30 h.
event | Der Termin geht von 14.00 bis 15.30. It is between 2 and 3:30 pm. Zwischen 14 und 15.30 Uhr.
login | Anna last used it yesterday at 5:42 pm. Petr: zuletzt um 17:42 Uhr.
item | The pump costs €49.90 net, that is €59.88 including 20% VAT.
item | There are 140 in stock, 90 above the reorder level of 50.
invoices | About 3,700 is open. It is ~3,700, roughly €3,700, some 3.7 thousand, or 3.7k. Almost 4,000. More than 3,700.
invoices | Offen sind rund 3.700 €, ca. 3,7 Tausend, knapp 3,8 Tsd. EUR, gut 3.700, mehr als 3.700.
invoices | Son unos 3.700, alrededor de 3,7 mil, casi 3.800 y más de 3.700.
invoices | Je to asi 3 700, zhruba 3,7 tisíce, téměř 3 800 a více než 3 700.
invoices | On average about 1,200, that is 1.2 thousand.
invoices | The first comes to 1,235.
report | Just over 84,000 is about 5,200 more than 79,105 in October, an increase of roughly 6.6%.
report | Von knapp 79,2 Tsd. im Oktober stieg es auf 84.312,40, also um gut 6 %.
item | With 20% VAT the pump at 49.90 costs about 60.
seals | There are almost 2,500 seals, 1,840 in Linz and 655 in Brno, about five times the reorder level of 500.
sales | Sales dipped to 38.8k in September, then recovered to about 47.9 thousand, an increase of nearly 24%.
sales | Im September waren es knapp 39 Tsd., im Oktober 47.890, also gut 23 % mehr, im Schnitt rund 42.600 im Monat.
sales | Im Oktober 47.890, in October 47,890, en octubre 47.890.
tickets | Im Oktober 47 Tickets, in October 12 tickets, en noviembre 12 tickets.
sales | En octubre se vendieron casi 48 mil, alrededor de un 24 % más que en septiembre (38.750).
invoices | Nezaplacené jsou tři faktury, celkem asi 3 700.
calendar | Am Mittwoch stehen zwei Termine an: 9.30 bis 15 Uhr und 15 bis 16.30 Uhr.
calendar | Ve středu máte dvě schůzky, od 9.30 hodin a od 15.00 do 16.30.
handbook | Ask 14 days in advance; you have 25 days. Zwei Wochen vorher. Dos semanas antes. Dva týdny předem.
"""
FALSE = """
orders | You have 11 orders.
orders | There are 20 orders in total.
orders | The total of all orders is €10,543.25.
orders | Hofer GmbH has orders worth 3,550 EUR.
orders | About 45% of the value comes from Li Trading.
orders | SO-0101 is 12 days late.
orders | SO-0101 was due on 23 November.
months | Sales rose by 35% from September to October.
months | Sales rose by 25% from 15,000 in September to 18,000.
orders | SO-0101 was due on 3 November 2026.
orders | SO-0105 is due on 1 December 2026, and it was ordered on 11 December.
orders | I need your decision: 17 orders are overdue.
orders | As you asked, I counted them: 17 orders are overdue.
orders | There are 15 orders, 313 of them open.
leads | You received 17 new leads.
leads | Six leads are open.
leads | There are 31 leads, 33 with the latest.
leads | The conversion rate is 33%.
leads | 70% of the leads are open.
event | The review is on 1 December at 16:30.
event | It takes place from 1 to 3:30 pm.
clock | It is open from 7:00 to 18:30.
clock | Um 12 Uhr ist geöffnet.
event | Der Termin ist von 14 bis 16.30 Uhr.
event | Schůzka je od 13.00 do 15.30.
event | Schůzka je od 14.00 do 15.45.
event | The price is between 14.00 and 15.45.
event | It lasts 4 hours.
login | Anna last used it at 9:15 am.
item | The pump costs €58.90 including 20% VAT.
invoices | About 3,600 is open.
invoices | About 37,000 is open.
invoices | Nearly 3,700 is open.
invoices | More than 3,800 is open.
invoices | 3,700 is open.
invoices | 37 thousand is open.
invoices | About 4,000 is open.
invoices | 4.7k is open.
invoices | Rund 3.800 sind offen.
invoices | Je to asi 3 600.
invoices | Son unos 3.500.
invoices | Son 4,7 mil.
invoices | The largest is 15.20.
report | Just over 84,000 is about 6,200 more than 79,105 in October.
report | Just over 84,000, up from 79,105 in October, is an increase of 7.6%.
item | With 20% VAT the pump at 49.90 costs about 80.
item | There are about 200 in stock.
sales | Im Oktober 45.890.
sales | In October 12,890.
tickets | Im Oktober 46 Tickets.
tickets | Im Oktober 13 Tickets.
seals | Auf Lager sind insgesamt etwa 3.500 Dichtungen, das reicht locker.
seals | Skladem je 2 495 těsnění, z toho 1 480 v Linci.
invoices | Po splatnosti jsou dvě faktury za celkem asi 2 900.
calendar | The quarterly review lasts from 3:00 pm to 5:00 pm.
calendar | Der Termin ist auf Donnerstag verschoben, 15 bis 16.45 Uhr.
handbook | You have 30 days of vacation.
handbook | Seventy people or twenty-seven?! Seventy.
"""


def find_unproven(name: str, answer: str) -> list[str | None]:
	evidence = Evidence((CallEvidence("c", "get", "read", True, {}, RESULTS[name]),), background=TODAY)
	return [claim.why for claim in check_answer(answer, evidence) if not claim.is_confirmed]


class TestNumbers(unittest.TestCase):
	def test_sums_shares_times_and_calculations_from_what_was_read_are_confirmed(self):
		for name, answer in (line.split(" | ", 1) for line in TRUE.strip().splitlines()):
			self.assertEqual(find_unproven(name, answer), [], answer)

	def test_wrong_numbers_are_marked_also_if_they_occur_in_dates(self):
		for name, answer in (line.split(" | ", 1) for line in FALSE.strip().splitlines()):
			self.assertTrue(find_unproven(name, answer), answer)

	def test_rows_that_were_written_are_counted_and_added_up(self):
		items = [{"item": "Pump", "qty": 2, "rate": 49.9}, {"item": "Hose", "qty": 2, "rate": 5.5}]
		values = {"items": [*items, {"item": "Cap", "qty": 2, "rate": 1}]}
		write = CallEvidence(
			"c", "create_order", "write", True, values, {"name": "O1"}, (("O", "O1", "create"),)
		)
		for answer, is_confirmed in (
			("I created the order with three items.", True),
			("I created the order over 118.", False),
			("I amended the order.", True),
			("I created the order with nine items.", False),
		):
			(claim,) = check_answer(answer, Evidence((write,)))
			self.assertEqual(claim.is_confirmed, is_confirmed, answer)

	def test_an_answer_may_say_of_how_many_tried_writes_some_succeeded(self):
		made = CallEvidence("a", "create_todo", "write", True, {}, {"name": "T"}, (("ToDo", "T", "create"),))
		failed = CallEvidence("b", "create_todo", "write", False, {}, {"error": "No permission"})
		for answer, is_confirmed in (
			("1 of 2 todos was created.", True),
			("I created one of the two todos.", True),
			("Eine von zwei Aufgaben wurde angelegt.", True),
			("Una de las dos tareas se creó.", True),
			("Jeden ze dvou úkolů byl vytvořen.", True),
			("Two todos were requested, one was created.", True),
			("Zwei Aufgaben waren gewünscht, eine wurde angelegt.", True),
			("Se pidieron dos tareas, una se creó.", True),
			("Byly požadovány dva úkoly, jeden byl vytvořen.", True),
			("Two todos were requested, two were created.", False),
			("Zwei Aufgaben waren gewünscht, zwei wurden angelegt.", False),
			("I created two todos because you asked for two.", False),
			("I created two todos, but I could not assign them.", False),
			("I created two todos.", False),
			("I created two of the two todos.", False),
			("I created one of three todos.", False),
		):
			for prompt in ("Buy milk and bread", "Create two todos"):
				(claim,) = check_answer(answer, Evidence((made, failed), prompt))
				self.assertEqual(claim.is_confirmed, is_confirmed, answer)

	def test_numbers_of_the_prompt_may_be_repeated_once_something_was_looked_up_also_outside(self):
		for effect, is_confirmed in (("read", True), ("external", True), ("write", False)):
			call = CallEvidence(
				"a", "web_search", effect, True, {"query": "largest cities"}, {"text": "Tokyo"}
			)
			(claim,) = check_answer(
				"The 3 largest cities:", Evidence((call,), "What are the 3 largest cities?")
			)
			self.assertEqual(claim.is_confirmed, is_confirmed, effect)

	def test_a_calculation_with_numbers_of_the_prompt_needs_no_call(self):
		for given, answer, is_confirmed in (
			("What is 12 * 12?", "12 × 12 = 144.", True),
			("What is 15% of 480?", "15% of 480 is 72.", True),
			("What is 15% of 480?", "15% of 480 is 82.", False),
			("Do I have 12 todos?", "Yes, you have 12 todos.", False),
			("Offer 12 pumps on 3 December.", "You asked for 12 pumps on 3 December.", True),
			("Offer 12 pumps on 3 December.", "As you asked, I counted 17.", False),
			("Book the hall at 14:30.", "I cannot book the hall at 14:30, and not at 2:30 pm.", True),
			("Book the hall at 14:30.", "I cannot book the hall at 15:30.", False),
			("Offer 12 pumps on 3 December.", "I can offer 12 pumps on 3 December.", True),
			("Offer 12 pumps on 3 December.", "Ich kann am 3. Dezember 12 Pumpen anbieten.", True),
		):
			claims = check_answer(answer, Evidence((), given, TODAY))
			self.assertEqual(all(claim.is_confirmed for claim in claims), is_confirmed, answer)

	def test_what_the_author_needs_or_has_understood_states_no_number(self):
		for answer in (
			"I need two things: the customer and the date.",
			"Dafür brauche ich noch zwei Angaben.",
			"Necesito dos datos más.",
			"Potřebuji ještě dva údaje.",
		):
			self.assertEqual(check_answer(answer, Evidence(())), [], answer)
