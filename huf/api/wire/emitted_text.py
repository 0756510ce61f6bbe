"""Turns a run's events into text that only ever grows, for protocols that cannot take text back."""

from huf.ai.core.events import EventKind, RunEvent


class EmittedText:
	"""The text of one run that a client has received; each step begins a new paragraph."""

	def __init__(self) -> None:
		self.text = ""
		self.step = 0
		self.step_text = ""

	def add_event(self, event: RunEvent) -> str:
		"""The text that this event adds, perhaps none."""
		if event.kind is EventKind.TEXT_DELTA:
			return self.append(event.data["text"], event.data["step"])
		if event.kind is EventKind.RUN_FINISHED:
			return self.append(self.find_missing(event.data.get("response") or ""), self.step)
		if event.kind is EventKind.TEXT_VOID or "kept_steps" in event.data:
			# What was emitted cannot be withdrawn: the text that replaces it starts a new paragraph.
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
		"""The part of the final answer that has not been emitted: all of it, its end, or a warning put before
		it.
		"""
		answer, emitted = response.strip(), self.step_text.strip()
		if not answer or self.text.strip().endswith(answer):
			return ""
		if emitted and answer.startswith(emitted):
			return answer[len(emitted) :]
		before = answer[: -len(emitted)].strip() if emitted and answer.endswith(emitted) else answer
		return ("\n\n" if self.text else "") + before
