"""The tables Knowledge Item and Knowledge Chunk, and the full-text index; the only writer of all three.

An item is a document, a file or a web page. Its name is a digest of what it refers to, so the database keeps
it unique. Permissions are not checked here: callers pass chunks through `huf.ai.knowledge.access` first.
Nothing here commits.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import frappe
from frappe.utils import now

from huf.ai.core.stored_text import clip, digest
from huf.ai.knowledge import fulltext
from huf.ai.knowledge.chunking import Part
from huf.ai.knowledge.index_text import find_language, make_index_text
from huf.ai.storage.rows import in_batches, insert_rows, update_cached_row, update_row

SOURCE, ITEM, CHUNK = "Knowledge Source", "Knowledge Item", "Knowledge Chunk"
SYNC, READ_AGAIN = "Sync", "Read Again"
"""How `requested` begins: what the next job of a source does besides reading the waiting items."""
MAX_CHUNKS_PER_ITEM = 1 << 16
ITEMS_PER_COMMIT = 50


class IndexState(str, Enum):
	"""State of a source; items are only WAITING, READY or FAILED."""

	NEW = "New"
	WAITING = "Waiting"
	INDEXING = "Indexing"
	READY = "Ready"
	FAILED = "Failed"


@dataclass(frozen=True)
class Reference:
	"""What an item refers to: a document, which may be a File, or the web page at a URL."""

	doctype: str | None = None
	name: str | None = None
	url: str | None = None

	def item_name(self, source: str) -> str:
		return digest("knowledge", source, self.doctype, self.name, self.url)


def count_sources() -> int:
	"""The number of enabled sources."""
	return frappe.db.count(SOURCE, {"disabled": 0})


# --- items ---


def read_items(source: str) -> dict[str, Any]:
	"""{name: row} of all items of a source."""
	fields = ["name", "reference_doctype", "reference_name", "url", "title", "state", "chunks", "error"]
	rows = frappe.get_all(
		ITEM, filters={"source": source}, fields=[*fields, "indexed_at"], order_by="name asc"
	)
	return {row.name: row for row in rows}


def read_item_page(source: str, start: int, limit: int) -> list:
	"""Items of a source, failed ones first."""
	return frappe.db.sql(
		f"""select name, source, reference_doctype, reference_name, url, title, state, error, chunks,
		indexed_at from `tab{ITEM}` where source = %s
		order by case state when 'Failed' then 0 else 1 end, creation, name
		limit {int(limit)} offset {int(start)}""",
		(source,),
		as_dict=True,
	)


def count_items(source: str) -> dict[str, int]:
	"""{state: number of items} of a source."""
	query = f"select state, count(*) from `tab{ITEM}` where source = %s group by state"
	return dict(frappe.db.sql(query, (source,)))


def insert_items(source: str, references: Iterable[Reference]) -> None:
	"""Insert items that wait to be indexed; existing ones stay unchanged."""
	rows = {
		each.item_name(source): {
			"source": source,
			"reference_doctype": each.doctype,
			"reference_name": each.name,
			"url": each.url,
			"state": IndexState.WAITING.value,
			"stamp": frappe.generate_hash(length=10),
		}
		for each in references
	}
	insert_rows(ITEM, list(rows.values()), names=list(rows))


def mark_waiting(filters: Mapping[str, Any]) -> None:
	"""Queue the items that match `filters` for indexing."""
	values = {"state": IndexState.WAITING.value, "stamp": frappe.generate_hash(length=10)}
	frappe.db.set_value(ITEM, dict(filters), values, update_modified=False)


def list_waiting_items(source: str, limit: int) -> list:
	"""Items of a source that wait to be indexed."""
	return frappe.get_all(
		ITEM,
		filters={"source": source, "state": IndexState.WAITING.value},
		fields=[
			"name",
			"source",
			"reference_doctype",
			"reference_name",
			"url",
			"title",
			"content_hash",
			"stamp",
		],
		order_by="name asc",
		limit_page_length=limit,
	)


def list_unfinished_sources() -> list[str]:
	"""Names of enabled Knowledge Sources that have waiting items or are to be synchronized."""
	query = f"""select name from `tab{SOURCE}` where disabled = 0 and (coalesce(requested, '') != ''
		or name in (select source from `tab{ITEM}` where state = %s)) order by name"""
	return frappe.db.sql(query, (IndexState.WAITING.value,), pluck=True)


def request_sync(source: str, again: bool) -> None:
	"""Store that the next job synchronizes a source, and with `again` reads unchanged items too."""
	before = frappe.db.get_value(SOURCE, source, "requested") or ""
	kind = READ_AGAIN if again or before.startswith(READ_AGAIN) else SYNC
	# Each request differs, so that a job does not clear one that came while it synchronized.
	update_cached_row(SOURCE, source, {"requested": f"{kind} {frappe.generate_hash(length=8)}"})


def clear_request(source: str, requested: str) -> None:
	frappe.db.set_value(
		SOURCE, {"name": source, "requested": requested}, "requested", None, update_modified=False
	)


def delete_items(names: Sequence[str]) -> None:
	"""Delete items with their chunks and index entries."""
	for some in in_batches(names):
		delete_chunks(some)
		frappe.db.delete(ITEM, {"name": ["in", some]})


def find_source_items(source: str, names: Sequence[str]) -> list[str]:
	"""Names of a source's items for these documents of its DocType."""
	filters: dict[str, Any] = {
		"source": source,
		"reference_name": ["in", list(names)],
		"reference_doctype": ["!=", "File"],
	}
	return frappe.get_all(ITEM, filters=filters, pluck="name", order_by="name asc")


def find_document_items(doctype: str, name: str) -> list[str]:
	"""Names of the items, in all sources, that were made from this document."""
	filters = {"reference_doctype": doctype, "reference_name": name}
	return frappe.get_all(ITEM, filters=filters, pluck="name", order_by="name asc")


def set_state(source: str, state: IndexState, **values: Any) -> None:
	error = clip(values.pop("error", None), 1000)
	update_cached_row(SOURCE, source, {"state": state.value, "error": error, **values})


# --- chunks ---


@dataclass(frozen=True)
class ItemContent:
	"""The content of an item. `error`: why there is no text or vector; `is_gone`: it no longer exists.

	With the `hash` of what is stored, the chunks stay as they are. `words` (the index text of each chunk) is
	empty then; `vectors` (one for each chunk, packed) is None then, and if there are none.
	"""

	title: str | None = None
	chunks: Sequence[Part] = ()
	hash: str = ""
	words: Sequence[str] = ()
	vectors: Sequence[str] | None = None
	error: str | None = None
	is_gone: bool = False


def update_item(item, content: ItemContent) -> None:
	"""Store what was read of an item, unless it is gone or was marked as changed in the meantime.

	`item`: its row as it was before reading.
	"""
	if not lock_item(item):
		return
	state = IndexState.FAILED if content.error else IndexState.READY
	values = {"state": state.value, "error": clip(content.error, 1000), "indexed_at": now()}
	if content.hash != item.content_hash:
		delete_chunks([item.name])
		write_chunks(item, content)
		values |= {"title": content.title, "content_hash": content.hash, "chunks": len(content.chunks)}
	update_row(ITEM, item.name, values)


def fail_item(item, error: str, keep: bool) -> None:
	"""Mark an item as failed; `keep`: its old chunks can still be found."""
	if not lock_item(item):
		return
	values: dict[str, Any] = {"state": IndexState.FAILED.value, "error": clip(error, 1000)}
	if not keep:
		delete_chunks([item.name])
		values |= {"content_hash": None, "chunks": 0}
	update_row(ITEM, item.name, values)


def lock_item(item) -> bool:
	"""Lock an item's row until the commit; False if it was marked as changed since it was read."""
	return frappe.db.get_value(ITEM, item.name, "stamp", for_update=True) == item.stamp


def write_chunks(item, content: ItemContent) -> None:
	names = [make_chunk_name(item.name, position) for position in range(len(content.chunks))]
	source = make_source_word(item.source)
	rows = [
		{
			"item": item.name,
			"position": position,
			"heading": each.heading,
			"page": each.page,
			"begins": each.start,
			"from_fields": "\n".join(each.fields),
			"text": each.text,
			"words": f"{source} {content.words[position]}",
			"vector": content.vectors[position] if content.vectors else None,
		}
		for position, each in enumerate(content.chunks)
	]
	for some, some_names in zip(in_batches(rows), in_batches(names), strict=True):
		insert_rows(CHUNK, some, names=some_names)
	fulltext.get_index().add([(name, source, text) for name, text in zip(names, content.words, strict=True)])


def delete_chunks(items: Sequence[str]) -> None:
	if fulltext.get_index().is_separate_table:
		# A contentless FTS5 table deletes a row only if it gets the words that were indexed.
		fulltext.get_index().remove(list(read_index_rows({"item": ["in", list(items)]})))
	frappe.db.delete(CHUNK, {"item": ["in", list(items)]})


def read_index_rows(filters: Mapping[str, Any]) -> Iterator[fulltext.IndexRow]:
	"""What the index holds of chunks: (name, source word, stems)."""
	rows = frappe.get_all(CHUNK, filters=dict(filters), fields=["name", "words"], order_by="name asc")
	for row in rows:
		if row.words:
			source, _, stems = row.words.partition(" ")
			yield row.name, source, stems


def read_chunk_origins(names: Sequence[str]) -> dict[str, Any]:
	"""{name: row} of chunks with what the permission check needs: item, document or URL, fields. No texts."""
	rows = frappe.db.sql(
		f"""select chunk.name, chunk.item, chunk.from_fields, item.source, item.reference_doctype,
		item.reference_name, item.url, item.title
		from `tab{CHUNK}` chunk join `tab{ITEM}` item on item.name = chunk.item
		where chunk.name in %s""",
		(list(names),),
		as_dict=True,
	)
	return {row.name: row for row in rows}


def get_vectors_stamp(source: str) -> tuple:
	"""A value that differs whenever a source's chunks have changed."""
	query = f"select count(*), sum(chunks), max(indexed_at) from `tab{ITEM}` where source = %s"
	return tuple(frappe.db.sql(query, (source,))[0])


def read_vectors(source: str) -> list[tuple[str, str]]:
	"""(name, packed vector) of the chunks of a source that have one."""
	return frappe.db.sql(
		f"""select chunk.name, chunk.vector
		from `tab{CHUNK}` chunk join `tab{ITEM}` item on item.name = chunk.item
		where item.source = %s and chunk.vector is not null order by chunk.name""",
		(source,),
	)


def add_texts(rows: Mapping[str, Any]) -> dict[str, Any]:
	"""Add text and position to rows of `read_chunk_origins`; drop rows that were rewritten since."""
	fields = ["name", "from_fields", "heading", "page", "begins", "text", "words"]
	found = frappe.get_all(CHUNK, filters={"name": ["in", list(rows)]}, fields=fields, order_by="name asc")
	texts = {each.name: each for each in found}
	same = {n: row for n, row in rows.items() if n in texts and texts[n].from_fields == row.from_fields}
	for name, row in same.items():
		row.update(texts[name])
	return same


def make_chunk_name(item: str, position: int) -> str:
	"""63 bits in hex, in the order of the items' names, because indexes are written fastest in order."""
	return f"{int(item[:12], 16) >> 1 << 16 | position:016x}"


def make_source_word(source: str) -> str:
	return f"src{digest('source', source)[:12]}"


# --- upgrade ---


def upgrade_index() -> None:
	"""Create the full-text index, and index again what was stored for an older one. Commits.

	Neither reads nor embeds a document again. May be interrupted: the next call goes on.
	"""
	index = fulltext.get_index()
	if index.has_old():
		frappe.db.sql(f"update `tab{CHUNK}` set words = null")
		frappe.db.commit()
		index.drop_old()
	index.create()
	without_words = f"select distinct item from `tab{CHUNK}` where words is null limit {ITEMS_PER_COMMIT}"
	while items := frappe.db.sql(without_words, pluck=True):
		for item in items:
			index_stored_chunks(item)
		frappe.db.commit()


def index_stored_chunks(item: str) -> None:
	source, title = frappe.db.get_value(ITEM, item, ["source", "title"]) or ("", None)
	fields = ["name", "from_fields", "heading", "text"]
	chunks = frappe.get_all(CHUNK, filters={"item": item}, fields=fields, order_by="position asc")
	language = find_language(each.text or "" for each in chunks)
	rows = []
	for each in chunks:
		words = make_index_text(language, title, each.from_fields, each.heading, each.text)
		rows.append((each.name, make_source_word(source), words))
		update_row(CHUNK, each.name, {"words": f"{rows[-1][1]} {words}"})
	fulltext.get_index().add(rows)
