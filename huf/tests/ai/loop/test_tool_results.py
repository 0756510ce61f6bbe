"""A model gets an excerpt of a long tool result and reads the rest with read_more."""

import asyncio
import unittest

from huf.ai.core.errors import ToolError
from huf.ai.core.types import Call, CallRequest, CallStatus, Outcome, ToolResult
from huf.ai.loop.context_window import MIN_EXCERPT_CHARS, PIECE_CHARS, ResultReader, excerpt

LONG = "".join(f"line {number}\n" for number in range(10_000))


class TestExcerpt(unittest.TestCase):
	def test_an_excerpt_fits_its_limit_and_gives_the_next_offset(self):
		for limit in (MIN_EXCERPT_CHARS, 1000, 5000):
			text = excerpt(LONG, limit, 3)
			head, _, ending = text.rpartition("\n[")
			self.assertLessEqual(len(text), limit)
			self.assertTrue(LONG.startswith(head))
			self.assertIn(f"result 3 and offset {len(head)}", ending)

	def test_short_text_and_existing_excerpts_are_unchanged(self):
		self.assertEqual(excerpt("short", 1000, 1), "short")
		shortened = excerpt(LONG, 1000, 1)
		self.assertIs(excerpt(shortened, 1000, 1), shortened)


class TestReadMore(unittest.TestCase):
	def test_the_pieces_together_are_the_whole(self):
		read, offset = "", 0
		while offset < len(LONG):
			piece = self.read(result=2, offset=offset).partition("\n")[2]
			read, offset = read + piece, offset + len(piece)
		self.assertEqual(read, LONG)

	def test_find_ignores_case(self):
		piece = self.read(result=2, find="LINE 9000\n")
		self.assertIn("line 9000\n", piece)
		self.assertNotIn("line 8000\n", piece)

	def test_find_begins_at_the_offset(self):
		start = LONG.index("line 500\n")
		self.assertIn("line 5000\n", self.read(result=2, find="line 500", offset=start + 1000))

	def test_missing_results_offsets_and_words_are_refused(self):
		for arguments, reason in (
			({"result": 9}, "The last one is 2"),
			({"result": 1, "offset": 99}, "ends at 5"),
			({"result": 1, "find": "(nothing"}, "has no"),
		):
			with self.subTest(arguments), self.assertRaisesRegex(ToolError, reason):
				self.read(**arguments)

	def test_a_piece_is_limited_in_size(self):
		self.assertLess(len(self.read(result=2)), PIECE_CHARS + 100)

	def read(self, **arguments):
		turn = [
			ToolResult(Call(CallRequest("c", "look", "{}"), 0), CallStatus.SUCCESS, text)
			for text in ("short", LONG)
		]
		return asyncio.run(ResultReader(Outcome(turns=[turn])).run(arguments))
