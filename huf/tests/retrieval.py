"""Judged collections for tests and benchmarks of search: readers, metrics, and plain FTS5 as the baseline."""

import json
import math
import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import frappe

from huf.ai.knowledge.indexing import index_source
from huf.ai.knowledge.search import search_knowledge
from huf.ai.knowledge.terms import STOP_WORDS
from huf.tests.factories import make
from huf.tests.knowledge import make_source

OUR_PASSAGES = Path(__file__).parent / "ai" / "knowledge" / "judged_passages.json"
DEPTH, TOP = 50, 10


@dataclass(frozen=True)
class Collection:
	"""Documents (Markdown), queries, and the documents that are relevant for each query."""

	documents: Mapping[str, str]
	queries: Mapping[str, str]
	relevant: Mapping[str, set[str]]


@dataclass(frozen=True)
class Quality:
	"""Means over the queries: average precision at 50, precision at 10, nDCG at 10."""

	average_precision: float
	precision: float
	ndcg: float

	def __str__(self) -> str:
		return f"MAP@50 {self.average_precision:.3f}   P@10 {self.precision:.3f}   nDCG@10 {self.ndcg:.3f}"


def read_our_collection(*languages: str) -> Collection:
	"""Office rules in English, German, Spanish and Czech; queries of `languages` (none: all), documents of all."""
	data = json.loads(OUR_PASSAGES.read_text(encoding="utf-8"))
	documents = {f"{lang}-{name}": text for lang in data for name, text in data[lang]["passages"].items()}
	judged = {
		query: {f"{lang}-{name}" for name in names}
		for lang in languages or data
		for query, names in data[lang]["queries"].items()
	}
	return Collection(documents, {query: query for query in judged}, judged)


def read_smart_collection(folder: Path) -> Collection:
	"""A collection in the SMART format, as CACM is published: cacm.all, query.text, qrels.text."""
	documents = {
		number: f"# {' '.join(fields['T'].split())}\n\n{fields['W']}\n\n{fields['A']}".replace("\n# ", "\n")
		for number, fields in read_smart_records(folder / "cacm.all").items()
	}
	relevant: dict[str, set[str]] = defaultdict(set)
	for line in (folder / "qrels.text").read_text().splitlines():
		query, document, *_ = line.split()
		relevant[str(int(query))].add(str(int(document)))
	records = read_smart_records(folder / "query.text")
	queries = {number: " ".join(records[number]["W"].split()) for number in relevant}
	return Collection(documents, queries, relevant)


def read_smart_records(path: Path) -> dict[str, dict[str, str]]:
	"""{number: {letter of the field: text}}"""
	records = {}
	for record in re.split(r"^\.I ", path.read_text(encoding="latin-1"), flags=re.MULTILINE)[1:]:
		number, _, rest = record.partition("\n")
		parts = re.split(r"^\.([A-Z])$", f"\n{rest}", flags=re.MULTILINE)
		records[number.strip()] = defaultdict(str, zip(parts[1::2], parts[2::2], strict=True))
	return records


def measure_quality(collection: Collection, search: Callable[[str], Sequence[str]]) -> Quality:
	"""`search` returns the names of documents for a query, best first."""
	rows = [
		score_query(list(search(collection.queries[query]))[:DEPTH], relevant)
		for query, relevant in collection.relevant.items()
	]
	return Quality(*(sum(column) / len(rows) for column in zip(*rows, strict=True)))


def score_query(found: Sequence[str], relevant: set[str]) -> tuple[float, float, float]:
	hits = [name in relevant for name in found]
	precisions = [sum(hits[: rank + 1]) / (rank + 1) for rank, is_hit in enumerate(hits) if is_hit]
	ideal = sum(1 / math.log2(rank + 2) for rank in range(min(TOP, len(relevant))))
	gained = sum(is_hit / math.log2(rank + 2) for rank, is_hit in enumerate(hits[:TOP]))
	return sum(precisions) / len(relevant), sum(hits[:TOP]) / TOP, gained / ideal


class PlainFTS5:
	"""What SQLite offers by itself: Porter stemming, no stop words, any word matches, BM25."""

	def __init__(self, collection: Collection):
		self.names = list(collection.documents)
		self.db = sqlite3.connect(":memory:")
		self.db.execute(
			"create virtual table texts using fts5(text, tokenize='porter unicode61 remove_diacritics 2')"
		)
		texts = ((place + 1, text) for place, text in enumerate(collection.documents.values()))
		self.db.executemany("insert into texts(rowid, text) values (?, ?)", texts)

	def search(self, query: str) -> list[str]:
		stop_words = frozenset().union(*STOP_WORDS.values())
		words = [word for word in re.findall(r"\w+", query.lower()) if word not in stop_words]
		match = " OR ".join(f'"{word}"' for word in dict.fromkeys(words))
		rows = self.db.execute(
			f"select rowid from texts where texts match ? order by rank limit {DEPTH}", (match,)
		)
		return [self.names[rowid - 1] for (rowid,) in rows]


class HufSearch:
	"""The collection as a Knowledge Source of files, searched by `search_knowledge`."""

	def __init__(self, collection: Collection):
		self.source = make_source(index=False)
		self.names = {self.attach(name, text): name for name, text in collection.documents.items()}
		frappe.db.commit()
		index_source(self.source)

	def attach(self, name: str, text: str) -> str:
		target = {"attached_to_doctype": "Knowledge Source", "attached_to_name": self.source}
		return make("File", file_name=f"{name}.md", content=text, is_private=1, **target).name

	def search(self, query: str) -> list[str]:
		found = search_knowledge(query, [self.source], DEPTH)["results"]
		return list(dict.fromkeys(self.names[row["name"]] for row in found))
