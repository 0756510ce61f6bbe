"""Reads input items of OpenAI's Responses API: messages, and answers to approval requests."""

from dataclasses import dataclass
from typing import Any

from huf.ai.chat.approvals import ApprovalResponse
from huf.api.wire.json_body import BadRequest, read_string
from huf.api.wire.openai import IMAGE, read_earlier_message

APPROVAL = "mcpr_"
"""Prefix of an approval request's ID; the draft and its digest follow."""
MESSAGE, PROMPT, REFERENCE = "msg_", "in", "item_reference"
"""Prefix of a message's ID, which its run and its place follow; the place of the user's message; the type of
an item that stands for an earlier one.
"""
NOT_ITEMS = "input must be text, or a list of items: messages and approval responses."
TEXT_TYPES = ("input_text", "output_text", "text")


@dataclass(frozen=True)
class Input:
	"""`message`: the last message, which is the user's, in OpenAI's chat format; `earlier` messages; answers
	to approvals.
	"""

	message: dict | None
	earlier: tuple[dict, ...] = ()
	approvals: tuple[ApprovalResponse, ...] = ()


def read_input(given: Any) -> Input:
	"""Raises BadRequest."""
	items = [{"role": "user", "content": given}] if isinstance(given, str) else given
	if not isinstance(items, list) or not items or not all(isinstance(item, dict) for item in items):
		raise BadRequest(NOT_ITEMS)
	approvals = tuple(read_approval(item) for item in items if item.get("type") == "mcp_approval_response")
	if items[-1].get("type") == "mcp_approval_response":
		return Input(None, approvals=approvals)
	if items[-1].get("type", "message") != "message" or items[-1].get("role") != "user":
		raise BadRequest("The last item of input must be the user's message, or an approval response.")
	*earlier, last = (to_chat_message(item) for item in items if item.get("type", "message") == "message")
	return Input(last, tuple(filter(None, map(read_earlier_message, earlier))), approvals)


def find_referenced(item: Any) -> tuple[str, str] | None:
	"""(run, role) of the message that an item stands for; None if it is no reference to a message."""
	name = str(item.get("id")) if isinstance(item, dict) and item.get("type") == REFERENCE else ""
	run, _, place = name.removeprefix(MESSAGE).partition("_")
	return (run, "user" if place == PROMPT else "assistant") if name.startswith(MESSAGE) else None


def to_chat_message(item: dict) -> dict:
	content = item.get("content")
	if isinstance(content, list):
		content = [to_chat_part(part) for part in content]
	return {"role": item.get("role"), "content": content}


def to_chat_part(part: Any) -> Any:
	kind = part.get("type") if isinstance(part, dict) else None
	if kind in TEXT_TYPES:
		return {"type": "text", "text": part.get("text")}
	return {"type": IMAGE, IMAGE: part.get("image_url")} if kind == "input_image" else part


def read_approval(item: dict) -> ApprovalResponse:
	name = str(item.get("approval_request_id") or "")
	draft, _, digest = name.removeprefix(APPROVAL).partition("_")
	if not name.startswith(APPROVAL) or not digest or not isinstance(item.get("approve"), bool):
		raise BadRequest("An approval response needs approval_request_id and approve (true or false).")
	reason = read_string(item.get("reason"), "reason", required=False)
	return ApprovalResponse(draft, digest, item["approve"], reason=reason)
