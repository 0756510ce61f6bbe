"""Approval of calls in the MCP client: MCP's input-required flow, showing the difference.

The draft is a normal one that can also be answered in the web app or by REST; the first answer counts.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import frappe
from mcp.server.context import ServerRequestContext
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequests
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from huf.ai.chat import approvals
from huf.ai.chat.run_states import RunState
from huf.ai.core.errors import UsageError
from huf.ai.storage import drafts

MAX_DIFFERENCE_CHARS = 8_000
NOTE_SCHEMA = {"type": "object", "properties": {"reason": {"type": "string", "title": "Reason to decline"}}}


def may_ask(ctx: ServerRequestContext, state: RunState) -> bool:
	"""Whether the client can show the draft, and its user may answer it."""
	capabilities = ctx.session.client_capabilities
	return bool(
		state.draft
		and ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
		and capabilities
		and capabilities.elicitation
		and approvals.may_answer_draft(state.draft)
	)


def build_question(state: RunState) -> InputRequests:
	"""The request for input that shows the change. Its key depends on the change."""
	draft = drafts.describe_draft(state.draft)
	difference = "\n".join(write_difference(draft["difference"] or {}))
	if len(difference) > MAX_DIFFERENCE_CHARS:
		difference = f"{difference[:MAX_DIFFERENCE_CHARS]}\n… The whole: {state.url}"
	message = f"Allow {draft['agent']} to call {draft['tool']}? It would do this:\n{difference}"
	params = ElicitRequestFormParams(message=message, requested_schema=NOTE_SCHEMA)
	return {make_approval_key(state): ElicitRequest(params=params)}


def write_difference(difference: Mapping) -> Iterator[str]:
	"""The lines of a difference. No line break in a name or a value begins a line."""
	for change in difference.get("changes") or ():
		# A provisional name is not the one that the document gets.
		name = "" if change.get("provisional") else change["name"] or "that you may not read"
		yield " ".join([change["action"].title(), change["doctype"], *str(name).split()])
		yield from write_fields(change)
		if hidden := change.get("hidden"):
			yield f"  Changes in fields that cannot be shown: {hidden}"
	if rest := {key: value for key, value in difference.items() if key != "changes" and value}:
		yield json.dumps(rest, ensure_ascii=False, indent=1, default=str)


def write_fields(change: Mapping, above: str = "") -> Iterator[str]:
	for field in change["fields"]:
		texts = [json.dumps(field[key], ensure_ascii=False, default=str) for key in ("before", "after")]
		value = texts[1] if field["before"] is None else " → ".join(texts)
		yield f"  {above}{field['label']}: {value}"
	for row in change.get("rows") or ():
		yield from write_fields(row, f"{row['label']} {row['idx']} · ")


def make_approval_key(state: RunState) -> str:
	return f"{state.draft.name}.{state.draft.digest[:16]}"


def is_put_off(state: RunState, responses: Mapping[str, Any] | None) -> bool:
	"""Whether the user has dismissed the question without an answer: asked again at once, they could not
	leave it.
	"""
	response = read_elicited(state, responses)
	return response is not None and response.action == "cancel"


def read_elicited(state: RunState, responses: Mapping[str, Any] | None) -> ElicitResult | None:
	"""The user's response to the question about the draft for which the run waits."""
	given = (responses or {}).get(make_approval_key(state)) if state.draft else None
	try:
		return ElicitResult.model_validate(given, from_attributes=True)
	except ValidationError:
		return None


def answer_draft(state: RunState, responses: Mapping[str, Any] | None) -> None:
	"""Store the user's answer to the draft for which the run waits, if there is one.

	An answer to an earlier preview, or one that comes after another answer, is ignored.
	"""
	response = read_elicited(state, responses)
	if response is None or response.action == "cancel":
		return
	name, digest = state.draft.name, state.draft.digest
	try:
		if response.action == "accept":
			approvals.approve_call(name, digest)
		else:
			reason = (response.content or {}).get("reason")
			approvals.reject_call(name, digest, reason if isinstance(reason, str) else None)
	except UsageError:
		# The draft was answered elsewhere, or changed; continue with what is stored.
		frappe.db.rollback()
