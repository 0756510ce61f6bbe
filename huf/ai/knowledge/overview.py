"""Lists Knowledge Sources and their items for the people who maintain them, with their permissions."""

import frappe
from frappe import _

from huf.ai.core.documents import get_permitted
from huf.ai.core.errors import UsageError
from huf.ai.knowledge import store
from huf.ai.knowledge.access import KnowledgeReader
from huf.ai.knowledge.sources import parse_urls
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
	"""Sources the user may search, with `may_change` and, if true, `counts`: {state: number of items}."""
	rows = frappe.get_list(SOURCE, fields=list(FIELDS), order_by="name asc", limit_page_length=0)
	for row in rows:
		row.may_change = bool(frappe.has_permission(SOURCE, "write", doc=row.name))
		if row.may_change:
			row.counts = store.count_items(row.name)
	return rows


def list_items(source: str, start: int = 0, limit: int = 50) -> list[dict]:
	"""Items of a source that the user may read, failed ones first: [{name, title, doctype, document, url,
	...}].
	"""
	reader = KnowledgeReader()
	rows = store.read_item_page(source, start, min(limit, MAX_LIST_ROWS))
	return [
		{
			"name": row.name,
			"title": reader.get_title(row),
			"doctype": row.reference_doctype,
			"document": row.reference_name,
			"url": row.url,
			"state": row.state,
			"error": row.error,
			"chunks": row.chunks,
			"indexed_at": row.indexed_at,
		}
		for row in reader.filter_readable(rows)
	]


def remove_source_item(item: str) -> None:
	"""Remove a file or a page from its source; the file is deleted.

	Raises UsageError if the item is gone or is a document of a filter, PermissionError if the user may not
	change the source.
	"""
	row = frappe.db.get_value(
		store.ITEM, item, ["source", "reference_doctype", "reference_name", "url"], as_dict=True
	)
	if not row:
		raise UsageError(_("That is no longer in the source."))
	source = get_permitted(SOURCE, row.source, "write")
	if row.url:
		source.urls = "\n".join(url for url in parse_urls(source) if url != row.url)
		source.save()
		store.delete_items([item])
	elif row.reference_doctype == "File" and source.source_type == "Files":
		frappe.delete_doc("File", row.reference_name)
	else:
		raise UsageError(
			_("This source covers all documents that match its filters. Change them, or delete the document.")
		)
