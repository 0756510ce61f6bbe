"""Output of local models is separated into calls and text, whole or in chunks of any size."""

import json
import unittest

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from huf.ai.core.arguments import parse_arguments
from huf.ai.core.errors import ToolError
from huf.ai.providers.response_guard import ResponseGuard
from huf.ai.providers.text_call_formats import CALL_MARKERS, OPENERS
from huf.tests.ai.providers.written_samples import CALLS, NORMAL
from huf.tests.measuring import assert_bounded

TOOLS = {
	"look": {
		"type": "object",
		"properties": {"limit": {"type": "integer"}, "words": {"type": "string"}, "all": {"type": "boolean"}},
	},
	"make": {"type": "object", "properties": {"title": {"type": "string"}}},
}
any_case = settings(
	max_examples=300, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
PIECES = [
	*OPENERS,
	*(closer.replace("\\", "").partition("|<|")[0] for closer in CALL_MARKERS.values()),
	*("</think>", "look", "make", "Action Input:", "Observation:", "json", "tool_code", "print("),
	*(
		'{"name": "look", "arguments": {"limit": 3}}',
		'{"name": "',
		'"arguments": ',
		"look(limit=3)",
		'{"x": ',
	),
	*("{", "}", "[", "]", "(", ")", '"', "'", ":", ",", "\\", "\n", " ", "*", "`", "é", "日"),
]
pieces = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=14).map("".join)


def feed_in_pieces(text: str) -> None:
	guard = ResponseGuard({"read": {}}, lambda text: None, lambda text: None)
	for start in range(0, len(text), 4):
		guard.feed(text[start : start + 4])
	guard.finish()


class TestSamples(unittest.TestCase):
	def test_samples_cover_at_least_sixty_distinct_call_styles(self):
		self.assertGreaterEqual(len(CALLS), 60)
		self.assertEqual(len({style for style, *_ in CALLS}), len(CALLS))

	def test_every_call_style_is_parsed_whole_and_in_chunks(self):
		for style, text, calls, rest in CALLS:
			for size in (len(text), 1, 7):
				with self.subTest(style, size=size):
					guard = feed_chunks(text, [size] * len(text))
					self.assertEqual([(name, read(raw)) for name, raw in guard.calls], calls)
					self.assertEqual(" ".join(guard.text.split()), rest)

	def test_text_without_calls_is_unchanged(self):
		for text in NORMAL:
			for size in (len(text) + 1, 1, 7):
				with self.subTest(text, size=size):
					guard = feed_chunks(text, [size] * len(text))
					self.assertEqual((guard.text, guard.calls), (text, []))

	def test_ambiguous_broken_arguments_raise_a_tool_error(self):
		broken = [raw for _, text, calls, _ in CALLS for _, raw in calls if isinstance(raw, str)]
		self.assertEqual(len(broken), 2)
		for raw in broken:
			with self.assertRaises(ToolError):
				parse_arguments(raw)

	def test_thinking_is_hidden_and_never_parsed_as_a_call(self):
		guard = feed_chunks('<think>{"name": "look", "arguments": {}}\nHm.</think>\n\nThree.', [4] * 99)
		self.assertEqual((guard.text, guard.calls), ("Three.", []))

	def test_thinking_is_separated_from_text_at_every_chunk_size(self):
		answer = '<think>{"name": "look"} </thin Hm.</think>\n\nThree.'
		for size in range(1, len(answer) + 1):
			with self.subTest(size=size):
				thought = []
				guard = ResponseGuard(TOOLS, [].append, thought.append)
				for start in range(0, len(answer), size):
					guard.feed(answer[start : start + size])
				guard.finish()
				self.assertEqual(("".join(thought), guard.text), ('{"name": "look"} </thin Hm.', "Three."))

	def test_parsing_time_of_a_chunked_call_is_linear_in_its_length(self):
		for opener in ("[TOOL_CALLS]", '```json\n{"name": "', "Action: read\nAction Input: {"):
			with self.subTest(opener):
				assert_bounded(
					self, feed_in_pieces, lambda chars, opener=opener: opener + "[1,2" * chars, 8_000
				)

	def test_possible_call_is_held_back_until_ruled_out(self):
		emitted = []
		guard = ResponseGuard(TOOLS, emitted.append, [].append)
		guard.feed('One moment. {"name": "lo')
		self.assertEqual(emitted, ["One moment."])
		guard.feed('st and found", "price": 3} was')
		self.assertEqual("".join(emitted), 'One moment. {"name": "lost and found", "price": 3} was')

	def test_ordinary_text_is_emitted_at_once_except_trailing_space(self):
		emitted = []
		guard = ResponseGuard(TOOLS, emitted.append, [].append)
		for word in ("Here ", 'is {"title": ', '"Tea", ', "and [a list] "):
			guard.feed(word)
		self.assertEqual("".join(emitted), 'Here is {"title": "Tea", and [a list]')


class TestAnyAnswer(unittest.TestCase):
	@given(pieces, st.lists(st.integers(1, 9), min_size=1))
	@any_case
	def test_emitted_text_and_calls_do_not_depend_on_chunk_sizes(self, text, sizes):
		emitted = []
		guard = feed_chunks(text, sizes * len(text), emitted.append)
		whole = feed_chunks(text, [len(text)])
		self.assertEqual("".join(emitted), guard.text)
		self.assertEqual((guard.text, guard.calls), (whole.text, whole.calls))
		self.assertEqual(guard.raw, text)

	@given(pieces, st.lists(st.integers(1, 9), min_size=1))
	@any_case
	def test_text_is_emitted_unchanged_when_there_are_no_tools(self, text, sizes):
		text = text.replace("think", "thank").replace("THINK", "THANK").replace("thought", "thing")
		self.assertEqual(feed_chunks(text, sizes * len(text), tools={}).text, text)

	@given(pieces)
	@any_case
	def test_only_tools_of_the_agent_are_called(self, text):
		self.assertLessEqual({name for name, _ in feed_chunks(text, [len(text)]).calls}, set(TOOLS))


def feed_chunks(text, sizes, on_text=lambda text: None, tools=TOOLS) -> ResponseGuard:
	"""A guard that was fed the text in chunks of these sizes."""
	guard, start = ResponseGuard(tools, on_text, [].append), 0
	for size in sizes:
		if start < len(text):
			guard.feed(text[start : start + size])
			start += size
	guard.finish()
	return guard


def read(raw):
	try:
		return json.loads(raw)
	except ValueError:
		return raw
