"""Ranks the chunks that a user may read, by those chunks alone (BM25, reciprocal rank fusion). Pure.

The index counts words in all documents, so its scores would reveal something about documents that the user
may not read.
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

from huf.ai.core.tokenizer import Term, split_words

BM25_K1 = 1.2
BM25_B = 0.6
OTHER_FORM_WEIGHT = 0.5
"""What another form of a word counts."""
HEADING_WEIGHT = 2
"""How often a word in a heading counts."""
RRF_K = 60
"""The constant k of reciprocal rank fusion."""


def score_texts(terms: Sequence[Term], texts: Sequence[tuple[str, str]]) -> list[float]:
	"""BM25 scores of (heading, text) pairs, relative to the best of them (0 to 1)."""
	counts = [count_terms(terms, *text) for text in texts]
	lengths = [len(text) + 1 for _, text in texts]
	mean_length = sum(lengths) / max(1, len(lengths))
	rarity = [
		math.log(1 + len(texts) / (0.5 + sum(1 for each in counts if each[place])))
		for place in range(len(terms))
	]
	scores = [
		sum(
			weight * times * (BM25_K1 + 1) / (times + BM25_K1 * (1 - BM25_B + BM25_B * length / mean_length))
			for times, weight in zip(each, rarity, strict=True)
		)
		for each, length in zip(counts, lengths, strict=True)
	]
	best = max(scores, default=0) or 1
	return [score / best for score in scores]


def count_terms(terms: Sequence[Term], heading: str, text: str) -> list[float]:
	words, heading_words = split_words(text), split_words(heading)
	counts = Counter(words)
	for word in heading_words:
		counts[word] += HEADING_WEIGHT
	return [count_term(term, counts, words, heading_words) for term in terms]


def count_term(term: Term, counts: Counter, words: list[str], heading_words: list[str]) -> float:
	if len(term.words) > 1:
		return sum(
			float(matches_at(term, text, place))
			for text in (words, heading_words)
			for place in range(len(text))
		)
	exact = 0.0 if term.is_prefix else float(counts[term.words[0]])
	loose = term.loose
	if not loose.is_prefix:
		return exact
	others = sum(times for word, times in counts.items() if word.startswith(loose.words[0])) - exact
	return exact + others * (1 if term.is_prefix else OTHER_FORM_WEIGHT)


def matches_at(term: Term, words: list[str], place: int) -> bool:
	*first, last = term.words
	found = words[place : place + len(term.words)]
	if len(found) < len(term.words) or found[:-1] != first:
		return False
	return found[-1].startswith(last) if term.is_prefix else found[-1] == last


def fuse_rankings(*orders: Iterable[Hashable]) -> dict:
	"""Combine several rankings of the same things by rank alone: {thing: score 0 to 1}, best first."""
	scores: dict = {}
	for order in orders:
		for rank, each in enumerate(order):
			scores[each] = scores.get(each, 0) + 1 / (RRF_K + rank)
	best = max(scores.values(), default=1)
	return {each: score / best for each, score in sorted(scores.items(), key=lambda item: -item[1])}
