"""Reads the messages of a conversation and sends new ones to its agent."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import frappe
from frappe import _

from huf.ai.core.errors import RunAlreadyOpened, UsageError
from huf.ai.core.events import RunEvent
from huf.ai.core.route_choice import RouteChoice
from huf.ai.core.types import OFFLINE, AgentRequest, CallStatus, Mode, StopReason
from huf.ai.queries.chats import get_readable_conversation
from huf.ai.queries.runs import describe_runs, list_reasoning, list_tool_calls
from huf.ai.runs import admission
from huf.ai.runs.entry import parse_names, read_route_choice, run_once, stream_agent
from huf.ai.runs.queue import enqueue_run
from huf.ai.runs.repetition import find_sent_run, follow_sent_run, read_idempotency_key

CHANNEL = "chat"
TEST_CHANNEL = "test"
"""Channel of chats next to an agent's form, which are not listed among the user's chats."""
MAX_MESSAGES = 500
MESSAGE_FIELDS = [
	"name",
	"sequence",
	"role",
	"kind",
	"content",
	"run",
	"step",
	"tool_name",
	"tool_call_id",
	"creation",
	"owner",
	"attachments",
]


@frappe.whitelist(methods=["GET", "POST"])
def get_agent_chat_messages(conversation: str, limit: int = 200, before: int | None = None):
	"""The last messages of a conversation, or those before the sequence number `before`, oldest first, with
	their runs.

	Returns {conversation: {name, title, agent, may_write, may_share}, messages: [{name, sequence, role, kind,
	content, run, step, tool_name, tool_call_id, creation, attachments: [{name, file_name, file_url, size,
	kind: image or text}]}], runs: {name: the data of its `run_finished` event, with the router's decision as
	`route`, if there was one}}. A message about a tool call also has effect, ok, reason, duration_ms and
	error; one that another user sent has that user's full name as `author`, one that this user sent with an
	`idempotency_key` has that. Raises PermissionError for a conversation the user may not read.
	"""
	doc = get_readable_conversation(conversation)
	filters = [["conversation", "=", doc.name]]
	if before:
		filters.append(["sequence", "<", int(before)])
	# Everyone who may read the conversation may read all its messages, also those of other users.
	read_page = partial(
		frappe.get_all,
		"Agent Message",
		filters=filters,
		order_by="sequence desc",
		limit_page_length=max(1, min(int(limit), MAX_MESSAGES)),
	)
	names = list(dict.fromkeys(filter(None, read_page(pluck="run")[::-1])))
	# A run ends in the commit that adds its answer. Read in this order, none has ended without it.
	runs = describe_runs(names, is_checked=True)
	rows = [row for row in read_page(fields=MESSAGE_FIELDS)[::-1] if not row.run or row.run in names]
	add_call_details(rows, names)
	add_reasoning(rows, names)
	add_senders(rows, names)
	for row in rows:
		row.attachments = json.loads(row.attachments or "[]")
	about = {
		"name": doc.name,
		"title": doc.title,
		"agent": doc.agent,
		"may_write": doc.has_permission("write"),
		"may_share": doc.has_permission("share"),
	}
	return {"conversation": about, "messages": rows, "runs": runs}


def add_call_details(rows: list, runs: list[str]) -> None:
	"""Add details from the journal to the messages about tool calls."""
	calls = list_tool_calls(runs)
	known = {(call.run, call.step, call.call_id): call for call in calls}
	for row in rows:
		if call := known.get((row.run, row.step, row.tool_call_id)):
			ok = call.status == CallStatus.SUCCESS.value
			row.update(
				effect=call.effect,
				ok=ok,
				reason=call.reason,
				duration_ms=call.duration_ms,
				error=call.error_message,
			)


def add_reasoning(rows: list, runs: list[str]) -> None:
	"""Add a step's reasoning to the first message of the step."""
	known = {(each.run, each.step): each.reasoning for each in list_reasoning(runs)} if runs else {}
	for row in rows:
		if row.role != "user" and (reasoning := known.pop((row.run, row.step), None)):
			row.reasoning = reasoning


def add_senders(rows: list, runs: list[str]) -> None:
	"""Add the name of another user who has sent a message to a shared chat, and the keys of this user's."""
	fields, own = ["name", "request_key"], {"name": ["in", runs], "owner": frappe.session.user}
	keys = dict(frappe.get_all("Agent Run", own, fields, order_by="name", as_list=True)) if runs else {}
	for row in rows:
		owner = row.pop("owner")
		if row.role == "user" and owner != frappe.session.user:
			row.author = frappe.utils.get_fullname(owner)
		elif row.role == "user" and (key := keys.get(row.run)):
			row.idempotency_key = key


@frappe.whitelist(methods=["POST"])
def send_agent_chat_message(
	agent: str,
	prompt: str,
	conversation: str | None = None,
	attachments: list | str | None = None,
	route: str | None = None,
	idempotency_key: str | None = None,
):
	"""Send a message and wait for the answer; returns the same as `run_agent_sync`.

	`attachments`: Files by name or URL. `route`: auto, chat or agent, see `docs/router.md`.
	`idempotency_key`: see `run_agent_sync`.
	"""
	request = build_chat_request(
		agent, prompt, conversation, parse_names(attachments), read_route_choice(route)
	)
	return run_once(replace(request, idempotency_key=read_idempotency_key(idempotency_key)))


def stream_chat(
	agent: str,
	prompt: str,
	conversation: str | None = None,
	attachments: Sequence[str] = (),
	is_test: bool = False,
	route: str | None = None,
	model: str | None = None,
	idempotency_key: str | None = None,
) -> Iterator[RunEvent | None]:
	"""Send a message and follow the run. Raises at once if it cannot start.

	`idempotency_key`: if the user has sent a message with it before, nothing is sent and its run is followed.
	"""
	idempotency_key = read_idempotency_key(idempotency_key)
	if sent := find_sent_run(idempotency_key):
		return follow_sent_run(sent)
	request = build_chat_request(agent, prompt, conversation, attachments, read_route_choice(route), model)
	request = replace(request, idempotency_key=idempotency_key)
	if is_test:
		request = replace(request, channel=TEST_CHANNEL)
	events = stream_agent(request, can_void=True)
	try:
		first = next(events)
	except RunAlreadyOpened:
		# The same message was sent a moment ago.
		frappe.db.rollback()
		return stream_chat(agent, prompt, conversation, attachments, is_test, route, model, idempotency_key)

	def follow() -> Iterator[RunEvent | None]:
		if first:
			yield first
		yield from events

	return follow()


def continue_in_background(run: str) -> dict:
	"""Continue a run that used up its steps or its time in the background; returns {run, conversation}."""
	# A request of another tab waits for the lock, and then finds the run of the first.
	row = frappe.get_doc("Agent Run", run, for_update=True)
	if row.stop_reason not in (StopReason.MAX_STEPS.value, StopReason.TIMEOUT.value):
		raise UsageError("Only a run that used up its steps or its time can continue in the background.")
	of_conversation = {"conversation": row.conversation}
	newest = frappe.db.get_value(
		"Agent Run", of_conversation, "name", order_by="creation desc", for_update=True
	)
	if row.conversation and newest != run:
		raise UsageError(_("The conversation has gone on since this run. Reload the page."))
	request = build_chat_request(row.agent, _("Go on where you stopped."), row.conversation)
	chosen = {"provider": row.provider, "model": row.model} if not row.tier and row.model != OFFLINE else {}
	queued = enqueue_run(replace(request, mode=Mode.BACKGROUND, tier=row.tier or None, **chosen))
	return {"run": queued.name, "conversation": queued.conversation}


def build_chat_request(
	agent: str,
	prompt: str,
	conversation: str | None,
	attachments: Sequence[str] = (),
	choice: RouteChoice | None = None,
	model: str | None = None,
) -> AgentRequest:
	"""A request to an agent that takes part in chats; without a conversation a new one begins."""
	if model:
		admission.admit_chat_model(admission.admit(agent, frappe.session.user, chat=True), model)
	return AgentRequest(
		agent=agent,
		prompt=prompt,
		user=frappe.session.user,
		conversation=conversation,
		channel=CHANNEL,
		external_id=None if conversation else frappe.generate_hash(length=10),
		attachments=tuple(attachments),
		choice=choice,
		model=model or None,
		from_chat=True,
	)
