"""Branches, shares and versions of chats. Checks no permissions and never commits.

An edited message or a regenerated answer continues in a separate conversation. The versions of a chat share a
root, and one of them is listed among the chats.
"""

import frappe
from frappe import _
from frappe.share import add_docshare, remove

from huf.ai.core.errors import UsageError
from huf.ai.storage.conversations import ConversationManager
from huf.ai.storage.leases import read_open_runs
from huf.ai.storage.message_files import copy_files
from huf.ai.storage.message_rows import MESSAGE_FIELDS, sort_by_run
from huf.ai.storage.rows import update_cached_row
from huf.ai.storage.untrusted_records import OTHERS, mark_conversations

CHAT = "chat"
CONVERSATION = "Agent Conversation"
COPIED = [field for field in MESSAGE_FIELDS if field != "sequence"]
FIELDS = ["name", "title", "version_root", "version_parent", "version_at", "is_superseded"]


def branch_chat(source, run: str, keep: bool, user: str) -> str:
	"""A new chat of the user with the messages before a run, and those of the run if `keep`; returns its
	name.

	A run that was queued begins after the answers of the runs before it, although its prompt stands before
	them. The copies name the runs of the messages, so what those runs have read counts as read in the branch.
	Raises UsageError.
	"""
	filters = {"conversation": source.name}
	rows = sort_by_run(frappe.get_all("Agent Message", filters, MESSAGE_FIELDS, order_by="sequence asc"))
	places = [place for place, row in enumerate(rows) if row.run == run]
	if not places:
		raise UsageError(_("This message is no longer part of the conversation. Reload the page."))
	if keep and not frappe.db.get_value("Agent Run", run, "ended_at"):
		raise UsageError(_("Wait until the run has ended, or stop it."))
	before = rows[: places[-1] + 1 if keep else places[0]]
	# Leave out runs that have not ended: their answers will go to the original chat.
	not_ended = set(read_open_runs(source.name))
	rows = sorted((row for row in before if row.run not in not_ended), key=lambda row: row.sequence)
	manager = ConversationManager(source.agent, CHAT, frappe.generate_hash(length=10), user)
	manager.conversation = manager.create_conversation(source.title)
	of_others = [OTHERS] if source.owner != user else []
	mark_conversations([manager.conversation], [*(source.origin or "").splitlines(), *of_others])
	for row in rows:
		row.attachments = copy_files(manager.conversation, row.attachments, user)
	if rows:
		manager.add_messages([{field: row[field] for field in COPIED} for row in rows])
	return manager.conversation


def read_shares(conversation: str) -> list:
	"""The users a conversation is shared with: [{user, full_name, write}]."""
	rows = frappe.get_all(
		"DocShare",
		{"share_doctype": CONVERSATION, "share_name": conversation, "everyone": 0},
		["user", "write"],
		order_by="creation asc",
	)
	return [{**row, "full_name": frappe.utils.get_fullname(row.user)} for row in rows]


def share_chat(conversation: str, user: str, write: bool) -> None:
	add_docshare(CONVERSATION, conversation, user, write=int(write), flags={"ignore_share_permission": True})


def unshare_chat(conversation: str, user: str) -> None:
	remove(CONVERSATION, conversation, user, flags={"ignore_permissions": True})


def is_run_of_chat(run: str) -> bool:
	"""Whether a person in a chat waits for the run's answer."""
	conversation = frappe.db.get_value("Agent Run", run, "conversation")
	return frappe.db.get_value("Agent Conversation", conversation, "channel") == CHAT


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
