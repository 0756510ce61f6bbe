"""Proposes calls that need approval, pauses the run, and makes each call exactly as it was approved.

Answers are stored by `chat/approvals.py`, on the draft only. Any worker may resume the run and comes here
with the same call; its draft alone decides what happens then, even if the tool no longer requires approval.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import frappe

from huf.ai.concurrency.tool_threads import run_in_thread
from huf.ai.core.canonical_json import to_canonical_json
from huf.ai.core.errors import RunPaused, ToolError
from huf.ai.core.types import Call, DraftStatus, Effect, Emit, EventKind
from huf.ai.dry_run.preview import Preview, PreviewChanged, apply_approved, preview_changes
from huf.ai.loop.guards import Guard
from huf.ai.loop.tool_calls import perform
from huf.ai.storage import drafts, leases
from huf.ai.storage.drafts import Proposal
from huf.ai.storage.journal import RunJournal
from huf.ai.storage.rows import digest
from huf.permissions import may_answer

if TYPE_CHECKING:
	from huf.ai.agents.function_tool import EffectTool  # loads the SDK, which takes seconds

REFUSALS = {
	DraftStatus.REJECTED.value: "{by} was asked and said no{reason}. It was not done.",
	DraftStatus.EXPIRED.value: "Nobody allowed it in time{reason}. It was not done.",
	DraftStatus.APPLIED.value: "It was done before.",
	DraftStatus.FAILED.value: "It was tried before and failed.",
}

NOT_TRIED = "This call has not been tried: the tool does not declare that it changes documents only. These are its arguments."


class Approvals:
	"""The approvals of one run; `approve` is the loop's `Approve`."""

	def __init__(
		self,
		tools: "Sequence[EffectTool]",
		journal: RunJournal,
		guards: list[Guard],
		emit: Emit,
		resumed: bool,
	):
		self.tools = {tool.name: tool for tool in tools}
		self.journal, self.guards, self.emit = journal, guards, emit
		self.run = journal.run
		self.known = drafts.read_drafts(self.run) if resumed else {}

	async def approve(self, step: int, call: Call) -> Call:
		row = self.known.get(self.journal.keys[call.position])
		if row is None:
			asks = call.tool and not call.error and (call.tool.needs_approval or self.leaves(call))
			return await self.ask(step, call) if asks else call
		if row.status == DraftStatus.PENDING.value:
			self.pause(step, call, row.name)
		if row.status != DraftStatus.APPROVED.value:
			return replace(call, error=refusal(row))
		return self.allowed(step, replace(call, draft=row.name), row)

	def leaves(self, call: Call) -> bool:
		"""Whether a call could carry data to a new destination (see `huf.ai.core.egress`)."""
		tool = self.tools.get(call.tool.name) if call.effect is Effect.EXTERNAL else None
		return bool(tool and tool.why_person(call.arguments))

	async def ask(self, step: int, call: Call) -> Call:
		"""Insert a draft and pause the run. What cannot be proposed becomes an error for the model."""
		self.journal.lease.renew(call.tool.timeout or 0)
		tool, proposals = self.tools.get(call.tool.name), []

		async def propose_it(arguments: dict) -> None:
			proposals.append(await run_in_thread(lambda: propose(tool, arguments)))

		tried = await perform(replace(call, tool=replace(call.tool, run=propose_it)), self.guards, step)
		if not proposals:
			frappe.db.rollback()
			return replace(call, error=json.loads(tried.text)["error"])
		name = self.journal.keys[call.position]
		drafts.insert_draft(name, self.run, step, call, proposals[0], approver_of(self.run))
		self.pause(step, call, name)

	def allowed(self, step: int, call: Call, row) -> Call:
		"""The call as a person approved it."""
		tool = self.tools.get(row.tool)
		if call.error or tool is None:
			return replace(call, error=call.error or f"The tool {row.tool} is gone.")
		arguments = drafts.get_effective_arguments(row)

		async def make(arguments: dict) -> Any:
			try:
				return edited(row, await self.carry_out(tool, arguments, row))
			except PreviewChanged as differs:
				frappe.db.rollback()
				drafts.renew_draft(row, proposal_of(differs.preview, tool))
				self.pause(step, call, row.name)

		if not tool.can_dry_run:
			try:
				now = request_of(tool, arguments)
			except ToolError as error:
				return replace(call, error=str(error))
			if now.digest != row.digest:
				drafts.renew_draft(row, now)
				self.pause(step, call, row.name)
		return replace(call, arguments=arguments, tool=replace(call.tool, run=make))

	async def carry_out(self, tool, arguments: dict, row) -> Any:
		if not tool.can_dry_run:
			return await tool.start(arguments)
		return await run_in_thread(lambda: apply_approved(lambda: tool.work(arguments), row.digest))

	def pause(self, step: int, call: Call, name: str) -> None:
		"""Pause the run, in one commit with its draft. Raises RunPaused, or LeaseLost with nothing written."""
		leases.suspend_run(self.journal.lease)
		frappe.db.commit()
		card = drafts.describe_draft(drafts.read_draft(name))
		self.emit(EventKind.DRAFT_CREATED, {**card, "step": step, "call_id": call.request.id})
		if card["approver"] and card["approver"] != frappe.session.user:
			message = {"draft": name, "run": self.run, "agent": card["agent"], "tool": card["tool"]}
			frappe.publish_realtime("huf_draft", message, user=card["approver"])
		raise RunPaused(card)


def refusal(row) -> str:
	reason = f": {row.reason}" if row.reason else ""
	return REFUSALS[row.status].format(by=row.answered_by, reason=reason)


def edited(row, result: Any) -> Any:
	"""The result of a call, with a note for the model if a person changed its arguments."""
	if not row.edited_arguments:
		return result
	arguments = json.loads(row.edited_arguments)
	return {"note": f"{row.answered_by} changed the arguments.", "arguments": arguments, "result": result}


def approver_of(run: str) -> str | None:
	"""The approver of the trigger, else of the agent, else the run's user; None: any Huf Manager."""
	row = frappe.db.get_value("Agent Run", run, ["agent", "trigger", "run_as"], as_dict=True)
	named = row.trigger and frappe.db.get_value("Agent Trigger", row.trigger, "approver")
	wanted = (named, frappe.db.get_value("Agent", row.agent, "approver"), row.run_as)
	return next((user for user in wanted if user and may_answer(user)), None)


# --- what is proposed ---


def propose(tool, arguments: dict) -> Proposal:
	"""What a call would change or send, as the session user; raises what the call would raise.

	It leaves locks, so the caller must end the transaction.
	"""
	if not tool.can_dry_run:
		return request_of(tool, arguments)
	return proposal_of(preview_changes(lambda: tool.work(arguments)), tool)


def proposal_of(seen: Preview, tool) -> Proposal:
	named = [(change["doctype"], change["name"]) for change in seen.changes if change["action"] != "create"]
	own = [pair for pair in named if pair[0] == tool.reference_doctype and pair[1]]
	return Proposal(seen.as_dict(), seen.digest, seen.against, next(iter([*own, *named]), (None, None)))


def request_of(tool, arguments: dict) -> Proposal:
	"""What would be sent: an HTTP request, or else the arguments. Runs nothing."""
	request = tool.describe(arguments)
	if tool.effect is Effect.WRITE:
		request = {**request, "note": NOT_TRIED}
	return Proposal({"request": request}, digest(to_canonical_json(request)))
