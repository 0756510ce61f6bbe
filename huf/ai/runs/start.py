"""Starts runs: admits a request and writes its run and message. Also loads runs to continue them."""

import json
from dataclasses import dataclass, field, replace
from functools import cached_property

import frappe
from frappe import _

from huf.ai.agents.manager import AgentManager
from huf.ai.core.attachments import NO_FILES, read_message_files
from huf.ai.core.errors import ConversationBusy, RunAlreadyOpened, TooManyRuns, UsageError
from huf.ai.core.json_text import make_encodable
from huf.ai.core.route_choice import Routed
from huf.ai.core.types import DIRECT, OFFLINE, AgentRequest, Mode, RunStatus
from huf.ai.runs import admission
from huf.ai.runs.messages import build_messages, read_attached_files
from huf.ai.runs.routing import route_task
from huf.ai.storage import leases, trigger_events
from huf.ai.storage.conversations import ConversationManager
from huf.ai.storage.history import read_history
from huf.ai.storage.leases import Lease
from huf.ai.storage.lost_calls import mark_lost_calls
from huf.ai.storage.message_files import attach_files
from huf.ai.storage.recorded_run import Opening, RecordedRun, read_opening, read_recorded
from huf.ai.storage.route_decisions import find_decision_of_run, link_run
from huf.ai.storage.run_rows import has_twin, insert_run, lock_sender, store_opening
from huf.ai.storage.untrusted_records import OTHERS, mark_conversations
from huf.ai.tools.taint import CHANNELS, find_history_origins

OTHER_CHANNEL = "This conversation did not begin here, so it cannot go on here. Leave it out for a new one."
BUSY = "The agent is still answering the previous message. Wait for its answer, or cancel that run."


@dataclass(frozen=True)
class OpenRun:
	"""A recorded run that has not ended. `messages` open its transcript.

	`is_long`: the conversation must be summarized first.
	"""

	request: AgentRequest
	manager: AgentManager
	conversations: ConversationManager
	lease: Lease
	messages: list[dict]
	recorded: RecordedRun = field(default_factory=RecordedRun)
	attempts: int = 1
	lost_workers: int = 0
	is_long: bool = False

	@cached_property
	def name(self) -> str:
		return self.lease.run

	@cached_property
	def is_resumed(self) -> bool:
		return self.attempts > 1

	@cached_property
	def conversation(self) -> str:
		return self.conversations.conversation or ""


def start_run(request: AgentRequest, status: RunStatus = RunStatus.STARTED) -> OpenRun:
	"""Admit the request and write the run and its message in one commit.

	A Started run belongs to this worker and is the active run of its conversation; a Queued one waits for
	`load_run`. If the session's conversation is busy and the request names none, the run gets a new one.
	Raises PermissionError or UsageError for a request that cannot be started, RunAlreadyOpened for a trigger
	event or an idempotency key that already has a run; then nothing is written.
	"""
	try:
		return write_run(request, status)
	except ConversationBusy:
		if request.conversation or request.external_id or request.shared:
			raise
		return write_run(request, status, is_separate=True)


def write_run(request: AgentRequest, status: RunStatus, is_separate: bool = False) -> OpenRun:
	request, manager = admit_request(request, status)
	request, conversations = choose_conversation(request, manager, status, is_separate)
	conversation = conversations.conversation or ""
	if request.routed and request.routed.replaces:
		conversations.remove_messages(request.routed.replaces)
	opening = open_messages(request, manager, conversations)
	if status is RunStatus.STARTED:
		admission.check_stops(request, manager.provider)
	else:
		conversations.create_chosen()
	admission.count_run(request, manager.agent_doc)
	if request.idempotency_key:
		lock_sender(request.user)
	# What a queued run begins with is known when it begins: the runs before it have not answered yet.
	stored = opening.stored if status is RunStatus.STARTED else None
	lease = insert_run(request, conversation, manager.provider, manager.model, status, stored)
	try:
		claim_run(request, conversations, lease, status)
	except (ConversationBusy, TooManyRuns, RunAlreadyOpened):
		frappe.db.rollback()
		raise
	if request.routed and request.routed.decision:
		link_run(request.routed.decision, lease.run, request.routed.is_escalated, conversation)
	origins = [*opening.origins, *([OTHERS] if conversations.is_of_other else [])]
	if request.history:
		origins += find_history_origins(request.agent, request.user, request.history)
	mark_conversations([conversation], origins)
	conversations.add_message("user", request.prompt, run=lease.run, message_files=request.message_files)
	frappe.db.commit()
	return OpenRun(request, manager, conversations, lease, opening.messages, is_long=opening.is_long)


def admit_request(request: AgentRequest, status: RunStatus) -> tuple[AgentRequest, AgentManager]:
	"""Admit the request. It is returned with its mode and the agent's stored name, which limits compare."""
	if not (request.prompt or "").strip() and not request.attachments:
		raise UsageError(_("The prompt is empty. Write what the agent should do."))
	agent = admission.admit(request.agent, request.user, request.from_chat)
	mode = request.mode or (Mode.INLINE if status is RunStatus.STARTED else Mode.BACKGROUND)
	request = replace(request, agent=agent.name, mode=mode, prompt=make_encodable(request.prompt or ""))
	# Entry points that leave the mode to the task have chosen the tier with it.
	request = route_task(request)
	return request, build_manager(request)


def build_manager(request: AgentRequest) -> AgentManager:
	is_chat = bool(request.routed and request.routed.is_chat)
	mode = request.mode or Mode.INLINE
	return AgentManager(request.agent, request.provider, request.model, request.tier, mode, is_chat)


def choose_conversation(
	request: AgentRequest, manager: AgentManager, status: RunStatus, is_separate: bool
) -> tuple[AgentRequest, ConversationManager]:
	"""Choose or prepare the conversation; the request is returned with its files attached to it.

	Raises ConversationBusy for a run that cannot begin, before anything is written: what the caller has
	written, such as files, is still there for a queued run.
	"""
	files = NO_FILES
	if request.attachments:
		files = read_attached_files(request.attachments, request.user, manager.provider, manager.model)
	conversations = ConversationManager(
		request.agent, request.channel, request.external_id, request.user, request.shared
	)
	conversation = conversations.choose_conversation(
		request.conversation,
		title=request.prompt or files.title,
		persist=bool(manager.agent_doc.persist_conversation) and not is_separate,
		is_active=not is_separate,
	)
	check_channel(request)
	if status is RunStatus.STARTED and not conversations.is_new and leases.is_occupied(conversation):
		raise ConversationBusy(BUSY)
	if files.files:
		request = replace(request, message_files=attach_files(conversation, files, request.user))
	return request, conversations


def check_channel(request: AgentRequest) -> None:
	"""Raises UsageError if an outsider's message would count as typed by the person of another channel."""
	if request.conversation and request.channel in CHANNELS:
		channel = frappe.db.get_value("Agent Conversation", request.conversation, "channel")
		if channel != request.channel:
			raise UsageError(OTHER_CHANNEL)


def open_messages(
	request: AgentRequest, manager: AgentManager, conversations: ConversationManager
) -> Opening:
	cause, holder = request.cause, None
	record = (cause.reference_doctype, cause.reference_name) if cause else ()
	if conversations.is_new:
		# A new conversation has no history and no row yet.
		request = replace(request, history=request.history or ())
		holder = {"owner": conversations.owner, "channel": conversations.channel}
	return build_messages(manager, conversations.conversation or "", request, record=record, holder=holder)


def claim_run(
	request: AgentRequest, conversations: ConversationManager, lease: Lease, status: RunStatus
) -> None:
	"""Claim what concurrent runs compete for. The run's row is already written, so that they see each other.

	Raises ConversationBusy, TooManyRuns or RunAlreadyOpened.
	"""
	if request.idempotency_key and has_twin(request, lease.run):
		raise RunAlreadyOpened(request.idempotency_key)
	if status is RunStatus.STARTED:
		if not conversations.claim(lease.run):
			raise ConversationBusy(BUSY)
		admission.check_runs_at_once(request)
	if request.cause and not trigger_events.claim_cause(request.cause, lease.run):
		raise RunAlreadyOpened(request.cause.event)


def load_run(lease: Lease) -> OpenRun:
	"""Load a run from its records, for the worker that holds its lease.

	Raises UsageError, PermissionError or DoesNotExistError if something it needs was deleted or disabled.
	"""
	row = frappe.get_doc("Agent Run", lease.run)
	admission.admit(row.agent, row.run_as)
	request = read_request(row)
	manager = build_manager(request)
	conversations = ConversationManager(row.agent, user=row.run_as, conversation=row.conversation)
	counts = {"attempts": row.attempts, "lost_workers": row.lost_workers}
	if row.attempts > 1 and row.opening:
		# Continue from the stored opening, whatever has changed since.
		mark_lost_calls(row.name)
		messages, recorded = read_opening(row.opening), read_recorded(row.name)
		is_long = lacks_summary(row, request, manager, recorded)
		return OpenRun(request, manager, conversations, lease, messages, recorded, is_long=is_long, **counts)
	check_access(row, conversations)
	waiting_runs = [row.name, *leases.read_queued_runs(row.conversation)]
	opening = build_messages(
		manager, row.conversation, request, waiting_runs, (row.reference_doctype, row.reference_name)
	)
	mark_conversations([row.conversation], opening.origins)
	store_opening(row.name, opening.stored)
	return OpenRun(
		request, manager, conversations, lease, opening.messages, is_long=opening.is_long, **counts
	)


def lacks_summary(row, request: AgentRequest, manager: AgentManager, recorded: RecordedRun) -> bool:
	"""Whether a summary is still due in a run that was interrupted before the model's first reply. A summary
	that ends its worker twice is left out.
	"""
	if request.history is not None or recorded.replies or row.lost_workers > 1:
		return False
	waiting_runs = [row.name, *leases.read_queued_runs(row.conversation)]
	return read_history(row.conversation, manager.history_limit, waiting_runs).is_long


def check_access(row, conversations: ConversationManager) -> None:
	"""Raises PermissionError for a queued run of a user with whom its conversation is no longer shared,
	UsageError if the conversation was deleted while the run was being queued.
	"""
	owner = frappe.db.get_value("Agent Conversation", row.conversation, "owner")
	if row.conversation and not owner:
		raise UsageError(_("The conversation was deleted"))
	# Conversations of triggers belong to no user.
	if owner not in (None, row.run_as) and not row.trigger:
		conversations.check_conversation(row.conversation)


def read_routed(row) -> Routed | None:
	if not row.route:
		return None
	decision = find_decision_of_run(row.name)
	return Routed(row.confidence, tuple(json.loads(row.plan or "[]")), row.route == "chat", decision)


def read_request(row) -> AgentRequest:
	"""The request of an Agent Run. Its message is empty if the conversation was deleted."""
	message = frappe.db.get_value(
		"Agent Message",
		{"run": row.name, "role": "user"},
		["content", "attachments", "attached_text"],
		order_by="sequence asc",
		as_dict=True,
	)
	return AgentRequest(
		row.agent,
		message.content if message else "",
		row.run_as,
		row.conversation,
		# Direct tool calls need no model.
		history=None if row.conversation and row.model != DIRECT else (),
		provider=row.provider,
		model=None if row.model == OFFLINE else row.model,
		parent_run=row.parent_run,
		mode=Mode(row.mode) if row.mode else None,
		tier=row.tier or None,
		routed=read_routed(row),
		message_files=read_message_files(message or {}),
		request_key=row.request_key,
	)
