"""Branches and shares chats. Checks no permissions and never commits."""

import frappe
from frappe.share import add_docshare, remove

from huf.ai.core.errors import UsageError
from huf.ai.storage.conversations import ConversationManager
from huf.ai.storage.history import MESSAGE_FIELDS
from huf.ai.storage.leases import read_open_runs
from huf.ai.storage.message_files import copy_files
from huf.ai.storage.untrusted_records import mark_conversations

CHAT = "chat"
CONVERSATION = "Agent Conversation"
COPIED = [field for field in MESSAGE_FIELDS if field != "sequence"]


def branch_chat(source, run: str, keep: bool, user: str) -> str:
	"""A new chat of the user with the messages before a run, and those of the run if `keep`; returns its
	name.

	The messages still name their runs: data that these have read counts in the branch as well. Raises
	UsageError.
	"""
	of_run = {"conversation": source.name, "run": run}
	order = "sequence desc" if keep else "sequence asc"
	border = frappe.get_all("Agent Message", of_run, pluck="sequence", order_by=order, limit=1)
	if not border:
		raise UsageError("This message is no longer part of the conversation. Reload the page.")
	if keep and not frappe.db.get_value("Agent Run", run, "ended_at"):
		raise UsageError("Wait until the run has ended, or stop it.")
	filters = {"conversation": source.name, "sequence": ["<=" if keep else "<", border[0]]}
	rows = frappe.get_all("Agent Message", filters, COPIED, order_by="sequence asc", limit_page_length=0)
	# Leave out runs that have not ended: their answers will go to the original chat.
	not_ended = set(read_open_runs(source.name))
	rows = [row for row in rows if row.run not in not_ended]
	manager = ConversationManager(source.agent, CHAT, frappe.generate_hash(length=10), user)
	manager.conversation = manager.create_conversation(source.title)
	mark_conversations([manager.conversation], (source.origin or "").splitlines())
	for row in rows:
		row.attachments = copy_files(manager.conversation, row.attachments, user)
	if rows:
		manager.add_messages([dict(row) for row in rows])
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
