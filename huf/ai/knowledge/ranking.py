"""The order of what was found, made from nothing but what its reader may read. Knows no site.

An index counts words in all documents; an order or a score made of that would tell of documents that somebody may not
read. So the chunks that a reader may read are weighed among themselves.
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

from huf.ai.core.tokenizer import Term, split_words

SATURATION, LENGTH = 1.2, 0.6
"""BM25's k1 and b."""
LOOSE, HEADING = 0.5, 2
"""What another form of a word counts, and how often a word in a heading."""
NEARNESS = 60
"""The constant of reciprocal-rank fusion."""


def weigh(terms: Sequence[Term], texts: Sequence[tuple[str, str]]) -> list[float]:
	"""A score of each (heading, text), 0 to 1, against the others."""
	counts = [count_terms(terms, *text) for text in texts]
	lengths = [len(text) + 1 for _, text in texts]
	usual = sum(lengths) / max(1, len(lengths))
	rarity = [
		math.log(1 + len(texts) / (0.5 + sum(1 for each in counts if each[place])))
		for place in range(len(terms))
	]
	scores = [
		sum(
			weight * times * (SATURATION + 1) / (times + SATURATION * (1 - LENGTH + LENGTH * length / usual))
			for times, weight in zip(each, rarity, strict=True)
		)
		for each, length in zip(counts, lengths, strict=True)
	]
	best = max(scores, default=0) or 1
	return [score / best for score in scores]


def count_terms(terms: Sequence[Term], heading: str, text: str) -> list[float]:
	said, above = split_words(text), split_words(heading)
	known = Counter(said)
	for word in above:
		known[word] += HEADING
	return [count(term, known, said, above) for term in terms]


def count(term: Term, known: Counter, said: list[str], above: list[str]) -> float:
	if len(term.words) > 1:
		return sum(
			float(stands_at(term, words, place)) for words in (said, above) for place in range(len(words))
		)
	exact = 0.0 if term.is_prefix else float(known[term.words[0]])
	loose = term.loose
	if not loose.is_prefix:
		return exact
	others = sum(times for word, times in known.items() if word.startswith(loose.words[0])) - exact
	return exact + others * (1 if term.is_prefix else LOOSE)


def stands_at(term: Term, words: list[str], place: int) -> bool:
	*first, last = term.words
	found = words[place : place + len(term.words)]
	if len(found) < len(term.words) or found[:-1] != first:
		return False
	return found[-1].startswith(last) if term.is_prefix else found[-1] == last


def fuse(*orders: Iterable[Hashable]) -> dict:
	"""{what: score, 0 to 1} of several orders of the same, by the ranks alone; the best first."""
	scores: dict = {}
	for order in orders:
		for rank, each in enumerate(order):
			scores[each] = scores.get(each, 0) + 1 / (NEARNESS + rank)
	best = max(scores.values(), default=1)
	return {each: score / best for each, score in sorted(scores.items(), key=lambda item: -item[1])}
