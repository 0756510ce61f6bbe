"""What listeners of a run are told, as it happens. A listener that fails never disturbs the run.

Tokens go to the one who asked (a stream); changes of state also go to the run's user by realtime.
"""

from collections.abc import Iterable

import frappe

from huf.ai.types import EventKind, Listener, RunEvent

STATES = {
	*(EventKind.RUN_STARTED, EventKind.TOOL_STARTED, EventKind.DRAFT_CREATED),
	*(EventKind.RUN_WAITING, EventKind.RUN_FINISHED),
}
LEFT_OUT = ("arguments", "result", "response", "difference")


class Announcer:
	"""Tells the run's user and everyone who watches of one run; see `huf.ai.types.Emit`."""

	def __init__(self, run: str, user: str, watchers: Iterable[Listener]):
		self.run, watchers = run, list(watchers)
		self.is_watched = bool(watchers)
		self.listeners = [*watchers, tell_user(user)]

	def __call__(self, kind: EventKind, data: dict) -> None:
		event = RunEvent(kind, self.run, data)
		for listener in self.listeners:
			try:
				listener(event)
			except Exception:  # the boundary around a listener
				frappe.logger("huf").exception("A listener of run %s failed at %s", self.run, kind.value)


def tell_user(user: str) -> Listener:
	"""A listener that passes changes of state on to the user's open pages."""

	def listen(event: RunEvent) -> None:
		if event.kind in STATES:
			short = {key: value for key, value in event.data.items() if key not in LEFT_OUT}
			frappe.publish_realtime(
				"huf_run", {"run": event.run, "kind": event.kind.value, **short}, user=user
			)

	return listen
