"""Ranks the chunks that a user may read, by those chunks alone (BM25, reciprocal rank fusion). Pure.

The index counts words in all documents, so its scores would reveal something about documents that the user
may not read.
"""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from huf.ai.core.grouping import group_pairs
from huf.ai.core.tokenizer import normalize_words, split_spelled_words
from huf.ai.knowledge.terms import IndexTerm, stem_in_all_languages

BM25_K1 = 1.2
BM25_B = 0.6
TITLE_WEIGHT = 2
"""How often a word in a title or heading counts, beyond the word in the text."""
COVERAGE_BONUS, ADJACENCY_BONUS, EXACT_BONUS = 0.1, 0.2, 0.1
"""Shares of its score that a passage gains: with all terms, with terms side by side, with their own forms."""
MAX_BONUS_PASSAGES = 30
"""How many of the best passages are searched for adjacent terms and exact words."""
CACHED_TITLES = 10_000
RRF_K = 60
"""The constant k of reciprocal rank fusion."""


@dataclass(frozen=True)
class Passage:
	"""A chunk as the ranking sees it. `title`: with its heading; `stems`: as the index stores them."""

	title: str
	stems: str
	text: str

	@cached_property
	def stem_list(self) -> list[str]:
		return self.stems.split()

	@cached_property
	def words(self) -> str:
		return normalize_words(self.text)

	@cached_property
	def title_words(self) -> str:
		return normalize_words(self.title)


def pad(words: Iterable[str]) -> str:
	return f" {' '.join(words)} "


@lru_cache(maxsize=CACHED_TITLES)
def stem_title(title: str) -> frozenset[str]:
	return frozenset().union(*map(stem_in_all_languages, split_spelled_words(title)))


def score_passages(terms: Sequence[IndexTerm], passages: Sequence[Passage]) -> list[float]:
	"""Scores of passages, relative to the best (0 to 1). 0: the passage has none of the terms."""
	if not terms:
		return [0.0] * len(passages)
	places = find_places(terms)
	counts = [count_terms(terms, each, places) for each in passages]
	weights = weigh_terms(terms, counts)
	scores = score_bm25(weights, counts, [len(each.stem_list) + 1 for each in passages])
	for place in sorted(range(len(scores)), key=lambda place: -scores[place])[:MAX_BONUS_PASSAGES]:
		scores[place] *= 1 + ADJACENCY_BONUS * find_adjacent_share(terms, passages[place])
		scores[place] *= 1 + EXACT_BONUS * find_exact_share(terms, weights, passages[place])
	best = max(scores, default=0) or 1
	return [score / best for score in scores]


def weigh_terms(terms: Sequence[IndexTerm], counts: Sequence[Sequence[float]]) -> list[float]:
	"""How much each term says: by its rarity among these passages, and how often the query contains it."""
	frequencies = [sum(1 for each in counts if each[place]) for place in range(len(terms))]
	return [
		term.term.count * math.log(1 + len(counts) / (0.5 + frequency))
		for term, frequency in zip(terms, frequencies, strict=True)
	]


def score_bm25(
	weights: Sequence[float], counts: Sequence[Sequence[float]], lengths: Sequence[int]
) -> list[float]:
	mean_length = sum(lengths) / max(1, len(lengths))
	scores = []
	for each, length in zip(counts, lengths, strict=True):
		norm = BM25_K1 * (1 - BM25_B + BM25_B * length / mean_length)
		score = sum(
			weight * times * (BM25_K1 + 1) / (times + norm)
			for times, weight in zip(each, weights, strict=True)
		)
		covered = sum(weight for times, weight in zip(each, weights, strict=True) if times) / sum(weights)
		scores.append(score * (1 + COVERAGE_BONUS * covered))
	return scores


def count_terms(terms: Sequence[IndexTerm], passage: Passage, places: Mapping[str, list[int]]) -> list[float]:
	"""How often each term is in a passage; `places`: {stem: places of the terms that it stands for}."""
	counts = [0.0] * len(terms)
	for stem in places.keys() & set(passage.stem_list):
		times = passage.stem_list.count(stem)
		for place in places[stem]:
			counts[place] = max(counts[place], times)
	for place in {place for stem in places.keys() & stem_title(passage.title) for place in places[stem]}:
		counts[place] += TITLE_WEIGHT
	for place, term in enumerate(terms):
		if not term.is_plain:
			counts[place] = count_phrase(term, passage)
	return counts


def count_phrase(term: IndexTerm, passage: Passage) -> float:
	if not term.is_strict:
		return float(max(f" {passage.stems} ".count(pad(each)) for each in term.stems))
	phrase = pad(term.term.words)
	phrase = phrase.rstrip() if term.term.is_prefix else phrase
	return float(passage.words.count(phrase) + TITLE_WEIGHT * passage.title_words.count(phrase))


def find_places(terms: Sequence[IndexTerm]) -> dict[str, list[int]]:
	plain = ((place, term) for place, term in enumerate(terms) if term.is_plain)
	return group_pairs((stem, place) for place, term in plain for (stem,) in term.stems)


def find_adjacent_share(terms: Sequence[IndexTerm], passage: Passage) -> float:
	"""The share of the query's neighbouring terms that are neighbours in the passage as well."""
	text = f" {passage.stems} "
	found = [
		any(pad((*left, *right)) in text for left in first.stems for right in second.stems)
		for first, second in pairwise(terms)
	]
	return sum(found) / len(found) if found else 0.0


def find_exact_share(terms: Sequence[IndexTerm], weights: Sequence[float], passage: Passage) -> float:
	"""The share of the terms' weight whose words are in the passage in the query's own form."""
	words = set(f"{passage.words}{passage.title_words}".split())
	exact = [weight for term, weight in zip(terms, weights, strict=True) if words.issuperset(term.term.words)]
	return sum(exact) / sum(weights)


def fuse_rankings(*orders: Iterable[Hashable]) -> dict:
	"""Combine several rankings of the same things by rank alone: {thing: score 0 to 1}, best first."""
	scores: dict = {}
	for order in orders:
		for rank, each in enumerate(order):
			scores[each] = scores.get(each, 0) + 1 / (RRF_K + rank)
	best = max(scores.values(), default=1)
	return {each: score / best for each, score in sorted(scores.items(), key=lambda item: -item[1])}
