"""REST of a person's chats: found again, branched off, shared with somebody.

Permissions are checked here, on the conversation; whom a chat is shared with must be a user who may chat at all.
"""

import frappe

from huf.ai.chat import transcription
from huf.ai.chat.messages import readable_conversation
from huf.ai.core.errors import UsageError
from huf.ai.queries import chats
from huf.ai.storage.chats import branch_chat, share_chat, shares_of, unshare_chat

MAX_ROWS = 100


@frappe.whitelist(methods=["GET"])
def search(text: str, start: int = 0, limit: int = 30):
	"""One's own chats and those shared with one, by title or by what was said, newest first.

	Gives [{name, title, agent, modified, total_messages, is_shared, found: a piece of the message or none}].
	"""
	frappe.has_permission("Agent Conversation", throw=True)
	words = text.strip()
	return (
		chats.search_chats(frappe.session.user, words, int(start), min(int(limit), MAX_ROWS)) if words else []
	)


@frappe.whitelist(methods=["POST"])
def branch(conversation: str, run: str, keep: bool = True):
	"""A new chat with what was said before a run, and in it unless `keep` is off; gives its name."""
	source = readable_conversation(conversation)
	if source.channel == "mail":
		raise UsageError("A conversation by mail goes on in its thread.")
	return branch_chat(source, run, frappe.utils.sbool(keep) is not False, frappe.session.user)


@frappe.whitelist(methods=["GET"])
def get_shares(conversation: str):
	"""[{user, full_name, write}]"""
	return shares_of(shareable(conversation))


@frappe.whitelist(methods=["POST"])
def share(conversation: str, user: str, write: bool = False):
	"""Let a user read a chat, and go on with it if `write`; gives `get_shares`."""
	name = shareable(conversation)
	wanted = user.strip()
	if wanted in ("Guest", "Administrator") or not frappe.db.get_value("User", wanted, "enabled"):
		raise UsageError(f"There is no user {wanted!r}. Give the e-mail address with which they sign in.")
	if wanted == frappe.db.get_value("Agent Conversation", name, "owner"):
		raise UsageError("It is that user's own already.")
	if not frappe.has_permission("Agent Conversation", "read", user=wanted):
		raise UsageError(f"{wanted} may not use the chat. A Huf Manager can give them the role Huf User.")
	share_chat(name, wanted, frappe.utils.sbool(write) is True)
	return shares_of(name)


@frappe.whitelist(methods=["POST"])
def unshare(conversation: str, user: str):
	"""Take it back; gives `get_shares`."""
	name = shareable(conversation)
	unshare_chat(name, user)
	return shares_of(name)


def shareable(conversation: str) -> str:
	doc = readable_conversation(conversation)
	doc.check_permission("share")
	return doc.name


@frappe.whitelist(methods=["POST"])
def transcribe(agent: str, sound: str, kind: str):
	"""The words of a recording (base64, of the media type `kind`), for the message that is being written: {text}."""
	return {"text": transcription.transcribe(agent, sound, kind)}
