"""Where a chat has versions, for the chat page. Read-only, with the user's permissions."""

import frappe

from huf.ai.storage.chats import CONVERSATION, find_base, find_version, list_versions_of_chat


def list_versions(name: str) -> list[dict]:
	"""[{run, at, place, conversations}] for each message of a chat with versions that the user may read.

	`at` is the message's sequence number and `run` its run in this chat; `conversations` contains each
	version's name, oldest first; `place` is the index of the version that this chat follows.
	"""
	rows = {row.name: row for row in list_versions_of_chat(name)}
	if len(rows) < 2:
		return []
	messages = read_runs_of_messages(list(rows), sorted({row.version_at for row in rows.values()}))
	readable = frappe.get_list(
		CONVERSATION, {"name": ["in", list(rows)]}, pluck="name", order_by="creation asc", limit_page_length=0
	)
	points = []
	for at in sorted({row.version_at for row in rows.values() if row.version_parent}):
		base = find_base(rows, name, at)
		family = [base] + [
			n for n, row in rows.items() if row.version_parent == base and row.version_at == at
		]
		names = [each for each in family if each in readable and (each, at) in messages]
		current = find_version(rows, name, at)
		if len(names) > 1 and current in names and (name, at) in messages:
			run = messages[name, at]
			points.append({"run": run, "at": at, "place": names.index(current), "conversations": names})
	return points


def read_runs_of_messages(names: list[str], places: list[int]) -> dict[tuple[str, int], str]:
	"""{(conversation, sequence): run}"""
	rows = frappe.get_all(
		"Agent Message",
		{"conversation": ["in", names], "sequence": ["in", places]},
		["conversation", "sequence", "run"],
		order_by="sequence asc",
	)
	return {(row.conversation, row.sequence): row.run for row in rows}
