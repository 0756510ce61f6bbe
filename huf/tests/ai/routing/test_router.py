"""The routing cascade: which stage decides, the reasons it states, and its fallback after errors."""

import json
import unittest
from pathlib import Path

from huf.ai.routing import training
from huf.ai.routing.continuity import Previous
from huf.ai.routing.evaluation import evaluate_router
from huf.ai.routing.patterns import Pattern
from huf.ai.routing.router import decide_route
from huf.ai.routing.types import Route, Stage

AGENT, CHAT = Route.AGENT, Route.CHAT


def read(name: str) -> list[dict]:
	lines = Path(training.__file__).with_name(name).read_text(encoding="utf-8").splitlines()
	return [json.loads(line) for line in lines]


class TestCascade(unittest.TestCase):
	def test_plain_message_matches_a_pattern_and_reasons_use_its_language(self):
		decision = decide_route("Busca el precio del bitcoin hoy")
		self.assertEqual(decision.stage, Stage.HEURISTICS)
		self.assertEqual((decision.other_route, decision.other_confidence), (CHAT, 0.1))
		german = decide_route("Suche im Internet nach Palettenpreisen", language="es")
		self.assertEqual(german.reasons, ("Braucht eine Websuche",))

	def test_message_without_a_matching_pattern_is_decided_by_the_classifier(self):
		decision = decide_route("Which of our customers in Wales have not paid since May?")
		self.assertEqual((decision.route, decision.stage), (AGENT, Stage.CLASSIFIER))
		self.assertEqual(decision.tool_needs, ("find_records",))
		self.assertEqual(decision.plan_hint[-1], "Give the final answer")

	def test_messages_with_attachments_are_routed_to_the_agent_except_thanks(self):
		self.assertEqual(decide_route("Was hältst du davon?", True).tool_needs, ("read_file",))
		self.assertEqual(decide_route("Explain", True).route, AGENT)
		self.assertEqual(decide_route("gracias", True).route, CHAT)

	def test_only_doubtful_messages_are_routed_by_a_model_call(self):
		prompts = []

		def ask(messages):
			prompts.append(messages[-1]["content"])
			return 'Well: {"route": "agent", "confidence": 0.8}'

		message = self.find_doubtful()
		decision = decide_route(message, ask=ask)
		self.assertEqual((decision.route, decision.confidence, decision.stage), (AGENT, 0.8, Stage.MODEL))
		for plain in ("hola", "Busca en la web el tiempo", "What is a credit note?"):
			decide_route(plain, ask=ask)
		self.assertEqual(prompts, [message])

	def test_unknown_scripts_have_low_confidence(self):
		for message in ("搜索网上的比特币价格", "Найди в интернете курс биткоина", "ابحث عن سعر البيتكوين"):
			decision = decide_route(message)
			self.assertEqual((decision.route, decision.confidence), (CHAT, 0.5))
			by_model = decide_route(message, ask=lambda _: '{"route": "agent", "confidence": 0.9}')
			self.assertEqual((by_model.route, by_model.stage), (AGENT, Stage.MODEL))
		self.assertGreater(decide_route("Привет = hello in Russian, isn't it?").confidence, 0.5)

	def test_low_model_confidence_for_the_agent_routes_to_the_chat(self):
		decision = decide_route(self.find_doubtful(), ask=lambda _: '{"route": "agent", "confidence": 0.6}')
		self.assertEqual((decision.route, decision.confidence, decision.agent_score), (CHAT, 0.5, 0.6))

	def test_chat_chosen_by_the_model_stands_at_low_confidence(self):
		decision = decide_route(self.find_doubtful(), ask=lambda _: '{"route": "chat", "confidence": 0.2}')
		self.assertEqual((decision.route, decision.confidence, decision.agent_score), (CHAT, 0.5, 0.5))

	def find_doubtful(self) -> str:
		return next(
			row["text"]
			for row in read("test.jsonl")
			if (found := decide_route(row["text"])).stage is Stage.CLASSIFIER
			and 0.4 < found.agent_score < 0.6
		)

	def test_router_failures_fall_back_to_the_chat_with_confidence_one_half(self):
		def fail(messages):
			raise RuntimeError("the model is away")

		for ask in (fail, lambda messages: "no idea", lambda messages: '{"route": "moon", "confidence": 1}'):
			decision = decide_route(self.find_doubtful(), ask=ask)
			self.assertEqual((decision.route, decision.confidence, decision.tool_needs), (CHAT, 0.5, ()))
			self.assertRegex(decision.reasons[0], "^Router fallback due to error: .+")
		self.assertEqual(decide_route(None).stage, Stage.FALLBACK)

	def test_threshold_is_the_minimum_score_for_the_agent_route(self):
		message = self.find_doubtful()
		self.assertEqual(decide_route(message, threshold=0.3).route, AGENT)
		self.assertEqual(decide_route(message, threshold=0.95).route, CHAT)
		self.assertEqual(
			decide_route("Busca el precio del bitcoin hoy", threshold=0.95).stage, Stage.CLASSIFIER
		)

	def test_site_pattern_takes_precedence_over_built_in_patterns(self):
		row = Pattern("cs", "nab[ií]dk", CHAT, "", 0.8, "Nabídky řeší chat")
		decision = decide_route("Pošli NABIDKU z https://example.com", patterns=(row,))
		self.assertEqual((decision.route, decision.reasons), (CHAT, ("Nabídky řeší chat",)))

	def test_follow_up_of_an_agent_task_keeps_the_agent_route(self):
		decision = decide_route("ok", previous=Previous(AGENT))
		self.assertEqual((decision.route, decision.stage), (AGENT, Stage.CONVERSATION))
		self.assertEqual(decide_route("ok").route, CHAT)

	def test_very_long_message_is_routed(self):
		self.assertEqual(decide_route("Send our invoices. " * 5_000).route, AGENT)


class TestQuality(unittest.TestCase):
	def test_unseen_messages_are_routed_with_93_percent_accuracy_without_a_model(self):
		rows = read("test.jsonl")
		self.assertGreaterEqual(len(rows), 600)
		result = evaluate_router(rows, decide_route)
		self.assertGreaterEqual(result.score.accuracy, 0.93)
		for language in ("en", "es", "de", "cs"):
			self.assertGreaterEqual(result.by_language[language].accuracy, 0.9, language)

	def test_training_and_test_messages_do_not_overlap(self):
		learned, measured = read("train.jsonl"), read("test.jsonl")
		both = {row["text"].casefold() for row in learned} & {row["text"].casefold() for row in measured}
		self.assertEqual(both, set())
		self.assertGreaterEqual(len(learned), 1_200)

	def test_the_model_file_is_small(self):
		self.assertLessEqual(
			Path(training.__file__).parents[1].joinpath("model.json").stat().st_size, 300_000
		)
