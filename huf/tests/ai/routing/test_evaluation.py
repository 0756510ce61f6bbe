"""The router's scores are computed, and a threshold is fitted to outcomes."""

import unittest

from huf.ai.routing.evaluation import Score, evaluate_router, fit_threshold
from huf.ai.routing.types import Route, RouteDecision, Stage

ROWS = [
	{"text": "a", "label": "agent", "language": "en"},
	{"text": "b", "label": "agent", "language": "en"},
	{"text": "c", "label": "chat", "language": "cs"},
	{"text": "d", "label": "chat"},
]


def decide(text, has_attachments):
	return RouteDecision(Route.AGENT if text in "ac" else Route.CHAT, 0.8, stage=Stage.CLASSIFIER)


class TestEvaluation(unittest.TestCase):
	def test_scores_are_computed_overall_and_by_language(self):
		result = evaluate_router(ROWS, decide)
		self.assertEqual(
			result.score, Score(true_positives=1, false_positives=1, false_negatives=1, true_negatives=1)
		)
		self.assertEqual((result.score.accuracy, result.score.f1), (0.5, 0.5))
		self.assertEqual(
			{name: score.accuracy for name, score in result.by_language.items()}, {"en": 0.5, "cs": 0, "?": 1}
		)
		self.assertEqual([row["text"] for row, _ in result.wrong], ["b", "c"])
		self.assertEqual(len(result.latencies), 4)

	def test_fitted_threshold_separates_outcomes_that_needed_the_agent(self):
		outcomes = [(0.9, True)] * 20 + [(0.75, False)] * 20 + [(0.2, False)] * 5
		threshold, share = fit_threshold(outcomes)
		self.assertTrue(0.75 < threshold <= 0.9)
		self.assertEqual(share, 1.0)

	def test_no_threshold_is_fitted_from_fewer_than_thirty_outcomes(self):
		self.assertIsNone(fit_threshold([(0.9, True)] * 29))
