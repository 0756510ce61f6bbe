"""Decides which chunks the user may read, by Frappe's own permission checks; nothing is cached beyond one
search.

A chunk is readable for users who may read its source, its document (by the rules of lists and of the document
itself) and every field it was made from. A web page has no document, so its source alone decides. No title,
score or count of a chunk may be shown before this check.
"""

from collections.abc import Iterable, Iterator

import frappe

from huf.ai.core.grouping import group_pairs
from huf.ai.knowledge.sources import find_source_field
from huf.ai.knowledge.store import SOURCE, find_source_items
from huf.ai.tools.fields import list_readable_fields

MAX_DOCUMENTS_BY_NAME = 500
"""If the user may read at most this many documents of a DocType, a search can look in exactly these."""


class KnowledgeReader:
	"""Permissions of the session user during one search."""

	def __init__(self):
		self.documents: dict[tuple[str, str], object | None] = {}
		self.attached: dict[tuple[str, str], bool] = {}
		self.fields: dict[str, set[str]] = {}

	def sources(self, wanted: Iterable[str] | None = None) -> list:
		"""Rows of the enabled sources that the user may search; `wanted`: names to choose from, None: all."""
		if not frappe.has_permission(SOURCE, "read"):
			return []
		filters = {"disabled": 0} if wanted is None else {"disabled": 0, "name": ["in", list(wanted)]}
		fields = ["name", "source_type", "reference_doctype", "with_attachments", "embedding_model"]
		return frappe.get_list(
			SOURCE, filters=filters, fields=fields, order_by="name asc", limit_page_length=0
		)

	def filter_readable(self, rows: Iterable) -> Iterator:
		"""The rows of chunks or items that the user may read, in their order."""
		rows = list(rows)
		listed = self.find_listed(rows)
		for row in rows:
			key = (row.reference_doctype, row.reference_name)
			is_open = key in listed and self.may_read_fields(row) and self.document(*key) is not None
			if row.url or is_open:
				yield row

	def find_listed(self, rows: list) -> set[tuple[str, str]]:
		"""(DocType, name) of the rows' documents that a list view shows to the user."""
		documents = dict.fromkeys((row.reference_doctype, row.reference_name) for row in rows)
		names = group_pairs(each for each in documents if each[0])
		return {(doctype, name) for doctype, some in names.items() for name in list_permitted(doctype, some)}

	def find_few_items(self, sources: Iterable) -> list[str]:
		"""Items of the documents that the user may read, for DocTypes with at most MAX_DOCUMENTS_BY_NAME of
		them.
		"""
		items = []
		for source in sources:
			doctype = source.reference_doctype
			names = list_permitted(doctype, limit=MAX_DOCUMENTS_BY_NAME + 1) if doctype else ()
			if 0 < len(names) <= MAX_DOCUMENTS_BY_NAME:
				items += find_source_items(source.name, names)
		return items

	def document(self, doctype: str, name: str):
		"""The document if the user may read it, else None.

		Call it for documents that `find_listed` returned.
		"""
		key = (doctype, name)
		if key not in self.documents:
			doc = load_document(doctype, name)
			is_open = (
				doc and doc.has_permission("read") and (doctype != "File" or self.may_read_attachment(doc))
			)
			self.documents[key] = doc if is_open else None
		return self.documents[key]

	def may_read_attachment(self, file) -> bool:
		"""A file may be read with the document it is attached to and the field that holds it."""
		doctype, name, field = file.attached_to_doctype, file.attached_to_name, file.attached_to_field
		if not doctype or not name:
			return True
		if field and frappe.get_meta(doctype).has_field(field) and not self.may_read_field(doctype, field):
			return False
		if (doctype, name) not in self.attached:
			is_listed = bool(list_permitted(doctype, [name]))
			self.attached[doctype, name] = is_listed and self.document(doctype, name) is not None
		return self.attached[doctype, name]

	def may_read_fields(self, row) -> bool:
		fields = (row.from_fields or "").splitlines()
		return all(self.may_read_field(row.reference_doctype, each) for each in fields)

	def may_read_field(self, doctype: str, field: str) -> bool:
		"""Whether the user's permission levels include a field; for table.field, the table and its field."""
		if doctype not in self.fields:
			self.fields[doctype] = set(list_readable_fields(doctype))
		name, _, child = field.partition(".")
		if name not in self.fields[doctype] or not child:
			return name in self.fields[doctype]
		df, _ = find_source_field(frappe.get_meta(doctype), field)
		if df is None or not df.permlevel:
			return df is not None
		return df.permlevel in frappe.get_meta(doctype).get_permlevel_access("read")

	def get_title(self, row) -> str:
		"""The title of an item if the user may read it, else its name or URL."""
		if row.url:
			return row.title or row.url
		doc = self.document(row.reference_doctype, row.reference_name)
		field = doc.meta.get_title_field()
		if field != "name" and self.may_read_field(doc.doctype, field) and doc.get(field):
			return str(doc.get(field))
		return str(doc.name)


def list_permitted(doctype: str, names: Iterable[str] | None = None, limit: int = 0) -> list[str]:
	"""Names of documents that a list view shows to the user (of `names`; at most `limit`, 0: all).

	Files pass unchecked: lists show only one's own, so `may_read_attachment` decides by what they are
	attached to.
	"""
	if doctype == "File":
		return list(names or ())
	if not frappe.db.exists("DocType", doctype) or not frappe.has_permission(doctype, "read"):
		return []
	filters = [] if names is None else [[doctype, "name", "in", list(names)]]
	found = frappe.get_list(
		doctype, filters=filters, pluck="name", order_by="name asc", limit_page_length=limit
	)
	return list(map(str, found))


def load_document(doctype: str, name: str):
	try:
		return frappe.get_cached_doc(doctype, name)
	except frappe.DoesNotExistError:
		return None
