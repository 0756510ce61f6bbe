"""Emits the events of a run to its listeners as they happen. A failing listener never disturbs the run.

Each event is cached for an hour under its number, so that a reader who rejoins continues after the last one
it saw; the journal is the record, from which older events are replayed. Text goes to those who follow the
run; status changes also go to the run's user by realtime, the start to all readers of its conversation, and
runs to the log: a line for the start and for each call (at debug level, because arguments are user data), a
JSON object for the end.
"""

import asyncio
import logging
import re
import textwrap
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from typing import Any

import frappe

from huf.ai.core.events import EventKind, Listener, RunEvent
from huf.ai.core.json_text import to_text
from huf.ai.core.stored_text import clip_line, shorten_id
from huf.ai.core.types import AgentRequest, RunStatus, StopReason

LIFETIME_S = 3600
NUMBERS_PER_ATTEMPT = 1_000_000
"""Event numbers reserved for each attempt: a new worker cannot know how many events the previous one emitted.
"""
REALTIME_KINDS = {
	EventKind.RUN_STARTED,
	EventKind.PROGRESS,
	EventKind.DRAFT_CREATED,
	EventKind.RUN_WAITING,
	EventKind.RUN_FINISHED,
}
OMITTED_FROM_REALTIME = ("arguments", "result", "response", "difference")
MAX_STEP_CHARS = 80
DEFAULT_PROGRESS = "Step {step} of {of}: {what}"
PAUSES_S = ((0, 0.0003), (10_000, 1 / 60), (30_000, 1.0))
"""(events of the run so far, pause): text that arrives within a pause is emitted together. Longer pauses
limit the number of events of very long answers. Text that arrives while a reader is being served is joined as
well: see `TextRelay` in providers/answers.py.
"""

EXTERNAL_STATUSES = {RunStatus.SUCCESS.value: "completed", RunStatus.CANCELLED.value: "cancelled"}
"""Other front ends know three statuses of an ended run; any other status is `failed`."""
EXTERNAL_FAILED = "failed"
LEVEL_OF = {StopReason.MAX_STEPS: "warn", StopReason.ERROR: "error", StopReason.TOOL_FAILURES: "error"}
LEVELS = {"info": logging.INFO, "warn": logging.WARNING, "error": logging.ERROR}
MAX_OBJECTIVE_CHARS = 60


class RunEventEmitter:
	"""Numbers the events of one run and passes them to its listeners; see `huf.ai.core.events.Emit`.

	`manager` has the maximum number of `steps`; `attempts` counts workers. `tools`, set once the run has
	them, describe its progress. Called only on the event loop of the run.
	"""

	def __init__(
		self, run: str, request: AgentRequest, watchers: Iterable[Listener], manager: Any, attempts: int = 1
	):
		self.run, self.manager, watchers = run, manager, list(watchers)
		self.tools: Sequence[Any] = ()
		self.is_watched = bool(watchers)
		self.listeners = [
			store_live_event,
			*watchers,
			build_log_listener(request.prompt, request.routed.route if request.routed else "agent"),
			build_realtime_listener(request.user),
		]
		self.number = self.first_number = first_event_number(attempts)
		self.step = 0
		self.buffered: list[str] = []
		self.buffered_kind = EventKind.TEXT_DELTA
		self.timer: asyncio.TimerHandle | None = None
		self.text_emitted_at = 0.0

	def __call__(self, kind: EventKind, data: dict) -> None:
		if kind in (EventKind.TEXT_DELTA, EventKind.REASONING_DELTA):
			return self.buffer_text(kind, **data)
		self.emit_buffered()
		if kind is EventKind.TEXT_DONE:
			return
		self.emit(kind, data)
		if kind is EventKind.TOOL_STARTED:
			progress = describe_progress(data["step"], data["tool"], self.tools, self.manager)
			self.emit(EventKind.PROGRESS, progress)

	def buffer_text(self, kind: EventKind, step: int, text: str) -> None:
		"""Emit the first piece at once, and text that follows within a pause as one piece."""
		if (step, kind) != (self.step, self.buffered_kind):
			self.emit_buffered()
		self.step, self.buffered_kind = step, kind
		self.buffered.append(text)
		if self.timer is None:
			loop = asyncio.get_running_loop()
			emitted = self.number - self.first_number
			due = self.text_emitted_at + next(
				pause for start, pause in reversed(PAUSES_S) if emitted >= start
			)
			if loop.time() >= due:
				self.emit_buffered()
			else:
				self.timer = loop.call_at(due, self.emit_buffered)

	def emit_buffered(self) -> None:
		if self.timer:
			self.timer.cancel()
			self.timer = None
		if self.buffered:
			text, self.buffered = "".join(self.buffered), []
			self.text_emitted_at = asyncio.get_running_loop().time()
			self.emit(self.buffered_kind, {"step": self.step, "text": text})

	def emit(self, kind: EventKind, data: dict) -> None:
		self.number += 1
		if "call_id" in data:
			# As the journal, messages and drafts store it.
			data = {**data, "call_id": shorten_id(data["call_id"])}
		event = RunEvent(kind, self.run, data, self.number)
		for listener in self.listeners:
			try:
				listener(event)
			except Exception:  # the boundary around a listener
				frappe.logger("huf").exception("A listener of run %s failed at %s", self.run, kind.value)


def describe_progress(step: int, tool: str, tools: Iterable[Any], manager: Any) -> dict:
	"""The progress line of a starting tool: {step, of, what, text, is_own}.

	`is_own`: the line is the agent's own text and must not be translated.
	"""
	own = next((each for each in tools if each.name == tool), None)
	description = own.progress or re.split(r"[.:;\n]", own.description.strip())[0] if own else ""
	what = textwrap.shorten(description, MAX_STEP_CHARS, placeholder=" …") or tool.replace("_", " ")
	values = {"step": step, "of": manager.steps, "what": what}
	template = manager.agent_doc.progress_text
	line = re.sub(r"\{(step|of|what)\}", lambda found: str(values[found[1]]), template or DEFAULT_PROGRESS)
	return {**values, "text": line, "is_own": bool(template)}


def build_realtime_listener(user: str) -> Listener:
	"""A listener that publishes status changes to the user's open pages, and the start of a run to everybody
	who has its conversation open.
	"""

	def listen(event: RunEvent) -> None:
		if event.kind not in REALTIME_KINDS:
			return
		named = {"run": event.run, "kind": event.kind.value}
		short = {key: value for key, value in event.data.items() if key not in OMITTED_FROM_REALTIME}
		frappe.publish_realtime("huf_run", {**named, **short}, user=user)
		if event.kind is EventKind.RUN_STARTED:
			publish_new_run(event)

	return listen


def publish_new_run(event: RunEvent) -> None:
	"""Publish that a run has started, or was queued, to everybody who has its conversation open."""
	conversation = event.data["conversation"]
	message = {"run": event.run, "kind": event.kind.value, "conversation": conversation}
	frappe.publish_realtime("huf_run", message, doctype="Agent Conversation", docname=conversation)


def first_event_number(attempts: int) -> int:
	"""The number before the first event of an attempt, counted from 1."""
	return (attempts - 1) * NUMBERS_PER_ATTEMPT


def store_live_event(event: RunEvent) -> None:
	key, value = live_event_key(event.run, event.number), (event.kind.value, event.data)
	frappe.cache.set_value(key, value, expires_in_sec=LIFETIME_S)


def find_live_event(run: str, number: int) -> RunEvent | None:
	stored = frappe.cache.get_value(live_event_key(run, number), expires=True)
	return RunEvent(EventKind(stored[0]), run, stored[1], number) if stored else None


def live_event_key(run: str, number: int) -> str:
	return f"huf_live:{run}:{number}"


def build_log_listener(objective: str, route: str) -> Listener:
	"""A listener that logs one run."""
	tools: dict[str, None] = {}
	log = frappe.logger("huf")

	def listen(event: RunEvent) -> None:
		data = event.data
		if event.kind is EventKind.RUN_STARTED:
			log.info(
				'[AgentRunner] Starting agent run for objective: "%s"',
				drop_controls(clip_line(objective, MAX_OBJECTIVE_CHARS)),
			)
		elif event.kind is EventKind.TOOL_STARTED:
			tools[data["tool"]] = None
			log_call(log, "Step %s: %s(%s)", data["step"] - 1, data["tool"], data["arguments"])
		elif event.kind is EventKind.TOOL_FINISHED:
			log_call(
				log,
				"Step %s completed: success=%s, duration=%sms",
				data["step"] - 1,
				data["ok"],
				data["duration_ms"],
			)
		elif event.kind is EventKind.RUN_FINISHED:
			line = describe_end(event.run, route, data, list(tools))
			log.log(LEVELS[line["level"]], to_text(line))

	return listen


def drop_controls(text: str) -> str:
	"""The text without control characters, which a terminal would obey when the log is shown."""
	return "".join(char for char in text if char.isprintable())


def log_call(log: logging.Logger, form: str, *values) -> None:
	if log.isEnabledFor(logging.DEBUG):
		log.debug(f"[AgentRunner] {form}", *map(to_text, values))


def describe_end(run: str, route: str, data: dict, tools: list[str]) -> dict:
	"""The log line of an ended run, a JSON object."""
	now = datetime.now(timezone.utc)
	return {
		"timestamp": now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
		"level": LEVEL_OF.get(StopReason(data["stop_reason"]), "info"),
		"component": "AgentRunner",
		"event": "run_completed",
		"run_id": run,
		"route": route,
		"tools_used": tools,
		"steps": data["steps"],
		"duration_ms": data["duration_ms"],
		"status": EXTERNAL_STATUSES.get(data["status"], EXTERNAL_FAILED),
	}
