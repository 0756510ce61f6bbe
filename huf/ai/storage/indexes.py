"""Indexes that DocTypes cannot declare, and on Postgres also those that they declare.

Frappe names an index after its fields only, and index names are unique in a Postgres database: of all tables
with a field of the same name, only one gets the index.
"""

import frappe

LISTED_BY_CREATION = ("Agent Run", "Agent LLM Call", "Agent Tool Call", "Agent Change")
"""DocTypes that are listed and summed up by time and can have millions of rows."""
COMBINED = (("Agent Run", ("status", "creation")), ("Agent LLM Call", ("status", "started_at")))


def add_indexes() -> None:
	"""Create what is missing. Commits."""
	for doctype, fields in (*((each, ("creation",)) for each in LISTED_BY_CREATION), *COMBINED):
		add_index(doctype, fields)
	if frappe.db.db_type == "postgres":
		for doctype in frappe.get_all(
			"DocType", {"module": "Huf", "issingle": 0}, pluck="name", order_by="name"
		):
			for field in list_indexed_fields(doctype):
				add_index(doctype, (field,))


def list_indexed_fields(doctype: str) -> list[str]:
	meta = frappe.get_meta(doctype)
	return [*(["parent"] if meta.istable else []), *(df.fieldname for df in meta.fields if df.search_index)]


def add_index(doctype: str, fields: tuple[str, ...]) -> None:
	name = frappe.scrub("_".join((doctype, *fields)))[:63] if frappe.db.db_type == "postgres" else None
	frappe.db.add_index(doctype, list(fields), name)
