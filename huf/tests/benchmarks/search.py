"""Search: quality compared with plain FTS5 on the same texts, and times with 100,000 chunks.

HUF_BENCH_COLLECTION: a folder with a judged collection in SMART format (CACM: cacm.all, query.text,
qrels.text), which is measured as well.
"""

import os
from pathlib import Path

from huf.tests.benchmarks import knowledge
from huf.tests.retrieval import (
	Collection,
	HufSearch,
	PlainFTS5,
	measure_quality,
	read_our_collection,
	read_smart_collection,
)


def measure() -> None:
	"""Print the quality for each language and the public collection, then run `knowledge`."""
	ours = read_our_collection()
	huf, plain = HufSearch(ours), PlainFTS5(ours)
	for language in ("en", "de", "es", "cs"):
		print_quality(f"our passages, {language}", read_our_collection(language), huf, plain)
	if folder := os.environ.get("HUF_BENCH_COLLECTION"):
		public = read_smart_collection(Path(folder))
		print_quality(
			f"{len(public.documents):,} public abstracts", public, HufSearch(public), PlainFTS5(public)
		)
	print()
	knowledge.measure()


def print_quality(label: str, collection: Collection, huf: HufSearch, plain: PlainFTS5) -> None:
	for name, search in (("Huf", huf.search), ("FTS5", plain.search)):
		print(
			f"{label:26}{len(collection.relevant):4} queries  {name:6}{measure_quality(collection, search)}"
		)
