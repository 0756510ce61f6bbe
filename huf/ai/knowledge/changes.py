"""What happens to documents, as far as a Knowledge Source has them: noted in the transaction of the change, indexed after it.

Every save passes here; where no source holds the DocType it costs a look into the cache.
"""

import frappe

from huf.ai.dry_run.change_tracking import is_trial
from huf.ai.knowledge import sources, store
from huf.ai.knowledge.indexing import enqueue_index
from huf.ai.knowledge.store import SOURCE, Reference

KEY = "huf:knowledge_doctypes"
KEEP_SECONDS = 24 * 3600


def note_change(doc, method: str | None = None, *names) -> None:
	"""A document was saved, renamed (`names`: the old one, the new one) or deleted."""
	watched = get_watched()
	if doc.doctype not in watched or is_trial():
		return
	if method in ("after_delete", "after_rename"):
		for name in {str(doc.name), *map(str, names[:2])}:
			store.delete_items(store.items_of_document(doc.doctype, name))
	if method != "after_delete" and not doc.flags.in_delete:
		for source in watched[doc.doctype]:
			renew(source, doc)


def renew(source: str, doc) -> None:
	"""Have a source read a document again, or forget it where it does not hold it any more."""
	reference = Reference(doc.doctype, str(doc.name))
	name = reference.item_of(source)
	if frappe.db.exists(SOURCE, source) and holds(frappe.get_cached_doc(SOURCE, source), doc):
		store.insert_items(source, [reference])
		store.mark_waiting({"name": name})
		enqueue_index(source, gather=False, enqueue_after_commit=True)
	else:
		store.delete_items([name])


def holds(source, doc) -> bool:
	if doc.doctype != "File":
		return bool(sources.document_names(source, doc.name))
	if doc.is_folder or not doc.attached_to_name:
		return False
	if source.source_type == "Files":
		return doc.attached_to_doctype == SOURCE and doc.attached_to_name == source.name
	is_attached = source.with_attachments and doc.attached_to_doctype == source.reference_doctype
	return bool(is_attached and sources.document_names(source, doc.attached_to_name))


def get_watched() -> dict[str, list[str]]:
	"""{DocType: names of the sources that hold documents of it}."""
	if frappe.flags.huf_sources_changed:
		return read_watched()
	kept = frappe.cache.get_value(KEY, expires=True)
	if kept is None:
		kept = read_watched()
		frappe.cache.set_value(KEY, kept, expires_in_sec=KEEP_SECONDS)
	return kept


def read_watched() -> dict[str, list[str]]:
	watched: dict[str, list[str]] = {}
	if not frappe.db.table_exists(SOURCE):
		# Somebody saves before this version of the app has been migrated to.
		return watched
	rows = frappe.get_all(
		SOURCE,
		filters={"disabled": 0},
		fields=["name", "source_type", "reference_doctype", "with_attachments"],
		order_by="name asc",
	)
	for row in rows:
		if row.source_type == "DocType":
			watched.setdefault(row.reference_doctype, []).append(row.name)
		if row.source_type == "Files" or row.with_attachments:
			watched.setdefault("File", []).append(row.name)
	return watched


def forget_watched() -> None:
	"""A source was changed in this transaction, which learns it at once; others do with the commit."""
	if not frappe.flags.huf_sources_changed:
		frappe.flags.huf_sources_changed = True
		frappe.db.after_commit.add(settle)
		frappe.db.after_rollback.add(settle)


def settle() -> None:
	frappe.flags.huf_sources_changed = False
	frappe.cache.set_value(KEY, None, expires_in_sec=1)
