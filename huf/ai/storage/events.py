"""What listeners of a run are told, as it happens. A listener that fails never disturbs the run.

Each event is kept for a while under its number (`live.py`). Tokens go to those who follow the run; changes of state also go
to the run's user by realtime.
"""

import asyncio
import re
import textwrap
from collections.abc import Iterable
from typing import Any

import frappe

from huf.ai.core.types import AgentRequest, EventKind, Listener, RunEvent
from huf.ai.storage.live_events import first_event_number, store_live_event
from huf.ai.storage.run_log import build_log_listener

STATES = {
	EventKind.RUN_STARTED,
	EventKind.PROGRESS,
	EventKind.DRAFT_CREATED,
	EventKind.RUN_WAITING,
	EventKind.RUN_FINISHED,
}
LEFT_OUT = ("arguments", "result", "response", "difference")
MAX_STEP_CHARS = 80
OWN_LINE = "Step {step} of {of}: {what}"
PAUSE, LONG_PAUSE = 1 / 60, 1.0
"""Seconds between two pieces of text: what comes meanwhile is told together. The long one holds for endless answers."""
MANY = 20_000
"""Events of a run after which it is told at longer pauses."""


class RunEventEmitter:
	"""Tells the run's user and everyone who watches of one run; see `huf.ai.core.types.Emit`.

	`agent` has the `tools` of the run and the number of `steps` it may take; `attempts` counts workers. Is called on the
	event loop of the run, and nowhere else.
	"""

	def __init__(
		self, run: str, request: AgentRequest, watchers: Iterable[Listener], agent: Any, attempts: int = 1
	):
		self.run, self.agent, watchers = run, agent, list(watchers)
		self.is_watched = bool(watchers)
		self.listeners = [
			store_live_event,
			*watchers,
			build_realtime_listener(request.user),
			build_log_listener(request.prompt),
		]
		self.number = self.before = first_event_number(attempts)
		self.step, self.held = 0, []
		self.timer: asyncio.TimerHandle | None = None
		self.told_at = 0.0

	def __call__(self, kind: EventKind, data: dict) -> None:
		if kind is EventKind.TEXT_DELTA:
			return self.hold(**data)
		self.tell_held()
		if kind is EventKind.TEXT_DONE:
			return
		self.tell(kind, data)
		if kind is EventKind.TOOL_STARTED:
			self.tell(EventKind.PROGRESS, describe_progress(data["step"], data["tool"], self.agent))

	def hold(self, step: int, text: str) -> None:
		"""The first piece is told at once, what comes right behind it together."""
		if step != self.step:
			self.tell_held()
		self.step = step
		self.held.append(text)
		if self.timer is None:
			loop = asyncio.get_running_loop()
			due = self.told_at + (PAUSE if self.number - self.before < MANY else LONG_PAUSE)
			if loop.time() >= due:
				self.tell_held()
			else:
				self.timer = loop.call_at(due, self.tell_held)

	def tell_held(self) -> None:
		if self.timer:
			self.timer.cancel()
			self.timer = None
		if self.held:
			text, self.held = "".join(self.held), []
			self.told_at = asyncio.get_running_loop().time()
			self.tell(EventKind.TEXT_DELTA, {"step": self.step, "text": text})

	def tell(self, kind: EventKind, data: dict) -> None:
		self.number += 1
		event = RunEvent(kind, self.run, data, self.number)
		for listener in self.listeners:
			try:
				listener(event)
			except Exception:  # the boundary around a listener
				frappe.logger("huf").exception("A listener of run %s failed at %s", self.run, kind.value)


def describe_progress(step: int, tool: str, agent: Any) -> dict:
	"""{step, of, what, text, is_own} of a tool that begins: how far the run is, and what is done now, in a few words.

	`is_own`: the line is in the agent's own words, and nobody's to translate.
	"""
	own = next((each for each in agent.tools if each.name == tool), None)
	told = own.progress or re.split(r"[.:;\n]", own.description.strip())[0] if own else ""
	what = textwrap.shorten(told, MAX_STEP_CHARS, placeholder=" …") or tool.replace("_", " ")
	seen = {"step": step, "of": agent.steps, "what": what}
	words = agent.agent_doc.progress_text
	line = re.sub(r"\{(step|of|what)\}", lambda found: str(seen[found[1]]), words or OWN_LINE)
	return {**seen, "text": line, "is_own": bool(words)}


def build_realtime_listener(user: str) -> Listener:
	"""A listener that passes changes of state on to the user's open pages."""

	def listen(event: RunEvent) -> None:
		if event.kind in STATES:
			short = {key: value for key, value in event.data.items() if key not in LEFT_OUT}
			frappe.publish_realtime(
				"huf_run", {"run": event.run, "kind": event.kind.value, **short}, user=user
			)

	return listen
