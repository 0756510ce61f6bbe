"""Estimates the probability that a message is for the agent: logistic regression over TF-IDF terms. Pure.

Terms are words, character n-grams and concepts; `training/train.py` writes the model file.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from huf.ai.routing.complexity import MAX_MESSAGE_CHARS, UNKNOWN, Group, normalize_text, read_concepts

MODEL = Path(__file__).with_name("model.json")
NGRAM_LENGTHS = range(2, 6)
WORD = re.compile(r"\w+|[^\w\s]")
MAX_WORDS = 40
"""Words whose order counts."""


@dataclass(frozen=True)
class Classifier:
	"""`terms` is {term: (inverse document frequency, weight)}."""

	terms: Mapping[str, tuple[float, float]]
	bias: float

	def probability(self, text: str) -> float:
		"""The probability (0 to 1) that the message is for the agent."""
		score = self.bias + sum(self.weigh(counts) for counts in extract_terms(text))
		return 1 / (1 + math.exp(-score))

	def weigh(self, counts: Counter) -> float:
		"""The weighted sum of one family of terms, normalized to length 1."""
		score = square = 0.0
		for term, count in counts.items():
			if known := self.terms.get(term):
				idf, weight = known
				value = (1 + math.log(count)) * idf
				score += value * weight
				square += value * value
		return score / math.sqrt(square) if square else 0.0


@lru_cache(maxsize=1)
def load_model() -> Classifier:
	return build_classifier(json.loads(MODEL.read_text(encoding="utf-8")))


def build_classifier(data: dict) -> Classifier:
	"""The classifier of trained values, as `training/train.py` stores them."""
	terms = {
		term: (inverse_frequency(data["messages"], frequency), weight)
		for term, (frequency, weight) in data["terms"].items()
	}
	return Classifier(terms, data["bias"])


def inverse_frequency(messages: int, frequency: int) -> float:
	return math.log((1 + messages) / (1 + frequency)) + 1


def extract_terms(text: str) -> tuple[Counter, Counter, Counter]:
	"""Counts of the three families of terms: words, n-grams, concepts.

	The first character of a term is its family.
	"""
	words = WORD.findall(normalize_text(text[:MAX_MESSAGE_CHARS]))
	return count_words(words), count_ngrams(words), count_concepts(read_concepts(text)[:MAX_WORDS])


def count_words(words: list[str]) -> Counter:
	"""Words and word bigrams."""
	bounded = [".", *words, "."]
	return Counter([*("=" + word for word in words), *(f"={a} {b}" for a, b in pairwise(bounded))])


def count_ngrams(words: list[str]) -> Counter:
	"""Character n-grams within words."""
	padded = [f" {word} " for word in words]
	return Counter(
		"~" + word[at : at + length]
		for word in padded
		for length in NGRAM_LENGTHS
		for at in range(len(word) - length + 1)
	)


def count_concepts(groups: list[Group]) -> Counter:
	"""Concepts, the first one, neighbours, and ordered pairs; each counted once."""
	known = [group for group in groups if group != UNKNOWN]
	found = {f"#{concept}" for group in known for concept in group}
	found |= {f"^{concept}" for concept in (groups[0] if groups else ())}
	found |= {f"#{a}>{b}" for first, second in pairwise(groups) for a in first for b in second}
	found |= {
		f"#{a}..{b}"
		for place, first in enumerate(known)
		for later in known[place + 1 :]
		for a in first
		for b in later
	}
	found.add(f"#length {min(6, len(groups) // 3)}")
	if groups and groups[-1] == ("?",):
		found.add("#asks")
	return Counter(found)
