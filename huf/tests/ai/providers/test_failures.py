"""Errors of providers' clients are quoted without API keys."""

from unittest import TestCase

from huf.ai.providers.failures import MAX_MESSAGE_CHARS, read_reason

KEY = "0123456789abcdef" * 2
"""Without a shape by which a key is recognised."""


class TestReasons(TestCase):
	def test_no_part_of_a_key_is_left_where_a_long_message_is_cut(self):
		for before in range(MAX_MESSAGE_CHARS - len(KEY), MAX_MESSAGE_CHARS):
			with self.subTest(before):
				reason = read_reason(ValueError(f"{'.' * before}{KEY} is not a key"), KEY)
				self.assertNotIn(KEY[:4], reason)
				self.assertLessEqual(len(reason), MAX_MESSAGE_CHARS)
