"""What listeners of a run are told, as it happens. A listener that fails never disturbs the run.

Tokens go to the one who asked (a stream); changes of state also go to the run's user by realtime.
"""

import re
import textwrap
from collections.abc import Iterable
from typing import Any

import frappe

from huf.ai.records.log_lines import tell_log
from huf.ai.types import AgentRequest, EventKind, Listener, RunEvent

STATES = {
	*(EventKind.RUN_STARTED, EventKind.TOOL_STARTED, EventKind.PROGRESS, EventKind.DRAFT_CREATED),
	*(EventKind.RUN_WAITING, EventKind.RUN_FINISHED),
}
LEFT_OUT = ("arguments", "result", "response", "difference")
LONGEST_STEP = 80


class Announcer:
	"""Tells the run's user and everyone who watches of one run; see `huf.ai.types.Emit`.

	`agent` has the `tools` of the run and the number of `steps` it may take.
	"""

	def __init__(self, run: str, request: AgentRequest, watchers: Iterable[Listener], agent: Any):
		self.run, self.agent, watchers = run, agent, list(watchers)
		self.is_watched = bool(watchers)
		self.listeners = [*watchers, tell_user(request.user), tell_log(request.prompt)]

	def __call__(self, kind: EventKind, data: dict) -> None:
		self.tell(kind, data)
		if kind is EventKind.TOOL_STARTED:
			self.tell(EventKind.PROGRESS, progress(data["step"], data["tool"], self.agent))

	def tell(self, kind: EventKind, data: dict) -> None:
		event = RunEvent(kind, self.run, data)
		for listener in self.listeners:
			try:
				listener(event)
			except Exception:  # the boundary around a listener
				frappe.logger("huf").exception("A listener of run %s failed at %s", self.run, kind.value)


def progress(step: int, tool: str, agent: Any) -> dict:
	"""{step, of, what, text} of a tool that begins: how far the run is, and what is done now, in a few words."""
	described = {own.name: own.description for own in agent.tools}
	sentence = re.split(r"[.:;\n]", (described.get(tool) or "").strip())[0]
	what = textwrap.shorten(sentence, LONGEST_STEP, placeholder=" …") or tool.replace("_", " ")
	return {"step": step, "of": agent.steps, "what": what, "text": f"Step {step} of {agent.steps}: {what}"}


def tell_user(user: str) -> Listener:
	"""A listener that passes changes of state on to the user's open pages."""

	def listen(event: RunEvent) -> None:
		if event.kind in STATES:
			short = {key: value for key, value in event.data.items() if key not in LEFT_OUT}
			frappe.publish_realtime(
				"huf_run", {"run": event.run, "kind": event.kind.value, **short}, user=user
			)

	return listen
