"""Measures the router on labelled messages, and fits a threshold to the outcomes of past decisions. Pure."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from huf.ai.routing.types import Route, RouteDecision

CANDIDATE_THRESHOLDS = [round(0.40 + step * 0.01, 2) for step in range(51)]
MIN_DECISIONS = 30
"""Fewer decisions are not enough to suggest a threshold."""


@dataclass(frozen=True)
class Score:
	"""Confusion matrix of one group of messages; positive is the agent."""

	true_positives: int = 0
	false_positives: int = 0
	false_negatives: int = 0
	true_negatives: int = 0

	@property
	def total(self) -> int:
		return self.true_positives + self.false_positives + self.false_negatives + self.true_negatives

	@property
	def accuracy(self) -> float:
		return (self.true_positives + self.true_negatives) / self.total if self.total else 0.0

	@property
	def f1(self) -> float:
		"""F1 of the agent's route."""
		wrong, right = self.false_positives + self.false_negatives, 2 * self.true_positives
		return right / (right + wrong) if right or wrong else 0.0


@dataclass(frozen=True)
class Evaluation:
	"""`latencies` are in milliseconds, sorted; `wrong` are (row, decision)."""

	score: Score
	by_language: dict[str, Score]
	by_stage: dict[str, Score]
	latencies: list[float]
	wrong: list[tuple[dict, RouteDecision]]

	def latency(self, share: float) -> float:
		"""The latency (ms) that this share of decisions (0 to 1) does not exceed."""
		place = min(len(self.latencies) - 1, int(share * len(self.latencies)))
		return self.latencies[place] if self.latencies else 0.0


def evaluate_router(rows: Sequence[dict[str, Any]], decide: Callable[..., RouteDecision]) -> Evaluation:
	"""Decide each row {text, label, language?, has_attachments?} and compare the route with its label."""
	decide("warm up", False)
	judged, latencies = [], []
	for row in rows:
		began = time.perf_counter()
		decision = decide(row["text"], bool(row.get("has_attachments")))
		latencies.append((time.perf_counter() - began) * 1000)
		judged.append((row, decision))
	return Evaluation(
		score=count_outcomes(judged),
		by_language=group_scores(judged, lambda row, _: row.get("language") or "?"),
		by_stage=group_scores(judged, lambda _, decision: decision.stage.value),
		latencies=sorted(latencies),
		wrong=[(row, decision) for row, decision in judged if row["label"] != decision.route.value],
	)


def group_scores(judged: list, key: Callable[[dict, RouteDecision], str]) -> dict[str, Score]:
	names = dict.fromkeys(key(*pair) for pair in judged)
	return {name: count_outcomes(pair for pair in judged if key(*pair) == name) for name in names}


def count_outcomes(judged: Iterable[tuple[dict, RouteDecision]]) -> Score:
	pairs = [(row["label"] == Route.AGENT.value, decision.route is Route.AGENT) for row, decision in judged]
	return Score(
		true_positives=pairs.count((True, True)),
		false_positives=pairs.count((False, True)),
		false_negatives=pairs.count((True, False)),
		true_negatives=pairs.count((False, False)),
	)


def fit_threshold(outcomes: Sequence[tuple[float, bool]]) -> tuple[float, float] | None:
	"""(threshold, accuracy) that fits most past decisions; None if there are fewer than MIN_DECISIONS.

	`outcomes` are (the agent's score, whether the agent was needed). Of equally good thresholds the middle
	one is taken.
	"""
	if len(outcomes) < MIN_DECISIONS:
		return None
	rated = [
		(sum((score >= threshold) == needed for score, needed in outcomes), threshold)
		for threshold in CANDIDATE_THRESHOLDS
	]
	best = max(right for right, _ in rated)
	equal = [threshold for right, threshold in rated if right == best]
	return equal[len(equal) // 2], best / len(outcomes)
