"""Endpoints of a user's chats: search, branch, share, dictate.

Permissions on the conversation are checked here. A chat can be shared only with users who may use chats.
"""

import frappe
from frappe import _

from huf.ai.chat import transcription
from huf.ai.core.errors import UsageError
from huf.ai.core.request_values import clamp_count, clamp_start, clip_search
from huf.ai.queries import chat_versions, chats
from huf.ai.queries.chats import get_readable_conversation
from huf.ai.storage.chats import (
	branch_chat,
	create_version,
	read_shares,
	share_chat,
	show_version,
	unshare_chat,
)

MAX_ROWS = 100


@frappe.whitelist(methods=["GET"])
def search(text: str, start: int = 0, limit: int = 30):
	"""The user's chats and those shared with them whose title or messages contain the text, newest first.

	Returns [{name, title, agent, modified, total_messages, is_shared, found}]; `found` is an excerpt of the
	message, or None.
	"""
	frappe.has_permission("Agent Conversation", throw=True)
	words = clip_search(text)
	if not words:
		return []
	limit = clamp_count(limit, MAX_ROWS)
	return chats.search_chats(frappe.session.user, words, clamp_start(start), limit)


@frappe.whitelist(methods=["POST"])
def branch(conversation: str, run: str, keep: bool = True):
	"""Start a new chat with the messages before a run and, with `keep`, those of the run.

	Returns its name.
	"""
	source = get_branchable_conversation(conversation)
	return branch_chat(source, run, frappe.utils.sbool(keep) is not False, frappe.session.user)


@frappe.whitelist(methods=["POST"])
def edit(conversation: str, run: str):
	"""Create a version of a chat with the messages before a run, in which another message can be sent.

	Returns its name. It is listed among the chats after `show`; a version of another user's chat is a branch.
	"""
	return create_version(get_branchable_conversation(conversation), run, frappe.session.user)


@frappe.whitelist(methods=["POST"])
def show(conversation: str):
	"""List this version among the user's chats instead of its other versions."""
	doc = get_readable_conversation(conversation)
	doc.check_permission("write")
	if doc.owner == frappe.session.user:
		show_version(doc.name)


@frappe.whitelist(methods=["GET"])
def get_versions(conversation: str):
	"""The messages of a chat that have several versions: [{run, at, place, conversations}]."""
	return chat_versions.list_versions(get_readable_conversation(conversation).name)


def get_branchable_conversation(conversation: str):
	source = get_readable_conversation(conversation)
	if source.channel == "mail":
		raise UsageError(_("An e-mail conversation cannot be branched. Reply in its thread."))
	return source


@frappe.whitelist(methods=["GET"])
def get_shares(conversation: str):
	"""The users a chat is shared with: [{user, full_name, write}]."""
	return read_shares(get_shareable_name(conversation))


@frappe.whitelist(methods=["POST"])
def share(conversation: str, user: str, write: bool = False):
	"""Let a user read a chat, and with `write` continue it. Returns what `get_shares` returns."""
	name = get_shareable_name(conversation)
	# The name as it is stored: some databases ignore upper and lower case.
	wanted = frappe.db.get_value("User", {"name": user.strip(), "enabled": 1}, "name")
	if wanted in (None, "Guest", "Administrator"):
		raise UsageError(
			_("There is no user {0}. Enter the e-mail address they sign in with.").format(repr(user.strip()))
		)
	if wanted == frappe.db.get_value("Agent Conversation", name, "owner"):
		raise UsageError(_("The chat already belongs to {0}.").format(wanted))
	if not frappe.has_permission("Agent Conversation", "read", user=wanted):
		raise UsageError(
			_("{0} may not use the chat. A Huf Manager can assign them the role Huf User.").format(wanted)
		)
	share_chat(name, wanted, frappe.utils.sbool(str(write)) is True)
	return read_shares(name)


@frappe.whitelist(methods=["POST"])
def unshare(conversation: str, user: str):
	"""Stop sharing a chat with a user. Returns what `get_shares` returns."""
	name = get_shareable_name(conversation)
	unshare_chat(name, user)
	return read_shares(name)


def get_shareable_name(conversation: str) -> str:
	"""Its name as it is stored. Raises PermissionError if the user may not share it."""
	doc = get_readable_conversation(conversation)
	doc.check_permission("share")
	return doc.name


@frappe.whitelist(methods=["POST"])
def transcribe(agent: str, sound: str, kind: str):
	"""Transcribe a recording for a message that is being written: {text}.

	`sound` is base64, `kind` its media type.
	"""
	return {"text": transcription.transcribe_recording(agent, sound, kind)}
