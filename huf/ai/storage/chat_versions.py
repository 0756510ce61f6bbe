"""Versions of a chat: an edited message or regenerated answer continues in a separate conversation.

The versions of a chat share a root, and one of them is listed among the chats. Checks no permissions and
never commits.
"""

import frappe

from huf.ai.storage.chats import CONVERSATION, branch_chat
from huf.ai.storage.rows import update_cached_row

FIELDS = ["name", "title", "version_root", "version_parent", "version_at", "is_superseded"]


def create_version(source, run: str, user: str) -> str:
	"""A new version of a chat with the messages before a run; returns its name.

	It is not listed until `show_version`. A version of another user's chat is an ordinary branch.
	"""
	name = branch_chat(source, run, False, user)
	place = {"conversation": source.name, "run": run}
	at = frappe.db.get_value("Agent Message", place, "sequence", order_by="sequence asc")
	# Positions of messages must match between versions, which an omitted run would break.
	if source.owner == user and frappe.db.count("Agent Message", {"conversation": name}) + 1 == at:
		rows = {row.name: row for row in list_versions_of_chat(source.name)}
		values = {
			"version_root": source.version_root or source.name,
			"version_parent": find_base(rows, source.name, at),
			"version_at": at,
			"is_superseded": 1,
		}
		update_cached_row(CONVERSATION, name, values)
	return name


def find_base(rows: dict, name: str, at: int) -> str:
	"""The conversation whose message at a position the versions of that message replace."""
	while (parent := rows[name].version_parent) in rows and at <= rows[name].version_at:
		name = parent
	return name


def find_version(rows: dict, name: str, at: int) -> str:
	"""The conversation in which a version's message at a position was sent."""
	while (parent := rows[name].version_parent) in rows and at < rows[name].version_at:
		name = parent
	return name


def list_versions_of_chat(name: str) -> list:
	"""The rows of all versions of a chat, including itself, oldest first."""
	root = frappe.db.get_value(CONVERSATION, name, "version_root") or name
	return frappe.get_all(
		CONVERSATION,
		or_filters={"name": root, "version_root": root},
		fields=FIELDS,
		order_by="creation asc, name asc",
		limit_page_length=0,
	)


def show_version(name: str) -> None:
	"""List this version of a chat instead of the others. Shared versions stay listed for their readers."""
	rows = list_versions_of_chat(name)
	listed = [row for row in rows if not row.is_superseded and row.name != name]
	shared = set(find_shared([row.name for row in listed]))
	for row in listed:
		if row.name not in shared:
			update_cached_row(CONVERSATION, row.name, {"is_superseded": 1})
	title = {"title": listed[-1].title} if listed else {}
	update_cached_row(CONVERSATION, name, {"is_superseded": 0, **title})


def find_shared(names: list[str]) -> list[str]:
	filters = {"share_doctype": CONVERSATION, "share_name": ["in", names]}
	return frappe.get_all("DocShare", filters, pluck="share_name", order_by="creation asc")


def show_remaining(name: str) -> None:
	"""Before a version is deleted: list the newest of the others if none is listed."""
	others = [row for row in list_versions_of_chat(name) if row.name != name]
	if others and all(row.is_superseded for row in others):
		update_cached_row(CONVERSATION, others[-1].name, {"is_superseded": 0})
