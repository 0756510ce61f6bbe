"""Lists and searches a user's chats: their own and those shared with them."""

import frappe
from frappe import _
from frappe.share import get_shared

CHAT = "chat"
CONVERSATION = "Agent Conversation"
EXCERPT_MARGIN_CHARS = 70
"""Characters of a message before and after a match."""


def list_chats(user: str, agent: str | None, start: int, limit: int) -> list:
	"""Chats, newest first: [{name, title, agent, modified, total_messages, is_shared}]."""
	filters = {"channel": CHAT, "is_superseded": 0, **({"agent": agent} if agent else {})}
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
	return [mark_shared(row, user) for row in rows]


def mark_shared(row, user: str):
	row.is_shared = row.pop("owner") != user
	return row


def search_chats(user: str, words: str, start: int, limit: int) -> list:
	"""Like `list_chats`, with `found`: an excerpt of the newest message that contains the words, or None."""
	like = f"%{escape_like(words.lower())}%"
	messages = """select {} from `tabAgent Message` message where message.conversation = chat.name
		and message.kind = 'Message' and lower(message.content) like %(like)s escape '!'"""
	rows = frappe.db.sql(
		f"""select chat.name, chat.title, chat.agent, chat.modified, chat.total_messages, chat.owner,
			({messages.format("message.content")} order by message.sequence desc limit 1) as found
		from `tabAgent Conversation` chat
		where chat.channel = %(channel)s and (chat.owner = %(user)s or chat.name in %(shared)s)
			and (lower(chat.title) like %(like)s escape '!' or exists ({messages.format("1")}))
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
		row.found = find_excerpt(row.found, words)
	return [mark_shared(row, user) for row in rows]


def escape_like(words: str) -> str:
	for sign in "!%_":
		words = words.replace(sign, f"!{sign}")
	return words


def find_excerpt(text: str | None, words: str) -> str | None:
	line = " ".join((text or "").split())
	place = line.lower().find(" ".join(words.lower().split()))
	if place < 0:
		return None
	start, end = max(0, place - EXCERPT_MARGIN_CHARS), place + len(words) + EXCERPT_MARGIN_CHARS
	return f"{'…' if start else ''}{line[start:end].strip()}{'…' if end < len(line) else ''}"


def get_readable_conversation(name: str):
	doc = frappe.get_doc("Agent Conversation", name) if frappe.db.exists("Agent Conversation", name) else None
	if not doc or not doc.has_permission("read"):
		raise frappe.PermissionError(_("There is no conversation {0} that you may read.").format(repr(name)))
	return doc
