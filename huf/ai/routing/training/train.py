"""Trains the router's classifier and writes its model file: `python -m huf.ai.routing.training.train
[--check]`.

Needs scikit-learn (the extra `router`). Reads `train.jsonl`, never `test.jsonl`. `--check` trains on four
fifths and prints the accuracy on the rest, to compare changes of words or settings.
"""

import argparse
import hashlib
import json
import math
from collections import Counter
from pathlib import Path

from huf.ai.routing.classifier import MODEL, build_classifier, extract_terms, inverse_frequency
from huf.ai.routing.types import DEFAULT_THRESHOLD

MESSAGES = Path(__file__).with_name("train.jsonl")
REGULARIZATION_C = 4.0
"""scikit-learn's inverse regularization strength C."""
MAX_TERMS = 12_000
Terms = dict[str, tuple[int, float]]


def train(rows: list[dict]) -> dict:
	"""The contents of the model file: {messages, bias, terms: {term: [frequency, weight]}}."""
	counted = [extract_terms(row["text"]) for row in rows]
	frequencies = Counter(term for families in counted for counts in families for term in counts)
	_bias, weights = fit_regression(rows, counted, frequencies)
	# A few terms carry nearly all the weight; fit these again without the rest.
	heaviest = sorted(weights, key=lambda term: (-abs(weights[term]), term))[:MAX_TERMS]
	kept = {term: frequencies[term] for term in sorted(heaviest)}
	bias, weights = fit_regression(rows, counted, kept)
	terms = {term: [frequency, round(weights[term], 2)] for term, frequency in kept.items()}
	# Shift the bias so that even odds of the regression become the router's default threshold.
	middle = math.log(DEFAULT_THRESHOLD / (1 - DEFAULT_THRESHOLD))
	return {"messages": len(rows), "bias": round(bias + middle, 3), "terms": terms}


def fit_regression(
	rows: list[dict], counted: list, frequencies: dict[str, int]
) -> tuple[float, dict[str, float]]:
	"""(bias, {term: weight}) of a logistic regression."""
	from scipy.sparse import csr_matrix
	from sklearn.linear_model import LogisticRegression

	places = {term: place for place, term in enumerate(frequencies)}
	values: list[float] = []
	row_numbers: list[int] = []
	columns: list[int] = []
	for number, families in enumerate(counted):
		for counts in families:
			vector = compute_tfidf(counts, frequencies, len(rows))
			values += vector.values()
			row_numbers += [number] * len(vector)
			columns += [places[term] for term in vector]
	matrix = csr_matrix((values, (row_numbers, columns)), shape=(len(rows), len(places)))
	labels = [row["label"] == "agent" for row in rows]
	model = LogisticRegression(C=REGULARIZATION_C, max_iter=1000).fit(matrix, labels)
	return float(model.intercept_[0]), dict(zip(places, map(float, model.coef_[0]), strict=True))


def compute_tfidf(counts: Counter, frequencies: dict[str, int], messages: int) -> dict[str, float]:
	"""The TF-IDF vector of one family of terms, of length 1, as in `Classifier.weigh`."""
	values = {
		term: (1 + math.log(count)) * inverse_frequency(messages, frequencies[term])
		for term, count in counts.items()
		if term in frequencies
	}
	length = math.sqrt(sum(value * value for value in values.values())) or 1
	return {term: value / length for term, value in values.items()}


def read_jsonl(path: Path) -> list[dict]:
	"""The rows of a JSONL file."""
	return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def is_held_out(row: dict) -> bool:
	"""Whether a message belongs to the fifth that is held out for measuring."""
	return hashlib.sha256(row["text"].encode()).digest()[0] % 5 == 0


def measure_held_out(rows: list[dict]) -> float:
	"""Accuracy on the held-out messages of a model trained on the others."""
	model = build_classifier(train([row for row in rows if not is_held_out(row)]))
	held_out = [row for row in rows if is_held_out(row)]
	right = sum(
		(model.probability(row["text"]) >= DEFAULT_THRESHOLD) == (row["label"] == "agent") for row in held_out
	)
	return right / len(held_out)


def main() -> None:
	parser = argparse.ArgumentParser(description=__doc__)
	parser.add_argument("--check", action="store_true", help="measure on a held-out fifth; write nothing")
	rows = read_jsonl(MESSAGES)
	if parser.parse_args().check:
		print(f"accuracy on held-out messages: {measure_held_out(rows):.3f}")
		return
	MODEL.write_text(
		json.dumps(train(rows), ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8"
	)
	print(f"{MODEL.name}: {MODEL.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
	main()
