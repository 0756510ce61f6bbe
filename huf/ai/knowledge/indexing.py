"""Keeps the index up to date in background jobs: reads changed items, removes those that are gone.

An item stays Waiting on record until it is indexed, so a lost worker loses nothing. Nothing is read or
fetched while a transaction is open.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import Any

import frappe
from frappe.utils import now

from huf.ai.core.errors import ModelError, UsageError
from huf.ai.core.grouping import group_pairs
from huf.ai.core.json_text import to_canonical_json
from huf.ai.core.stored_text import clip, digest
from huf.ai.knowledge import sources, store, vectors
from huf.ai.knowledge.chunking import Part, split_into_chunks
from huf.ai.knowledge.index_text import make_index_texts
from huf.ai.knowledge.store import READ_AGAIN, SOURCE, IndexState, ItemContent
from huf.ai.storage.jobs import enqueue_job
from huf.ai.storage.rows import in_batches

INDEX_VERSION = 1
"""Version of reading and chunking; a new one re-indexes everything."""
JOB_TIMEOUT_S = 3600
ITEMS_PER_BATCH = 50
MAX_CHUNKS_PER_COMMIT = 500
"""Chunks written in one transaction; other writers wait that long."""


def request_index(source: str, again: bool = False) -> None:
	"""Queue the synchronization and indexing of a source after the commit; see `index_source`.

	A source has one job at a time. The request is stored with the source, so that a job which is queued or
	running already serves it as well.
	"""
	store.request_sync(source, again)
	enqueue_index(source)


def enqueue_index(source: str, gather: bool = False) -> None:
	"""Queue the indexing of a source after the commit. Writes nothing, and does nothing while its job is
	queued or running.
	"""
	enqueue_job(
		"huf.ai.knowledge.indexing.index_source",
		after_commit=True,
		queue="long",
		timeout=JOB_TIMEOUT_S,
		job_id=f"huf-knowledge-{source}",
		deduplicate=True,
		source=source,
		gather=gather,
	)


def index_source(source: str, gather: bool = True, again: bool = False) -> None:
	"""Background job: bring a source up to date. Commits.

	`gather`: also look for new and removed items, and fetch web pages again; so it does if that was
	requested. `again`: read unchanged items too.
	"""
	fields = ["state", "error", "requested"]
	row = frappe.db.get_value(SOURCE, {"name": source, "disabled": 0}, fields, as_dict=True)
	if row is None:
		return
	store.set_state(source, IndexState.INDEXING)
	frappe.db.commit()
	# The last worker was lost during this job, perhaps because of one of the items.
	index_batch = index_one_by_one if row.state == IndexState.INDEXING.value else index_items
	requested = row.requested or ""
	try:
		if gather or requested:
			sync_items(frappe.get_doc(SOURCE, source), again or requested.startswith(READ_AGAIN))
			store.clear_request(source, requested)
			frappe.db.commit()
		while items := store.list_waiting_items(source, ITEMS_PER_BATCH):
			index_batch(items)
	except UsageError as error:
		frappe.db.rollback()
		store.clear_request(source, requested)
		store.set_state(source, IndexState.FAILED, error=str(error))
		frappe.db.commit()
		return
	if row.state == IndexState.FAILED.value and not (gather or requested):
		# Its documents could not be listed, which only the next synchronization can change.
		store.set_state(source, IndexState.FAILED, error=row.error)
	else:
		store.set_state(source, IndexState.READY, indexed_at=now())
	frappe.db.commit()
	if source in store.list_unfinished_sources():
		# It was asked for after the last look, and not queued because this job was still running.
		index_source(source, gather=False)


def sync_items(source, again: bool = False) -> None:
	"""Insert and delete items to match what the source covers, and mark changed ones as waiting."""
	# In this order: an item that is added in between must not look deleted.
	known = store.read_items(source.name)
	current = {each.item_name(source.name): each for each in sources.list_references(source)}
	store.insert_items(source.name, [each for name, each in current.items() if name not in known])
	store.delete_items([name for name in known if name not in current])
	changed = known if again or source.source_type == "URLs" else find_stale_items(known)
	for names in in_batches([name for name in changed if name in current]):
		store.mark_waiting({"name": ["in", names]})
	frappe.db.commit()


def find_stale_items(known: dict) -> list[str]:
	"""Names of items that failed, or whose document has changed since they were indexed."""
	changed = read_modified_times(known.values())
	return [
		name
		for name, row in known.items()
		if row.state == IndexState.FAILED.value
		or is_older(row, changed.get((row.reference_doctype, row.reference_name)))
	]


def is_older(row, changed) -> bool:
	return bool(changed and row.indexed_at and changed >= row.indexed_at)


def read_modified_times(rows: Iterable) -> dict[tuple[str, str], datetime]:
	names = group_pairs((row.reference_doctype, row.reference_name) for row in rows)
	return {
		(doctype, str(row.name)): row.modified
		for doctype, all_names in names.items()
		for some in in_batches(all_names)
		for row in frappe.get_all(
			doctype,
			filters=[[doctype, "name", "in", some]],
			fields=["name", "modified"],
			order_by="name asc",
		)
	}


def index_items(items: list) -> None:
	"""Read items, then store their contents: nothing is written before a batch has been read. Commits."""
	contents: list[tuple[Any, ItemContent]] = []
	for item in items:
		contents.append((item, read_item_content(item)))
		count = sum(len(content.chunks) for _, content in contents)
		if count > MAX_CHUNKS_PER_COMMIT or item is items[-1]:
			for each, content in contents:
				store_content(each, content)
			frappe.db.commit()
			contents = []


def index_one_by_one(items: list) -> None:
	"""Mark each item as failed before it is read, so that one that kills its worker blocks no other."""
	for item in items:
		store.fail_item(item, "The worker that read it was lost.", keep=True)
		frappe.db.commit()
		store_content(item, read_item_content(item))
		frappe.db.commit()


def read_item_content(item) -> ItemContent:
	try:
		title, parts = sources.read_item_parts(item)
	except frappe.DoesNotExistError:
		return ItemContent(is_gone=True)
	except (UsageError, frappe.ValidationError, OSError) as error:
		return ItemContent(error=str(error))
	title = clip(title, 500)
	some = islice(split_into_chunks(parts), store.MAX_CHUNKS_PER_ITEM)
	chunks = [replace(each, heading=clip(each.heading, 500)) for each in some]
	if not chunks:
		return ItemContent(error="There is no text in it.")
	model = frappe.get_cached_value(SOURCE, item.source, "embedding_model")
	content = ItemContent(title, chunks, hash_content(title, chunks, model))
	if content.hash == item.content_hash:
		return content
	# Here and not when it is stored, because no other process can write to the database then.
	content = replace(content, words=make_index_texts(title, chunks))
	return add_vectors(content, model) if model else content


def add_vectors(content: ItemContent, model: str) -> ItemContent:
	"""Add a vector for each chunk; if the model fails, only full-text search finds the item until it is
	indexed again.
	"""
	try:
		texts = [f"{each.heading}\n{each.text}" for each in content.chunks]
		return replace(content, vectors=vectors.embed_texts(model, texts))
	except ModelError as error:
		return replace(content, hash=hash_content(content.title, content.chunks, None), error=str(error))


def store_content(item, content: ItemContent) -> None:
	if content.is_gone:
		store.delete_items([item.name])
	elif content.error and not content.chunks:
		store.fail_item(item, content.error, keep=bool(item.url))
	else:
		store.update_item(item, content)


def hash_content(title: str | None, chunks: Sequence[Part], model: str | None) -> str:
	texts = [(each.text, each.heading, each.page, each.start, each.fields) for each in chunks]
	return digest(INDEX_VERSION, title, model or "", to_canonical_json(texts))


def recover_sources() -> None:
	"""Scheduled every minute: queue all sources with work to do, also those of lost workers."""
	for source in store.list_unfinished_sources():
		enqueue_index(source)


def refresh_sources() -> None:
	"""Scheduled every day: synchronize all sources and fetch their web pages again."""
	for source in frappe.get_all(SOURCE, filters={"disabled": 0}, pluck="name", order_by="name asc"):
		request_index(source)
