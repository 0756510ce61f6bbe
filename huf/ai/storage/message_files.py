"""Attaches files to conversations: with a message, copied into a branch, deleted with a run's contents.

The only writer of these attachments. Frappe lets everyone who may read a conversation read its files, and
deletes them with it. Checks no permissions and never commits.
"""

import json
from dataclasses import asdict, replace

import frappe

from huf.ai.core.attachments import MessageFile, MessageFiles, parse_attachments
from huf.ai.storage.rows import insert_row, update_cached_row

CONVERSATION = "Agent Conversation"
COPIED = ["file_name", "file_url", "file_size", "file_type", "content_hash", "is_private", "folder"]


def attach_files(conversation: str, message_files: MessageFiles, user: str) -> MessageFiles:
	"""Attach files to the conversation and return the attached ones."""
	return replace(
		message_files, files=tuple(attach_file(conversation, each, user) for each in message_files.files)
	)


def attach_file(conversation: str, file: MessageFile, user: str) -> MessageFile:
	"""Attach a File that the user uploaded for this conversation, or a copy of any other File."""
	fields = ["owner", "attached_to_doctype", "attached_to_name"]
	row = frappe.db.get_value("File", file.name, fields, as_dict=True)
	if (row.attached_to_doctype, row.attached_to_name) == (CONVERSATION, conversation):
		return file
	if row.owner == user and not row.attached_to_doctype:
		update_cached_row("File", file.name, attachment_fields(conversation))
		return file
	return copy_file(conversation, file, user)


def copy_file(conversation: str, file: MessageFile, user: str) -> MessageFile:
	"""A new File with the same contents, which Frappe deletes with the last File that has them."""
	row = frappe.db.get_value("File", file.name, COPIED, as_dict=True)
	if not row:
		return file
	return replace(file, name=insert_row("File", {**row, **attachment_fields(conversation)}, user))


def attachment_fields(conversation: str) -> dict:
	return {"attached_to_doctype": CONVERSATION, "attached_to_name": conversation}


def copy_files(conversation: str, attachments: str | None, user: str) -> str | None:
	"""Copy the files of a message into another conversation and return the field `attachments`."""
	files = [copy_file(conversation, each, user) for each in parse_attachments(attachments)]
	return json.dumps([asdict(each) for each in files], ensure_ascii=False) if files else None


def delete_message_files(messages: dict) -> None:
	"""Delete the files attached to the messages that match these filters."""
	for file in read_files(messages):
		if frappe.db.exists("File", file.name):
			frappe.delete_doc("File", file.name, ignore_permissions=True, delete_permanently=True)


def read_conversation_files(conversation: str) -> list[MessageFile]:
	"""All files of a conversation, in the order of its messages."""
	return read_files({"conversation": conversation})


def read_files(filters: dict) -> list[MessageFile]:
	filters = {**filters, "attachments": ["is", "set"]}
	rows = frappe.get_all("Agent Message", filters, pluck="attachments", order_by="sequence asc")
	return [each for attachments in rows for each in parse_attachments(attachments)]
