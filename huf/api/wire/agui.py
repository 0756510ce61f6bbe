"""Encoding of AG-UI 1.0: a run's events for one client.

An approval is an interrupt. Its ID contains the draft and the digest of the change, so an answer can approve
only the displayed change. Tools declared by the client are not called.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ag_ui.core import (
	AssistantMessage,
	BaseEvent,
	FunctionCall,
	Interrupt,
	Message,
	MessagesSnapshotEvent,
	RunErrorEvent,
	RunFinishedCancelledOutcome,
	RunFinishedEvent,
	RunFinishedInterruptOutcome,
	RunFinishedSuccessOutcome,
	RunStartedEvent,
	StateDeltaEvent,
	StateSnapshotEvent,
	TextMessageContentEvent,
	TextMessageEndEvent,
	TextMessageStartEvent,
	TokenUsage,
	ToolCall,
	ToolCallArgsEvent,
	ToolCallEndEvent,
	ToolCallResultEvent,
	ToolCallStartEvent,
	ToolMessage,
	UserMessage,
)

from huf.ai.core.events import EventKind, RunEvent
from huf.ai.core.json_text import to_text
from huf.ai.core.times import to_utc
from huf.ai.core.types import RunStatus
from huf.ai.queries.runs import read_tool_results
from huf.api.wire.emitted_text import EmittedText
from huf.api.wire.openai import find_failure

VERSION = "1.0"
ENDS = (EventKind.RUN_FINISHED, EventKind.RUN_WAITING)
NOT_ENDED = "This run waits behind another one, or a stop holds it. It goes on later: join its thread then."
STEP = "current_step"
PLAN, EXECUTE, VALIDATE = "plan", "execute", "validate"
"""Phases of a run: the model decides, a tool is called, the answer is complete."""
STATE = "huf"
"""Huf's key in the shared state. Other keys belong to the client and are kept."""
RESPONSE_SCHEMA = {
	"type": "object",
	"properties": {
		"approved": {"type": "boolean"},
		"arguments": {"type": "object", "description": "Other arguments to make the call with"},
		"reason": {"type": "string", "description": "Why not; the agent reads it"},
	},
	"required": ["approved"],
}


WaitedFor = Callable[[str], tuple[list[dict], str]]
"""Returns the drafts that a run waits for now; without any, a notice of those of a run that it called."""


class RunEncoder:
	"""Encodes one run. `thread` and `run` are the client's IDs, `state` is its shared state."""

	def __init__(self, thread: str, run: str, read_waited_for: WaitedFor, state: Any = None):
		self.read_waited_for = read_waited_for
		self.ids: dict[str, Any] = {"thread_id": thread, "run_id": run}
		self.state = state if isinstance(state, dict) else {}
		self.emitted = EmittedText()
		self.open_message: str | None = None
		self.message_ids: set[str] = set()
		self.call_ids: set[str] = set()
		self.result_ids: set[str] = set()
		self.step = PLAN
		self.encoders: dict[EventKind, Callable[[RunEvent], Iterator[BaseEvent]]] = {
			EventKind.RUN_STARTED: self.encode_run_started,
			EventKind.PROGRESS: self.encode_progress,
			EventKind.TEXT_DELTA: self.encode_text_delta,
			EventKind.TOOL_STARTED: self.encode_tool_started,
			EventKind.TOOL_FINISHED: self.encode_tool_finished,
			EventKind.DRAFT_CREATED: self.encode_draft_created,
			EventKind.RUN_WAITING: self.encode_run_waiting,
			EventKind.RUN_FINISHED: self.encode_run_finished,
		}

	def begin(self) -> RunStartedEvent:
		return RunStartedEvent(**self.ids, protocol_version=VERSION)

	def end(self, result: Any = None) -> RunFinishedEvent:
		"""The end of a stream without an open run."""
		return RunFinishedEvent(**self.ids, result=result, outcome=RunFinishedSuccessOutcome())

	def encode(self, events: Iterable[RunEvent | None]) -> Iterator[BaseEvent | None]:
		"""The events after `begin`; None stays None. Only the last one ends the client's run: one that waited
		may have gone on, and one that is held has no end.
		"""
		end: RunEvent | None = None
		for event in events:
			if event is None:
				yield None
				continue
			if event.kind not in (EventKind.TEXT_DELTA, EventKind.PROGRESS):
				yield from self.encode_text(event)
				yield from self.end_text()
			end = event if event.kind in ENDS else None
			if not end and (encoder := self.encoders.get(event.kind)):
				yield from encoder(event)
		if end:
			yield from self.encoders[end.kind](end)
		else:
			yield RunErrorEvent(message=NOT_ENDED, code="not_ended")

	def skip_calls(
		self, run: str, calls: Iterable[tuple[int, str]], waiting: Iterable[tuple[int, str]]
	) -> None:
		"""Mark the calls that the client received before the run waited, as (step, call ID).

		`calls` have results; `waiting` are calls that need approval, whose results are still to come.
		"""
		self.result_ids = {format_call_id(run, *call) for call in calls}
		self.call_ids = self.result_ids | {format_call_id(run, *call) for call in waiting}

	def encode_run_started(self, event: RunEvent) -> Iterator[BaseEvent]:
		known = {key: event.data.get(key) for key in ("conversation", "agent", "model")}
		yield StateSnapshotEvent(
			snapshot={**self.state, STATE: {"run": event.run, **known, "progress": None, STEP: self.step}}
		)

	def move_to(self, step: str) -> Iterator[BaseEvent]:
		"""Announce the run's phase: plan, execute or validate."""
		if step != self.step:
			self.step = step
			patch = {"op": "add", "path": f"/{STATE}/{STEP}", "value": step}
			yield StateDeltaEvent.model_validate({"delta": [patch]})

	def encode_progress(self, event: RunEvent) -> Iterator[BaseEvent]:
		patch = {"op": "add", "path": f"/{STATE}/progress", "value": event.data}
		yield StateDeltaEvent.model_validate({"delta": [patch]})

	def encode_text_delta(self, event: RunEvent) -> Iterator[BaseEvent]:
		"""The text of each step becomes a separate message."""
		if event.data["step"] != self.emitted.step:
			yield from self.end_text()
		yield from self.encode_text(event)

	def encode_text(self, event: RunEvent) -> Iterator[BaseEvent]:
		text = self.emitted.add_event(event)
		if not self.open_message:
			text = text.lstrip("\n")
		if not text:
			return
		if not self.open_message:
			name = f"{event.run}-{self.emitted.step}"
			self.open_message = f"{name}-{len(self.message_ids)}" if name in self.message_ids else name
			self.message_ids.add(self.open_message)
			yield TextMessageStartEvent(message_id=self.open_message, role="assistant")
		yield TextMessageContentEvent(message_id=self.open_message, delta=text)

	def end_text(self) -> Iterator[BaseEvent]:
		if self.open_message:
			yield TextMessageEndEvent(message_id=self.open_message)
			self.open_message = None

	def encode_tool_started(self, event: RunEvent) -> Iterator[BaseEvent]:
		yield from self.move_to(EXECUTE)
		call = call_id_of(event)
		if call not in self.call_ids:
			yield from self.encode_call(call, event.data["tool"], event.data["arguments"])

	def encode_call(self, call: str, tool: str, arguments: Any) -> Iterator[BaseEvent]:
		self.call_ids.add(call)
		yield ToolCallStartEvent(tool_call_id=call, tool_call_name=tool)
		yield ToolCallArgsEvent(tool_call_id=call, delta=to_text(arguments) or "{}")
		yield ToolCallEndEvent(tool_call_id=call)

	def encode_tool_finished(self, event: RunEvent) -> Iterator[BaseEvent]:
		call = call_id_of(event)
		if call in self.result_ids:
			return
		self.result_ids.add(call)
		if call not in self.call_ids:
			yield from self.encode_call(call, event.data["tool"], event.data.get("arguments", {}))
		result = event.data["result"]
		yield ToolCallResultEvent(message_id=f"{call}-result", tool_call_id=call, content=result, role="tool")

	def encode_draft_created(self, event: RunEvent) -> Iterator[BaseEvent]:
		if (call := call_id_of(event)) not in self.call_ids:
			yield from self.encode_call(call, event.data["tool"], event.data["arguments"])

	def encode_run_waiting(self, event: RunEvent) -> Iterator[BaseEvent]:
		"""Interrupts for what the run waits for now: its events may be older than an answer or a change."""
		drafts, notice = self.read_waited_for(event.run)
		if drafts:
			interrupts = [self.build_interrupt(event.run, draft) for draft in drafts]
			yield self.finish(event, RunFinishedInterruptOutcome(interrupts=interrupts))
		elif notice:
			# The drafts of a run that it called are answered on their page.
			yield from encode_message(f"{event.run}-waiting", notice)
			yield self.finish(event, RunFinishedSuccessOutcome())
		else:
			yield RunErrorEvent(message=NOT_ENDED, code="not_ended")

	def build_interrupt(self, run: str, draft: dict) -> Interrupt:
		return Interrupt(
			id=f"{draft.get('draft')}.{draft.get('digest')}",
			reason="approval",
			message=f"{draft.get('tool')} waits for approval.",
			tool_call_id=format_call_id(run, draft.get("step"), draft.get("call_id")),
			response_schema=RESPONSE_SCHEMA,
			expires_at=to_utc(draft["expires_at"]).isoformat() if draft.get("expires_at") else None,
			metadata={key: draft.get(key) for key in ("tool", "arguments", "difference", "approver")},
		)

	def encode_run_finished(self, event: RunEvent) -> Iterator[BaseEvent]:
		yield from self.move_to(VALIDATE)
		if event.data["status"] == RunStatus.CANCELLED.value:
			yield self.finish(event, RunFinishedCancelledOutcome())
		elif error := find_failure(event.data):
			yield RunErrorEvent(message=error, code=event.data["stop_reason"])
		else:
			yield self.finish(event, RunFinishedSuccessOutcome())

	def finish(self, event: RunEvent, outcome) -> RunFinishedEvent:
		data = event.data
		usage = TokenUsage(
			model=data.get("model"),
			input_tokens=data.get("input_tokens") or 0,
			output_tokens=data.get("output_tokens") or 0,
		)
		keys = ("conversation", "status", "stop_reason", "response", "error", "route")
		result = {"run": event.run, **{key: data.get(key) for key in keys}}
		return RunFinishedEvent(**self.ids, result=result, outcome=outcome, usage=[usage])


def call_id_of(event: RunEvent) -> str:
	return format_call_id(event.run, event.data["step"], event.data["call_id"])


def format_call_id(run: str, step: int | None, call_id: str | None) -> str:
	"""A call ID that is unique within a thread: models reuse IDs in each run and step."""
	return f"{run}-{step}-{call_id}"


def encode_message(name: str, text: str) -> Iterator[BaseEvent]:
	"""A whole message of the assistant."""
	yield TextMessageStartEvent(message_id=name, role="assistant")
	yield TextMessageContentEvent(message_id=name, delta=text)
	yield TextMessageEndEvent(message_id=name)


def encode_history(history: Iterable[dict], prefix: str) -> MessagesSnapshotEvent:
	"""A snapshot of a conversation from messages in OpenAI's format, with the IDs `prefix`-0, `prefix`-1,
	...
	"""
	messages: list[Message] = []
	for number, each in enumerate(history):
		name, text = f"{prefix}-{number}", each.get("content") or ""
		if each["role"] == "user":
			messages.append(UserMessage(id=name, content=text))
		elif each["role"] == "tool":
			messages.append(ToolMessage(id=name, content=text, tool_call_id=each["tool_call_id"]))
		elif each["role"] == "assistant":
			calls = [
				ToolCall(id=call["id"], function=FunctionCall(**call["function"]))
				for call in each.get("tool_calls") or ()
			]
			messages.append(AssistantMessage(id=name, content=text or None, tool_calls=calls or None))
	return MessagesSnapshotEvent(messages=messages)


def encode_event(event: BaseEvent | None) -> str | None:
	return event.model_dump_json(by_alias=True) if event else None


def describe_finished(result: dict) -> dict:
	"""The result of `run_once` for JSON answers: with the run's phase and its tools' results."""
	phase = {RunStatus.QUEUED.value: PLAN, RunStatus.WAITING.value: EXECUTE}.get(result["status"], VALIDATE)
	return {**result, STEP: phase, "tool_results": read_tool_results(result["run"])}
