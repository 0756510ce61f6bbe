"""Keeps the index true: what sources hold is read anew when it changes, in the background, and forgotten when it is gone.

Each item waits on record until it is done, so a worker that is lost loses nothing. Nothing is read or fetched while a
transaction is open.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import frappe
from frappe.utils import now

from huf.ai.core.canonical_json import to_canonical_json
from huf.ai.core.errors import ModelError, UsageError
from huf.ai.knowledge import sources, store, vectors
from huf.ai.knowledge.chunking import Part, split_parts
from huf.ai.knowledge.store import SOURCE, State
from huf.ai.storage.rows import digest

VERSION = 1
"""Of how texts are read and cut; another one has everything indexed anew."""
JOB_TIMEOUT_S = 3600
AT_ONCE, MAX_CHUNKS = 50, 500
"""Items that are read, and chunks that are written, in one go: others wait for the database so long."""


def enqueue_index(source: str, **how) -> None:
	"""Have a source indexed by a worker, once however often it is asked for."""
	frappe.enqueue(
		"huf.ai.knowledge.indexing.index_source",
		queue="long",
		timeout=JOB_TIMEOUT_S,
		job_id=f"huf-knowledge-{source}",
		deduplicate=True,
		source=source,
		**how,
	)


def index_source(source: str, gather: bool = True, again: bool = False) -> None:
	"""Bring a source up to date; the outermost function of its job. Commits.

	`gather`: look what it holds, and at pages anew. `again`: read all of it, changed or not.
	"""
	before = frappe.db.get_value(SOURCE, {"name": source, "disabled": 0}, "state")
	if before is None:
		return
	store.set_state(source, State.INDEXING)
	frappe.db.commit()
	# A worker that was lost here before may have been lost over one of the items.
	work = index_warily if before == State.INDEXING.value else index_items
	try:
		if gather:
			gather_items(frappe.get_doc(SOURCE, source), again)
		while items := store.next_waiting(source, AT_ONCE):
			work(items)
	except UsageError as error:
		frappe.db.rollback()
		store.set_state(source, State.FAILED, error=str(error))
	else:
		store.set_state(source, State.READY, indexed_at=now())
	frappe.db.commit()


def gather_items(source, again: bool = False) -> None:
	"""Items for all that the source holds, and none for what it does not hold any more."""
	wanted = {each.item_of(source.name): each for each in sources.references_of(source)}
	known = store.read_items(source.name)
	store.insert_items(source.name, [each for name, each in wanted.items() if name not in known])
	store.delete_items([name for name in known if name not in wanted])
	changed = known if again or source.source_type == "URLs" else stale(known)
	for start in range(0, len(names := [name for name in changed if name in wanted]), store.AT_ONCE):
		store.mark_waiting({"name": ["in", names[start : start + store.AT_ONCE]]})
	frappe.db.commit()


def stale(known: dict) -> list[str]:
	"""Items that failed, or whose document was changed after they were indexed."""
	changed = times_of_change(known.values())
	return [
		name
		for name, row in known.items()
		if row.state == State.FAILED.value
		or is_older(row, changed.get((row.reference_doctype, row.reference_name)))
	]


def is_older(row, changed) -> bool:
	return bool(changed and row.indexed_at and changed >= row.indexed_at)


def times_of_change(rows: Iterable) -> dict[tuple[str, str], datetime]:
	names: dict[str, list[str]] = {}
	for row in rows:
		names.setdefault(row.reference_doctype, []).append(row.reference_name)
	return {
		(doctype, str(row.name)): row.modified
		for doctype, some in names.items()
		for start in range(0, len(some), store.AT_ONCE)
		for row in frappe.get_all(
			doctype,
			filters=[[doctype, "name", "in", some[start : start + store.AT_ONCE]]],
			fields=["name", "modified"],
			order_by="name asc",
		)
	}


def index_items(items: list) -> None:
	"""Read items, then write down what they say: nothing is read while a transaction is open. Commits."""
	read, size = [], 0
	for item in items:
		read.append((item, read_item(item)))
		size += len(read[-1][1].chunks)
		if size > MAX_CHUNKS or item is items[-1]:
			for each, found in read:
				settle(each, found)
			frappe.db.commit()
			read, size = [], 0


def index_warily(items: list) -> None:
	"""One by one, each called failed until it is read: the one that ends a worker does not keep back the others."""
	for item in items:
		store.fail_item(item, "The worker that read it was lost.", keep=True)
		frappe.db.commit()
		settle(item, read_item(item))
		frappe.db.commit()


@dataclass(frozen=True)
class Found:
	"""What was found of an item; `error` is why nothing was, `is_gone` that there is nothing any more."""

	title: str | None = None
	chunks: Sequence[Part] = ()
	hash: str = ""
	vectors: Sequence[str] | None = None
	error: str | None = None
	is_gone: bool = False


def read_item(item) -> Found:
	try:
		title, parts = sources.read_item(item)
	except frappe.DoesNotExistError:
		return Found(is_gone=True)
	except (UsageError, frappe.ValidationError, OSError) as error:
		return Found(error=str(error))
	chunks = list(split_parts(parts))
	if not chunks:
		return Found(error="There is no text in it.")
	model = frappe.get_cached_value(SOURCE, item.source, "embedding_model")
	found = Found(title, chunks, hash_of(title, chunks, model))
	return embedded(found, model) if model and found.hash != item.content_hash else found


def embedded(found: Found, model: str) -> Found:
	"""With a vector for each chunk; where the model cannot be asked, found by its words until it can."""
	try:
		said = [f"{each.heading}\n{each.text}" for each in found.chunks]
		return replace(found, vectors=vectors.embed(model, said))
	except ModelError as error:
		return replace(found, hash=hash_of(found.title, found.chunks, None), error=str(error))


def settle(item, found: Found) -> None:
	if found.is_gone:
		store.delete_items([item.name])
	elif found.error and not found.chunks:
		store.fail_item(item, found.error, keep=bool(item.url))
	else:
		store.settle_item(item, found.title, found.hash, found.chunks, found.vectors, found.error)


def hash_of(title: str | None, chunks: Sequence[Part], model: str | None) -> str:
	said = [(each.text, each.heading, each.page, each.start, each.fields) for each in chunks]
	return digest(VERSION, title, model or "", to_canonical_json(said))


def recover() -> None:
	"""Called every minute: whatever waits is worked on, also where a worker was lost."""
	for source in store.sources_waiting():
		enqueue_index(source, gather=False)


def refresh() -> None:
	"""Called every day: sources are looked through, and pages read anew."""
	for source in frappe.get_all(SOURCE, filters={"disabled": 0}, pluck="name", order_by="name asc"):
		enqueue_index(source)
