"""A person's chats, their own and those shared with them: listed and searched."""

import frappe
from frappe.share import get_shared

CHAT = "chat"
CONVERSATION = "Agent Conversation"
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
