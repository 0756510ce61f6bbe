"""Fee tables and numbers as they are on record, for `rvg`, and a bill as tools tell it. Only reads."""

from dataclasses import replace
from datetime import date
from decimal import Decimal

import frappe
from frappe.utils import getdate

from huf.ai.core.errors import ToolError
from huf.packs.helena.rvg import CREDITED, MAX_CREDITED, FeeTable, Kind, Line, Number, Step, bill, table_for

TABLE, NUMBER = "Helena RVG Tabelle", "Helena VV Nummer"
RULES = (
	"Gebühr = volle Gebühr nach § 13 RVG × Satz, auf den Cent gerundet, ein halber Cent aufwärts (§ 2 Abs. 2 RVG).",
	"Keine Gebühr ist kleiner als der Mindestbetrag (§ 13 Abs. 3 RVG).",
	"Welche Tabelle gilt, sagt der Tag des unbedingten Auftrags (§ 60 Abs. 1 RVG).",
	"Je weiterem Auftraggeber steigt der Satz einer Geschäfts- oder Verfahrensgebühr um 0,3, höchstens um 2,0 (Nr. 1008 VV).",
	f"Die Geschäftsgebühr wird zur Hälfte ({CREDITED}), höchstens mit {MAX_CREDITED}, auf die Verfahrensgebühr desselben "
	"Gegenstands angerechnet (Vorbem. 3 Abs. 4 VV, § 15a RVG).",
	"Mehrere Gegenstände mit verschiedenen Sätzen (§ 15 Abs. 3 RVG) rechnet ein Mensch.",
)


def fee_tables() -> list[FeeTable]:
	names = frappe.get_list(TABLE, pluck="name", order_by="gueltig_ab asc", limit_page_length=0)
	return [table_of(frappe.get_doc(TABLE, name)) for name in names]


def table_of(doc) -> FeeTable:
	steps = [Step(exact(row.bis) or None, exact(row.je), exact(row.um)) for row in doc.stufen]
	amounts = (
		exact(doc.get(each)) for each in ("grundwert", "grundgebuehr", "mindestgebuehr", "hoechstwert")
	)
	return FeeTable(getdate(doc.gueltig_ab), doc.quelle, *amounts, tuple(steps))


def numbers() -> dict[str, Number]:
	fields = ["nummer", "bezeichnung", "art", "satz", "satz_von", "satz_bis", "hoechstbetrag"]
	fields += ["erhoehung", "wird_angerechnet", "nimmt_anrechnung"]
	rows = frappe.get_list(NUMBER, fields=fields, order_by="nummer asc", limit_page_length=0)
	return {row.nummer: number_of(row) for row in rows}


def described_numbers() -> list[dict]:
	"""As a model reads them: {nummer, bezeichnung, satz, satz_von?, satz_bis?, hoechstbetrag?, regel}."""
	fields = ["nummer", "bezeichnung", "satz", "satz_von", "satz_bis", "hoechstbetrag", "regel"]
	rows = frappe.get_list(NUMBER, fields=fields, order_by="nummer asc", limit_page_length=0)
	return [{key: row[key] for key in fields if row[key]} for row in rows]


def number_of(row) -> Number:
	rate = exact(row.satz)
	return Number(
		row.nummer,
		row.bezeichnung,
		Kind(row.art),
		rate,
		exact(row.satz_von) or rate,
		exact(row.satz_bis) or rate,
		exact(row.hoechstbetrag) or None,
		bool(row.erhoehung),
		bool(row.wird_angerechnet),
		bool(row.nimmt_anrechnung),
	)


def exact(amount: float | None) -> Decimal:
	"""What a person typed: 51.5 is not what a float makes of it."""
	return Decimal(str(amount or 0))


def choose_table(ordered: date) -> FeeTable:
	try:
		return table_for(fee_tables(), ordered)
	except ValueError as error:
		raise ToolError(str(error)) from None


def describe(value: float | None, items: list[dict] | None, ordered: date, clients: int) -> dict:
	"""The law as a model reads it: without a value the whole table, with one its fee, with items their bill. Raises ToolError."""
	table = choose_table(ordered)
	told = {"doctype": TABLE, "name": str(table.valid_from), "quelle": table.source}
	told["mindestgebuehr"] = euros(table.least_fee)
	law = {"nummern": described_numbers(), "regeln": list(RULES)}
	if value is None:
		if items:
			raise ToolError("A bill needs the gegenstandswert.")
		return {**told, "tabelle": [[euros(top), euros(fee)] for top, fee in table.rows()], **law}
	if value <= 0 or clients < 1:
		raise ToolError("The gegenstandswert must be more than 0, and there is at least one client.")
	told |= {"gegenstandswert": value, "volle_gebuehr": euros(table.full_fee(exact(value)))}
	return {**told, "rechnung": make_bill(table, exact(value), items, clients)} if items else {**told, **law}


def make_bill(table: FeeTable, value: Decimal, items: list[dict], clients: int) -> dict:
	"""`items`: [{nummer, satz?}]. Gives {zeilen, summe}; raises ToolError for numbers and rates that are not known."""
	known = numbers()
	try:
		lines = bill(table, value, [chosen(item, known) for item in items], clients)
	except ValueError as error:
		raise ToolError(str(error)) from None
	total = sum((line.amount for line in lines), Decimal(0))
	return {"zeilen": [line_as_dict(line) for line in lines], "summe": euros(total)}


def chosen(item: dict, known: dict[str, Number]) -> Number:
	name = str(item.get("nummer") or "").strip()
	if name not in known:
		raise ToolError(f"There is no Nr. {name} here. There are: {', '.join(known)}.")
	rate = item.get("satz")
	return known[name] if rate is None else replace(known[name], rate=exact(rate))


def line_as_dict(line: Line) -> dict:
	told = {"nummer": f"{line.number} VV RVG", "bezeichnung": line.title, "satz": float(line.rate)}
	return {**told, "betrag": euros(line.amount)}


def euros(amount: Decimal) -> float:
	return float(round(amount, 2))
