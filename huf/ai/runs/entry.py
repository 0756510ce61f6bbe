"""Runs an agent from a request to a reply. The story is short here; its chapters are in `open_run.py`."""

from collections.abc import Generator, Iterable

import frappe

from huf.ai.concurrency.event_loops import iterate
from huf.ai.core.errors import UsageError
from huf.ai.core.types import AgentRequest, EventKind, Listener, Mode, RunEvent, RunResult
from huf.ai.runs.admission import acting_as
from huf.ai.runs.execution import describe_start, execute_run
from huf.ai.runs.queue import call_next, end_run, enqueue_run
from huf.ai.runs.start import start_run
from huf.ai.runs.task_routing import route_task


@frappe.whitelist(methods=["POST"])
def run_agent_sync(
	agent_name: str,
	prompt: str,
	provider: str | None = None,
	model: str | None = None,
	channel_id: str | None = None,
	external_id: str | None = None,
	conversation_id: str | None = None,
	attachments: list[str] | str | None = None,
):
	"""Run an agent as the signed-in user and wait for its answer. `attachments`: Files by name or address, also as JSON.

	Gives {success, response, run, conversation, status, stop_reason, error, provider, model, input_tokens,
	output_tokens, total_cost (USD, None: unknown), steps, duration_ms}. A run that fails is an answer too; only a
	request that cannot be started raises: PermissionError, UsageError.
	"""
	request = AgentRequest(
		agent=agent_name,
		prompt=prompt,
		user=frappe.session.user,
		conversation=conversation_id,
		channel=channel_id or "api",
		external_id=external_id,
		provider=provider,
		model=model,
		attachments=read_names(attachments),
	)
	return run_agent(request).as_dict()


def read_names(given: list[str] | str | None) -> tuple[str, ...]:
	"""A list of names, as JSON or a form brings it. Raises UsageError for what is none."""
	names = frappe.parse_json(given) if given else []
	if not isinstance(names, list) or not all(isinstance(each, str) and each for each in names):
		raise UsageError("attachments must be a list of Files, each by its name or address.")
	return tuple(names)


def run_agent(request: AgentRequest, listeners: Iterable[Listener] = ()) -> RunResult:
	"""Run to the end and give the result. Raises only what keeps a run from starting."""
	with acting_as(request.user):
		return end_run(start_run(route_task(request)), listeners)


def stream_agent(request: AgentRequest) -> Generator[RunEvent | None, None, None]:
	"""Run and yield every event as it happens, RUN_FINISHED last, and None in long silences.

	The run ends even if the reader leaves. One whose task is for the background is only queued: RUN_QUEUED is all.
	Any other begins with a None, when it is open and nothing of it is done: a request's own end comes after that, with a
	commit or a rollback, and must not meet a tool that is at work in a thread on the same connection.
	"""
	with acting_as(request.user):
		request = route_task(request)
		if request.mode is Mode.BACKGROUND:
			run = enqueue_run(request)
			yield RunEvent(EventKind.RUN_QUEUED, run.name, describe_start(run))
			return
		run = start_run(request)
		yield None
		yield from iterate(lambda put: execute_run(run, [put]))
		call_next(run.conversation)
