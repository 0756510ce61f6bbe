"""Chats as a person has them: one's own and those shared with one, searched, branched off and shared.

The only writer of what a branch begins with, and of who else may read a chat. Checks no permissions and never commits.
"""

import frappe
from frappe.share import add_docshare, get_shared, remove

from huf.ai.conversation_manager import ConversationManager
from huf.ai.errors import UsageError
from huf.ai.records.attached import copy_all
from huf.ai.records.leases import open_runs

CHAT = "chat"
CONVERSATION = "Agent Conversation"
COPIED = [
	"role",
	"kind",
	"content",
	"run",
	"step",
	"tool_name",
	"tool_call_id",
	"attachments",
	"attached_text",
]
AROUND = 70
"""Characters of a message that are shown on each side of what was found in it."""


def list_chats(user: str, agent: str | None, start: int, limit: int) -> list:
	"""Newest first: [{name, title, agent, modified, total_messages, is_shared}]."""
	filters = {"channel": CHAT, **({"agent": agent} if agent else {})}
	mine = [["owner", "=", user]]
	if shared := get_shared(CONVERSATION, user):
		mine.append(["name", "in", shared])
	rows = frappe.get_list(
		CONVERSATION,
		filters=filters,
		or_filters=mine,
		fields=["name", "title", "agent", "modified", "total_messages", "owner"],
		order_by="modified desc",
		limit_start=start,
		limit_page_length=limit,
	)
	return [with_share(row, user) for row in rows]


def with_share(row, user: str):
	row.is_shared = row.pop("owner") != user
	return row


def search_chats(user: str, words: str, start: int, limit: int) -> list:
	"""As `list_chats`, with `found`: what surrounds the words in the newest message that has them, or none."""
	like = f"%{escape_like(words.lower())}%"
	said = """select {} from `tabAgent Message` said where said.conversation = chat.name and said.kind = 'Message'
		and lower(said.content) like %(like)s escape '!'"""
	rows = frappe.db.sql(
		f"""select chat.name, chat.title, chat.agent, chat.modified, chat.total_messages, chat.owner,
			({said.format("said.content")} order by said.sequence desc limit 1) as found
		from `tabAgent Conversation` chat
		where chat.channel = %(channel)s and (chat.owner = %(user)s or chat.name in %(shared)s)
			and (lower(chat.title) like %(like)s escape '!' or exists ({said.format("1")}))
		order by chat.modified desc limit %(limit)s offset %(start)s""",
		{
			"like": like,
			"channel": CHAT,
			"user": user,
			"shared": tuple(get_shared(CONVERSATION, user)) or ("",),
			"limit": limit,
			"start": start,
		},
		as_dict=True,
	)
	for row in rows:
		row.found = around(row.found, words)
	return [with_share(row, user) for row in rows]


def escape_like(words: str) -> str:
	for sign in "!%_":
		words = words.replace(sign, f"!{sign}")
	return words


def around(text: str | None, words: str) -> str | None:
	line = " ".join((text or "").split())
	place = line.lower().find(" ".join(words.lower().split()))
	if place < 0:
		return None
	start, end = max(0, place - AROUND), place + len(words) + AROUND
	return f"{'…' if start else ''}{line[start:end].strip()}{'…' if end < len(line) else ''}"


def branch_chat(source, run: str, keep: bool, user: str) -> str:
	"""A new chat of the user with what was said before a run and, if it is kept, in it; gives its name.

	The messages still name their runs: what these have read counts in the branch as well. Raises UsageError.
	"""
	of_run = {"conversation": source.name, "run": run}
	order = "sequence desc" if keep else "sequence asc"
	border = frappe.get_all("Agent Message", of_run, pluck="sequence", order_by=order, limit=1)
	if not border:
		raise UsageError("That is no longer a part of this conversation.")
	if keep and not frappe.db.get_value("Agent Run", run, "ended_at"):
		raise UsageError("Wait until the run has ended, or stop it.")
	filters = {"conversation": source.name, "sequence": ["<=" if keep else "<", border[0]]}
	rows = frappe.get_all("Agent Message", filters, COPIED, order_by="sequence asc", limit_page_length=0)
	# What is still to be answered stays behind: its answer is not for the branch.
	going_on = set(open_runs(source.name))
	rows = [row for row in rows if row.run not in going_on]
	manager = ConversationManager(source.agent, CHAT, frappe.generate_hash(length=10), user)
	manager.conversation = manager.begin(source.title)
	for row in rows:
		row.attachments = copy_all(manager.conversation, row.attachments, user)
	if rows:
		manager.add_messages([dict(row) for row in rows])
	return manager.conversation


def shares_of(conversation: str) -> list:
	"""With whom it is shared: [{user, full_name, write}]."""
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
