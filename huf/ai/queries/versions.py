"""What an agent was told to be, and when: read from Frappe's Versions. Writes nothing; who restores one saves the agent."""

import frappe

FIELD = "instructions"


def instructions_of(agent) -> list[dict]:
	"""The instructions of an Agent document through time, the newest first: [{at, by, text}]."""
	rows = frappe.get_all(
		"Version",
		filters={"ref_doctype": agent.doctype, "docname": agent.name},
		fields=["owner", "creation", "data"],
		order_by="creation desc",
	)
	changes = [(row, change) for row in rows if (change := change_of(row.data))]
	first = changes[-1][1][0] if changes else agent.get(FIELD)
	told = [{"at": row.creation, "by": row.owner, "text": after or ""} for row, (_, after) in changes]
	return [*told, {"at": agent.creation, "by": agent.owner, "text": first or ""}]


def change_of(data: str | None) -> tuple[str, str] | None:
	"""(before, after) of the instructions in a Version; None: it did not change them."""
	changed = (frappe.parse_json(data or "{}") or {}).get("changed") or []
	return next(((before, after) for field, before, after in changed if field == FIELD), None)
