"""Reads fee tables and VV numbers from their DocTypes for `rvg`, and describes bills for tools. Read-only."""

from dataclasses import replace
from datetime import date
from decimal import Decimal, InvalidOperation

import frappe
from frappe.utils import getdate

from huf.ai.core.errors import ToolError
from huf.packs.helena.rvg import (
	CREDITED_SHARE,
	MAX_CREDITED_RATE,
	FeeTable,
	Kind,
	Line,
	Number,
	Step,
	calculate_bill,
	choose_fee_table,
)

TABLE, NUMBER = "Helena RVG Tabelle", "Helena VV Nummer"
RULES = (
	"Gebühr = volle Gebühr nach § 13 RVG × Satz, auf den Cent gerundet, ein halber Cent aufwärts "
	"(§ 2 Abs. 2 RVG).",
	"Keine Gebühr ist kleiner als der Mindestbetrag (§ 13 Abs. 3 RVG).",
	"Welche Tabelle gilt, sagt der Tag des unbedingten Auftrags (§ 60 Abs. 1 RVG).",
	"Je weiterem Auftraggeber steigt der Satz einer Geschäfts- oder Verfahrensgebühr um 0,3, "
	"höchstens um 2,0 (Nr. 1008 VV).",
	f"Die Geschäftsgebühr wird zur Hälfte ({CREDITED_SHARE}), höchstens mit {MAX_CREDITED_RATE}, "
	"auf die Verfahrensgebühr desselben Gegenstands angerechnet (Vorbem. 3 Abs. 4 VV, § 15a RVG).",
	"Mehrere Gegenstände mit verschiedenen Sätzen (§ 15 Abs. 3 RVG) rechnet ein Mensch.",
)


def read_fee_tables() -> list[FeeTable]:
	names = frappe.get_list(TABLE, pluck="name", order_by="gueltig_ab asc", limit_page_length=0)
	return [build_table(frappe.get_doc(TABLE, name)) for name in names]


def build_table(doc) -> FeeTable:
	steps = [Step(to_decimal(row.bis) or None, to_decimal(row.je), to_decimal(row.um)) for row in doc.stufen]
	amounts = (
		to_decimal(doc.get(each)) for each in ("grundwert", "grundgebuehr", "mindestgebuehr", "hoechstwert")
	)
	return FeeTable(getdate(doc.gueltig_ab), doc.quelle, *amounts, tuple(steps))


def read_numbers() -> dict[str, Number]:
	fields = ["nummer", "bezeichnung", "art", "satz", "satz_von", "satz_bis", "hoechstbetrag"]
	fields += ["erhoehung", "wird_angerechnet", "nimmt_anrechnung"]
	rows = frappe.get_list(NUMBER, fields=fields, order_by="nummer asc", limit_page_length=0)
	return {row.nummer: build_number(row) for row in rows}


def describe_numbers() -> list[dict]:
	"""The numbers for a model: [{nummer, bezeichnung, satz, satz_von?, satz_bis?, hoechstbetrag?, regel}]."""
	fields = ["nummer", "bezeichnung", "satz", "satz_von", "satz_bis", "hoechstbetrag", "regel"]
	rows = frappe.get_list(NUMBER, fields=fields, order_by="nummer asc", limit_page_length=0)
	return [{key: row[key] for key in fields if row[key]} for row in rows]


def build_number(row) -> Number:
	rate = to_decimal(row.satz)
	return Number(
		row.nummer,
		row.bezeichnung,
		Kind(row.art),
		rate,
		to_decimal(row.satz_von) or rate,
		to_decimal(row.satz_bis) or rate,
		to_decimal(row.hoechstbetrag) or None,
		bool(row.erhoehung),
		bool(row.wird_angerechnet),
		bool(row.nimmt_anrechnung),
	)


def to_decimal(amount: float | None) -> Decimal:
	"""The decimal number that a person typed, without binary rounding errors."""
	return Decimal(str(amount or 0))


def find_table(ordered: date) -> FeeTable:
	try:
		return choose_fee_table(read_fee_tables(), ordered)
	except ValueError as error:
		raise ToolError(str(error)) from None


def describe(value: float | None, items: list[dict] | None, ordered: date, clients: int) -> dict:
	"""Fees for a model: without a value the whole table, with a value its fee, with items a bill.

	`value` is in euros, `items` are [{nummer, satz?}]. Raises ToolError.
	"""
	table = find_table(ordered)
	source = {"doctype": TABLE, "name": str(table.valid_from), "quelle": table.source}
	source["mindestgebuehr"] = euros(table.min_fee)
	law = {"nummern": describe_numbers(), "regeln": list(RULES)}
	if value is None:
		if items:
			raise ToolError("A bill needs the gegenstandswert.")
		return {**source, "tabelle": [[euros(top), euros(fee)] for top, fee in table.rows()], **law}
	if value <= 0 or clients < 1:
		raise ToolError("The gegenstandswert must be more than 0, and there is at least one client.")
	source |= {"gegenstandswert": value, "volle_gebuehr": euros(table.full_fee(to_decimal(value)))}
	return {**source, **({"rechnung": make_bill(table, to_decimal(value), items, clients)} if items else law)}


def make_bill(table: FeeTable, value: Decimal, items: list[dict], clients: int) -> dict:
	"""The bill for [{nummer, satz?}] as {zeilen, summe}.

	Raises ToolError for unknown numbers and invalid rates.
	"""
	known = read_numbers()
	try:
		lines = calculate_bill(table, value, [choose_number(item, known) for item in items], clients)
	except ValueError as error:
		raise ToolError(str(error)) from None
	total = sum((line.amount for line in lines), Decimal(0))
	return {"zeilen": [line_as_dict(line) for line in lines], "summe": euros(total)}


def choose_number(item: dict, known: dict[str, Number]) -> Number:
	name = str(item.get("nummer") or "").strip()
	if name not in known:
		raise ToolError(f"There is no Nr. {name} here. Known: {', '.join(known)}.")
	rate = item.get("satz")
	try:
		return known[name] if rate is None else replace(known[name], rate=to_decimal(rate))
	except InvalidOperation:
		raise ToolError(f"The satz must be a number such as 1.3, not {rate!r}.") from None


def line_as_dict(line: Line) -> dict:
	return {
		"nummer": f"{line.number} VV RVG",
		"bezeichnung": line.title,
		"satz": float(line.rate),
		"betrag": euros(line.amount),
	}


def euros(amount: Decimal) -> float:
	return float(round(amount, 2))
