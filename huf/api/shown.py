"""What of a run's text a reader has been shown, for wires that cannot take anything back. Pure."""

from huf.ai.core.types import EventKind, RunEvent


class Shown:
	"""Takes a run's events and gives the text that each adds; steps are paragraphs of their own."""

	def __init__(self):
		self.text, self.step, self.of_step = "", 0, ""

	def take(self, event: RunEvent) -> str:
		if event.kind is EventKind.TEXT_DELTA:
			return self.add(event.data["text"], event.data["step"])
		if event.kind is EventKind.RUN_FINISHED:
			return self.add(self.missing(event.data.get("response") or ""), self.step)
		if event.kind is EventKind.TEXT_VOID or "kept_steps" in event.data:
			self.step = 0
		return ""

	def add(self, text: str, step: int) -> str:
		if text and step != self.step:
			text = ("\n\n" if self.text else "") + text
			self.step, self.of_step = step, ""
		self.text += text
		self.of_step += text
		return text

	def missing(self, response: str) -> str:
		"""What of the answer has not been shown: all of it, its end, or the warning that is put before it."""
		answer, shown = response.strip(), self.of_step.strip()
		if not answer or self.text.strip().endswith(answer):
			return ""
		if shown and answer.startswith(shown):
			return answer[len(shown) :]
		before = answer[: -len(shown)].strip() if shown and answer.endswith(shown) else answer
		return ("\n\n" if self.text else "") + before
