"""Holds back the streamed answer of a chat while the agent may still have to take over."""

import re

from huf.ai.core.events import EventKind, RunEvent
from huf.ai.runs.routing import check_escalation

SENTENCE_END = re.compile(r"[.!?](?=\s)|\n")


class HeldChat:
	"""The buffered events of a chat's answer.

	With `can_void`, events are passed on up to the last complete sentence, unless the text so far needs the
	agent. Without it, for readers that cannot retract text, all are held until the end.
	"""

	def __init__(self, can_void: bool):
		self.can_void = can_void
		self.events: list[RunEvent] = []
		self.text = ""
		self.checked = self.passed_on = 0

	def add(self, event: RunEvent) -> list[RunEvent]:
		"""Add an event; returns the events that can be passed on now, in order."""
		self.events.append(event)
		if event.kind is EventKind.TEXT_VOID:
			return self.begin_again()
		if not self.can_void or event.kind is not EventKind.TEXT_DELTA:
			return []
		self.text += event.data["text"]
		end = max((found.end() for found in SENTENCE_END.finditer(self.text, self.checked)), default=0)
		if end <= self.checked:
			return []
		self.checked = end
		return [] if check_escalation(self.text[:end]).should_escalate else self.release(end)

	def begin_again(self) -> list[RunEvent]:
		"""Discard the answer, because another model answers: its event is passed on only if text was."""
		void = (EventKind.TEXT_DELTA, EventKind.REASONING_DELTA)
		kept = [each for each in self.events if each.kind not in void]
		released, self.events = (kept, []) if self.passed_on else ([], kept)
		self.text, self.checked, self.passed_on = "", 0, 0
		return released

	def release(self, end: int) -> list[RunEvent]:
		"""Release the events whose text lies before `end`; a piece that extends beyond it waits for its
		sentence.
		"""
		count = 0
		for event in self.events:
			length = len(event.data["text"]) if event.kind is EventKind.TEXT_DELTA else 0
			if self.passed_on + length > end:
				break
			self.passed_on, count = self.passed_on + length, count + 1
		released, self.events = self.events[:count], self.events[count:]
		return released

	def void(self, last: RunEvent) -> list[RunEvent]:
		"""The event that retracts the text passed on so far, after the chat has ended with `last`."""
		return [RunEvent(EventKind.TEXT_VOID, last.run, {"step": 1}, last.number)] if self.passed_on else []
