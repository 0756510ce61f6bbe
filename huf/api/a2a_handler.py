"""Answers A2A requests with runs. The SDK's routes decode and encode the protocol."""

import asyncio
import re
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import replace
from functools import wraps
from traceback import format_exc
from typing import Any

import frappe
from a2a.server.request_handlers.request_handler import RequestHandler, validate_request_params
from a2a.types import (
	CancelTaskRequest,
	GetTaskRequest,
	ListTasksRequest,
	ListTasksResponse,
	Message,
	SendMessageRequest,
	SubscribeToTaskRequest,
	Task,
	TaskState,
)
from a2a.utils.constants import DEFAULT_LIST_TASKS_PAGE_SIZE
from a2a.utils.errors import (
	A2AError,
	ExtendedAgentCardNotConfiguredError,
	InternalError,
	InvalidParamsError,
	PushNotificationNotSupportedError,
	TaskNotCancelableError,
	TaskNotFoundError,
	UnsupportedOperationError,
)
from a2a.utils.task import apply_history_length, validate_history_length, validate_page_size

from huf.ai.chat import approvals
from huf.ai.chat.external import build_external_request, delete_refused_images, find_thread, store_image
from huf.ai.chat.run_states import RUN, RunState, continue_run, read_state
from huf.ai.core.errors import LeaseLost, RunAlreadyOpened, UsageError
from huf.ai.core.event_loops import PropagatedContext
from huf.ai.core.events import Listener, RunEvent
from huf.ai.core.stored_text import MAX_ID_CHARS, digest
from huf.ai.core.times import from_utc
from huf.ai.core.types import AgentRequest, DraftStatus, Mode, RunStatus
from huf.ai.queries.event_stream import follow_run_events
from huf.ai.runs.entry import open_run
from huf.ai.runs.queue import end_run, enqueue_run
from huf.ai.runs.repetition import find_sent_run
from huf.ai.runs.routing import route_request
from huf.ai.runs.start import OpenRun
from huf.ai.storage import drafts
from huf.api.wire.a2a import STATES, EventEncoder, encode_task, read_answer, read_message_parts

CHANNEL = "a2a"
OTHER_CONTEXT = "The task has another contextId. Send its own, or none."
NOT_WAITING = "The task waits for no answer. To continue the conversation, send its contextId without taskId."


def guarded(method: Callable[..., Any]) -> Callable[..., Any]:
	"""Decorator that converts refusals to errors of the protocol. Unexpected errors go to the Error Log."""

	@wraps(method)
	async def answer(self: "Handler", *args: Any) -> Any:
		try:
			return await self.carried.run(method(self, *args))
		except Exception as error:  # the boundary around a request
			raise to_protocol_error(error) from None

	return answer


def to_protocol_error(error: Exception) -> A2AError:
	frappe.db.rollback()
	delete_refused_images()
	if isinstance(error, A2AError):
		return error
	if isinstance(error, UsageError | frappe.PermissionError | frappe.DoesNotExistError):
		return InvalidParamsError(str(error) or "You may not do this.")
	frappe.log_error("A2A request failed", format_exc())
	return InternalError()


class Handler(RequestHandler):
	"""Acts as the session user. `agent`: the name of the agent at this address. `left`: set when the reader
	of a stream leaves.
	"""

	def __init__(self, agent: str, carried: PropagatedContext, left: threading.Event):
		self.agent, self.carried, self.left = agent, carried, left

	@validate_request_params
	@guarded
	async def on_message_send(self, params: SendMessageRequest, context: Any) -> Task | Message:
		validate_history_length(params.configuration)
		return apply_history_length(encode_task(await self.answer_message(params)), params.configuration)

	async def answer_message(self, params: SendMessageRequest) -> RunState:
		if params.message.task_id:
			return await continue_run(self.answer_task(params.message))
		is_immediate = params.configuration.return_immediately
		run, opened = self.begin_task(params.message, is_immediate)
		if opened:
			await self.end_task(opened)
		return read_state(run) if opened or is_immediate else await continue_run(run)

	def begin_task(self, message: Message, is_immediate: bool = False) -> tuple[str, OpenRun | None]:
		"""(name of a message's run, the open run if this request executes it).

		A message that is sent again has the run of the first.
		"""
		key = digest(self.agent, message.SerializeToString(deterministic=True).hex())
		if sent := find_sent_run(key):
			return sent.name, None
		request = replace(self.build_request(message), idempotency_key=key)
		try:
			if is_immediate:
				return enqueue_run(replace(request, mode=Mode.BACKGROUND)).name, None
			run = open_run(route_request(request))
		except RunAlreadyOpened:
			# The first request came a moment ago.
			frappe.db.rollback()
			delete_refused_images()
			return self.begin_task(message, is_immediate)
		return run.name, None if run.manager.mode is Mode.BACKGROUND else run

	@validate_request_params
	async def on_message_send_stream(self, params: SendMessageRequest, context: Any) -> Any:
		try:
			validate_history_length(params.configuration)
			if params.message.task_id:
				run, opened = self.answer_task(params.message), None
			else:
				run, opened = self.begin_task(params.message)
			state = read_state(run)
			encoder = EventEncoder(state)
			# The response begins here, before any tool uses the database connection.
			yield apply_history_length(encode_task(state), params.configuration)
			if opened:
				async for event in self.execute(opened):
					for update in encoder.encode(event):
						yield update
				state = read_state(run)
			else:
				state = await self.carried.run(continue_run(run))
			for update in encoder.encode_end(state):
				yield update
		except Exception as error:  # the boundary around a request
			raise to_protocol_error(error) from None

	async def end_task(self, run: OpenRun, listeners: Iterable[Listener] = ()) -> None:
		"""Execute an open run to its end. Waits for the worker that goes on with it if this one loses it."""
		try:
			await end_run(run, listeners)
		except LeaseLost:
			await continue_run(run.name)

	async def execute(self, run: OpenRun) -> AsyncIterator[RunEvent]:
		"""Execute an open run and yield its events as they come."""
		events: asyncio.Queue[RunEvent | None] = asyncio.Queue()
		work = asyncio.ensure_future(self.carried.run(self.end_task(run, [events.put_nowait])))
		work.add_done_callback(lambda _: events.put_nowait(None))
		while event := await events.get():
			yield event
		await work
		self.carried.restore()

	@validate_request_params
	async def on_subscribe_to_task(self, params: SubscribeToTaskRequest, context: Any) -> Any:
		try:
			state = self.find_task(params.id)
			if state.has_ended:
				raise UnsupportedOperationError("The task has ended. Get it instead.")
			encoder = EventEncoder(state)
			yield encode_task(state)
			for event in follow_run_events(state.run):
				# During silence the transport sends keep-alives, and notices that the reader has left.
				await asyncio.sleep(0)
				if self.left.is_set():
					return
				for update in encoder.encode(event) if event else ():
					yield update
			for update in encoder.encode_end(read_state(state.run)):
				yield update
		except Exception as error:  # the boundary around a request
			raise to_protocol_error(error) from None

	@validate_request_params
	@guarded
	async def on_get_task(self, params: GetTaskRequest, context: Any) -> Task | None:
		validate_history_length(params)
		return apply_history_length(encode_task(self.find_task(params.id)), params)

	@validate_request_params
	@guarded
	async def on_list_tasks(self, params: ListTasksRequest, context: Any) -> ListTasksResponse:
		"""The caller's tasks, last updated first, as the protocol demands."""
		validate_history_length(params)
		size = params.page_size if params.HasField("page_size") else DEFAULT_LIST_TASKS_PAGE_SIZE
		validate_page_size(size)
		start_at = params.page_token or "0"
		if not re.fullmatch("[0-9]{1,9}", start_at):
			raise InvalidParamsError("pageToken is not one of this list.")
		filters, end = self.list_filters(params), int(start_at) + size
		names = frappe.get_list(
			RUN,
			filters,
			pluck="name",
			order_by="modified desc, name desc",
			limit_start=int(start_at),
			limit_page_length=size,
		)
		tasks = [
			apply_history_length(encode_task(read_state(name), params.include_artifacts), params)
			for name in names
		]
		total = frappe.db.count(RUN, filters)
		token = str(end) if end < total else ""
		return ListTasksResponse(tasks=tasks, next_page_token=token, page_size=size, total_size=total)

	def list_filters(self, params: ListTasksRequest) -> dict[str, Any]:
		"""Filters for the caller's own runs of the agent."""
		filters: dict[str, Any] = {"agent": self.agent, "run_as": frappe.session.user}
		if params.context_id:
			filters["conversation"] = find_thread(self.agent, CHANNEL, params.context_id) or "none"
		if params.status:
			filters |= filter_state(params.status)
		if params.HasField("status_timestamp_after"):
			filters["modified"] = [">", from_utc(params.status_timestamp_after.ToDatetime())]
		return filters

	@validate_request_params
	@guarded
	async def on_cancel_task(self, params: CancelTaskRequest, context: Any) -> Task | None:
		if self.find_task(params.id).has_ended:
			raise TaskNotCancelableError("The task has ended.")
		approvals.cancel_run(params.id)
		return encode_task(await continue_run(params.id))

	def find_task(self, run: str) -> RunState:
		"""Raises TaskNotFoundError unless the user may see a run of this agent with that ID."""
		try:
			state = read_state(run)
		except frappe.PermissionError:
			raise TaskNotFoundError() from None
		if frappe.db.get_value(RUN, run, "agent") != self.agent:
			raise TaskNotFoundError()
		return state

	def build_request(self, message: Message) -> AgentRequest:
		prompt, images = read_message_parts(message)
		try:
			files = tuple(map(store_image, images))
		except ValueError as error:
			raise InvalidParamsError(str(error)) from None
		thread = message.context_id or None
		if thread and len(thread) > MAX_ID_CHARS:
			raise InvalidParamsError(f"A contextId has at most {MAX_ID_CHARS} characters.")
		conversation = find_thread(self.agent, CHANNEL, thread) if thread else None
		return build_external_request(CHANNEL, self.agent, prompt, thread, conversation, attachments=files)

	def answer_task(self, message: Message) -> str:
		"""Store the user's answer to the draft for which a task waits; returns the run."""
		state = self.find_task(message.task_id)
		if message.context_id and message.context_id != state.thread:
			raise InvalidParamsError(OTHER_CONTEXT)
		if not state.draft:
			raise UnsupportedOperationError(NOT_WAITING)
		answer = read_answer(message)
		if answer.draft != state.draft.name:
			raise InvalidParamsError(f"The task waits for the draft {state.draft.name}.")
		approvals.answer_call(answer)
		return state.run

	async def on_get_extended_agent_card(self, params: Any, context: Any) -> Any:
		raise ExtendedAgentCardNotConfiguredError()

	async def refuse_push(self, params: Any, context: Any) -> Any:
		raise PushNotificationNotSupportedError()

	on_create_task_push_notification_config = refuse_push
	on_get_task_push_notification_config = refuse_push
	on_list_task_push_notification_configs = refuse_push
	on_delete_task_push_notification_config = refuse_push


def filter_state(state: int) -> dict[str, Any]:
	"""Filters for the user's runs that are shown in a task's state: those with an open draft as
	input-required, whatever else a waiting run waits for as working.
	"""
	asks = state == TaskState.TASK_STATE_INPUT_REQUIRED
	waiting = RunStatus.WAITING.value
	statuses = [waiting] if asks else [status.value for status, each in STATES.items() if each == state]
	filters: dict[str, Any] = {"status": ["in", statuses or [""]]}
	if waiting in statuses:
		own = {"owner": frappe.session.user, "status": DraftStatus.PENDING.value}
		asking = frappe.get_all(drafts.DRAFT, own, pluck="run", order_by="name asc")
		filters["name"] = ["in" if asks else "not in", asking or [""]]
	return filters
