"""Entry points of a run: for REST, Python and event streams.

`start.py`, `execution.py` and `finish.py` do the work.
"""

from collections.abc import Generator, Iterable

import frappe

from huf.ai.core.errors import (
	ConversationBusy,
	LeaseLost,
	RunAlreadyOpened,
	RunLost,
	TooManyRuns,
	UsageError,
)
from huf.ai.core.event_loops import iterate, run_coroutine
from huf.ai.core.events import EventKind, Listener, RunEvent
from huf.ai.core.request_values import read_json
from huf.ai.core.route_choice import RouteChoice
from huf.ai.core.session import acting_as
from huf.ai.core.types import AgentRequest, Mode, RunResult, RunStatus
from huf.ai.queries.event_stream import follow_run_events
from huf.ai.queries.runs import describe_runs
from huf.ai.runs import admission
from huf.ai.runs.execution import describe_start
from huf.ai.runs.finish import describe_open, refuse_run
from huf.ai.runs.queue import end_run, enqueue_run, enqueue_work, queue_behind, take_over
from huf.ai.runs.repetition import read_idempotency_key, wait_for_run, wait_for_sent_run
from huf.ai.runs.routing import HeldChat, may_escalate, route_request
from huf.ai.runs.start import OpenRun, start_run
from huf.ai.storage.leases import release_leases


@frappe.whitelist(methods=["POST"])
def run_agent_sync(
	agent_name: str,
	prompt: str,
	provider: str | None = None,
	model: str | None = None,
	channel_id: str | None = None,
	external_id: str | None = None,
	conversation_id: str | None = None,
	attachments: list | str | None = None,
	route: str | None = None,
	idempotency_key: str | None = None,
):
	"""Run an agent as the session user and wait for its answer. `attachments`: Files by name or URL, also as
	JSON. `provider`, `model`: see `admission.admit_model`. `route`: auto, chat or agent (the default), see
	`docs/router.md`. Commits, also what its caller has written before.

	Calls of a user continue one conversation with the agent, or begin a new one while a run of it is open.
	With `external_id`, the caller's name of a conversation, a call waits for the open run as `Queued`. A call
	that a user repeats with its `idempotency_key`, 16 to 64 letters, digits and hyphens, starts nothing, and
	waits for the run of the first one.

	Returns {success, response, run, conversation, status, stop_reason, error, provider, model, input_tokens,
	output_tokens, total_cost (USD, None: unknown), steps, duration_ms}, in Auto also `route`, the decision. A
	failed run is returned like any other; only a request that cannot be started raises PermissionError or
	UsageError.
	"""
	user = frappe.session.user
	if model or provider:
		admission.admit_model(admission.admit(agent_name, user), user, provider, model)
	request = AgentRequest(
		agent=agent_name,
		prompt=prompt,
		user=user,
		conversation=conversation_id,
		channel=channel_id or "api",
		external_id=external_id,
		provider=provider,
		model=model,
		attachments=parse_names(attachments),
		choice=read_route_choice(route),
		idempotency_key=read_idempotency_key(idempotency_key),
	)
	return run_once(request)


def run_once(request: AgentRequest) -> dict:
	"""What `run_agent` returns, as a dict, or returned for the session user's first request with the same
	idempotency key.
	"""
	if request.idempotency_key and (result := wait_for_sent_run(request.idempotency_key)):
		return result
	try:
		return run_agent(request).as_dict()
	except RunAlreadyOpened:
		# The first one began a moment ago.
		frappe.db.rollback()
		return run_once(request)
	except RunLost as lost:
		return wait_for_run(lost.run)


def parse_names(given: list[str] | str | None) -> tuple[str, ...]:
	"""Parse a list of names from JSON or a form. Raises UsageError if it is not one."""
	names = read_json(given, "attachments") if given else []
	if not isinstance(names, list) or not all(isinstance(each, str) and each for each in names):
		raise UsageError("attachments must be a list of Files, each by its name or URL.")
	return tuple(names)


def read_route_choice(choice: str | None) -> RouteChoice | None:
	"""Parse the caller's choice of a route. Raises UsageError."""
	if not choice:
		return None
	try:
		return RouteChoice(choice)
	except ValueError:
		raise UsageError("route must be auto, chat or agent.") from None


def run_agent(request: AgentRequest, listeners: Iterable[Listener] = ()) -> RunResult:
	"""Run to the end and return the result. If another run of the conversation is open, the run is queued.

	If a chat turns out to need the agent, this is the agent's result. Raises only what prevents a run from
	starting.
	"""
	with acting_as(request.user):
		request = route_request(request)
		result = end_or_describe(*start_or_queue(request), listeners)
		agent = take_over(request, result.as_dict(), start_or_queue)
		return end_or_describe(*agent, listeners) if agent else result


def start_inline(request: AgentRequest) -> OpenRun:
	"""Start a run that begins here. Raises what prevents it from starting."""
	run = start_run(request)
	if request.routed and request.routed.is_escalated:
		# It has taken over from a chat that has ended, and whose messages it has replaced.
		return run
	try:
		admission.check_begun_run(request)
	except TooManyRuns as error:
		refuse_run(run, str(error))
		raise
	return run


def start_or_queue(request: AgentRequest) -> tuple[OpenRun, bool]:
	"""(the run, whether it begins here)"""
	try:
		return start_inline(request), True
	except ConversationBusy:
		return queue_behind(request), False


def end_or_describe(run: OpenRun, begins: bool, listeners: Iterable[Listener]) -> RunResult:
	if begins:
		return run_coroutine(end_here(run, listeners))
	return describe_open(run, RunStatus.QUEUED, run.recorded)


async def end_here(run: OpenRun, listeners: Iterable[Listener]) -> RunResult:
	"""Execute an open run to its end, for a caller that waits for it. Raises RunLost."""
	try:
		return await end_run(run, listeners)
	except LeaseLost:
		frappe.db.rollback()
		raise RunLost(run.name) from None


async def run_to_end(request: AgentRequest, listeners: Iterable[Listener] = ()) -> RunResult:
	"""Like `run_agent`, on the running event loop and as the session user. Raises ConversationBusy instead of
	queueing the run.
	"""
	request = route_request(request)
	try:
		run = start_inline(request)
	except ConversationBusy:
		frappe.db.rollback()
		raise
	result = await end_here(run, listeners)
	agent = take_over(request, result.as_dict(), start_inline)
	return await end_here(agent, listeners) if agent else result


def stream_agent(request: AgentRequest, can_void: bool = False) -> Generator[RunEvent | None, None, None]:
	"""Run and yield every event as it happens, RUN_FINISHED last, and None during long silences.

	The run continues to its end even if the reader disconnects. A background task is only queued, and so is a
	message to a conversation whose last run has not ended: RUN_QUEUED is the one event. Otherwise the first
	item is None, after the run is on record and before any work. Frappe ends the request with a commit or
	rollback before it reads the response further; by then no tool may be using the same connection in another
	thread. Of a chat that the agent may take over, complete sentences are passed on if the reader understands
	`text_void` (`can_void`), otherwise nothing before it has ended.
	"""
	with acting_as(request.user):
		request = route_request(request)
		yield from stream_chat_run(request, can_void) if may_escalate(request) else stream_run(request)


def stream_chat_run(request: AgentRequest, can_void: bool) -> Generator[RunEvent | None, None, None]:
	held, events, run = HeldChat(can_void), stream_run(request), None
	try:
		for event in events:
			run = event.run if event else run
			ended = event.data if event and event.kind is EventKind.RUN_FINISHED else None
			if event and ended and (agent := take_over(request, ended, open_run)):
				run = None
				yield from stream_open_run(agent, held.void(event))
				return
			if event and event.kind is EventKind.RUN_QUEUED:
				yield event
				return
			released: list[RunEvent | None] = [*held.add(event)] if event else []
			yield from released or [None]
	except GeneratorExit:
		events.close()
		if run:
			take_over_unread(request, run)
		raise
	yield from held.events


def take_over_unread(request: AgentRequest, run: str) -> None:
	"""Queue the agent's run if the chat needs it and its client has disconnected."""
	for ended in describe_runs([run], is_checked=True).values():
		take_over(request, ended, enqueue_run)


def open_run(request: AgentRequest) -> OpenRun:
	"""Start a run. It is queued if the request asks for that, or if a run of its conversation is open."""
	try:
		return enqueue_run(request) if request.mode is Mode.BACKGROUND else start_inline(request)
	except ConversationBusy:
		return queue_behind(request)


def stream_run(request: AgentRequest) -> Generator[RunEvent | None, None, None]:
	yield from stream_open_run(open_run(request))


def stream_open_run(run: OpenRun, first: Iterable[RunEvent] = ()) -> Generator[RunEvent | None, None, None]:
	"""The events of an open run after those that come `first`."""
	if run.manager.mode is Mode.BACKGROUND:
		yield from [*first, RunEvent(EventKind.RUN_QUEUED, run.name, describe_start(run))]
		return
	try:
		yield from [*first, None]
	except GeneratorExit:
		# Nothing of it was done yet, so a worker does it.
		release_leases([run.lease])
		enqueue_work(run.name)
		raise
	number = 0
	try:
		for event in iterate(lambda put: end_here(run, [put])):
			number = event.number if event and event.number else number
			yield event
	except RunLost:
		yield from follow_run_events(run.name, number)
