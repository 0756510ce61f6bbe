"""Tokens of messages are counted, up to a limit or roughly where that is enough."""

from unittest import TestCase

from huf.ai.providers.tokens import CACHED_CHARS, OVERHEAD_TOKENS, TokenCounter, count_text

HISTORY = [{"role": "user", "content": f"word {number}"} for number in range(100)]


class TestTokenCounter(TestCase):
	def setUp(self):
		self.counted = []

		def count(text: str) -> int:
			self.counted.append(text)
			return len(text.split())

		self.tokens = TokenCounter(count, [], 0)
		self.one = 2 + OVERHEAD_TOKENS

	def test_beyond_a_limit_only_the_newest_messages_are_counted(self):
		self.assertGreater(self.tokens(HISTORY, 10 * self.one), 10 * self.one)
		self.assertLess(len(self.counted), 14)
		self.assertIn("word 99", self.counted)
		self.assertNotIn("word 50", self.counted)

	def test_every_message_is_counted_once_within_a_limit_or_without_one(self):
		whole = self.tokens(HISTORY)
		self.assertEqual(whole, self.tokens(HISTORY, whole))
		self.assertEqual(whole - self.tokens([]), 100 * self.one)
		self.assertEqual(len(self.counted), len(set(self.counted)))

	def test_short_texts_are_estimated_from_utf8_bytes_without_the_tokenizer(self):
		rough = TokenCounter(self.fail, [], 1000)
		self.assertEqual(
			rough([{"role": "user", "content": "ěšč"}]) - rough([{"role": "user", "content": "abc"}]), 3
		)

	def test_token_counts_are_cached_per_model_for_short_texts_only(self):
		counted = []

		def count(model: str, text: str) -> int:
			counted.append((model, len(text)))
			return len(text)

		long = "x" * (CACHED_CHARS + 1)
		for model, text in [("a", "word"), ("a", "word"), ("b", "word"), ("a", long), ("a", long)]:
			self.assertEqual(count_text(count, model, text), len(text))
		self.assertEqual(counted, [("a", 4), ("b", 4), ("a", len(long)), ("a", len(long))])
