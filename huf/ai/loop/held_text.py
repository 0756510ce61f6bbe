"""Holds back an answer's streamed text and reasoning until it has been checked."""

from typing import Any

from huf.ai.core.events import Emit, EventKind

TEXT_KINDS = (EventKind.TEXT_DELTA, EventKind.REASONING_DELTA, EventKind.TEXT_DONE)


class HeldText:
	"""An `Emit` that holds back a step's text until the next other event or `release`.

	Text that is voided meanwhile is never emitted.
	"""

	def __init__(self, emit: Emit):
		self.emit = emit
		self.held: list[tuple[EventKind, dict[str, Any]]] = []

	def __call__(self, kind: EventKind, data: dict[str, Any]) -> None:
		if kind in TEXT_KINDS:
			self.held.append((kind, data))
		elif kind is EventKind.TEXT_VOID and self.held:
			self.held = []
		else:
			self.release()
			self.emit(kind, data)

	def release(self) -> None:
		held, self.held = self.held, []
		for kind, data in held:
			self.emit(kind, data)
