"""The index of words, in the language of the site's database: the one place where these differ.

Words come folded (`huf.ai.knowledge.words`): letters and digits only, so nothing a person types is ever part of a query's
language. A chunk's source is one more word, by which a search keeps to some sources. Nothing here knows who may read what.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

import frappe

CHUNK = "Knowledge Chunk"
TABLE = "huf_knowledge_words"
MAX_WORD_CHARS = 60
MAX_RANKED, MAX_TERMS = 8_000, 5
SHORTEST = 3
"""Letters of a word that InnoDB keeps, unless a database is told otherwise."""
LEFT_OUT = frozenset(
	"about are com for from how that the this und was what when where who will with www".split()
)
"""Words of three letters and more that InnoDB leaves out."""


class Wanted(Protocol):
	words: tuple[str, ...]
	is_prefix: bool


class Sqlite:
	"""FTS5, without a copy of the text. Chunks are named by the 63 bits of their rowid, in hex."""

	keeps_words = True

	def prepare(self) -> None:
		frappe.db.sql_ddl(
			f"create virtual table if not exists {TABLE} using fts5(source, words, content='', prefix='3')"
		)
		if not frappe.db.sql(f"select 1 from {TABLE}_config where k = 'rank'"):
			frappe.db.sql(f"insert into {TABLE}({TABLE}, rank) values ('rank', 'bm25(0.0, 1.0)')")
			frappe.db.commit()

	def word(self, word: str) -> str:
		return word[:MAX_WORD_CHARS]

	def add(self, rows: Sequence[tuple[str, str, str]]) -> None:
		for name, source, words in rows:
			frappe.db.sql(
				f"insert into {TABLE}(rowid, source, words) values (%s, %s, %s)",
				(int(name, 16), source, words),
			)

	def remove(self, rows: Sequence[tuple[str, str, str]]) -> None:
		for name, source, words in rows:
			frappe.db.sql(
				f"insert into {TABLE}({TABLE}, rowid, source, words) values ('delete', %s, %s, %s)",
				(int(name, 16), source, words),
			)

	def one(self, term: Wanted) -> str:
		return f'"{" ".join(map(self.word, term.words))}"{" *" if term.is_prefix else ""}'

	def query(self, terms: Sequence[Wanted], sources: Sequence[str], is_any: bool) -> str:
		joined = f"words : ({(' OR ' if is_any else ' AND ').join(map(self.one, terms))})"
		return f"source : ({' OR '.join(sources)}) AND {joined}" if sources else joined

	def find(self, query: str, limit: int, items: Sequence[str] | None) -> list[str]:
		if items is not None:
			own = frappe.db.sql(f"select name from `tab{CHUNK}` where item in %s", (items,), pluck=True)
			# The sign keeps SQLite from asking the index for each of them.
			some = f"select rowid from {TABLE} where {TABLE} match %s and +rowid in %s limit {limit}"
			return named(frappe.db.sql(some, (query, [int(name, 16) for name in own]), pluck=True))
		found = f"select rowid, rank as score from {TABLE} where {TABLE} match %s limit {MAX_RANKED}"
		# Of more than MOST_RANKED some are weighed: the order of rowids is no order of anything.
		best = f"select rowid from ({found}) order by score limit {limit}"
		return named(frappe.db.sql(best, (query,), pluck=True))

	def rarest(self, terms: Sequence[Wanted]) -> list[Wanted]:
		"""Those by which most is told apart: a question has words that nearly every chunk has."""
		total, chosen = 0, []
		for count, place in sorted((self.count(term), place) for place, term in enumerate(terms)):
			total += count
			if chosen and total > MAX_RANKED:
				break
			chosen.append(terms[place])
		return chosen

	def count(self, term: Wanted) -> int:
		query = f"select count(*) from (select 1 from {TABLE} where {TABLE} match %s limit {MAX_RANKED + 1})"
		return frappe.db.sql(query, (self.query([term], (), False),), pluck=True)[0]


def named(rowids: Iterable[int]) -> list[str]:
	return [f"{rowid:016x}" for rowid in rowids]


class Kept:
	"""Databases that index a column of the chunk's own row, which is written and deleted with it."""

	keeps_words = False
	score = ""

	def add(self, rows: Sequence[tuple[str, str, str]]) -> None:
		pass

	remove = add

	def rarest(self, terms: Sequence[Wanted]) -> Sequence[Wanted]:
		"""Nobody counts here beforehand; the longest words are the rarer ones."""
		return sorted(terms, key=lambda term: -sum(map(len, term.words)))[:MAX_TERMS]

	def find(self, query: str, limit: int, items: Sequence[str] | None) -> list[str]:
		within = "" if items is None else "and item in %(items)s"
		return frappe.db.sql(
			f"""select name from `tab{CHUNK}` where {self.condition} {within}
			order by {self.score} desc, name limit {limit}""",
			{"query": query, "items": items},
			pluck=True,
		)


class MariaDB(Kept):
	score = condition = "match(words) against (%(query)s in boolean mode)"

	def prepare(self) -> None:
		if not frappe.db.sql(f"show index from `tab{CHUNK}` where Key_name = %s", (TABLE,)):
			frappe.db.sql_ddl(f"alter table `tab{CHUNK}` add fulltext index {TABLE} (words)")

	def word(self, word: str) -> str:
		"""What InnoDB would leave out is made longer, or another word."""
		word = word[:MAX_WORD_CHARS]
		return f"{word}_" if word in LEFT_OUT else word.ljust(SHORTEST, "_")

	def one(self, term: Wanted) -> str:
		if len(term.words) > 1:
			return f'"{" ".join(map(self.word, term.words))}"'
		return f"{term.words[0][:MAX_WORD_CHARS]}*" if term.is_prefix else self.word(term.words[0])

	def query(self, terms: Sequence[Wanted], sources: Sequence[str], is_any: bool) -> str:
		found = list(map(self.one, terms))
		asked = f"+({' '.join(found)})" if is_any else " ".join(f"+{each}" for each in found)
		return f"+({' '.join(sources)}) {asked}" if sources else asked


class Postgres(Kept):
	vector = "to_tsvector('simple', words)"
	condition = f"{vector} @@ to_tsquery('simple', %(query)s)"
	score = f"ts_rank_cd({vector}, to_tsquery('simple', %(query)s), 1)"

	def prepare(self) -> None:
		frappe.db.sql_ddl(f'create index if not exists {TABLE} on "tab{CHUNK}" using gin ({self.vector})')

	def word(self, word: str) -> str:
		return word[:MAX_WORD_CHARS]

	def one(self, term: Wanted) -> str:
		return f"({' <-> '.join(map(self.word, term.words))}{':*' if term.is_prefix else ''})"

	def query(self, terms: Sequence[Wanted], sources: Sequence[str], is_any: bool) -> str:
		joined = (" | " if is_any else " & ").join(map(self.one, terms))
		return f"({' | '.join(sources)}) & ({joined})" if sources else joined


DIALECTS = {"sqlite": Sqlite(), "mariadb": MariaDB(), "postgres": Postgres()}


def dialect():
	return DIALECTS[frappe.db.db_type]


def prepare() -> None:
	"""Make the index where it is missing; commits what came before."""
	dialect().prepare()


def indexed(words: Iterable[str]) -> str:
	"""Words as the database's index takes them."""
	return " ".join(map(dialect().word, words))


def find(
	terms: Sequence[Wanted],
	sources: Sequence[str],
	limit: int,
	*,
	is_any: bool = False,
	items: Sequence[str] | None = None,
) -> list[str]:
	"""Names of chunks in which all terms stand (`is_any`: one of them), by the index's ranking.

	`sources`: the words of sources to keep to; none: all. `items`: to keep to some items.
	"""
	if not terms or (items is not None and not items):
		return []
	each = dialect()
	return each.find(each.query(each.rarest(terms) if is_any else terms, sources, is_any), limit, items)
