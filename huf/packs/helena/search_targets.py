"""What Helena searches: fields with their weights, and how matches are cited."""

from frappe.utils import getdate

from huf.packs.helena import cases
from huf.packs.helena.citations import SearchTarget

STATUTES = SearchTarget(
	"Helena Gesetz",
	{"zitat": 1, "titel": 0.9, "stichworte": 0.9, "wortlaut": 0.6},
	"wortlaut",
	lambda row: row["zitat"],
	("ist_zusammenfassung", "url"),
)
JUDGMENTS = SearchTarget(
	"Helena Urteil",
	{"aktenzeichen": 1, "titel": 1, "kernaussage": 0.8, "normen": 0.6, "gericht": 0.4},
	"kernaussage",
	lambda row: (
		f"{row['gericht']}, {row['art']} vom {getdate(row['datum']):%d.%m.%Y} – {row['aktenzeichen']}"
	),
	("gericht", "art", "datum", "url"),
)
TEMPLATES = SearchTarget(
	"Helena Muster",
	{"titel": 1, "zweck": 0.8, "rechtsgebiet": 0.7, "inhalt": 0.5},
	"zweck",
	lambda row: f"Muster „{row['titel']}“",
	("typ", "rechtsgebiet"),
)
CASE_TARGETS = (
	SearchTarget(
		cases.CASE,
		{
			"aktenzeichen": 1,
			"kurzrubrum": 1,
			"tags": 0.9,
			"zusammenfassung": 0.8,
			"sachverhalt": 0.7,
			"rechtsgebiet": 0.6,
		},
		"zusammenfassung",
		lambda row: f"Akte {row['aktenzeichen']}",
		("status",),
	),
	*(
		SearchTarget(
			doctype,
			{title: 1, text: 0.7},
			text,
			lambda row, title=title: f"Akte {row['akte']}, {row[title]}",
			("akte",),
		)
		for doctype, title, text in (
			(cases.DOCUMENT, "titel", "inhalt"),
			(cases.NOTE, "titel", "inhalt"),
			(cases.DEADLINE, "bezeichnung", "bemerkung"),
		)
	),
)
