"""Encoding of A2A 1.0: agent cards, messages and tasks in the SDK's types. Uses no records.

A task is a run. A run that waits for a person is `input-required`; the answer is a data part with the draft
and the digest of the displayed change.
"""

import base64
import json
from collections.abc import Iterator, Sequence
from typing import Any

from a2a.helpers import new_message
from a2a.types import (
	AgentCapabilities,
	AgentCard,
	AgentInterface,
	AgentSkill,
	Artifact,
	HTTPAuthSecurityScheme,
	Message,
	Part,
	Role,
	SecurityRequirement,
	SecurityScheme,
	StringList,
	Task,
	TaskArtifactUpdateEvent,
	TaskState,
	TaskStatus,
	TaskStatusUpdateEvent,
)
from a2a.utils.constants import PROTOCOL_VERSION_0_3, PROTOCOL_VERSION_1_0, TransportProtocol
from a2a.utils.errors import ContentTypeNotSupportedError, InvalidParamsError
from google.protobuf.json_format import MessageToJson, ParseDict, SerializeToJsonError
from google.protobuf.struct_pb2 import Value

import huf
from huf.ai.chat.approvals import ApprovalResponse
from huf.ai.chat.run_states import RunState, describe_approval
from huf.ai.core.attachments import IMAGE_TYPES
from huf.ai.core.events import EventKind, RunEvent
from huf.ai.core.field_values import split_lines
from huf.ai.core.types import RunStatus

ANSWER = "answer"
TEXT_TYPES = ("text/plain", "application/json")
STATES = {
	RunStatus.QUEUED: TaskState.TASK_STATE_SUBMITTED,
	RunStatus.STARTED: TaskState.TASK_STATE_WORKING,
	RunStatus.WAITING: TaskState.TASK_STATE_WORKING,
	RunStatus.SUCCESS: TaskState.TASK_STATE_COMPLETED,
	RunStatus.STOPPED: TaskState.TASK_STATE_FAILED,
	RunStatus.FAILED: TaskState.TASK_STATE_FAILED,
	RunStatus.CANCELLED: TaskState.TASK_STATE_CANCELED,
}
BEARER = "API key and secret of a Frappe user (KEY:SECRET), or an OAuth access token for this address"
STOPPED = "The agent was stopped before it had finished. The answer is a part of one."
HOW_TO_ANSWER = "Answer with a data part: draft, digest, approve (true or false), reason (may be left out)."


def build_card(agent: Any, url: str) -> AgentCard:
	"""The card of an Agent whose endpoint is `url`."""
	description = agent.description or f"The agent {agent.name}."
	skill = AgentSkill(
		id="ask",
		name=f"Ask {agent.name}",
		description=description,
		tags=["agent"],
		examples=split_lines(agent.starters),
	)
	bearer = HTTPAuthSecurityScheme(scheme="bearer", description=BEARER)
	return AgentCard(
		name=agent.name,
		description=description,
		version=huf.__version__,
		supported_interfaces=[
			AgentInterface(
				url=url, protocol_binding=TransportProtocol.JSONRPC.value, protocol_version=version
			)
			for version in (PROTOCOL_VERSION_1_0, PROTOCOL_VERSION_0_3)
		],
		capabilities=AgentCapabilities(streaming=True, push_notifications=False, extended_agent_card=False),
		security_schemes={"bearer": SecurityScheme(http_auth_security_scheme=bearer)},
		security_requirements=[SecurityRequirement(schemes={"bearer": StringList()})],
		default_input_modes=[*TEXT_TYPES, *sorted(set(IMAGE_TYPES.values()))],
		default_output_modes=[*TEXT_TYPES],
		skills=[skill],
	)


def read_answer(message: Message) -> ApprovalResponse:
	"""Raises InvalidParamsError if no part is an answer."""
	for part in message.parts:
		given = read_data(part) if part.HasField("data") else None
		if isinstance(given, dict) and isinstance(given.get("approve"), bool):
			draft, digest = str(given.get("draft") or ""), str(given.get("digest") or "")
			return ApprovalResponse(
				draft, digest, given["approve"], reason=str(given.get("reason") or "") or None
			)
	raise InvalidParamsError(HOW_TO_ANSWER)


def read_data(part: Part) -> Any:
	"""The JSON of a data part. Raises InvalidParamsError for a number beyond JSON."""
	try:
		# Protobuf has no integers: 7 comes as 7.0, and an order's number is not a fraction.
		return json.loads(MessageToJson(part.data, indent=None), parse_float=to_json_number)
	except (SerializeToJsonError, ValueError):
		raise InvalidParamsError("A data part has a number that is not finite.") from None


def to_json_number(text: str) -> int | float:
	return int(text[:-2]) if text.endswith(".0") else float(text)


def read_message_parts(message: Message) -> tuple[str, tuple[str, ...]]:
	"""(text, images as data URLs). Raises ContentTypeNotSupportedError, InvalidParamsError."""
	texts: list[str] = []
	images: list[str] = []
	for part in message.parts:
		# Programs also write image/jpg and image/PNG.
		kind, _, extension = part.media_type.lower().partition("/")
		if part.HasField("text"):
			texts.append(part.text)
		elif part.HasField("data"):
			texts.append(json.dumps(read_data(part), ensure_ascii=False))
		elif part.HasField("raw") and kind == "image" and extension in IMAGE_TYPES:
			images.append(f"data:image/{extension};base64,{base64.b64encode(part.raw).decode()}")
		else:
			raise ContentTypeNotSupportedError("Send text, data, or the bytes of an image.")
	if not images and not any(text.strip() for text in texts):
		raise InvalidParamsError("The message has no text.")
	return "\n\n".join(texts), tuple(images)


def encode_task(state: RunState, with_artifacts: bool = True) -> Task:
	"""The history has the message that began the task; the answer is the artifact."""
	artifacts = [encode_artifact(state.row.response)] if with_artifacts and state.row.response else []
	context = state.thread
	prompt = Message(
		message_id=state.run,
		role=Role.ROLE_USER,
		parts=[Part(text=state.row.prompt or "")],
		task_id=state.run,
		context_id=context,
	)
	return Task(
		id=state.run,
		context_id=context,
		status=encode_status(state),
		artifacts=artifacts,
		history=[prompt],
	)


def encode_status(state: RunState) -> TaskStatus:
	status = TaskState.TASK_STATE_INPUT_REQUIRED if state.draft else STATES[state.status]
	parts = list_status_parts(state)
	message = new_message(parts, state.thread, state.run) if parts else None
	return TaskStatus(state=status, timestamp=state.changed_at, message=message)


def list_status_parts(state: RunState) -> list[Part]:
	if state.draft:
		text = Part(text=f"{state.notice}\n{HOW_TO_ANSWER}")
		return [text, Part(data=ParseDict(describe_approval(state), Value()))]
	stopped = STOPPED if state.status is RunStatus.STOPPED else None
	message = state.row.error_message or stopped or state.notice
	return [Part(text=message)] if message else []


def encode_artifact(text: str) -> Artifact:
	return Artifact(artifact_id=ANSWER, name=ANSWER, parts=[Part(text=text, media_type="text/plain")])


class EventEncoder:
	"""Encodes the events of one run. The text of a later step replaces that of the step before."""

	def __init__(self, state: RunState):
		self.ids: dict[str, Any] = {"task_id": state.run, "context_id": state.thread}
		self.step: int | None = None

	def encode(self, event: RunEvent) -> Sequence[TaskArtifactUpdateEvent | TaskStatusUpdateEvent]:
		if event.kind is EventKind.TEXT_DELTA:
			is_continued, self.step = self.step == event.data["step"], event.data["step"]
			artifact = encode_artifact(event.data["text"])
			return [TaskArtifactUpdateEvent(artifact=artifact, append=is_continued, **self.ids)]
		if event.kind is EventKind.TEXT_VOID:
			self.step = None
		if event.kind is EventKind.PROGRESS and event.data.get("text"):
			return [self.encode_progress(event)]
		return []

	def encode_progress(self, event: RunEvent) -> TaskStatusUpdateEvent:
		parts = [Part(text=str(event.data["text"]))]
		status = TaskStatus(state=TaskState.TASK_STATE_WORKING, message=new_message(parts, **self.ids))
		return TaskStatusUpdateEvent(status=status, **self.ids)

	def encode_end(self, state: RunState) -> Iterator[TaskArtifactUpdateEvent | TaskStatusUpdateEvent]:
		"""The stored answer, then the status that ends the stream."""
		if state.row.response:
			artifact = encode_artifact(state.row.response)
			yield TaskArtifactUpdateEvent(artifact=artifact, append=False, last_chunk=True, **self.ids)
		yield TaskStatusUpdateEvent(status=encode_status(state), **self.ids)
