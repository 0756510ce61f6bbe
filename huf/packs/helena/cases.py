"""Reads and writes the documents of cases for the tools, with the session user's permissions."""

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
MINUTES_PER_DAY = 24 * 60


def check_case(case: str) -> str:
	"""The case's name. Raises ToolError if it does not exist or the user may not see it, without telling
	which.
	"""
	return document_tools.get_permitted_document(CASE, case.strip(), "read").name


def list_rows(
	doctype: str, filters: list | Mapping, fields: tuple[str, ...], order: str, limit: int = MAX_ROWS
) -> dict:
	"""{doctype, rows, count, more}; long texts are shortened, empty fields left out."""
	found = document_tools.get_list(doctype, filters, fields, order, max(1, min(limit, MAX_ROWS)))
	return {**found, "rows": [shorten_row(row) for row in found["rows"]]}


def shorten_row(row: Mapping[str, Any]) -> dict:
	return {
		key: document_tools.truncate_value(value) for key, value in row.items() if value not in (None, "")
	}


def summarize_case(case: str) -> dict:
	"""Key fields of a case, with the number of its documents and open deadlines."""
	found = list_rows(CASE, {"name": check_case(case)}, CASE_FIELDS, "name asc", 1)["rows"][0]
	documents, open_deadlines = {"akte": found["name"]}, {"akte": found["name"], "status": OPEN}
	counts = {
		"dokumente": count_rows(DOCUMENT, documents),
		"offene_fristen": count_rows(DEADLINE, open_deadlines),
	}
	return {"doctype": CASE, **found, **counts}


def count_rows(doctype: str, filters: Mapping) -> int:
	return len(frappe.get_list(doctype, filters, pluck="name", order_by="name asc", limit_page_length=0))


def list_deadlines(case: str | None, status: str) -> dict:
	"""Deadlines by status: active: not done; past: done or overdue; all."""
	day = getdate(today())
	filters = [["akte", "=", check_case(case)]] if case else []
	if status == "past":
		found = list_past_deadlines(filters, day)
	else:
		filters += [["status", "=", OPEN]] if status == "active" else []
		found = list_rows(DEADLINE, filters, DEADLINE_FIELDS, "faellig_am asc")
	return {**found, "rows": [add_days_left(row, day) for row in found["rows"]], "stand": str(day)}


def list_past_deadlines(filters: list, day: date) -> dict:
	"""The last deadlines that are done or overdue, by their days."""
	done, late = [["status", "=", DONE]], [["status", "!=", DONE], ["faellig_am", "<", day]]
	lists = [
		list_rows(DEADLINE, [*filters, *which], DEADLINE_FIELDS, "faellig_am desc") for which in (done, late)
	]
	rows = sorted((row for found in lists for row in found["rows"]), key=lambda row: str(row["faellig_am"]))
	more = len(rows) > MAX_ROWS or any(found["more"] for found in lists)
	rows = rows[-MAX_ROWS:]
	return {**lists[0], "rows": rows, "count": len(rows), "more": more}


def add_days_left(row: dict, day: date) -> dict:
	"""Add `tage`, the days left; for an open deadline that has passed, also `ueberfaellig`."""
	left = (getdate(row["faellig_am"]) - day).days
	late = {"ueberfaellig": True} if left < 0 and row["status"] == OPEN else {}
	return {**row, "faellig_am": str(row["faellig_am"]), "tage": left, **late}


def list_times(case: str, since: str | None, until: str | None) -> dict:
	filters = [["akte", "=", check_case(case)]]
	filters += [["datum", sign, read_date(day)] for sign, day in ((">=", since), ("<=", until)) if day]
	found = list_rows(TIME, filters, TIME_FIELDS, "datum asc")
	# The sums are those of all entries, also beyond the rows.
	entries = frappe.get_list(
		TIME, filters, ["minuten", "abrechenbar"], order_by="datum asc", limit_page_length=0
	)
	total = sum(entry.minuten for entry in entries)
	billable = sum(entry.minuten for entry in entries if entry.abrechenbar)
	return {**found, "minuten": total, "minuten_abrechenbar": billable}


def read_date(day: str) -> str:
	"""A date as YYYY-MM-DD. Raises ToolError for anything else."""
	try:
		return date.fromisoformat(day.strip()).isoformat()
	except ValueError:
		raise ToolError(f"{day!r} is not a date. Write it as YYYY-MM-DD.") from None


def create_document(doctype: str, values: Mapping[str, Any]) -> dict:
	"""Insert a document as the user, without empty values; returns {status, doctype, name, akte?}."""
	made = document_tools.create_document(
		doctype, {key: value for key, value in values.items() if value not in (None, "")}
	)
	return {
		"status": "created",
		"doctype": doctype,
		"name": made["name"],
		**({"akte": made["akte"]} if "akte" in made else {}),
	}
