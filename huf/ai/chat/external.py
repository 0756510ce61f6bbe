"""Starts and follows runs for other front ends, which may name threads themselves.

Their protocols are in `huf/api`.
"""

import base64
import math
import re
import time
from collections.abc import Iterator
from dataclasses import replace

import frappe
from frappe.utils import add_to_date, now_datetime

from huf.ai.agents.tool_factory import create_agent_tools
from huf.ai.chat import approvals
from huf.ai.chat.approvals import ApprovalResponse
from huf.ai.chat.routed import choose_agent
from huf.ai.core.attachments import IMAGE_TYPES
from huf.ai.core.errors import RunAlreadyOpened, UsageError
from huf.ai.core.events import EventKind, RunEvent
from huf.ai.core.stored_text import shorten_id
from huf.ai.core.types import DIRECT, OPEN_STATUSES, AgentRequest, Mode
from huf.ai.providers.direct import write_prompt
from huf.ai.queries.event_stream import follow_run_events, read_run_state
from huf.ai.queries.runs import list_tool_calls
from huf.ai.runs import admission
from huf.ai.runs.entry import read_route_choice, run_once, stream_agent
from huf.ai.runs.repetition import find_sent_run, read_idempotency_key
from huf.ai.storage import drafts
from huf.ai.storage.events import first_event_number

QUEUED_S = 100
"""How long a request waits until its run begins. A bench's web server closes it after 120 seconds, and then
OpenAI's clients send it again.
"""
NOT_BEGUN = (EventKind.RUN_QUEUED, EventKind.RUN_WAITING)
"""After these events a run does nothing until a worker has it."""
BEGUN_S, ENDED_S = 3600, 60
"""How long ago, at most, the run of a repeated request may have begun and, if it has ended, have ended."""
ANSWERED_TWICE = "A draft is answered twice. Answer each draft once."
SEVERAL_RUNS = "These drafts belong to different runs. Answer the drafts of one run at a time."
DATA_URL = re.compile(r"data:image/([a-z]+)(?:;[^;,]*)*;base64,([A-Za-z0-9+/=]+)", re.IGNORECASE)
"""Programs also write image/jpg, image/PNG, and parameters such as a file's name."""


def build_external_request(
	channel: str,
	agent: str | None,
	prompt: str,
	thread: str | None = None,
	conversation: str | None = None,
	history: tuple[dict, ...] | None = None,
	attachments: tuple[str, ...] = (),
	route: str | None = None,
	idempotency_key: str | None = None,
) -> AgentRequest:
	"""A request of the session user to an agent, or to the site's default agent.

	`thread`: the front end's name of a conversation to continue; without it a new one begins. `history`: the
	messages so far, if the front end stores the conversation. `attachments`: Files by name or URL.
	`route`: auto, chat or agent, see `docs/router.md`. `idempotency_key`: see `run_agent_sync`. Raises
	PermissionError, UsageError.
	"""
	user = frappe.session.user
	name = admission.admit(agent, user, chat=True).name if agent else choose_agent(user)
	return AgentRequest(
		agent=name,
		prompt=prompt,
		user=user,
		conversation=conversation,
		channel=channel,
		external_id=None if conversation else thread or frappe.generate_hash(length=10),
		mode=None if history is None else Mode.INLINE,
		history=history,
		attachments=attachments,
		choice=read_route_choice(route),
		idempotency_key=read_idempotency_key(idempotency_key),
	)


def store_image(url) -> str:
	"""Store an image from a data URL as a private File of the session user; returns its name. Raises
	ValueError. Commits: a run that cannot begin is rolled back and queued. After a refusal,
	`delete_refused_images` follows.
	"""
	found = DATA_URL.fullmatch(url) if isinstance(url, str) else None
	extension = found[1].lower() if found else ""
	if not found or extension not in IMAGE_TYPES:
		raise ValueError("This is not a data URL of an image type that models accept.")
	content = base64.b64decode(found[2], validate=True)
	values = {"doctype": "File", "file_name": f"picture.{extension}", "content": content, "is_private": 1}
	name = frappe.get_doc(values).insert().name
	frappe.db.commit()
	frappe.flags.huf_stored_images = [*(frappe.flags.huf_stored_images or ()), name]
	return name


def delete_refused_images() -> None:
	"""Delete the images that this request has stored and that no message has. Commits."""
	stored = {
		"name": ["in", [*(frappe.flags.huf_stored_images or ()), ""]],
		"attached_to_name": ["is", "not set"],
	}
	for name in frappe.get_all("File", stored, pluck="name", order_by="name asc"):
		frappe.delete_doc("File", name, delete_permanently=True)
		frappe.db.commit()


def follow_request(request: AgentRequest, can_void: bool = False) -> Iterator[RunEvent | None]:
	"""All events of a new run, or of the one that an earlier request with the same idempotency key has begun,
	even if a worker executes it: then as `follow_queued`. Raises at once if it cannot start.

	`can_void`: the reader understands `text_void`.
	"""
	if sent := find_sent_run(request.idempotency_key):
		delete_refused_images()
		return follow_queued(sent.name)
	events = stream_agent(request, can_void)
	try:
		first = next(events)
	except RunAlreadyOpened:
		# The first request came a moment ago.
		frappe.db.rollback()
		return follow_request(request, can_void)

	def follow() -> Iterator[RunEvent | None]:
		if first and first.kind is EventKind.RUN_QUEUED:
			events.close()
			yield from follow_queued(first.run, start=first.data)
		else:
			yield from events

	return follow()


def follow_queued(run: str, after: int = 0, start: dict | None = None) -> Iterator[RunEvent | None]:
	"""RUN_QUEUED with the data `start`, then the run's events after number `after`, or RUN_QUEUED again if it
	does not begin in time: one behind a run that needs a person may be queued for days.
	"""
	queued, deadline = RunEvent(EventKind.RUN_QUEUED, run, start or {}), time.monotonic() + QUEUED_S
	yield queued
	for event in follow_run_events(run, after):
		yield event
		if event:
			deadline = time.monotonic() + QUEUED_S if event.kind in NOT_BEGUN else math.inf
		elif time.monotonic() > deadline:
			yield queued
			return


def find_repeated_run(request_key: str):
	"""The run, {name, agent}, that the same request of the session user has begun.

	None if it is not recent: a program may ask the same thing each hour.
	"""
	now = now_datetime()
	rows = frappe.get_all(
		"Agent Run",
		{
			"request_key": request_key,
			"owner": frappe.session.user,
			"creation": [">", add_to_date(now, seconds=-BEGUN_S)],
		},
		["name", "agent", "ended_at"],
		order_by="creation desc",
		limit_page_length=1,
	)
	has_ended = rows and rows[0].ended_at and rows[0].ended_at < add_to_date(now, seconds=-ENDED_S)
	return rows[0] if rows and not has_ended else None


def run_tool_call(request: AgentRequest, tool: str, arguments: dict) -> dict:
	"""Run one tool of the agent as if its model had called it: in a run, with every check and on record.
	Returns what `run_once` returns.

	Raises UsageError if the agent has no such tool that the user may use.
	"""
	names = [each.name for each in create_agent_tools(request.agent)]
	if tool not in names:
		raise UsageError(
			f"{request.agent} has no tool {tool!r} that you may use. It has: {', '.join(names) or 'none'}."
		)
	return run_once(
		replace(request, prompt=write_prompt(tool, arguments), model=DIRECT, mode=Mode.INLINE, history=())
	)


def drop_answered(answers: list[ApprovalResponse]) -> list[ApprovalResponse]:
	"""The answers to open drafts; the last answer if no draft is open.

	Clients send earlier answers again, and other people may have answered meanwhile.
	"""
	return [each for each in answers if drafts.is_pending(each.draft)] or answers[-1:]


def answer_and_follow(answers: list[ApprovalResponse]) -> tuple[str, list, list, Iterator[RunEvent | None]]:
	"""Answer drafts of a run; returns (run, its calls so far, the drafts it waited for, its events from then
	on).

	An approver may not read every run that they answer for: the caller checks that. Raises as
	`approvals.check_response`, before the first answer is stored if one of them cannot be.
	"""
	if len({each.draft for each in answers}) < len(answers):
		raise UsageError(ANSWERED_TWICE)
	run, *others = {approvals.get_open_draft(each.draft, each.digest).run for each in answers}
	if others:
		raise UsageError(SEVERAL_RUNS)
	made, waited_for = list_tool_calls([run]), list(drafts.read_drafts(run).values())
	_, attempts = read_run_state(run)
	# Edited arguments may not work: every answer is checked before the first is stored.
	checked = [approvals.check_response(each) for each in answers]
	for row, answer in checked:
		approvals.store_answer(row, answer)
	return run, made, waited_for, follow_queued(run, first_event_number(attempts + 1))


def find_thread(agent: str, channel: str, thread: str) -> str | None:
	"""The user's conversation with a front end's thread name, or None."""
	session = {"agent": agent, "channel": channel, "external_id": shorten_id(thread)}
	rows = frappe.get_list(
		"Agent Conversation",
		filters={**session, "owner": frappe.session.user},
		pluck="name",
		order_by="creation desc",
		limit_page_length=1,
	)
	return rows[0] if rows else None


def find_live_run(conversation: str):
	"""The oldest run of a conversation that has not ended, {name, prompt}, or None."""
	rows = frappe.get_list(
		"Agent Run",
		filters={"conversation": conversation, "status": ["in", OPEN_STATUSES]},
		fields=["name", "prompt"],
		order_by="creation asc",
		limit_page_length=1,
	)
	return rows[0] if rows else None
