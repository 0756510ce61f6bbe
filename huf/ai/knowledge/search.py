"""Searches Knowledge Sources as the session user and returns citations.

The index proposes candidates, `access` removes what the user may not read, and only then `ranking` orders the
rest. So no order, score or count reveals anything about hidden chunks. At most MAX_RANKED_CHUNKS readable
candidates are ranked; the index chooses them.
"""

from collections.abc import Iterable, Iterator, Sequence

import frappe
from frappe import _

from huf.ai.core.request_values import clamp_count
from huf.ai.knowledge import fulltext, ranking, vectors
from huf.ai.knowledge.access import KnowledgeReader
from huf.ai.knowledge.store import add_texts, count_sources, make_source_word, read_chunk_origins
from huf.ai.knowledge.terms import IndexTerm, build_terms
from huf.ai.tools.reads import MAIL_DOCTYPES, record_reads

MAX_RESULTS = 50
MAX_RANKED_CHUNKS = 140
"""Readable chunks that are ranked by their words."""
MAX_NEAR_CHUNKS = 51
"""Readable chunks that are ranked by their vectors."""
MAX_CANDIDATES = 1_000
"""Chunks requested from the index by one query."""
BATCH_SIZES = (MAX_RANKED_CHUNKS + 20, 400)


def search_knowledge(query: str, sources: Sequence[str] | None = None, limit: int = 6) -> dict:
	"""The best passages that the user may read, best first.

	Args:
		query: words, "exact phrases" and prefixes*.
		sources: names of Knowledge Sources, None: all; those that the user may not search are ignored.
		limit: 1 to MAX_RESULTS.

	Returns {query, results, more}, and `untrusted` if people from outside wrote some of it; a result is
	described at `describe_passage`.
	"""
	limit = clamp_count(limit, MAX_RESULTS)
	messages = len(frappe.local.message_log)
	reader = KnowledgeReader()
	try:
		found = find_chunks(reader, query, reader.sources(sources))
		results = [describe_passage(reader, row, score) for row, score in found[:limit]]
	finally:
		# A message about a refused document would reveal that it exists.
		del frappe.local.message_log[messages:]
	for row, _score in found[:limit]:
		if row.reference_doctype:
			record_reads(row.reference_doctype, [row.reference_name])
	has_untrusted = any(is_untrusted(row) for row, _ in found[:limit])
	return {
		"query": query,
		"results": results,
		"more": len(found) > limit,
		**({"untrusted": True} if has_untrusted else {}),
	}


def find_chunks(reader: KnowledgeReader, query: str, sources: list) -> list[tuple]:
	"""(chunk, score) of chunks that the user may read, best first. Of the same passage of several files or
	web pages, the best.
	"""
	terms = build_terms(query, fulltext.get_index().encode_word)
	names = {source.name for source in sources}
	candidates = generate_candidates(reader, terms, sources)
	rows = add_texts(filter_readable(reader, candidates, names, MAX_RANKED_CHUNKS))
	passages = [
		ranking.Passage(f"{reader.get_title(row)} {row.heading or ''}", row.words or "", row.text)
		for row in rows.values()
	]
	ranked = zip(rows, ranking.score_passages(terms, passages), strict=True)
	scores = {name: score for name, score in ranked if score}
	near = [
		add_texts(filter_readable(reader, [candidates], names, MAX_NEAR_CHUNKS))
		for candidates in vectors.find_nearest(query, sources, MAX_CANDIDATES)
	]
	if near:
		rows = {name: row for found in [*near, rows] for name, row in found.items()}
		by_words = sorted(scores, key=scores.__getitem__, reverse=True)
		scores = ranking.fuse_rankings(by_words, *near)
	best: dict[tuple, str] = {}
	for name in sorted(scores, key=lambda name: (-scores[name], name)):
		best.setdefault(identify_passage(rows[name]), name)
	return [(rows[name], scores[name]) for name in best.values()]


def identify_passage(row) -> tuple:
	"""A key that copies of a passage in files and web pages share; equal documents are not copies."""
	document = None if row.url or row.reference_doctype == "File" else row.reference_name
	return row.text, row.heading or "", document


def generate_candidates(
	reader: KnowledgeReader, terms: list[IndexTerm], sources: list
) -> Iterator[list[str]]:
	"""Lists of chunk names: with all terms, then with any term, then with any term in a looser form."""
	if not sources:
		return
	source_words = (
		[] if len(sources) == count_sources() else [make_source_word(source.name) for source in sources]
	)
	with_all = fulltext.find_chunk_names(terms, source_words, MAX_CANDIDATES)
	yield with_all
	with_any: list[str] = []
	if len(terms) > 1:
		yield (with_any := fulltext.find_chunk_names(terms, source_words, MAX_CANDIDATES, is_any=True))
	if MAX_CANDIDATES in (len(with_all), len(with_any)):
		# There are more matches than these: a user who may read few documents may find theirs among the rest.
		items = reader.find_few_items(sources)
		yield fulltext.find_chunk_names(terms, (), MAX_CANDIDATES, is_any=True, items=items)
	loose = [term.loose for term in terms]
	if loose != terms:
		yield fulltext.find_chunk_names(loose, source_words, MAX_CANDIDATES, is_any=True)


def filter_readable(
	reader: KnowledgeReader, candidates: Iterable[list[str]], sources: set[str], limit: int
) -> dict:
	"""{name: chunk} of the first `limit` candidates that the user may read, in order."""
	seen: dict = {}
	for names in candidates:
		for batch in iterate_batches([name for name in names if name not in seen]):
			rows = read_chunk_origins(batch)
			found = [rows[name] for name in batch if name in rows and rows[name].source in sources]
			for row in reader.filter_readable(found):
				seen[row.name] = row
				if len(seen) >= limit:
					return seen
	return seen


def iterate_batches(names: list[str]) -> Iterator[list[str]]:
	"""Names in batches. Most searches need only the first, so it is small."""
	start, sizes = 0, iter(BATCH_SIZES)
	while start < len(names):
		size = next(sizes, BATCH_SIZES[-1])
		yield names[start : start + size]
		start += size


def is_untrusted(row) -> bool:
	"""Whether people from outside wrote it; see `huf.ai.core.flow`."""
	return bool(row.url) or row.reference_doctype in MAIL_DOCTYPES


def describe_passage(reader: KnowledgeReader, row, score: float) -> dict:
	"""A passage and its source: {source, title, doctype, name, url, link, position, page, start, end, score,
	text}. It has `doctype` and `name`, or `url`; `link` is the address for a browser.

	`position` is a description for people; `page` counts from 1; `start` and `end` are characters of the
	page, field or document; `score` is 0 to 1.
	"""
	return {
		"source": row.source,
		"title": reader.get_title(row),
		"doctype": row.reference_doctype,
		"name": row.reference_name,
		"url": row.url,
		"link": get_link(reader, row),
		"position": describe_position(row),
		"page": row.page or None,
		"start": row.begins,
		"end": row.begins + len(row.text),
		"score": round(score, 3),
		"text": row.text,
	}


def get_link(reader: KnowledgeReader, row) -> str | None:
	if row.reference_doctype != "File":
		return row.url
	page = f"#page={row.page}" if row.page else ""
	return f"{reader.document('File', row.reference_name).file_url}{page}"


def describe_position(row) -> str:
	page = _("page {0}").format(row.page) if row.page else ""
	return ", ".join(filter(None, (page, row.heading))) or _("from character {0}").format(row.begins + 1)
