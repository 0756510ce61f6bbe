"""Trains the router's classifier and writes its model file: `python -m huf.ai.routing.training.train [--check]`.

Needs scikit-learn (the extra `router`). Reads `train.jsonl` and never `test.jsonl`. `--check` trains on four fifths and
says how well the rest is told apart, for whoever changes words or settings.
"""

import argparse
import hashlib
import json
import math
from collections import Counter
from pathlib import Path

from huf.ai.routing.classifier import MODEL, Classifier, count_terms, inverse_frequency
from huf.ai.routing.types import THRESHOLD

MESSAGES = Path(__file__).with_name("train.jsonl")
STRENGTH = 4.0
"""scikit-learn's C: the higher, the closer to the messages."""
MAX_TERMS = 12_000
Terms = dict[str, tuple[int, float]]


def train(rows: list[dict]) -> dict:
	"""The model file's contents: {messages, bias, terms: {term: [frequency, weight]}}."""
	counted = [count_terms(row["text"]) for row in rows]
	frequencies = Counter(term for families in counted for counts in families for term in counts)
	_bias, weights = fit(rows, counted, frequencies)
	# Few terms carry nearly all; those are weighed anew without the rest.
	heaviest = sorted(weights, key=lambda term: (-abs(weights[term]), term))[:MAX_TERMS]
	kept = {term: frequencies[term] for term in sorted(heaviest)}
	bias, weights = fit(rows, counted, kept)
	terms = {term: [frequency, round(weights[term], 2)] for term, frequency in kept.items()}
	# As likely as not shall be the router's threshold: what the regression puts in the middle is put there.
	middle = math.log(THRESHOLD / (1 - THRESHOLD))
	return {"messages": len(rows), "bias": round(bias + middle, 3), "terms": terms}


def fit(rows: list[dict], counted: list, frequencies: dict[str, int]) -> tuple[float, dict[str, float]]:
	"""(bias, {term: weight}) of a logistic regression."""
	from scipy.sparse import csr_matrix
	from sklearn.linear_model import LogisticRegression

	places = {term: place for place, term in enumerate(frequencies)}
	values, row_numbers, columns = [], [], []
	for number, families in enumerate(counted):
		for counts in families:
			vector = weigh(counts, frequencies, len(rows))
			values += vector.values()
			row_numbers += [number] * len(vector)
			columns += [places[term] for term in vector]
	matrix = csr_matrix((values, (row_numbers, columns)), shape=(len(rows), len(places)))
	labels = [row["label"] == "agent" for row in rows]
	model = LogisticRegression(C=STRENGTH, max_iter=1000).fit(matrix, labels)
	return float(model.intercept_[0]), dict(zip(places, map(float, model.coef_[0]), strict=True))


def weigh(counts: Counter, frequencies: dict[str, int], messages: int) -> dict[str, float]:
	"""One family's TF-IDF, of length 1: as `Classifier.weigh` has it."""
	values = {
		term: (1 + math.log(count)) * inverse_frequency(messages, frequencies[term])
		for term, count in counts.items()
		if term in frequencies
	}
	length = math.sqrt(sum(value * value for value in values.values())) or 1
	return {term: value / length for term, value in values.items()}


def read_rows(path: Path) -> list[dict]:
	return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def is_apart(row: dict) -> bool:
	"""Whether a message is in the fifth that settings are chosen by."""
	return hashlib.sha256(row["text"].encode()).digest()[0] % 5 == 0


def check(rows: list[dict]) -> float:
	"""Share of the messages set apart that a model of the others tells rightly."""
	data = train([row for row in rows if not is_apart(row)])
	terms = {
		term: (inverse_frequency(data["messages"], frequency), weight)
		for term, (frequency, weight) in data["terms"].items()
	}
	model = Classifier(terms, data["bias"])
	apart = [row for row in rows if is_apart(row)]
	right = sum((model.probability(row["text"]) >= THRESHOLD) == (row["label"] == "agent") for row in apart)
	return right / len(apart)


def main() -> None:
	parser = argparse.ArgumentParser(description=__doc__)
	parser.add_argument("--check", action="store_true", help="measure on a fifth set apart; write nothing")
	rows = read_rows(MESSAGES)
	if parser.parse_args().check:
		print(f"told rightly of the messages set apart: {check(rows):.3f}")
		return
	MODEL.write_text(
		json.dumps(train(rows), ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8"
	)
	print(f"{MODEL.name}: {MODEL.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
	main()
