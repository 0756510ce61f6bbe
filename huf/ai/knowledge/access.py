"""Which chunks the user may read: asked at each search, of Frappe itself. Never remembers an answer beyond it.

A chunk is read by whoever may use its source, may read its document (by the lists' rules and by the document's own), and
may read every field that it is made of. A page has no document: there the source decides.
"""

from collections.abc import Iterable, Iterator

import frappe

from huf.ai.knowledge.sources import field_of
from huf.ai.knowledge.store import SOURCE, find_items
from huf.ai.tools.fields import readable_fields

FEW = 500
"""Documents that a reader is searched for in, where the index has more to offer than can be looked at."""


class Reader:
	"""The user of the session, for one search."""

	def __init__(self):
		self.documents: dict[tuple[str, str], object | None] = {}
		self.attached: dict[tuple[str, str], bool] = {}
		self.fields: dict[str, set[str]] = {}

	def sources(self, wanted: Iterable[str] | None = None) -> list:
		"""The sources that the user may search, of those that are wanted: name, source_type, reference_doctype, ..."""
		if not frappe.has_permission(SOURCE, "read"):
			return []
		filters = {"disabled": 0} if wanted is None else {"disabled": 0, "name": ["in", list(wanted)]}
		fields = ["name", "source_type", "reference_doctype", "with_attachments", "embedding_model"]
		return frappe.get_list(
			SOURCE, filters=filters, fields=fields, order_by="name asc", limit_page_length=0
		)

	def visible(self, rows: Iterable) -> Iterator:
		"""Of chunks with what their items are, those that the user may read, in their order."""
		rows = list(rows)
		listed = self.listed(rows)
		for row in rows:
			key = (row.reference_doctype, row.reference_name)
			is_open = key in listed and self.may_read_fields(row) and self.document(*key) is not None
			if row.url or is_open:
				yield row

	def listed(self, rows: list) -> set[tuple[str, str]]:
		"""Documents of these rows that lists show to the user."""
		names: dict[str, set[str]] = {}
		for row in rows:
			if row.reference_doctype:
				names.setdefault(row.reference_doctype, set()).add(row.reference_name)
		return {(doctype, name) for doctype, some in names.items() for name in permitted(doctype, some)}

	def few_items(self, sources: Iterable) -> list[str]:
		"""Items of the documents that the user may read, of each DocType of which these are FEW at most."""
		items = []
		for source in sources:
			doctype = source.reference_doctype
			names = permitted(doctype, limit=FEW + 1) if doctype else ()
			if 0 < len(names) <= FEW:
				items += find_items(source.name, names)
		return items

	def document(self, doctype: str, name: str):
		"""The document if the user may read it, else None; for those that `listed` has let through."""
		key = (doctype, name)
		if key not in self.documents:
			doc = read_document(doctype, name)
			is_open = (
				doc and doc.has_permission("read") and (doctype != "File" or self.may_read_attachment(doc))
			)
			self.documents[key] = doc if is_open else None
		return self.documents[key]

	def may_read_attachment(self, file) -> bool:
		"""A file is for readers of what it is attached to, and of the field that it stands in."""
		doctype, name, field = file.attached_to_doctype, file.attached_to_name, file.attached_to_field
		if not doctype or not name:
			return True
		if field and frappe.get_meta(doctype).has_field(field) and not self.may_read_field(doctype, field):
			return False
		if (doctype, name) not in self.attached:
			is_listed = bool(permitted(doctype, [name]))
			self.attached[doctype, name] = is_listed and self.document(doctype, name) is not None
		return self.attached[doctype, name]

	def may_read_fields(self, row) -> bool:
		fields = (row.from_fields or "").splitlines()
		return all(self.may_read_field(row.reference_doctype, each) for each in fields)

	def may_read_field(self, doctype: str, field: str) -> bool:
		"""Of a table's field, both the table and the field must be open at the user's levels for the document."""
		if doctype not in self.fields:
			self.fields[doctype] = set(readable_fields(doctype))
		name, _, child = field.partition(".")
		if name not in self.fields[doctype] or not child:
			return name in self.fields[doctype]
		df, _ = field_of(frappe.get_meta(doctype), field)
		return df is not None and (not df.permlevel or df.permlevel in self.levels(doctype))

	def levels(self, doctype: str) -> list[int]:
		return frappe.get_meta(doctype).get_permlevel_access("read")

	def title_of(self, row) -> str:
		"""How the user knows an item: by a title that they may read, else by its name."""
		if row.url:
			return row.title or row.url
		doc = self.document(row.reference_doctype, row.reference_name)
		field = doc.meta.get_title_field()
		if field != "name" and self.may_read_field(doc.doctype, field) and doc.get(field):
			return str(doc.get(field))
		return str(doc.name)


def permitted(doctype: str, names: Iterable[str] | None = None, limit: int = 0) -> list[str]:
	"""Documents that lists show to the user (of some `names`, or as many as `limit`).

	A File is judged by what it is attached to: lists show one's own.
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


def read_document(doctype: str, name: str):
	try:
		return frappe.get_cached_doc(doctype, name)
	except frappe.DoesNotExistError:
		return None
