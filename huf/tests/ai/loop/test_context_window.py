"""Any transcript is fitted to the context window or refused, and required messages are never lost."""

import json
import unittest

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from huf.ai.core.types import MAX_RESULT_CHARS
from huf.ai.loop.context_window import MIN_EXCERPT_CHARS, Fitted, Room, TooLong, estimate, fit

SYSTEM = {"role": "system", "content": "You are an agent under test."}
REQUEST = {"role": "user", "content": "What is due?"}
settings.register_profile(
	"slow machine", deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("slow machine")
texts = st.one_of(
	st.text(max_size=40), st.integers(0, 9000).map("x".__mul__), st.integers(0, 900).map("日本 ".__mul__)
)
rooms = st.builds(
	Room,
	window=st.integers(1, 12_000),
	count=st.sampled_from(
		(estimate, lambda messages, limit=0: sum(3 + len(json.dumps(m)) for m in messages))
	),
	share=st.just(0.75),
)


@st.composite
def steps(draw, max_steps=6):
	messages = []
	for step in range(draw(st.integers(0, max_steps))):
		results = draw(st.lists(texts, min_size=1, max_size=4))
		messages += make_step(step, results, draw(st.none() | texts))
	return messages


@st.composite
def transcripts(draw):
	"""(messages, index of the request of the current run)."""
	history = [SYSTEM] if draw(st.booleans()) else []
	for _ in range(draw(st.integers(0, 3))):
		history += [
			{"role": "user", "content": draw(texts)},
			*draw(steps(2)),
			{"role": "assistant", "content": "So."},
		]
	return [*history, REQUEST, *draw(steps())], len(history)


def make_step(number, results, content=None):
	calls = [
		{"id": f"c{number}_{index}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
		for index in range(len(results))
	]
	tool_messages = [
		{"role": "tool", "tool_call_id": call["id"], "content": text}
		for call, text in zip(calls, results, strict=True)
	]
	return [{"role": "assistant", "content": content, "tool_calls": calls}, *tool_messages]


class TestAnyTranscript(unittest.TestCase):
	@given(transcripts(), rooms)
	def test_fitted_messages_fit_the_window_or_the_result_is_too_long(self, transcript, room):
		fitted = fit(*transcript, room)
		if isinstance(fitted, TooLong):
			self.assertGreater(fitted.needed, room.allowed)
		else:
			self.assertLessEqual(room.count(fitted.messages), room.allowed)

	@given(transcripts(), rooms)
	def test_every_call_keeps_its_result_and_every_result_its_call(self, transcript, room):
		fitted = fit(*transcript, room)
		for messages in [fitted.messages] if isinstance(fitted, Fitted) else []:
			self.assertEqual(list_unpaired_ids(messages), [])

	@given(transcripts(), rooms)
	def test_system_message_request_and_all_calls_of_this_run_are_kept(self, transcript, room):
		messages, request_index = transcript
		fitted = fit(messages, request_index, room)
		if isinstance(fitted, Fitted):
			pinned = [m for m in messages[request_index:] if m["role"] != "tool"]
			pinned += [m for m in messages if m["role"] == "system"]
			for message in pinned:
				self.assertTrue(any(message is sent for sent in fitted.messages))

	@given(transcripts(), rooms)
	def test_results_of_the_last_step_stay_whole_while_others_can_be_cut(self, transcript, room):
		messages, request_index = transcript
		calls = [index for index, m in enumerate(messages) if m.get("tool_calls")]
		last = max(calls[-1:] or [0])
		longest = max(room.allowed, MIN_EXCERPT_CHARS)
		minimal = [m for m in messages if m["role"] == "system"]
		for index, message in enumerate(messages[request_index:], request_index):
			minimal.append(
				truncate(message, longest if index > last else 80) if index > request_index else message
			)
		if last > request_index and room.count(minimal) <= room.allowed:
			sent = fit(messages, request_index, room).messages
			for message in messages[last + 1 :]:
				self.assertTrue(len(message["content"]) > longest or any(message is one for one in sent))

	@given(transcripts(), rooms)
	def test_a_transcript_that_fits_is_unchanged(self, transcript, room):
		messages, request_index = transcript
		large_room = Room(window=10**9, count=room.count)
		self.assertEqual(fit(messages, request_index, large_room), Fitted(messages))
		self.assertIs(fit(messages, request_index, large_room).messages, messages)

	@given(transcripts(), rooms)
	def test_fitting_is_idempotent(self, transcript, room):
		messages, request_index = transcript
		fitted = fit(messages, request_index, room)
		if isinstance(fitted, Fitted):
			index = fitted.messages.index(
				REQUEST, max(0, request_index - len(messages) + len(fitted.messages))
			)
			self.assertIs(fit(fitted.messages, index, room).messages, fitted.messages)

	@given(transcripts(), rooms)
	@settings(max_examples=30)
	def test_fitting_is_deterministic_and_does_not_modify_the_transcript(self, transcript, room):
		messages, request_index = transcript
		before = json.dumps(messages)
		self.assertEqual(fit(messages, request_index, room), fit(json.loads(before), request_index, room))
		self.assertEqual(json.dumps(messages), before)


class TestOrder(unittest.TestCase):
	def test_the_oldest_result_is_shortened_first_and_says_how_to_read_the_rest(self):
		steps = [message for number in range(8) for message in make_step(number, ["x" * 1000])]
		messages = [SYSTEM, REQUEST, *steps]
		sent = fit(messages, 1, Room(estimate(messages) - 50, share=1)).messages
		lengths = [len(m["content"]) for m in sent if m["role"] == "tool"]
		self.assertEqual(lengths[1:], [1000] * 7)
		self.assertLessEqual(lengths[0], MIN_EXCERPT_CHARS)
		self.assertIn("read_more with result 1 and offset", sent[3]["content"])

	def test_the_oldest_result_is_omitted_if_shortening_is_not_enough(self):
		steps = [message for number in range(12) for message in make_step(number, ["x" * 2000])]
		sent = fit([SYSTEM, REQUEST, *steps], 1, Room(2000)).messages
		results = [m["content"] for m in sent if m["role"] == "tool"]
		self.assertEqual(
			results[0], "[Result omitted: there is no room for it. Call read_more with result 1 for it.]"
		)
		self.assertIn("Truncated", results[-2])
		self.assertLess(len(results[-2]), len(results[-1]))

	def test_earlier_exchanges_are_dropped_before_the_last_result_is_cut(self):
		earlier = [{"role": "user", "content": "y" * 3000}, {"role": "assistant", "content": "z" * 3000}]
		messages = [SYSTEM, *earlier, REQUEST, *make_step(1, ["x" * 1400])]
		self.assertEqual(fit(messages, 3, Room(2000)).messages, [SYSTEM, REQUEST, *messages[4:]])

	def test_one_huge_result_is_shown_in_part_even_where_it_is_the_last(self):
		messages = [SYSTEM, REQUEST, *make_step(1, ["x" * 5_000_000])]
		fitted = fit(messages, 1, Room(2000))
		self.assertTrue(fitted.is_partial)
		self.assertLessEqual(len(fitted.messages[-1]["content"]), 1500)
		self.assertAlmostEqual(
			len(fit(messages, 1, Room(10**9)).messages[-1]["content"]), MAX_RESULT_CHARS, delta=9
		)

	def test_shortened_results_of_earlier_runs_do_not_refer_to_read_more(self):
		messages = [SYSTEM, {"role": "user", "content": "Earlier"}, *make_step(1, ["x" * 9000]), REQUEST]
		fitted = fit(messages, 4, Room(2000))
		self.assertFalse(fitted.is_partial)
		self.assertNotIn("read_more", str(fitted.messages))

	def test_a_request_that_does_not_fit_is_refused_in_plain_words(self):
		long = {"role": "user", "content": "x" * 9000}
		self.assertIn("larger window", str(fit([SYSTEM, long], 1, Room(2000))))


def list_unpaired_ids(messages):
	"""Ids of calls without a result after them, and of results without a call before them."""
	open_calls, unpaired = [], []
	for message in messages:
		if message["role"] == "tool":
			unpaired += [] if message["tool_call_id"] in open_calls else [message["tool_call_id"]]
			open_calls = [id for id in open_calls if id != message["tool_call_id"]]
		else:
			unpaired += open_calls
			open_calls = [call["id"] for call in message.get("tool_calls") or ()]
	return unpaired + open_calls


def truncate(message, max_chars):
	return {**message, "content": message["content"][:max_chars]} if message["role"] == "tool" else message
