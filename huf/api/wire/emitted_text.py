"""Converts a run's events to append-only text, for protocols that cannot retract text."""

from huf.ai.core.events import EventKind, RunEvent


class EmittedText:
	"""The text that a client has received of a run; each step begins a new paragraph."""

	def __init__(self) -> None:
		self.text = ""
		self.step = 0
		self.step_text = ""

	def add_event(self, event: RunEvent) -> str:
		"""The text that this event adds; may be ""."""
		if event.kind is EventKind.TEXT_DELTA:
			return self.append(event.data["text"], event.data["step"])
		if event.kind is EventKind.RUN_FINISHED:
			return self.append(self.find_missing(event.data.get("response") or ""), self.step)
		if event.kind is EventKind.TEXT_VOID or "kept_steps" in event.data:
			# Emitted text cannot be retracted: its replacement begins a new paragraph.
			self.step = 0
		return ""

	def append(self, text: str, step: int) -> str:
		if text and step != self.step:
			text = ("\n\n" if self.text else "") + text
			self.step, self.step_text = step, ""
		self.text += text
		self.step_text += text
		return text

	def find_missing(self, response: str) -> str:
		"""The part of the final answer that was not emitted: all of it, its end, or a warning that precedes
		it.
		"""
		answer, emitted = response.strip(), self.step_text.strip()
		if not answer or self.text.strip().endswith(answer):
			return ""
		if emitted and answer.startswith(emitted):
			return answer[len(emitted) :]
		before = answer[: -len(emitted)].strip() if emitted and answer.endswith(emitted) else answer
		return ("\n\n" if self.text else "") + before
