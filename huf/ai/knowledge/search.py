"""Search in Knowledge Sources as the user of the session: `search`. Reads only; gives citations.

The index offers chunks, `access` lets through what the user may read, and `ranking` orders that. So neither an order, a
score nor a number tells of what stays behind. Of more than MOST_SEEN readable chunks the index has chosen.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

import frappe

from huf.ai.core.tokenizer import Term, read_query
from huf.ai.knowledge import fulltext, ranking, vectors
from huf.ai.knowledge.access import Reader
from huf.ai.knowledge.store import count_sources, read_places, source_word, with_texts
from huf.ai.tools.taint import MAIL_DOCTYPES

MAX_RESULTS = 50
MAX_SEEN = 30
"""Readable chunks that are weighed against one another, where no more are asked for."""
MAX_OFFERED = 1_000
"""Chunks that the index is asked for."""
BATCHES = (40, 160, 800)


@dataclass(frozen=True)
class Citation:
	"""A passage, and where it stands. `doctype` and `name` or `url` say what it is from, `link` where a browser finds that.

	`position` is for people; `page` counts from 1, `start` and `end` are characters of the page, field or document.
	"""

	source: str
	title: str
	doctype: str | None
	name: str | None
	url: str | None
	link: str | None
	position: str
	page: int | None
	start: int
	end: int
	score: float
	text: str


def search(query: str, sources: Sequence[str] | None = None, limit: int = 6) -> dict:
	"""What the user may read of the passages that fit best, the best first.

	`sources` are names of Knowledge Sources (None: all); those that the user may not search are passed over. In the query,
	"words in quotes" stand beside one another, and a word* is a beginning. Gives {query, results: [Citation as a dict], more}
	and, where strangers wrote some of it, untrusted.
	"""
	limit = max(1, min(int(limit), MAX_RESULTS))
	messages = len(frappe.local.message_log)
	reader = Reader()
	try:
		found = find(reader, query, reader.sources(sources), limit)
		results = [asdict(cite(reader, row, score)) for row, score in found[:limit]]
	finally:
		# Why a document was held back is nobody's to hear.
		del frappe.local.message_log[messages:]
	strange = any(is_strangers(row) for row, _ in found[:limit])
	return {
		"query": query,
		"results": results,
		"more": len(found) > limit,
		**({"untrusted": True} if strange else {}),
	}


def find(reader: Reader, query: str, sources: list, limit: int) -> list[tuple]:
	"""(chunk, score) of what the user may read, the best first."""
	terms, names = read_query(query), {source.name for source in sources}
	rows = with_texts(readable(reader, offered(reader, terms, sources), names, limit))
	texts = [(f"{reader.title_of(row)} {row.heading or ''}", row.text) for row in rows.values()]
	scores = dict(zip(rows, ranking.weigh(terms, texts), strict=True))
	near = [
		with_texts(readable(reader, [offer], names, limit))
		for offer in vectors.near(query, sources, MAX_OFFERED)
	]
	if near:
		rows = {name: row for found in (*near, rows) for name, row in found.items()}
		scores = ranking.fuse(sorted(scores, key=scores.get, reverse=True), *near)
	return [(rows[name], scores[name]) for name in sorted(rows, key=lambda name: (-scores[name], name))]


def offered(reader: Reader, terms: list[Term], sources: list) -> Iterator[list[str]]:
	"""Names of chunks: those that have all terms; where these are not enough, those that have any, then in any form."""
	if not sources:
		return
	words = [] if len(sources) == count_sources() else [source_word(source.name) for source in sources]
	yield (found := fulltext.find(terms, words, MAX_OFFERED))
	if len(found) == MAX_OFFERED:
		# Too many for the index to offer all: a reader of few documents may have some of the others.
		yield fulltext.find(terms, (), MAX_OFFERED, items=reader.few_items(sources))
	if len(terms) > 1:
		yield fulltext.find(terms, words, MAX_OFFERED, is_any=True)
	loose = [term.loose for term in terms]
	if loose != terms:
		yield fulltext.find(loose, words, MAX_OFFERED, is_any=True)


def readable(reader: Reader, offers: Iterable[list[str]], sources: set[str], limit: int) -> dict:
	"""{name: chunk} of those that the user may read, in the order of the offers, until there are enough to weigh."""
	seen: dict = {}
	enough = max(MAX_SEEN, limit + 1)
	for names in offers:
		for batch in batches([name for name in names if name not in seen]):
			rows = read_places(batch)
			found = [rows[name] for name in batch if name in rows and rows[name].source in sources]
			for row in reader.visible(found):
				seen[row.name] = row
				if len(seen) >= enough:
					return seen
		if len(seen) > limit:
			break
	return seen


def batches(names: list[str]) -> Iterator[list[str]]:
	start, sizes = 0, iter(BATCHES)
	while start < len(names):
		size = next(sizes, BATCHES[-1])
		yield names[start : start + size]
		start += size


def is_strangers(row) -> bool:
	"""Whether people from outside wrote it: see `huf.ai.core.egress`."""
	return bool(row.url) or row.reference_doctype in MAIL_DOCTYPES


def cite(reader: Reader, row, score: float) -> Citation:
	return Citation(
		source=row.source,
		title=reader.title_of(row),
		doctype=row.reference_doctype,
		name=row.reference_name,
		url=row.url,
		link=link_of(reader, row),
		position=place_of(row),
		page=row.page or None,
		start=row.begins,
		end=row.begins + len(row.text),
		score=round(score, 3),
		text=row.text,
	)


def link_of(reader: Reader, row) -> str | None:
	if row.reference_doctype != "File":
		return row.url
	page = f"#page={row.page}" if row.page else ""
	return f"{reader.document('File', row.reference_name).file_url}{page}"


def place_of(row) -> str:
	page = f"page {row.page}" if row.page else ""
	return ", ".join(filter(None, (page, row.heading))) or f"from character {row.begins + 1}"
