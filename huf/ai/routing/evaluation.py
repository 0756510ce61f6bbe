"""How well the router decides: figures from labelled messages, and a threshold from what became of decisions. Pure."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from huf.ai.routing.types import Decision, Route

CANDIDATES = [round(0.40 + step * 0.01, 2) for step in range(51)]
MIN_DECISIONS = 30
"""Decisions from which on a threshold is suggested."""


@dataclass(frozen=True)
class Score:
	"""Counts of one group of messages; "positive" is the agent."""

	hits: int = 0
	false_alarms: int = 0
	misses: int = 0
	rightly_chat: int = 0

	@property
	def total(self) -> int:
		return self.hits + self.false_alarms + self.misses + self.rightly_chat

	@property
	def accuracy(self) -> float:
		return (self.hits + self.rightly_chat) / self.total if self.total else 0.0

	@property
	def f1(self) -> float:
		"""Of the agent's route."""
		wrong = self.false_alarms + self.misses
		return 2 * self.hits / (2 * self.hits + wrong) if self.hits or wrong else 0.0


@dataclass(frozen=True)
class Evaluation:
	"""`latencies` in milliseconds, sorted; `wrong` are (row, decision)."""

	score: Score
	by_language: dict[str, Score]
	by_stage: dict[str, Score]
	latencies: list[float]
	wrong: list[tuple[dict, Decision]]

	def latency(self, share: float) -> float:
		place = min(len(self.latencies) - 1, int(share * len(self.latencies)))
		return self.latencies[place] if self.latencies else 0.0


def evaluate(rows: Sequence[dict[str, Any]], decide: Callable[..., Decision]) -> Evaluation:
	"""Decide every row {text, label, language?, has_attachments?} and compare."""
	decide("warm up", False)
	judged, latencies = [], []
	for row in rows:
		began = time.perf_counter()
		decision = decide(row["text"], bool(row.get("has_attachments")))
		latencies.append((time.perf_counter() - began) * 1000)
		judged.append((row, decision))
	return Evaluation(
		score=count(judged),
		by_language=grouped(judged, lambda row, _: row.get("language") or "?"),
		by_stage=grouped(judged, lambda _, decision: decision.stage.value),
		latencies=sorted(latencies),
		wrong=[(row, decision) for row, decision in judged if row["label"] != decision.route.value],
	)


def grouped(judged: list, key: Callable[[dict, Decision], str]) -> dict[str, Score]:
	names = dict.fromkeys(key(*pair) for pair in judged)
	return {name: count(pair for pair in judged if key(*pair) == name) for name in names}


def count(judged: Iterable[tuple[dict, Decision]]) -> Score:
	pairs = [(row["label"] == Route.AGENT.value, decision.route is Route.AGENT) for row, decision in judged]
	return Score(
		*(pairs.count(pair) for pair in ((True, True), (False, True), (True, False), (False, False)))
	)


def fit_threshold(outcomes: Sequence[tuple[float, bool]]) -> tuple[float, float] | None:
	"""(threshold, accuracy) that would have told most decisions rightly; None for too few.

	`outcomes` are (score of the agent, whether it was one for the agent). Of equal ones the middle is taken.
	"""
	if len(outcomes) < MIN_DECISIONS:
		return None
	rated = [
		(sum((score >= threshold) == needed for score, needed in outcomes), threshold)
		for threshold in CANDIDATES
	]
	best = max(right for right, _ in rated)
	equal = [threshold for right, threshold in rated if right == best]
	return equal[len(equal) // 2], best / len(outcomes)
