"""Tools of the law office assistant Helena. Each acts with the permissions of its user.

Write tools are proposals: in the pack, each of their calls waits for a person. Parameters keep the office's
German terms.
"""

from datetime import date
from typing import Literal

import frappe
from frappe.utils import today

from huf.ai.core.errors import ToolError
from huf.ai.core.types import Effect
from huf.ai.tools import document_tools
from huf.ai.tools.registry import tool
from huf.packs.helena import cases, citations, kosten, rendering
from huf.packs.helena.search_targets import CASE_TARGETS, JUDGMENTS, STATUTES, TEMPLATES

READ, WRITE = Effect.READ, Effect.WRITE


@tool(effect=READ)
def read_akte(
	akte: str | None = None, status: Literal["Offen", "Ruhend", "Abgeschlossen"] | None = None
) -> dict:
	"""Read the key fields of one Akte (case), or list the Akten you may see

	Args:
		akte: Aktenzeichen of the Akte, such as 2026-014; left out: all of them
		status: For the list: only Akten with this status
	"""
	if akte:
		return cases.summarize_case(akte)
	filters = {"status": status} if status else {}
	return cases.list_rows(cases.CASE, filters, cases.CASE_FIELDS, "name asc")


@tool(effect=READ)
def read_akte_detail(akte: str) -> dict:
	"""Read one whole Akte: facts, parties, court, value; use it when the summary is not enough

	Args:
		akte: Aktenzeichen of the Akte
	"""
	return document_tools.get_document(cases.CASE, cases.check_case(akte))


@tool(effect=READ)
def read_dokumente(akte: str, typ: str | None = None, limit: int = 20) -> dict:
	"""List the Dokumente of an Akte: title, kind, status, date and a short summary

	Args:
		akte: Aktenzeichen of the Akte
		typ: Only this kind: Schriftsatz, Schreiben, Vertrag, Bescheid, Entscheidung or Sonstiges
		limit: The maximum number of documents
	"""
	filters = {"akte": cases.check_case(akte), **({"typ": typ} if typ else {})}
	return cases.list_rows(cases.DOCUMENT, filters, cases.DOCUMENT_FIELDS, "datum desc", limit)


@tool(effect=READ)
def read_dokumente_detail(dokument: str) -> dict:
	"""Read one whole Dokument with its text

	Args:
		dokument: The name of the Dokument from read_dokumente
	"""
	return document_tools.get_document(cases.DOCUMENT, dokument)


@tool(effect=READ)
def read_fristen(akte: str | None = None, status: Literal["active", "past", "all"] = "active") -> dict:
	"""List Fristen (deadlines), the next one first, with the days that are left

	Args:
		akte: Aktenzeichen of the Akte; left out: of all Akten you may see
		status: active: not done yet, overdue ones are marked; past: done, or their day is over; all
	"""
	return cases.list_deadlines(akte, status)


@tool(effect=READ)
def read_zeiterfassung(akte: str, von: str | None = None, bis: str | None = None) -> dict:
	"""List the time entries of an Akte, with their sum and the billable minutes

	Args:
		akte: Aktenzeichen of the Akte
		von: First day, YYYY-MM-DD
		bis: Last day, YYYY-MM-DD
	"""
	return cases.list_times(akte, von, bis)


@tool(effect=READ)
def search_gesetze(query: str, gesetz: str | None = None, limit: int = 5) -> dict:
	"""Search statutes; returns citations (§) with an excerpt and a score from 0 to 1

	Args:
		query: Words, or a paragraph such as § 536 BGB
		gesetz: Only this statute, such as BGB
		limit: The maximum number of citations
	"""
	return citations.find_citations([STATUTES], query, limit, {"gesetz": gesetz} if gesetz else None)


@tool(effect=READ)
def search_urteile(query: str, gericht: str | None = None, limit: int = 5) -> dict:
	"""Search judgments; returns citations (court, date, Az.) with a summary and a score from 0 to 1

	Args:
		query: Words, a statute, or an Aktenzeichen such as VIII ZR 185/14
		gericht: Only this court, such as BGH
		limit: The maximum number of citations
	"""
	return citations.find_citations([JUDGMENTS], query, limit, {"gericht": gericht} if gericht else None)


@tool(effect=READ)
def search_muster(query: str, limit: int = 5) -> dict:
	"""Search the office's templates (Muster); returns their titles and purposes. Name one in
	create_draft_dokument

	Args:
		query: What is to be written, in a few words
		limit: The maximum number of citations
	"""
	return citations.find_citations([TEMPLATES], query, limit)


@tool(effect=READ)
def get_kosten_rules(
	gegenstandswert: float | None = None,
	positionen: list[dict] | None = None,
	auftrag_am: str | None = None,
	auftraggeber: int = 1,
) -> dict:
	"""RVG fees: the table of § 13 RVG, the numbers of the VV RVG and the rules; with a value also the fee,
	with numbers a whole bill

	Args:
		gegenstandswert: Value of the matter in euros; without it the whole table is given
		positionen: The bill's numbers in their order, each {nummer, satz}: satz only for a frame such as Nr.
			2300. 7002 closes a matter, 7008 comes last
		auftrag_am: Day of the client's order, YYYY-MM-DD; it decides which table counts. Today if left out
		auftraggeber: Number of clients in the matter
	"""
	day = date.fromisoformat(cases.read_date(auftrag_am or today()))
	return kosten.describe(gegenstandswert, positionen, day, auftraggeber)


@tool(effect=READ)
def search_alle_akten(query: str, limit: int = 10) -> dict:
	"""Search all Akten you may see, with their Dokumente, Notizen and Fristen; returns citations with the
	Akte

	Args:
		query: Names, words or an Aktenzeichen
		limit: The maximum number of citations
	"""
	return citations.find_citations(CASE_TARGETS, query, limit)


@tool(effect=WRITE, documents_only=True)
def create_draft_dokument(
	akte: str,
	titel: str,
	inhalt: str,
	typ: Literal["Schriftsatz", "Schreiben", "Vertrag", "Sonstiges"] = "Schreiben",
	format: Literal["markdown", "html"] = "markdown",
	muster: str | None = None,
) -> dict:
	"""Propose the text of a new Dokument in an Akte; once it is allowed, a Word file is made of it

	Args:
		akte: Aktenzeichen of the Akte
		titel: Title of the Dokument
		inhalt: The whole text, in the format given
		typ: Kind of Dokument
		format: markdown or html
		muster: Title of the Muster it was made from, as search_muster names it
	"""
	values = {
		"titel": titel,
		"inhalt": inhalt,
		"typ": typ,
		"format": format,
		"muster": muster,
		"status": "Entwurf",
	}
	made = cases.create_document(cases.DOCUMENT, {"akte": cases.check_case(akte), **values})
	rendering.enqueue_rendering(made["name"])
	return made


@tool(effect=WRITE, documents_only=True)
def create_draft_frist(
	akte: str,
	bezeichnung: str,
	faellig_am: str,
	art: Literal["Frist", "Notfrist", "Termin", "Wiedervorlage"] = "Frist",
	vorfrist_am: str | None = None,
	rechtsgrundlage: str | None = None,
) -> dict:
	"""Propose a Frist (deadline) for an Akte

	Args:
		akte: Aktenzeichen of the Akte
		bezeichnung: What has to be done by then
		faellig_am: The day, YYYY-MM-DD
		art: Kind of Frist
		vorfrist_am: Day of an earlier reminder, YYYY-MM-DD
		rechtsgrundlage: The statute it follows from, such as § 517 ZPO
	"""
	due, before = cases.read_date(faellig_am), vorfrist_am and cases.read_date(vorfrist_am)
	if before and before >= due:
		raise ToolError("The vorfrist_am must be before the faellig_am.")
	values = {"bezeichnung": bezeichnung, "faellig_am": due, "vorfrist_am": before, "art": art}
	return cases.create_document(
		cases.DEADLINE,
		{"akte": cases.check_case(akte), **values, "rechtsgrundlage": rechtsgrundlage, "status": cases.OPEN},
	)


@tool(effect=WRITE, documents_only=True)
def create_notiz(titel: str, inhalt: str, akte: str | None = None) -> dict:
	"""Propose a note, in an Akte or of no Akte, such as the outcome of research across Akten

	Args:
		titel: A short title
		inhalt: The note
		akte: Aktenzeichen of the Akte it belongs to; left out: a general note
	"""
	return cases.create_document(
		cases.NOTE, {"titel": titel, "inhalt": inhalt, "akte": akte and cases.check_case(akte)}
	)


@tool(effect=WRITE, documents_only=True)
def create_alert(
	titel: str, text: str, severity: Literal["info", "warning", "critical"] = "info", akte: str | None = None
) -> dict:
	"""Propose an alert that people should notice, in your own words

	Args:
		titel: A short title
		text: What to notice
		severity: info, warning or critical
		akte: Aktenzeichen of the Akte it is about
	"""
	values = {"titel": titel, "text": text, "schwere": severity, "akte": akte and cases.check_case(akte)}
	return cases.create_document(cases.ALERT, values)


@tool(effect=WRITE, documents_only=True)
def update_akte_rag(
	akte: str,
	zusammenfassung: str | None = None,
	status: Literal["Offen", "Ruhend", "Abgeschlossen"] | None = None,
	tags: list[str] | None = None,
	rechtsgebiet: str | None = None,
) -> dict:
	"""Propose a better summary of an Akte, which is searched first, or another status, tags or Rechtsgebiet

	Args:
		akte: Aktenzeichen of the Akte
		zusammenfassung: The new summary, whole
		status: The new status
		tags: All tags from now on
		rechtsgebiet: The new Rechtsgebiet
	"""
	joined = None if tags is None else ", ".join(tag.strip() for tag in tags if tag.strip())
	values = {
		"zusammenfassung": zusammenfassung,
		"status": status,
		"tags": joined,
		"rechtsgebiet": rechtsgebiet,
	}
	values = {key: value for key, value in values.items() if value is not None}
	if not values:
		raise ToolError("Say what to change: zusammenfassung, status, tags or rechtsgebiet.")
	name = cases.check_case(akte)
	document_tools.update_document(cases.CASE, name, values)
	return {"status": "updated", "doctype": cases.CASE, "name": name, "fields": list(values)}


@tool(effect=WRITE, documents_only=True)
def create_draft_zeiterfassung(
	akte: str, minuten: int, taetigkeit: str, datum: str | None = None, abrechenbar: bool = True
) -> dict:
	"""Propose a time entry of the person you work for; it counts once they allow it

	Args:
		akte: Aktenzeichen of the Akte
		minuten: Minutes spent
		taetigkeit: What was done
		datum: The day, YYYY-MM-DD; today if left out
		abrechenbar: Whether the client pays for it
	"""
	if not 0 < minuten <= cases.MINUTES_PER_DAY:
		raise ToolError(f"The minuten must be from 1 to {cases.MINUTES_PER_DAY}.")
	values = {"minuten": minuten, "taetigkeit": taetigkeit, "datum": cases.read_date(datum or today())}
	return cases.create_document(
		cases.TIME,
		{
			"akte": cases.check_case(akte),
			**values,
			"bearbeiter": frappe.session.user,
			"abrechenbar": int(abrechenbar),
		},
	)
