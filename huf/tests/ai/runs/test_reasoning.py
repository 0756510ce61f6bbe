"""A model's reasoning is recorded and streamed separately from its answer."""

import json

import frappe

from huf.ai.core.events import EventKind
from huf.ai.core.types import AgentRequest
from huf.ai.providers.answers import MAX_REASONING_CHARS
from huf.ai.queries.event_stream import replay_events
from huf.ai.queries.runs import read_timeline
from huf.ai.runs.entry import run_agent, stream_agent
from huf.ai.runs.replay import replay
from huf.tests.base import SiteTestCase, enter
from huf.tests.factories import make_agent, make_model, make_tool
from huf.tests.model_server import ModelServer, cut, text, tool_call


class TestReasoning(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.server = enter(self, ModelServer())
		self.find = make_tool("Get List", reference_doctype="ToDo")
		self.agent = make_agent(make_model(self.server), (self.find,))

	def stream(self, prompt: str = "How many?", agent: str | None = None) -> list:
		events = stream_agent(AgentRequest(agent or self.agent, prompt, "Administrator"))
		return [event for event in events if event]

	def test_reasoning_is_streamed_and_recorded_separately_and_never_resent(self):
		self.server.script(
			tool_call(self.find, {"limit": 1}, reasoning="I have to look first."),
			text("One.", reasoning="There is one."),
			text("Still one."),
		)
		events = self.stream()
		kinds = [
			event.kind for event in events if event.kind in (EventKind.REASONING_DELTA, EventKind.TEXT_DELTA)
		]
		self.assertEqual(kinds[0], EventKind.REASONING_DELTA)
		self.assertEqual(
			self.join_deltas(events, EventKind.REASONING_DELTA),
			{1: "I have to look first.", 2: "There is one."},
		)
		self.assertEqual(self.join_deltas(events, EventKind.TEXT_DELTA), {2: "One."})
		run = frappe.get_doc("Agent Run", events[-1].run)
		self.assertEqual(run.response, "One.")
		steps = read_timeline(run.name)["steps"]
		self.assertEqual(
			[step["model_calls"][0]["reasoning"] for step in steps],
			["I have to look first.", "There is one."],
		)
		run_agent(AgentRequest(self.agent, "And now?", "Administrator", run.conversation))
		self.assertNotIn("I have to look", json.dumps(self.server.requests))
		self.assertNotIn("There is one", json.dumps(self.server.requests))
		replayed = list(replay_events(run.name))
		self.assertEqual(
			self.join_deltas(replayed, EventKind.REASONING_DELTA),
			self.join_deltas(events, EventKind.REASONING_DELTA),
		)
		self.assertTrue(replay(run.name).identical)

	def test_reasoning_is_truncated_at_the_maximum_length(self):
		self.server.script(text("One.", reasoning="x" * (MAX_REASONING_CHARS + 10), chunk_size=1000))
		events = self.stream()
		self.assertEqual(len(self.join_deltas(events, EventKind.REASONING_DELTA)[1]), MAX_REASONING_CHARS)
		self.assertEqual(self.join_deltas(events, EventKind.TEXT_DELTA), {1: "One."})

	def test_masked_values_in_reasoning_are_restored(self):
		agent = make_agent(make_model(self.server), (), mask_personal_data=1)
		self.server.script(text("Done.", reasoning="To [EMAIL-1]?"))
		events = self.stream("Write to anna@example.com", agent)
		self.assertEqual(self.join_deltas(events, EventKind.REASONING_DELTA), {1: "To anna@example.com?"})
		self.assertEqual(self.recorded(events), "To anna@example.com?")

	def test_think_tags_of_a_local_model_become_reasoning(self):
		agent = make_agent(make_model(self.server), ())
		frappe.db.set_value("AI Provider", frappe.db.get_value("Agent", agent, "provider"), "is_local", 1)
		self.server.script(text("<think>Hm, one.</think>One."))
		events = self.stream(agent=agent)
		self.assertEqual(self.join_deltas(events, EventKind.REASONING_DELTA), {1: "Hm, one."})
		self.assertEqual(self.join_deltas(events, EventKind.TEXT_DELTA), {1: "One."})
		self.assertEqual(self.recorded(events), "Hm, one.")

	def test_reasoning_of_an_interrupted_stream_is_discarded_on_retry(self):
		self.server.script(
			cut(text("One.", reasoning="Wrong track"), after_chunks=2), text("Two.", reasoning="Right")
		)
		events = self.stream()
		kinds = [event.kind for event in events]
		void = kinds.index(EventKind.TEXT_VOID)
		self.assertIn(EventKind.REASONING_DELTA, kinds[:void])
		self.assertEqual(self.join_deltas(events[void:], EventKind.REASONING_DELTA), {1: "Right"})

	def join_deltas(self, events: list, kind: EventKind) -> dict[int, str]:
		"""The streamed text of each step."""
		steps: dict[int, str] = {}
		for event in events:
			if event.kind is kind:
				steps[event.data["step"]] = steps.get(event.data["step"], "") + event.data["text"]
		return steps

	def recorded(self, events: list) -> str:
		return frappe.db.get_value("Agent LLM Call", {"run": events[-1].run}, "reasoning")
