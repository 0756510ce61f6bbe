"""Approval of tool calls within a run: stores proposals, pauses the run, applies what was approved.

A person's answer is only stored (`chat/approvals.py`). The worker that resumes the run arrives here with the
same call; its draft decides what happens, even if the tool no longer needs approval.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn, cast

import frappe

from huf.ai.agents.function_tool import EffectTool
from huf.ai.core.errors import RunPaused, ToolError
from huf.ai.core.events import Emit, EventKind
from huf.ai.core.flow import Concern
from huf.ai.core.json_text import ResultText, to_canonical_json, to_text
from huf.ai.core.settings import find_cached
from huf.ai.core.stored_text import digest
from huf.ai.core.tool_threads import run_in_thread
from huf.ai.core.types import Call, DraftStatus, Effect, Tool
from huf.ai.dry_run.preview import Preview, PreviewChanged, apply_approved, preview_changes
from huf.ai.loop.guards import Guard
from huf.ai.loop.tool_calls import perform
from huf.ai.storage import drafts
from huf.ai.storage.drafts import Proposal
from huf.ai.storage.jobs import enqueue_job
from huf.ai.storage.journal import RunJournal
from huf.ai.storage.rows import log_unexpected_error
from huf.ai.storage.run_rows import suspend_with_usage
from huf.ai.storage.untrusted_records import OTHERS
from huf.ai.storage.users import read_deputy
from huf.permissions import may_answer

REFUSALS = {
	DraftStatus.REJECTED.value: "{by} rejected it{reason}. It was not done.",
	DraftStatus.EXPIRED.value: "Nobody approved it in time{reason}. It was not done.",
	DraftStatus.APPLIED.value: "It was done before.",
	DraftStatus.FAILED.value: "It was approved before and failed.",
}
NOT_TRIED = (
	"There is no preview, because the tool does not declare that it changes documents only. "
	"These are its arguments."
)


class Approvals:
	"""The approvals of one run. The loop calls `approve` before each tool call."""

	def __init__(
		self,
		tools: Sequence[EffectTool],
		journal: RunJournal,
		guards: Sequence[Guard],
		emit: Emit,
		is_resumed: bool,
	):
		self.tools = {tool.name: tool for tool in tools}
		self.journal, self.guards, self.emit = journal, guards, emit
		self.run = journal.run
		self.drafts = drafts.read_drafts(self.run) if is_resumed else {}

	async def approve(self, step: int, call: Call, later: Sequence[Call] = ()) -> Call:
		"""The call in its approved form, or with the error that prevents it.

		Raises RunPaused if a person is asked, for this and all later calls of the turn at once.
		"""
		draft = self.find_draft(call)
		if draft is None:
			is_asked = self.is_asked(call)
			known = None if is_asked else await self.find_exceeding(step, call)
			return await self.propose(step, call, later, known) if is_asked or known else call
		if draft.status == DraftStatus.PENDING.value:
			self.pause([each.name for each in self.drafts.values() if each.status == draft.status])
		if draft.status != DraftStatus.APPROVED.value:
			return replace(call, error=describe_refused_call(draft), origins=find_answer_origins(draft))
		return self.as_approved(replace(call, draft=draft.name), draft)

	def find_draft(self, call: Call) -> Any:
		return self.drafts.get(self.journal.keys[call.position])

	def is_asked(self, call: Call) -> bool:
		"""Whether a person must approve this call."""
		if call.tool is None or call.error:
			return False
		if call.tool.needs_approval:
			return True
		# The journal knows the run's current model, also after an escalation.
		model = None if call.effect is Effect.READ else find_cached("AI Model", self.journal.model)
		if model and model.ask_before_writes:
			return True
		tool = self.tools.get(call.tool.name)
		needs_second = tool is not None and needs_second_person(tool, call.arguments or {})
		return needs_second or bool(self.find_concern(call))

	async def find_exceeding(self, step: int, call: Call) -> Proposal | Call | None:
		"""The proposal, if somebody else must approve the call because of an amount that only its dry run
		shows; the call with its error if there is none.
		"""
		tool = None if call.tool is None or call.error else self.tools.get(call.tool.name)
		if not (tool and tool.can_dry_run and tool.second_person and tool.second_person.amount_field):
			return None
		proposal = await self.prepare(step, call)
		return proposal if isinstance(proposal, Call) or proposal.second_person else None

	def find_concern(self, call: Call) -> Concern | None:
		"""The reason why untrusted content in the run makes this call need approval (`huf.ai.core.flow`), or
		None.
		"""
		tool = None if call.effect is Effect.READ else self.tools.get(call.request.name)
		return tool.find_concern(call.arguments or {}) if tool and tool.find_concern else None

	async def propose(
		self, step: int, call: Call, later: Sequence[Call], known: Proposal | Call | None = None
	) -> Call:
		"""Store drafts of this call and of later ones of the turn that need approval, and pause the run.

		A call that cannot be proposed is returned with its error, for the model. `known`: from `prepare`.
		"""
		proposal = known or await self.prepare(step, call)
		if isinstance(proposal, Call):
			return proposal
		wanted = [(call, proposal)]
		for each in later:
			if self.find_draft(each) is None and self.is_asked(each):
				proposal = await self.prepare(step, each)
				# A later call that cannot be proposed arrives here again in its turn.
				wanted += [] if isinstance(proposal, Call) else [(each, proposal)]
		for each, proposal in wanted:
			approver = find_approver(self.run, proposal.second_person)
			name, concern = self.journal.keys[each.position], self.find_concern(each)
			drafts.insert_draft(name, self.run, step, each, proposal, approver, concern)
		self.pause([self.journal.keys[each.position] for each, _ in wanted])

	async def prepare(self, step: int, call: Call) -> Proposal | Call:
		"""The proposal, or the call with the reason why it is impossible. Leaves no open transaction."""
		loop_tool = cast("Tool", call.tool)
		self.journal.commit_open_rows()
		self.journal.lease.renew()
		tool = self.tools[loop_tool.name]
		proposals: list[Proposal] = []

		async def run(arguments: dict) -> None:
			proposals.append(await run_in_thread(lambda: propose(tool, arguments)))

		# While a call is running, the lease is renewed and a cancel is noticed.
		self.journal.running.add(call.position)
		try:
			result = await perform(replace(call, tool=replace(loop_tool, run=run)), self.guards, step)
		finally:
			self.journal.running.discard(call.position)
		frappe.db.rollback()
		if proposals:
			return proposals[0]
		log_unexpected_error(tool.name, result.traceback, self.run)
		frappe.db.commit()
		return replace(call, error=json.loads(result.text)["error"], origins=result.origins)

	def as_approved(self, call: Call, draft: Any) -> Call:
		"""The call with the approved arguments.

		If the change is no longer the approved one, the person is asked again.
		"""
		tool = self.tools.get(draft.tool)
		if call.error or call.tool is None or tool is None:
			return replace(call, error=call.error or f"The tool {draft.tool} is gone.")
		arguments = drafts.get_effective_arguments(draft)

		async def make(arguments: dict) -> Any:
			try:
				return describe_edit(draft, await make_approved(tool, arguments, draft))
			except PreviewChanged as changed:
				frappe.db.rollback()
				drafts.renew_draft(draft, preview_proposal(changed.preview, tool, arguments))
				self.pause([draft.name])

		if not tool.can_dry_run:
			try:
				proposal = request_proposal(tool, arguments)
			except ToolError as error:
				return replace(call, error=str(error))
			if proposal.digest != draft.digest or lacks_second_person(tool, arguments, draft):
				drafts.renew_draft(draft, proposal)
				self.pause([draft.name])
		return replace(call, arguments=arguments, tool=replace(call.tool, run=make, run_concurrently=None))

	def pause(self, names: Sequence[str]) -> NoReturn:
		"""Pause the run, in one commit with its drafts.

		Raises RunPaused, or LeaseLost with nothing written.
		"""
		suspend_with_usage(self.journal.lease)
		self.journal.commit(with_messages=True)
		cards = [drafts.describe_draft(drafts.read_draft(name)) for name in names]
		for card in cards:
			self.emit(EventKind.DRAFT_CREATED, card)
			if card["approver"] and card["approver"] != frappe.session.user:
				message = {key: card[key] for key in ("draft", "run", "agent", "tool")}
				frappe.publish_realtime("huf_draft", message, user=card["approver"])
			mail_approver(card["agent"], card["draft"])
		raise RunPaused(cards)


async def make_approved(tool: EffectTool, arguments: dict, draft: Any) -> Any:
	"""The result of the call. Raises PreviewChanged if it is no longer the approved one."""
	if not tool.can_dry_run:
		return await tool.start(arguments)

	def apply() -> Any:
		approved = None if lacks_second_person(tool, arguments, draft) else draft.digest
		return apply_approved(lambda: tool.work(arguments), approved, tool.reference_doctype)

	return await run_in_thread(apply)


def lacks_second_person(tool: EffectTool, arguments: dict, draft: Any) -> bool:
	"""Whether the run's user approved a call that now needs somebody else, because an amount has risen."""
	return draft.answered_by == draft.owner and needs_second_person(tool, arguments)


def describe_refused_call(draft: Any) -> str:
	reason = f": {draft.reason.rstrip('.')}" if draft.reason else ""
	return REFUSALS[draft.status].format(by=draft.answered_by, reason=reason)


def describe_edit(draft: Any, result: Any) -> Any:
	"""The result, with a note for the model if a person changed the arguments."""
	if not draft.edited_arguments:
		return result
	arguments = json.loads(draft.edited_arguments)
	noted = {"note": f"{draft.answered_by} changed the arguments.", "arguments": arguments, "result": result}
	origins = [*getattr(result, "origins", ()), *find_answer_origins(draft)]
	return ResultText.of(to_text(noted), origins) if origins else noted


def find_answer_origins(draft: Any) -> tuple[str, ...]:
	"""The origin of what somebody other than the run's user has written in an answer: a reason, arguments."""
	is_of_other = draft.answered_by not in (None, draft.owner)
	return (OTHERS,) if is_of_other and (draft.reason or draft.edited_arguments) else ()


def mail_approver(agent: str, draft: str) -> None:
	"""If the agent is set to do so, enqueue a mail to the approver with a link for the answer."""
	if frappe.get_cached_value("Agent", agent, "approval_mail"):
		enqueue_job("huf.ai.mail.approval_links.send_link", queue="short", draft=draft)


def find_approver(run: str, second_person: bool) -> str | None:
	"""The approver of the trigger, else of the agent; the run's user if neither names one. None means any
	Huf Manager, also if those that are named cannot answer, for example because they are disabled.

	With `second_person` it is never the run's user. An absent approver is represented by their deputy, except
	in runs of the deputy.
	"""
	row = frappe.db.get_value("Agent Run", run, ["agent", "trigger", "run_as"], as_dict=True)
	named = row.trigger and frappe.db.get_value("Agent Trigger", row.trigger, "approver")
	candidates = [named, frappe.db.get_value("Agent", row.agent, "approver")]
	if not any(candidates):
		candidates = [row.run_as]
	excluded = row.run_as if second_person else None
	approver = next((user for user in candidates if user and user != excluded and may_answer(user)), None)
	deputy = approver and read_deputy(approver)
	return deputy if deputy and deputy != row.run_as and may_answer(deputy) else approver


# --- proposals ---


def propose(tool: EffectTool, arguments: dict) -> Proposal:
	"""The change or request that a call would make as the session user. Raises what the call would raise.

	Leaves locks: the caller must end the transaction.
	"""
	if not tool.can_dry_run:
		return request_proposal(tool, arguments)
	preview = preview_changes(lambda: tool.work(arguments), tool.reference_doctype)
	return preview_proposal(preview, tool, arguments)


def preview_proposal(preview: Preview, tool: EffectTool, arguments: dict) -> Proposal:
	named = [(each["doctype"], each["name"]) for each in preview.changes if each["action"] != "create"]
	own = [pair for pair in named if pair[0] == tool.reference_doctype and pair[1]]
	rule = tool.second_person
	return Proposal(
		preview.as_dict(),
		preview.digest,
		preview.against,
		next(iter([*own, *named]), (None, None)),
		rule is not None and rule.is_needed(arguments, preview.unfiltered),
	)


def request_proposal(tool: EffectTool, arguments: dict) -> Proposal:
	"""The HTTP request that the call would send, or its arguments. Runs nothing."""
	request = tool.describe(arguments)
	if tool.effect is Effect.WRITE:
		request = {**request, "note": NOT_TRIED}
	known = digest(to_canonical_json(request))
	return Proposal({"request": request}, known, second_person=needs_second_person(tool, arguments))


def needs_second_person(tool: EffectTool, arguments: dict) -> bool:
	"""Without a dry run, an unknown amount counts as above the limit."""
	rule = tool.second_person
	return rule is not None and (rule.is_exceeded if tool.can_dry_run else rule.is_needed)(arguments)
