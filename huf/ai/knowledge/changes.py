"""Follows changes of documents that Knowledge Sources cover: recorded in the same transaction, indexed after
the commit.

Every save of every document comes through here; for a DocType without a source it costs one cache lookup.
"""

import frappe

from huf.ai.core.database_connections import let_statements_wait
from huf.ai.core.documents import get_permitted
from huf.ai.core.errors import UsageError
from huf.ai.core.settings import is_installing
from huf.ai.dry_run.isolation import is_dry_run
from huf.ai.knowledge import sources, store
from huf.ai.knowledge.indexing import enqueue_index
from huf.ai.knowledge.store import SOURCE, Reference
from huf.ai.storage.shared_values import share_value

CACHE_KEY = "huf:knowledge_doctypes"
SAVEPOINT = "huf_knowledge"
CACHE_TTL_S = 24 * 3600


def mark_items(doc, method: str | None = None, *names) -> None:
	"""Document event: a document was saved, renamed (`names`: old, new) or deleted."""
	sources_by_doctype = get_sources_by_doctype()
	if doc.doctype in sources_by_doctype and not is_dry_run():
		update_items(doc, sources_by_doctype[doc.doctype], method, *names)


@let_statements_wait()
def update_items(doc, sources_of_doctype: list[str], method: str | None, *names) -> None:
	if method in ("after_delete", "after_rename"):
		for name in {str(doc.name), *map(str, names[:2])}:
			store.delete_items(store.find_document_items(doc.doctype, name))
	if method == "after_rename":
		# Frappe has changed the files of the document in the database alone.
		for file in sources.list_files(doc.doctype, [doc.name]):
			frappe.clear_document_cache("File", file.name)
	if method != "after_delete" and not doc.flags.in_delete:
		for source in sources_of_doctype:
			update_source(source, doc)


def update_source(source: str, doc) -> None:
	"""Queue a document for indexing in a source, or remove it if the source no longer covers it; also the
	files that are attached to it.
	"""
	reference = Reference(doc.doctype, str(doc.name))
	frappe.db.savepoint(SAVEPOINT)
	try:
		found = frappe.get_cached_doc(SOURCE, source) if frappe.db.exists(SOURCE, source) else None
		is_covered = bool(found) and source_contains(found, doc)
	except UsageError:
		# Broken filters must not prevent a save. The job finds them as well, and says so in the source.
		frappe.db.rollback(save_point=SAVEPOINT)
		enqueue_index(source, gather=True)
		return
	with_files = found and found.with_attachments and doc.doctype != "File"
	references = [reference, *(sources.list_files(doc.doctype, [doc.name]) if with_files else ())]
	if is_covered:
		store.insert_items(source, references)
		store.mark_waiting({"name": reference.item_name(source)})
		enqueue_index(source)
	else:
		store.delete_items([each.item_name(source) for each in references])


def check_file(doc, method: str | None = None) -> None:
	"""Document event: only users who may change a document attach files to it that agents then search.

	A web form attaches what belongs to the document that it has just made.
	"""
	doctype, name = doc.attached_to_doctype, doc.attached_to_name
	is_new_place = doc.has_value_changed("attached_to_name") or doc.has_value_changed("attached_to_doctype")
	is_trusted = doc.flags.ignore_permissions or frappe.flags.in_web_form
	is_searched = doctype == SOURCE or (not is_trusted and covers_files_of(doctype))
	if not (name and is_new_place and is_searched):
		return
	if frappe.db.exists(doctype, name):
		get_permitted(doctype, name, "write")
	elif not is_trusted:
		# Somebody may make a document of that name later, and would not know of the file.
		frappe.has_permission(doctype, "create", throw=True)


def covers_files_of(doctype: str) -> bool:
	"""Whether a source covers the files that are attached to documents of this DocType."""
	sources_by_doctype = get_sources_by_doctype()
	return not set(sources_by_doctype.get("File", ())).isdisjoint(sources_by_doctype.get(doctype, ()))


def source_contains(source, doc) -> bool:
	if doc.doctype != "File":
		return bool(sources.list_document_names(source, doc.name))
	if doc.is_folder or not doc.attached_to_name:
		return False
	if source.source_type == "Files":
		return doc.attached_to_doctype == SOURCE and doc.attached_to_name == source.name
	is_attached = source.with_attachments and doc.attached_to_doctype == source.reference_doctype
	return bool(is_attached and sources.list_document_names(source, doc.attached_to_name))


def get_sources_by_doctype() -> dict[str, list[str]]:
	"""{DocType: names of the sources that cover documents of it}, cached for the site.

	Empty during a migration: what it changes is indexed by the daily synchronization.
	"""
	if is_installing():
		return {}
	if frappe.flags.huf_sources_changed:
		return read_sources_by_doctype()
	cached = frappe.cache.get_value(CACHE_KEY, expires=True)
	if cached is None:
		cached = read_sources_by_doctype()
		share_value(CACHE_KEY, cached, CACHE_TTL_S)
	return cached


def read_sources_by_doctype() -> dict[str, list[str]]:
	names: dict[str, list[str]] = {}
	rows = frappe.get_all(
		SOURCE,
		filters={"disabled": 0},
		fields=["name", "source_type", "reference_doctype", "with_attachments"],
		order_by="name asc",
	)
	for row in rows:
		if row.source_type == "DocType":
			names.setdefault(row.reference_doctype, []).append(row.name)
		if row.source_type == "Files" or row.with_attachments:
			names.setdefault("File", []).append(row.name)
	return names


def forget_cached_sources() -> None:
	"""A source has changed: this transaction reads it from the database, others after the commit."""
	if not frappe.flags.huf_sources_changed:
		frappe.flags.huf_sources_changed = True
		frappe.db.after_commit.add(clear_cached_sources)
		frappe.db.after_rollback.add(clear_cached_sources)


def clear_cached_sources() -> None:
	frappe.flags.huf_sources_changed = False
	share_value(CACHE_KEY, None, 1)
