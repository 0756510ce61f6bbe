"""Knowledge: indexing speed and memory for 100,000 chunks, and search times of two kinds of readers."""

import os
import random
import resource
import statistics
import sys
from time import perf_counter, process_time

import frappe

from huf.ai.core.session import acting_as
from huf.ai.knowledge.indexing import index_source
from huf.ai.knowledge.search import search_knowledge
from huf.tests.doctypes import ALL, field, make_doctype
from huf.tests.factories import make_role, make_user, unique
from huf.tests.knowledge import attach, make_source

CHUNKS = int(os.environ.get("HUF_BENCH_CHUNKS", 100_000))
IN_FILES = 0.5
"""Share of the chunks that are in large files; the others are in documents."""
CHUNKS_A_FILE = 250
VOCABULARY, WORDS_A_CHUNK, MINE = 40_000, 110, 100
QUERIES, TARGET = 40, 50
"""Queries of each kind; milliseconds at the 95th percentile."""


def measure() -> None:
	"""Print chunks a second, peak memory, and milliseconds of searches by kind of query and reader."""
	random.seed(7)
	words = [word(number) for number in range(VOCABULARY)]
	weights = [1 / (rank + 5) for rank in range(VOCABULARY)]
	writer = Writer(words, weights)
	doctype = unique("Knowledge Case")
	reads_all, reads_own = make_readers(doctype)
	sources = make_sources(doctype, reads_own, writer)
	index(sources)
	print(f"{'':54}waited for: p50    p95    on the processor: p95 (target {TARGET} ms)")
	every = []
	for label, user in (("reads all", reads_all), (f"reads {MINE} documents", reads_own)):
		for kind, make_query in writer.query_kinds().items():
			times = [timed(user, make_query(), sources) for _ in range(QUERIES)]
			every += times
			print_times(f"{label:20} {kind}", times)
	print_times("all of them", every)


def print_times(label: str, times: list[tuple[float, float]]) -> None:
	waited, worked = zip(*times, strict=True)
	p50, p95, cpu = statistics.median(waited), percentile(waited), percentile(worked)
	print(f"{label:54}{p50:15.1f}{p95:7.1f}{cpu:23.1f}")


def percentile(times: tuple[float, ...]) -> float:
	return statistics.quantiles(times, n=20)[-1]


class Writer:
	"""Generates texts with a natural distribution of word frequencies."""

	def __init__(self, words: list[str], weights: list[float]):
		self.words, self.weights = words, weights
		self.pool = random.choices(words, weights, k=2_000_000)
		self.position = 0

	def take_words(self, count: int) -> str:
		self.position = (self.position + count) % (len(self.pool) - count)
		return " ".join(self.pool[self.position : self.position + count])

	def paragraphs(self, count: int) -> str:
		return "\n\n".join(f"{self.take_words(WORDS_A_CHUNK)}." for _ in range(count))

	def query_kinds(self) -> dict:
		rare, frequent = self.words[2_000:20_000], self.words[50:2_000]
		return {
			"a rare word": lambda: random.choice(rare),
			"a common word": lambda: random.choice(self.words[:50]),
			"three words": lambda: " ".join(random.sample(frequent, 3)),
			"words in quotes": lambda: f'"{self.take_words(2)}"',
			"a beginning": lambda: f"{random.choice(frequent)[:4]}*",
			"a question of eight words": lambda: self.take_words(8),
			"a word that is nowhere": lambda: "xylophonquatsch",
		}


def word(number: int) -> str:
	syllables = "bakelomunipasteridofugawenzohicu"
	return "".join(
		syllables[2 * (number >> shift & 15) : 2 * (number >> shift & 15) + 2] for shift in (0, 4, 8, 12)
	)


def make_readers(doctype: str) -> tuple[str, str]:
	all_role, owner = make_role(), make_role()
	rules = [
		{**ALL, "role": all_role},
		{**ALL, "role": owner, "if_owner": 1},
		{**ALL, "role": "Administrator"},
	]
	make_doctype(
		doctype,
		[field("title", "Data"), field("body", "Long Text")],
		rules,
		autoname="hash",
		is_submittable=1,
	)
	return make_user("Huf User", all_role), make_user("Huf User", owner)


def make_sources(doctype: str, owner: str, writer: Writer) -> list[str]:
	files = make_source(index=False)
	for _ in range(int(CHUNKS * IN_FILES) // CHUNKS_A_FILE):
		attach("Knowledge Source", files, "a.md", writer.paragraphs(CHUNKS_A_FILE))
	# A document has two chunks: its short fields, and the long field.
	for number in range(int(CHUNKS * (1 - IN_FILES)) // 2):
		doc = frappe.get_doc(
			{"doctype": doctype, "title": writer.take_words(4), "body": writer.take_words(WORDS_A_CHUNK)}
		).insert()
		if number < MINE:
			frappe.db.set_value(doctype, doc.name, "owner", owner)
		if number % 200 == 0:
			frappe.db.commit()
	frappe.db.commit()
	return [files, make_source(index=False, reference_doctype=doctype)]


def index(sources: list[str]) -> None:
	before, began = peak_memory_mb(), perf_counter()
	for source in sources:
		index_source(source)
	seconds, count = perf_counter() - began, frappe.db.count("Knowledge Chunk")
	print(f"{count:,} chunks indexed in {seconds:.1f} s: {count / seconds:,.0f} a second")
	print(
		f"memory at most {peak_memory_mb():,.0f} MB, {peak_memory_mb() - before:,.0f} MB of it for indexing"
	)


def peak_memory_mb() -> float:
	"""Peak resident memory of this process, in MB."""
	most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
	return most / 1024 if sys.platform != "darwin" else most / 1024**2


def timed(user: str, query: str, sources: list[str]) -> tuple[float, float]:
	"""Milliseconds of a search: wall time, and CPU time, which is independent of other load."""
	with acting_as(user):
		began, cpu_start = perf_counter(), process_time()
		search_knowledge(query, sources)
		return (perf_counter() - began) * 1000, (process_time() - cpu_start) * 1000
