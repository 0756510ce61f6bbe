"""The history of an agent's instructions, from Frappe's Version records. Read-only."""

import frappe

FIELD = "instructions"


def list_instruction_versions(agent) -> list[dict]:
	"""All versions of an Agent document's instructions, newest first: [{at, by, text}]."""
	rows = frappe.get_all(
		"Version",
		filters={"ref_doctype": agent.doctype, "docname": agent.name},
		fields=["owner", "creation", "data"],
		order_by="creation desc",
	)
	changes = [(row, change) for row in rows if (change := find_change(row.data))]
	first = changes[-1][1][0] if changes else agent.get(FIELD)
	versions = [{"at": row.creation, "by": row.owner, "text": after or ""} for row, (_, after) in changes]
	return [*versions, {"at": agent.creation, "by": agent.owner, "text": first or ""}]


def find_change(data: str | None) -> tuple[str, str] | None:
	"""(before, after) of the instructions in a Version's data; None if it did not change them."""
	changed = (frappe.parse_json(data or "{}") or {}).get("changed") or []
	return next(((before, after) for field, before, after in changed if field == FIELD), None)
