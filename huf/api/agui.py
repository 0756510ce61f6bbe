"""The AG-UI wire: a run's events as AG-UI 1.0 events, and what its clients send as a wish. Reads no record and writes none.

An approval is an interrupt, named by its draft and by the digest of what was shown, so that an answer can only be given to
that. A tool of the client's own page is not called.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from ag_ui.core import (
	AssistantMessage,
	BaseEvent,
	FunctionCall,
	Interrupt,
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

from huf.ai.core.arguments import as_text
from huf.ai.core.types import EventKind, RunEvent, RunStatus
from huf.api.shown import Shown

VERSION = "1.0"
STATE = "huf"
"""The key of the shared state that is ours; the rest is the client's, and stays."""
RESPONSE_SCHEMA = {
	"type": "object",
	"properties": {
		"approved": {"type": "boolean"},
		"arguments": {"type": "object", "description": "Other arguments to make the call with"},
		"reason": {"type": "string", "description": "Why not; the agent reads it"},
	},
	"required": ["approved"],
}
ALLOW = "{tool} waits until it is allowed."


class Wire:
	"""Translates one run for one client, which named the thread and the run itself."""

	def __init__(self, thread: str, run: str, state: Any = None):
		self.ids = {"thread_id": thread, "run_id": run}
		self.state = state if isinstance(state, dict) else {}
		self.shown, self.message = Shown(), None
		self.messages: set[str] = set()
		self.calls: set[str] = set()
		self.results: set[str] = set()
		self.draft: dict | None = None

	def begin(self) -> RunStartedEvent:
		return RunStartedEvent(**self.ids, protocol_version=VERSION)

	def end(self) -> RunFinishedEvent:
		"""For a thread in which nothing goes on."""
		return RunFinishedEvent(**self.ids, outcome=RunFinishedSuccessOutcome())

	def fail(self, message: str, code: str | None = None) -> RunErrorEvent:
		return RunErrorEvent(message=message, code=code)

	def translate(self, events: Iterable[RunEvent | None]) -> Iterator[BaseEvent | None]:
		"""Everything after `begin`; None stays None."""
		for event in events:
			if event is None:
				yield None
				continue
			if event.kind not in (EventKind.TEXT_DELTA, EventKind.PROGRESS):
				yield from self.take_text(event)
				yield from self.end_text()
			yield from getattr(self, f"take_{event.kind.value}", lambda event: ())(event)

	def take_run_started(self, event: RunEvent) -> Iterator[BaseEvent]:
		known = {key: event.data.get(key) for key in ("conversation", "agent", "model")}
		yield StateSnapshotEvent(
			snapshot={**self.state, STATE: {"run": event.run, **known, "progress": None}}
		)

	def take_progress(self, event: RunEvent) -> Iterator[BaseEvent]:
		yield StateDeltaEvent(delta=[{"op": "add", "path": f"/{STATE}/progress", "value": event.data}])

	def take_text_delta(self, event: RunEvent) -> Iterator[BaseEvent]:
		"""Each step's text is a message of its own."""
		if event.data["step"] != self.shown.step:
			yield from self.end_text()
		yield from self.take_text(event)

	def take_text(self, event: RunEvent) -> Iterator[BaseEvent]:
		text = self.shown.take(event)
		if not self.message:
			text = text.lstrip("\n")
		if text and not self.message:
			name = f"{event.run}-{self.shown.step}"
			self.message = f"{name}-{len(self.messages)}" if name in self.messages else name
			self.messages.add(self.message)
			yield TextMessageStartEvent(message_id=self.message, role="assistant")
		if text:
			yield TextMessageContentEvent(message_id=self.message, delta=text)

	def end_text(self) -> Iterator[BaseEvent]:
		if self.message:
			yield TextMessageEndEvent(message_id=self.message)
			self.message = None

	def take_tool_started(self, event: RunEvent) -> Iterator[BaseEvent]:
		data, call = event.data, name_of(event)
		if call in self.calls:
			return
		self.calls.add(call)
		yield ToolCallStartEvent(tool_call_id=call, tool_call_name=data["tool"])
		yield ToolCallArgsEvent(tool_call_id=call, delta=as_text(data["arguments"]) or "{}")
		yield ToolCallEndEvent(tool_call_id=call)

	def take_tool_finished(self, event: RunEvent) -> Iterator[BaseEvent]:
		call = name_of(event)
		if call not in self.results:
			self.results.add(call)
			if call not in self.calls:
				yield from self.take_tool_started(
					RunEvent(event.kind, event.run, {"arguments": {}, **event.data})
				)
			yield ToolCallResultEvent(
				message_id=f"{call}-result", tool_call_id=call, content=event.data["result"], role="tool"
			)

	def know(self, run: str, calls: Iterable[tuple[int, str]], asked: tuple[int, str]) -> None:
		"""What the client has been told of a run that waited: calls with their results, and the one that was asked about."""
		self.results = {name_call(run, *call) for call in calls}
		self.calls = {*self.results, name_call(run, *asked)}

	def take_draft_created(self, event: RunEvent) -> Iterator[BaseEvent]:
		self.draft = event.data
		yield from ()

	def take_run_waiting(self, event: RunEvent) -> Iterator[BaseEvent]:
		draft = self.draft or {}
		shown = {key: draft.get(key) for key in ("tool", "arguments", "difference", "approver")}
		interrupt = Interrupt(
			id=name_interrupt(draft),
			reason="approval",
			message=ALLOW.format(tool=draft.get("tool")),
			tool_call_id=name_call(event.run, draft.get("step"), draft.get("call_id")),
			response_schema=RESPONSE_SCHEMA,
			expires_at=str(draft["expires_at"]) if draft.get("expires_at") else None,
			metadata=shown,
		)
		yield self.finish(event, RunFinishedInterruptOutcome(interrupts=[interrupt]))

	def take_run_finished(self, event: RunEvent) -> Iterator[BaseEvent]:
		status = event.data["status"]
		if status == RunStatus.FAILED.value:
			yield self.fail(event.data["error"] or "The run failed.", event.data["stop_reason"])
		elif status == RunStatus.CANCELLED.value:
			yield self.finish(event, RunFinishedCancelledOutcome())
		else:
			yield self.finish(event, RunFinishedSuccessOutcome())

	def finish(self, event: RunEvent, outcome) -> RunFinishedEvent:
		data = event.data
		counts = [data.get("input_tokens") or 0, data.get("output_tokens") or 0]
		usage = TokenUsage(model=data.get("model"), input_tokens=counts[0], output_tokens=counts[1])
		kept = ("conversation", "status", "stop_reason", "response", "error")
		result = {"run": event.run, **{key: data.get(key) for key in kept}}
		return RunFinishedEvent(**self.ids, result=result, outcome=outcome, usage=[usage])


def name_of(event: RunEvent) -> str:
	return name_call(event.run, event.data["step"], event.data["call_id"])


def name_call(run: str, step: int | None, call_id: str | None) -> str:
	"""Models name their calls anew in each run, and in each step."""
	return f"{run}-{step}-{call_id}"


def name_interrupt(draft: dict) -> str:
	return f"{draft.get('draft')}.{draft.get('digest')}"


def as_snapshot(history: Iterable[dict], prefix: str) -> MessagesSnapshotEvent:
	"""What was said, from messages in OpenAI's form."""
	messages = []
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


def encode(event: BaseEvent | None) -> str | None:
	return event and event.model_dump_json(by_alias=True)
