"""A run's stream that is cut anywhere and rejoined yields the same text, once."""

import asyncio
import json
import random
from unittest.mock import patch

import frappe

from huf.ai.core.events import EventKind
from huf.ai.core.session import acting_as
from huf.ai.core.types import AgentRequest
from huf.ai.queries.event_stream import replay_events
from huf.ai.runs import queue
from huf.ai.runs.entry import stream_agent
from huf.ai.storage import events
from huf.api import chat
from huf.api.wire.sse import encode_events
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_agent, make_model, make_tool, make_user
from huf.tests.model_server import ModelServer, text, tool_call

ANSWER = " ".join(f"Sentence {number} of the answer." for number in range(120))
CUTS = 50


class Reader:
	"""Assembles a stream as a page does: only complete events count, and void text is dropped."""

	def __init__(self):
		self.texts, self.calls, self.kinds, self.last, self.incomplete = {}, [], [], 0, ""

	def read(self, piece: str) -> "Reader":
		*blocks, self.incomplete = (self.incomplete + piece).split("\n\n")
		for block in blocks:
			fields = dict(line.split(": ", 1) for line in block.split("\n"))
			self.last = int(fields.get("id", self.last))
			self.apply(fields["event"], json.loads(fields["data"]))
		return self

	def apply(self, kind: str, data: dict) -> None:
		self.kinds.append(kind)
		first_void = (
			data["kept_steps"] + 1 if "kept_steps" in data else data["step"] if kind == "text_void" else None
		)
		if first_void:
			self.texts = {step: each for step, each in self.texts.items() if step < first_void}
		if kind == "text_delta":
			self.texts[data["step"]] = self.texts.get(data["step"], "") + data["text"]
		if kind == "tool_finished" and data["call_id"] not in self.calls:
			self.calls.append(data["call_id"])

	def rejoin(self, run: str) -> "Reader":
		self.incomplete = ""
		return self.read(chat.rejoin(run, self.last).get_data(as_text=True))


class TestRejoining(SiteTestCase):
	@patch.object(events, "PAUSES_S", ((0, 0),))
	def test_a_stream_cut_at_any_point_and_rejoined_gives_the_same_text_once(self):
		streamed = self.stream_run()
		whole = "".join(encode_events(streamed))
		expected = Reader().read(whole)
		self.assertEqual(expected.texts, {1: "Let me look.", 2: ANSWER})
		for cut in random.Random(5).sample(range(len(whole)), CUTS):
			reader = Reader().read(whole[:cut]).rejoin(streamed[0].run)
			self.assertEqual(reader.texts, expected.texts, cut)
			self.assertEqual(reader.kinds, expected.kinds, cut)

	def test_events_missing_from_the_cache_are_replayed_from_the_journal(self):
		streamed = self.stream_run()
		self.evict(streamed)
		for cut in (0, 1, len(streamed) // 2, len(streamed)):
			reader = Reader().read("".join(encode_events(streamed[:cut]))).rejoin(streamed[0].run)
			self.assertEqual((reader.texts, len(reader.calls)), ({1: "Let me look.", 2: ANSWER}, 1), cut)

	def test_rejoining_after_a_worker_takeover_replaces_the_unrecorded_text(self):
		with ModelServer() as server:
			agent = make_agent(make_model(server), (make_tool("Get List", reference_doctype="ToDo"),))
			tool = frappe.get_doc("Agent", agent).agent_tool[0].tool
			server.script(tool_call(tool, {"limit": 1}, content="First."), text("An answer that is lost."))
			streamed = [each for each in stream_agent(self.request(agent)) if each]
			run = streamed[0].run
			self.evict(streamed[-1:])
			self.lose_worker(run)
			server.script(text("The answer that counts."))
			queue.work_on(run)
		reader = Reader().read("".join(encode_events(streamed[:-1])))
		self.assertEqual(reader.texts[2], "An answer that is lost.")
		reader.rejoin(run)
		self.assertEqual(reader.texts, {1: "First.", 2: "The answer that counts."})
		self.assertEqual(len(reader.calls), 1)

	def test_fast_text_deltas_are_merged_into_fewer_events(self):
		deltas = [each.data["text"] for each in self.stream_run() if each.kind is EventKind.TEXT_DELTA]
		self.assertEqual("".join(deltas), "Let me look." + ANSWER)
		self.assertLess(len(deltas), len(ANSWER) // 8, "the model sends four characters at a time")

	def test_slow_text_deltas_are_merged_only_after_very_many_events(self):
		for emitted, are_merged in ((0, False), (10_000, True)):
			deltas = asyncio.run(self.emit_slowly(emitted, "a b c d e".split()))
			self.assertEqual("".join(deltas), "abcde")
			self.assertEqual(len(deltas) < 5, are_merged, deltas)

	async def emit_slowly(self, emitted: int, pieces: list[str]) -> list[str]:
		"""The text deltas of pieces that come 3 ms apart, in a run with `emitted` earlier events."""
		streamed = []
		request = AgentRequest("Any", "Tell me", "Administrator")
		emit = events.RunEventEmitter("any-run", request, [streamed.append], None)
		emit.number += emitted
		for piece in pieces:
			emit(EventKind.TEXT_DELTA, {"step": 1, "text": piece})
			await asyncio.sleep(0.003)
		emit(EventKind.TEXT_DONE, {})
		return [each.data["text"] for each in streamed]

	def test_event_numbers_are_consecutive_and_serve_as_sse_ids(self):
		streamed = self.stream_run()
		self.assertEqual([each.number for each in streamed], list(range(1, len(streamed) + 1)))
		body = chat.rejoin(streamed[0].run, len(streamed) - 1).get_data(as_text=True)
		self.assertTrue(body.startswith(f"id: {len(streamed)}\nevent: run_finished\n"))

	def test_only_the_owner_and_managers_can_rejoin_a_run(self):
		owner = make_user("Huf User")
		run = self.stream_run(owner)[0].run
		with acting_as(make_user("Huf User")), self.assertRaises(frappe.PermissionError):
			chat.rejoin(run)
		for user in (owner, make_user("Huf Manager")):
			with acting_as(user):
				self.assertIn("run_finished", chat.rejoin(run).get_data(as_text=True))

	def test_events_use_the_stored_call_id_for_overlong_call_ids(self):
		streamed = self.stream_run(call_id="call_" + "x" * 300)
		run = streamed[0].run
		stored = frappe.db.get_value("Agent Tool Call", {"run": run}, "call_id")
		for seen in (streamed, replay_events(run)):
			calls = [each.data["call_id"] for each in seen if "call_id" in each.data]
			self.assertEqual(set(calls), {stored})

	def stream_run(self, user="Administrator", call_id=None):
		with ModelServer() as server:
			tool = make_tool("Get List", reference_doctype="ToDo")
			agent = make_agent(make_model(server), (tool,))
			look = tool_call(tool, {"limit": 1}, id=call_id, content="Let me look.")
			server.script(look, text(ANSWER, chunk_size=4))
			return [each for each in stream_agent(self.request(agent, user)) if each]

	def request(self, agent, user="Administrator"):
		return AgentRequest(agent, "Go", user, external_id=frappe.generate_hash(length=8))

	def evict(self, emitted):
		for each in emitted:
			frappe.cache.delete_value(events.live_event_key(each.run, each.number))

	def lose_worker(self, run):
		"""Leaves the run as a worker that was lost before it recorded its last answer."""
		frappe.db.delete("Agent LLM Call", {"run": run, "step": 2})
		frappe.db.delete("Agent Message", {"run": run, "step": 2})
		gone = {"status": "Started", "worker": "gone", "lease_until": "2020-01-01 00:00:00"}
		frappe.db.set_value("Agent Run", run, gone)
		frappe.db.commit()
