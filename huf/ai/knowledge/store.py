"""Knowledge Item and Knowledge Chunk: what a source holds, and its texts in pieces. Their only writer, with the index of words.

An item is a document, a file or a page; its row is named by a digest of these, so the database keeps each once. Knows
nothing of readers: whoever reads a chunk to somebody asks `huf.ai.knowledge.access` first. Nothing here commits.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import frappe
from frappe.utils import now

from huf.ai.core.tokenizer import split_words
from huf.ai.knowledge import fulltext
from huf.ai.storage.rows import clip, digest, insert_rows, update_document, update_row

SOURCE, ITEM, CHUNK = "Knowledge Source", "Knowledge Item", "Knowledge Chunk"
AT_ONCE = 500
MAX_CHUNKS = 1 << 16
"""Of an item."""


class State(str, Enum):
	"""Of a source; of an item, WAITING, READY or FAILED."""

	NEW = "New"
	WAITING = "Waiting"
	INDEXING = "Indexing"
	READY = "Ready"
	FAILED = "Failed"


@dataclass(frozen=True)
class Reference:
	"""What an item is: a document (a File, too) or the page at a URL."""

	doctype: str | None = None
	name: str | None = None
	url: str | None = None

	def item_of(self, source: str) -> str:
		return digest("knowledge", source, self.doctype, self.name, self.url)


def count_sources() -> int:
	"""How many there are to be searched at all."""
	return frappe.db.count(SOURCE, {"disabled": 0})


# --- items ---


def read_items(source: str) -> dict[str, Any]:
	"""{name: row} of all items of a source."""
	fields = ["name", "reference_doctype", "reference_name", "url", "title", "state", "chunks", "error"]
	rows = frappe.get_all(
		ITEM, filters={"source": source}, fields=[*fields, "indexed_at"], order_by="name asc"
	)
	return {row.name: row for row in rows}


def list_items(source: str, start: int, limit: int) -> list:
	return frappe.db.sql(
		f"""select name, source, reference_doctype, reference_name, url, title, state, error, chunks, indexed_at
		from `tab{ITEM}` where source = %s order by case state when 'Failed' then 0 else 1 end, creation, name
		limit {int(limit)} offset {int(start)}""",
		(source,),
		as_dict=True,
	)


def count_items(source: str) -> dict[str, int]:
	query = f"select state, count(*) from `tab{ITEM}` where source = %s group by state"
	return dict(frappe.db.sql(query, (source,)))


def insert_items(source: str, references: Iterable[Reference]) -> None:
	"""Items that wait to be indexed; those that are there stay as they are."""
	rows = {
		each.item_of(source): {
			"source": source,
			"reference_doctype": each.doctype,
			"reference_name": each.name,
			"url": each.url,
			"state": State.WAITING.value,
			"stamp": frappe.generate_hash(length=10),
		}
		for each in references
	}
	insert_rows(ITEM, list(rows.values()), names=list(rows))


def mark_waiting(filters: Mapping[str, Any]) -> None:
	"""What is in these items may have changed."""
	values = {"state": State.WAITING.value, "stamp": frappe.generate_hash(length=10)}
	frappe.db.set_value(ITEM, dict(filters), values, update_modified=False)


def next_waiting(source: str, limit: int) -> list:
	return frappe.get_all(
		ITEM,
		filters={"source": source, "state": State.WAITING.value},
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


def sources_waiting() -> list[str]:
	query = f"select distinct source from `tab{ITEM}` where state = %s order by source"
	return frappe.db.sql(query, (State.WAITING.value,), pluck=True)


def delete_items(names: Sequence[str]) -> None:
	"""With their chunks and whatever the index has of them."""
	for start in range(0, len(names), AT_ONCE):
		some = list(names[start : start + AT_ONCE])
		drop_chunks(some)
		frappe.db.delete(ITEM, {"name": ["in", some]})


def find_items(source: str, names: Sequence[str]) -> list[str]:
	"""Items of documents of a source's DocType."""
	filters = {"source": source, "reference_name": ["in", list(names)], "reference_doctype": ["!=", "File"]}
	return frappe.get_all(ITEM, filters=filters, pluck="name", order_by="name asc")


def items_of_document(doctype: str, name: str) -> list[str]:
	filters = {"reference_doctype": doctype, "reference_name": name}
	return frappe.get_all(ITEM, filters=filters, pluck="name", order_by="name asc")


def set_state(source: str, state: State, **values: Any) -> None:
	error = clip(values.pop("error", None), 1000)
	update_document(SOURCE, source, {"state": state.value, "error": error, **values})


# --- chunks ---


def settle_item(
	item,
	title: str | None,
	content_hash: str,
	chunks: Sequence,
	vectors: Sequence[str] | None = None,
	error: str | None = None,
) -> bool:
	"""Write down what an item (its row, as it was when it was read) says now; False where it is gone or has changed since.

	`chunks` are `Part`s of `huf.ai.knowledge.chunking`; they stay as they are where the hash is the same. `error`: why they
	have no vectors, though they should.
	"""
	if not take_item(item):
		return False
	state = State.FAILED if error else State.READY
	values = {"state": state.value, "error": clip(error, 1000), "indexed_at": now()}
	if content_hash != item.content_hash:
		title, chunks = clip(title, 500), chunks[:MAX_CHUNKS]
		drop_chunks([item.name])
		write_chunks(
			item, title, [replace(each, heading=clip(each.heading, 500)) for each in chunks], vectors
		)
		values |= {"title": title, "content_hash": content_hash, "chunks": len(chunks)}
	update_row(ITEM, item.name, values)
	return True


def fail_item(item, error: str, keep: bool) -> None:
	"""`keep`: what it said before may still be found."""
	if not take_item(item):
		return
	values = {"state": State.FAILED.value, "error": clip(error, 1000)}
	if not keep:
		drop_chunks([item.name])
		values |= {"content_hash": None, "chunks": 0}
	update_row(ITEM, item.name, values)


def take_item(item) -> bool:
	"""Hold an item's row until the commit, if nothing has happened to it since it was read."""
	return frappe.db.get_value(ITEM, item.name, "stamp", for_update=True) == item.stamp


def write_chunks(item, title: str | None, chunks: Sequence, vectors: Sequence[str] | None) -> None:
	names = [chunk_name(item.name, position) for position in range(len(chunks))]
	words = [index_words(title, "\n".join(each.fields), each.heading, each.text) for each in chunks]
	source, keeps_words = source_word(item.source), fulltext.dialect().keeps_words
	rows = [
		{
			"item": item.name,
			"position": position,
			"heading": each.heading,
			"page": each.page,
			"begins": each.start,
			"from_fields": "\n".join(each.fields),
			"text": each.text,
			"words": None if keeps_words else f"{source} {words[position]}",
			"vector": vectors[position] if vectors else None,
		}
		for position, each in enumerate(chunks)
	]
	for start in range(0, len(rows), AT_ONCE):
		insert_rows(CHUNK, rows[start : start + AT_ONCE], names=names[start : start + AT_ONCE])
	fulltext.dialect().add([(name, source, said) for name, said in zip(names, words, strict=True)])


def drop_chunks(items: Sequence[str]) -> None:
	if fulltext.dialect().keeps_words:
		# FTS5 forgets a row only if it is told what was in it.
		rows = frappe.db.sql(
			f"""select chunk.name, item.source, item.title, chunk.from_fields, chunk.heading, chunk.text
			from `tab{CHUNK}` chunk join `tab{ITEM}` item on item.name = chunk.item where chunk.item in %s""",
			(list(items),),
		)
		fulltext.dialect().remove(
			[(name, source_word(source), index_words(*said)) for name, source, *said in rows]
		)
	frappe.db.delete(CHUNK, {"item": ["in", list(items)]})


def read_places(names: Sequence[str]) -> dict[str, Any]:
	"""{name: row} of chunks with what their items are, as far as it says who may read them. No texts."""
	rows = frappe.db.sql(
		f"""select chunk.name, chunk.item, chunk.from_fields, item.source, item.reference_doctype, item.reference_name,
		item.url, item.title from `tab{CHUNK}` chunk join `tab{ITEM}` item on item.name = chunk.item
		where chunk.name in %s""",
		(list(names),),
		as_dict=True,
	)
	return {row.name: row for row in rows}


def stamp_of(source: str) -> tuple:
	"""Something else whenever a source's chunks have changed."""
	query = f"select count(*), sum(chunks), max(indexed_at) from `tab{ITEM}` where source = %s"
	return tuple(frappe.db.sql(query, (source,))[0])


def read_vectors(source: str) -> list[tuple[str, str]]:
	"""(name, packed vector) of the chunks of a source that have one."""
	return frappe.db.sql(
		f"""select chunk.name, chunk.vector from `tab{CHUNK}` chunk join `tab{ITEM}` item on item.name = chunk.item
		where item.source = %s and chunk.vector is not null order by chunk.name""",
		(source,),
	)


def with_texts(rows: Mapping[str, Any]) -> dict[str, Any]:
	"""Rows of `read_places` with what the chunks say and where it stands; without those that were written anew meanwhile."""
	fields = ["name", "from_fields", "heading", "page", "begins", "text"]
	found = frappe.get_all(CHUNK, filters={"name": ["in", list(rows)]}, fields=fields, order_by="name asc")
	texts = {each.name: each for each in found}
	same = {n: row for n, row in rows.items() if n in texts and texts[n].from_fields == row.from_fields}
	for name, row in same.items():
		row.update(texts[name])
	return same


def chunk_name(item: str, position: int) -> str:
	"""63 bits in hex, in the order of the items' names: an index is written fastest from front to back."""
	return f"{int(item[:12], 16) >> 1 << 16 | position:016x}"


def source_word(source: str) -> str:
	return f"src{digest('source', source)[:12]}"


def index_words(title: str | None, fields: str | None, heading: str | None, text: str) -> str:
	"""What a chunk is found by. A title counts where it is no field that a reader of the chunk might not be allowed to read."""
	said = [heading, text] if fields else [title, heading, text]
	return fulltext.indexed(split_words("\n".join(filter(None, said))))
