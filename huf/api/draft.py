"""Endpoints about drafts: tool calls that need approval.

Users see the drafts of their own runs and those they may approve.
"""

from typing import Any

import frappe
from frappe import _

from huf.ai.chat import approvals
from huf.ai.core.documents import get_permitted
from huf.ai.core.request_values import clamp_count, clamp_start, read_json_object
from huf.ai.dry_run.diff import translate_labels
from huf.ai.mail.actions import list_waiting_mails
from huf.ai.storage import drafts
from huf.ai.storage.recorded_run import read_text_of_step
from huf.permissions import is_manager

LIST_FIELDS = [field for field in drafts.FIELDS if field not in ("answer_key", "result")]


@frappe.whitelist(methods=["GET"])
def get_drafts(
	status: str | None = "Pending",
	run: str | None = None,
	conversation: str | None = None,
	start: int = 0,
	limit: int = 50,
):
	"""Drafts, newest first; see `get_draft`."""
	wanted = {"status": status, "run": run, "conversation": conversation}
	rows = frappe.get_list(
		drafts.DRAFT,
		filters={field: value for field, value in wanted.items() if value},
		fields=LIST_FIELDS,
		order_by="creation desc",
		limit_start=clamp_start(start),
		limit_page_length=clamp_count(limit, 200),
	)
	return [describe_for_user(row) for row in rows]


@frappe.whitelist(methods=["GET"])
def get_draft(draft: str):
	"""One draft: {draft, status, tool, arguments, parameters, difference, digest, approver, user, expires_at,
	may_answer, ...}.

	`difference` is {changes, tables, kept} (see `huf.ai.dry_run.preview.Preview`), or {request} for an
	external call. `parameters` is the JSON schema of the arguments, or None if the tool no longer exists;
	`user` is the user the call acts as. `text`: the model's text beside the call. `turn`: the drafts of the
	same turn that the user may read, including this one, in the order of the calls.
	"""
	get_permitted(drafts.DRAFT, draft)
	row = drafts.read_draft(draft)
	turn = [each for each in drafts.read_drafts(row.run).values() if each.step == row.step]
	readable = [each for each in turn if frappe.has_permission(drafts.DRAFT, "read", doc=each.name)]
	return {
		**describe_with_parameters(row),
		"text": read_text_of_step(row.run, row.step),
		"turn": [describe_with_parameters(each) for each in readable],
	}


def describe_with_parameters(row) -> dict:
	definition = frappe.db.get_value("Agent Tool Function", row.tool, "function_definition")
	return {
		**describe_for_user(row),
		"parameters": translate_schema(frappe.parse_json(definition)["parameters"]) if definition else None,
	}


def translate_schema(schema: Any) -> Any:
	"""A schema whose fields, also of table rows, have their labels (before a description's colon) in the
	reader's language.
	"""
	if not isinstance(schema, dict):
		return schema
	result = dict(schema)
	if schema.get("description") and isinstance(schema["description"], str):
		label, colon, about = schema["description"].partition(": ")
		result["description"] = f"{_(label)}{colon}{about}"
	if isinstance(schema.get("properties"), dict):
		result["properties"] = {name: translate_schema(each) for name, each in schema["properties"].items()}
	if "items" in schema:
		result["items"] = translate_schema(schema["items"])
	return result


@frappe.whitelist(methods=["GET"])
def count_drafts():
	"""The number of drafts and mails that wait for this user."""
	user = frappe.session.user
	mine = {"status": drafts.PENDING, **({} if is_manager(user) else {"approver": user})}
	own = {**mine, "second_person": 1, "owner": user}
	waiting = frappe.db.count(drafts.DRAFT, mine) - frappe.db.count(drafts.DRAFT, own)
	return waiting + len(list_waiting_mails())


@frappe.whitelist(methods=["POST"])
def approve(draft: str, digest: str, arguments: dict | str | None = None):
	"""Approve the displayed change, identified by its digest, or the same call with edited arguments.

	Edited arguments are previewed again, and that preview is approved.
	"""
	edited = None if arguments is None else read_json_object(arguments, "arguments")
	return approvals.approve_call(draft, digest, edited)


@frappe.whitelist(methods=["POST"])
def reject(draft: str, reason: str | None = None):
	"""Reject a draft. The run continues without the call, and its model reads the reason."""
	return approvals.reject_call(draft, reason=reason)


def describe_for_user(row) -> dict:
	may_answer = row.status == drafts.PENDING and approvals.may_answer_draft(row)
	described = drafts.describe_draft(row)
	if described["difference"]:
		described["difference"] = translate_labels(described["difference"])
	return {**described, "user": row.owner, "may_answer": may_answer}
