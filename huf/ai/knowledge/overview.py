"""What people who look after Knowledge Sources are shown of them, and what they can take out. Items only as far as they may read them."""

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.knowledge import store
from huf.ai.knowledge.access import Reader
from huf.ai.knowledge.sources import urls_of
from huf.ai.knowledge.store import SOURCE

FIELDS = (
	"name",
	"description",
	"source_type",
	"reference_doctype",
	"disabled",
	"state",
	"error",
	"indexed_at",
)
MAX_LIST_ROWS = 200


def list_sources() -> list[dict]:
	"""The sources that the user may search, each with `may_change`; who may change it also reads `counts`: {state: items}."""
	rows = frappe.get_list(SOURCE, fields=list(FIELDS), order_by="name asc", limit_page_length=0)
	for row in rows:
		row.may_change = bool(frappe.has_permission(SOURCE, "write", doc=row.name))
		if row.may_change:
			row.counts = store.count_items(row.name)
	return rows


def list_items(source: str, start: int = 0, limit: int = 50) -> list[dict]:
	"""Items of a source that the user may read, those with a fault first: {name, title, doctype, document, url, state, ...}."""
	reader = Reader()
	rows = store.list_items(source, start, min(limit, MAX_LIST_ROWS))
	return [
		{
			"name": row.name,
			"title": reader.title_of(row),
			"doctype": row.reference_doctype,
			"document": row.reference_name,
			"url": row.url,
			"state": row.state,
			"error": row.error,
			"chunks": row.chunks,
			"indexed_at": row.indexed_at,
		}
		for row in reader.visible(rows)
	]


def remove_item(item: str) -> None:
	"""Take a file or a page out of its source; the file is deleted. Raises UsageError, PermissionError."""
	row = frappe.db.get_value(
		store.ITEM, item, ["source", "reference_doctype", "reference_name", "url"], as_dict=True
	)
	if not row:
		raise UsageError("That is not in the source any more.")
	source = frappe.get_doc(SOURCE, row.source)
	source.check_permission("write")
	if row.url:
		source.urls = "\n".join(url for url in urls_of(source) if url != row.url)
		source.save()
		store.delete_items([item])
	elif row.reference_doctype == "File" and source.source_type == "Files":
		frappe.delete_doc("File", row.reference_name)
	else:
		raise UsageError(
			"This source holds all documents that its filters take. Change the filters, or delete the document."
		)
