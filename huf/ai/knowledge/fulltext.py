"""The full-text index of knowledge chunks: the one place that knows the SQL of each database.

Words are normalized by `huf.ai.core.tokenizer` to letters and digits, so nothing that a person types becomes
query syntax, and stored as stems. The source of a chunk is indexed as one more word, by which a search is
limited to some sources. Permissions are checked elsewhere.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

import frappe

from huf.ai.knowledge.terms import IndexTerm

CHUNK = "Knowledge Chunk"
INDEX_NAME = "huf_knowledge_stems"
OLD_INDEX_NAME = "huf_knowledge_words"
"""Held whole words, not stems."""
MAX_WORD_CHARS = 60
MAX_RANKED_ROWS = 8_000
MAX_ROWS_PER_TERM = 2_000
"""Of an index that does not rank. A term with more matches says too little to count."""
MIN_WORD_CHARS = 3
"""Shorter words are not indexed by InnoDB (`innodb_ft_min_token_size`)."""
STOP_WORDS = frozenset(
	"about are com for from how that the this und was what when where who will with www".split()
)
"""InnoDB's stop words of three letters and more."""

IndexRow = tuple[str, str, str]
"""(chunk name, source word, words)"""


class WordIndex:
	"""What the indexes of all databases have in common."""

	def encode_word(self, word: str) -> str:
		return word[:MAX_WORD_CHARS]


class SqliteIndex(WordIndex):
	"""A contentless FTS5 table, whose rowid is the chunk's name (63 bits) as a number."""

	is_separate_table = True

	def create(self) -> None:
		frappe.db.sql_ddl(
			f"create virtual table if not exists {INDEX_NAME} "
			"using fts5(source, words, content='', prefix='3')"
		)
		if not frappe.db.sql(f"select 1 from {INDEX_NAME}_config where k = 'rank'"):
			frappe.db.sql(f"insert into {INDEX_NAME}({INDEX_NAME}, rank) values ('rank', 'bm25(0.0, 1.0)')")
			frappe.db.commit()

	def has_old(self) -> bool:
		return bool(frappe.db.sql("select 1 from sqlite_master where name = %s", (OLD_INDEX_NAME,)))

	def drop_old(self) -> None:
		frappe.db.sql_ddl(f"drop table if exists {OLD_INDEX_NAME}")

	def add(self, rows: Sequence[IndexRow]) -> None:
		for name, source, words in rows:
			frappe.db.sql(
				f"insert into {INDEX_NAME}(rowid, source, words) values (%s, %s, %s)",
				(int(name, 16), source, words),
			)

	def remove(self, rows: Sequence[IndexRow]) -> None:
		for name, source, words in rows:
			frappe.db.sql(
				f"insert into {INDEX_NAME}({INDEX_NAME}, rowid, source, words) values ('delete', %s, %s, %s)",
				(int(name, 16), source, words),
			)

	def format_term(self, term: IndexTerm) -> str:
		phrases = [f'"{" ".join(words)}"' for words in term.stems]
		prefixes = [f'"{term.prefix}" *'] if term.prefix else []
		return f"({' OR '.join(prefixes + phrases)})"

	def format_query(self, terms: Sequence[IndexTerm], sources: Sequence[str], is_any: bool = False) -> str:
		words = f"words : ({(' OR ' if is_any else ' AND ').join(map(self.format_term, terms))})"
		return f"source : ({' OR '.join(sources)}) AND {words}" if sources else words

	def find(self, query: str, limit: int, items: Sequence[str] | None) -> list[str]:
		match = f"{INDEX_NAME} match %s"
		if items is not None:
			chunks = frappe.db.sql(f"select name from `tab{CHUNK}` where item in %s", (items,), pluck=True)
			# The + keeps SQLite from looking up each rowid in the index.
			in_items = f"select rowid from {INDEX_NAME} where {match} and +rowid in %s limit {limit}"
			rowids = [int(name, 16) for name in chunks]
			return to_chunk_names(frappe.db.sql(in_items, (query, rowids), pluck=True))
		# If more rows match, an arbitrary subset is ranked: rowids are digests.
		matches = f"select rowid, rank as score from {INDEX_NAME} where {match} limit {MAX_RANKED_ROWS}"
		best = f"select rowid from ({matches}) order by score limit {limit}"
		return to_chunk_names(frappe.db.sql(best, (query,), pluck=True))

	def find_any(
		self, terms: Sequence[IndexTerm], sources: Sequence[str], limit: int, items: Sequence[str] | None
	) -> list[str]:
		return self.find(self.format_query(self.select_rarest(terms), sources, is_any=True), limit, items)

	def select_rarest(self, terms: Sequence[IndexTerm]) -> list[IndexTerm]:
		"""The most selective terms: a question also contains words that are in nearly every chunk."""
		total = 0
		selected: list[IndexTerm] = []
		for count, place in sorted((self.count(term), place) for place, term in enumerate(terms)):
			total += count
			if selected and total > MAX_RANKED_ROWS:
				break
			selected.append(terms[place])
		return selected

	def count(self, term: IndexTerm) -> int:
		matches = f"select 1 from {INDEX_NAME} where {INDEX_NAME} match %s limit {MAX_RANKED_ROWS + 1}"
		query = self.format_query([term], ())
		return frappe.db.sql(f"select count(*) from ({matches})", (query,), pluck=True)[0]


def to_chunk_names(rowids: Iterable[int]) -> list[str]:
	return [f"{rowid:016x}" for rowid in rowids]


class ColumnIndex(WordIndex):
	"""An index over the column `words` of the chunk's own row, which is written and deleted with it."""

	is_separate_table = False
	condition = ""
	score = ""

	def add(self, rows: Sequence[IndexRow]) -> None:
		pass

	remove = add

	def format_query(self, terms: Sequence[IndexTerm], sources: Sequence[str]) -> str:
		raise NotImplementedError

	def find_any(
		self, terms: Sequence[IndexTerm], sources: Sequence[str], limit: int, items: Sequence[str] | None
	) -> list[str]:
		"""Chunks by the rarity of the terms in them: neither MariaDB nor Postgres ranks by BM25."""
		scores: defaultdict[str, float] = defaultdict(float)
		names_by_term = sorted(
			(self.match(self.format_query([each], sources), items) for each in terms), key=len
		)
		for names in names_by_term:
			if scores and len(names) > MAX_ROWS_PER_TERM:
				break
			weight = math.log(1 + MAX_RANKED_ROWS / (0.5 + len(names)))
			for name in names:
				scores[name] += weight
		return sorted(scores, key=lambda name: (-scores[name], name))[:limit]

	def match(self, query: str, items: Sequence[str] | None) -> list[str]:
		"""Any chunks that match, one more than MAX_ROWS_PER_TERM at most."""
		return self.select(query, f"limit {MAX_ROWS_PER_TERM + 1}", items)

	def find(self, query: str, limit: int, items: Sequence[str] | None) -> list[str]:
		return self.select(query, f"order by {self.score} desc, name limit {limit}", items)

	def select(self, query: str, order: str, items: Sequence[str] | None) -> list[str]:
		in_items = "" if items is None else "and item in %(items)s"
		return frappe.db.sql(
			f"select name from `tab{CHUNK}` where {self.condition} {in_items} {order}",
			{"query": query, "items": items},
			pluck=True,
		)


class MariaDBIndex(ColumnIndex):
	score = condition = "match(words) against (%(query)s in boolean mode)"

	def create(self) -> None:
		if not self.has_index(INDEX_NAME):
			frappe.db.sql_ddl(f"alter table `tab{CHUNK}` add fulltext index {INDEX_NAME} (words)")

	def has_index(self, name: str) -> bool:
		return bool(frappe.db.sql(f"show index from `tab{CHUNK}` where Key_name = %s", (name,)))

	def has_old(self) -> bool:
		return self.has_index(OLD_INDEX_NAME)

	def drop_old(self) -> None:
		frappe.db.sql_ddl(f"alter table `tab{CHUNK}` drop index {OLD_INDEX_NAME}")

	def encode_word(self, word: str) -> str:
		"""Append underscores to words that InnoDB would not index: short words and stop words."""
		word = super().encode_word(word)
		return f"{word}_" if word in STOP_WORDS else word.ljust(MIN_WORD_CHARS, "_")

	def format_term(self, term: IndexTerm) -> str:
		words = [each[0] if len(each) == 1 else f'"{" ".join(each)}"' for each in term.stems]
		prefixes = [f"{term.prefix}*"] if term.prefix else []
		return f"({' '.join(prefixes + words)})"

	def format_query(self, terms: Sequence[IndexTerm], sources: Sequence[str]) -> str:
		query = " ".join(f"+{self.format_term(each)}" for each in terms)
		return f"+({' '.join(sources)}) {query}" if sources else query


class PostgresIndex(ColumnIndex):
	vector = "to_tsvector('simple', words)"
	condition = f"{vector} @@ to_tsquery('simple', %(query)s)"
	score = f"ts_rank_cd({vector}, to_tsquery('simple', %(query)s), 1)"

	def create(self) -> None:
		frappe.db.sql_ddl(
			f'create index if not exists {INDEX_NAME} on "tab{CHUNK}" using gin ({self.vector})'
		)

	def has_old(self) -> bool:
		return bool(frappe.db.sql("select 1 from pg_indexes where indexname = %s", (OLD_INDEX_NAME,)))

	def drop_old(self) -> None:
		frappe.db.sql_ddl(f"drop index if exists {OLD_INDEX_NAME}")

	def format_term(self, term: IndexTerm) -> str:
		phrases = [f"({' <-> '.join(words)})" for words in term.stems]
		prefixes = [f"{term.prefix}:*"] if term.prefix else []
		return f"({' | '.join(prefixes + phrases)})"

	def format_query(self, terms: Sequence[IndexTerm], sources: Sequence[str]) -> str:
		words = " & ".join(map(self.format_term, terms))
		return f"({' | '.join(sources)}) & {words}" if sources else words


AnyIndex = SqliteIndex | MariaDBIndex | PostgresIndex
INDEXES: dict[str, AnyIndex] = {
	"sqlite": SqliteIndex(),
	"mariadb": MariaDBIndex(),
	"postgres": PostgresIndex(),
}


def get_index() -> AnyIndex:
	"""The index of the site's database."""
	return INDEXES[frappe.db.db_type]


def find_chunk_names(
	terms: Sequence[IndexTerm],
	sources: Sequence[str],
	limit: int,
	*,
	is_any: bool = False,
	items: Sequence[str] | None = None,
) -> list[str]:
	"""Names of chunks that contain all terms (`is_any`: one of them), best first by the index's own ranking.

	`sources`: source words to search in; none: all. `items`: names of items to search in; None: all.
	"""
	if not terms or (items is not None and not items):
		return []
	index = get_index()
	if is_any:
		return index.find_any(terms, sources, limit, items)
	return index.find(index.format_query(terms, sources), limit, items)
