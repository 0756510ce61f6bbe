"""Encoding of run events as server-sent events."""

import json
import unittest

from huf.ai.core.events import EventKind, RunEvent
from huf.api.wire.sse import MAX_RESULT_CHARS, PING, encode_events, stream_data


def tool_finished(result: str, number: int = 0) -> RunEvent:
	return RunEvent(EventKind.TOOL_FINISHED, "run", {"tool": "t", "result": result}, number)


class TestServerSentEvents(unittest.TestCase):
	def test_an_event_has_its_kind_and_its_number(self):
		(line,) = encode_events([tool_finished("ok", 7)])
		data = '{"run": "run", "tool": "t", "result": "ok"}'
		self.assertEqual(line, f"id: 7\nevent: tool_finished\ndata: {data}\n\n")

	def test_an_event_without_a_number_has_no_id(self):
		(line,) = encode_events([tool_finished("ok")])
		self.assertTrue(line.startswith("event: "))

	def test_unicode_line_separators_in_text_do_not_split_an_event(self):
		ends = "\x0b\x85\u2028\u2029"
		(line,) = encode_events([tool_finished(ends)])
		self.assertEqual(len(line.splitlines()), 3)
		self.assertEqual(json.loads(line.split("data: ")[1])["result"], ends)

	def test_none_is_encoded_as_a_keepalive_comment(self):
		self.assertEqual(list(encode_events([None])), [PING])
		self.assertEqual(stream_data(iter([None, "{}"])).get_data(as_text=True), f"{PING}data: {{}}\n\n")

	def test_a_long_result_is_truncated_and_marked_as_cut(self):
		(line,) = encode_events([tool_finished("x" * (MAX_RESULT_CHARS + 1))])
		data = json.loads(line.split("data: ")[1])
		self.assertEqual((len(data["result"]), data["cut"]), (MAX_RESULT_CHARS, True))
