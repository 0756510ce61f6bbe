"""Front ends receive each part of an answer once, with a paragraph for each step."""

import unittest

from huf.ai.core.events import EventKind, RunEvent
from huf.api.wire.emitted_text import EmittedText


def delta(text: str, step: int = 1) -> RunEvent:
	return RunEvent(EventKind.TEXT_DELTA, "run", {"text": text, "step": step})


def finished(response: str) -> RunEvent:
	return RunEvent(EventKind.RUN_FINISHED, "run", {"response": response})


class TestEmittedText(unittest.TestCase):
	def emit(self, *events: RunEvent) -> list[str]:
		emitted = EmittedText()
		added = [emitted.add_event(event) for event in events]
		self.assertEqual("".join(added), emitted.text)
		return added

	def test_each_step_begins_a_paragraph(self):
		self.assertEqual(self.emit(delta("One"), delta(" more"), delta("Two", 2))[2], "\n\nTwo")

	def test_an_answer_that_was_streamed_is_not_repeated(self):
		self.assertEqual(self.emit(delta("Done."), finished("Done."))[1], "")

	def test_the_unstreamed_rest_of_an_answer_is_added(self):
		self.assertEqual(self.emit(delta("Done"), finished("Done. All of it."))[1], ". All of it.")

	def test_an_answer_that_was_not_streamed_is_added_whole(self):
		self.assertEqual(self.emit(finished("Done.")), ["Done."])

	def test_a_warning_in_front_of_a_streamed_answer_is_appended(self):
		self.assertEqual(
			self.emit(delta("Half."), finished("Stopped early.\n\nHalf."))[1], "\n\nStopped early."
		)

	def test_text_after_a_void_event_begins_a_paragraph(self):
		void = RunEvent(EventKind.TEXT_VOID, "run", {"step": 1})
		self.assertEqual(self.emit(delta("Wrong"), void, delta("Right"))[2], "\n\nRight")
