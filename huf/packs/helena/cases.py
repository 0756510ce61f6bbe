"""What the tools read of cases, as the user in session may see it, and what they write into them."""

from collections.abc import Mapping
from datetime import date
from typing import Any

import frappe
from frappe.utils import getdate, today

from huf.ai.core.errors import ToolError
from huf.ai.tools import document_tools

CASE, DOCUMENT, DEADLINE = "Helena Akte", "Helena Dokument", "Helena Frist"
TIME, NOTE, ALERT = "Helena Zeiteintrag", "Helena Notiz", "Helena Hinweis"
OPEN, DONE = "Offen", "Erledigt"
CASE_FIELDS = (
	"kurzrubrum",
	"rechtsgebiet",
	"status",
	"angelegt_am",
	"gegenstandswert",
	"tags",
	"zusammenfassung",
)
DOCUMENT_FIELDS = ("titel", "typ", "status", "datum", "zusammenfassung")
DEADLINE_FIELDS = ("akte", "bezeichnung", "art", "faellig_am", "vorfrist_am", "status", "rechtsgrundlage")
TIME_FIELDS = ("datum", "minuten", "taetigkeit", "bearbeiter", "abrechenbar")
MAX_ROWS = 100
MINUTES_A_DAY = 24 * 60


def check_case(case: str) -> str:
	"""The case's name, if the user may see it; one they may not see is as good as none. Raises ToolError."""
	return document_tools.document_for(CASE, case.strip(), "read").name


def rows(
	doctype: str, filters: list | Mapping, fields: tuple[str, ...], order: str, limit: int = MAX_ROWS
) -> dict:
	"""{doctype, rows, count, more}: long texts are cut, empty fields left out."""
	found = document_tools.get_list(doctype, filters, fields, order, max(1, min(limit, MAX_ROWS)))
	return {**found, "rows": [short(row) for row in found["rows"]]}


def short(row: Mapping[str, Any]) -> dict:
	return {key: document_tools.shorten(value) for key, value in row.items() if value not in (None, "")}


def case_summary(case: str) -> dict:
	"""Key fields of a case, and how much is in it."""
	found = rows(CASE, {"name": check_case(case)}, CASE_FIELDS, "name asc", 1)["rows"][0]
	documents, open_deadlines = {"akte": found["name"]}, {"akte": found["name"], "status": OPEN}
	counts = {"dokumente": count(DOCUMENT, documents), "offene_fristen": count(DEADLINE, open_deadlines)}
	return {"doctype": CASE, **found, **counts}


def count(doctype: str, filters: Mapping) -> int:
	return len(frappe.get_list(doctype, filters, pluck="name", order_by="name asc", limit_page_length=0))


def deadlines(case: str | None, status: str, now: date | None = None) -> dict:
	"""Deadlines by their state: active is whatever is not done, past what is done or whose day is over."""
	day = now or getdate(today())
	filters = [["akte", "=", check_case(case)]] if case else []
	if status == "active":
		filters.append(["status", "=", OPEN])
	found = rows(DEADLINE, filters, DEADLINE_FIELDS, "faellig_am asc")
	kept = [mark(row, day) for row in found["rows"]]
	if status == "past":
		kept = [row for row in kept if row["status"] == DONE or row["tage"] < 0]
	return {**found, "rows": kept, "count": len(kept), "stand": str(day)}


def mark(row: dict, day: date) -> dict:
	"""`tage`: how many are left; an open deadline whose day is over is overdue."""
	left = (getdate(row["faellig_am"]) - day).days
	late = {"ueberfaellig": True} if left < 0 and row["status"] == OPEN else {}
	return {**row, "faellig_am": str(row["faellig_am"]), "tage": left, **late}


def times(case: str, since: str | None, until: str | None) -> dict:
	filters = [["akte", "=", check_case(case)]]
	filters += [["datum", sign, read_date(day)] for sign, day in ((">=", since), ("<=", until)) if day]
	found = rows(TIME, filters, TIME_FIELDS, "datum asc")
	total = sum(row["minuten"] for row in found["rows"])
	billable = sum(row["minuten"] for row in found["rows"] if row.get("abrechenbar"))
	return {**found, "minuten": total, "minuten_abrechenbar": billable}


def read_date(day: str) -> str:
	"""A date as YYYY-MM-DD. Raises ToolError for anything else."""
	try:
		return date.fromisoformat(day.strip()).isoformat()
	except ValueError:
		raise ToolError(f"{day!r} is no date. Give it as YYYY-MM-DD.") from None


def create(doctype: str, values: Mapping[str, Any]) -> dict:
	"""Insert it as the user, without what was left out; gives what tells it apart."""
	made = document_tools.create_document(
		doctype, {key: value for key, value in values.items() if value not in (None, "")}
	)
	return {
		"status": "created",
		"doctype": doctype,
		"name": made["name"],
		**({"akte": made["akte"]} if "akte" in made else {}),
	}
