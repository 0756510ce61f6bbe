"""Finds, creates and extends conversations, and reads them back as messages for a model.

The only writer of Agent Message rows during a run. Nothing here commits, except `create_chosen` and
`persist_conversation`.
"""

import json
import time
from collections.abc import Sequence
from typing import Any

import frappe
from frappe import _
from frappe.utils import now

from huf.ai.core.attachments import NO_FILES, MessageFiles
from huf.ai.core.errors import UsageError
from huf.ai.core.stored_text import MAX_ID_CHARS, clip, clip_line, digest, shorten_id
from huf.ai.core.types import ModelReply, ToolResult
from huf.ai.storage.leases import claim_conversation, read_active_run
from huf.ai.storage.message_rows import ROLES, read_message_rows, sort_by_run, to_model_messages
from huf.ai.storage.rows import insert_row, insert_rows

MAX_TITLE_CHARS = 60
MESSAGES_AFTER_S = 1.0
"""How long the messages of a step may wait to be written with the next step's. Until then the journal has
them.
"""
SHARED_OWNER = "Administrator"
"""Owner of shared conversations, so that only users who may see every conversation see them."""


class ConversationManager:
	"""An agent's conversation in one session. `session_id` is "channel:external_id", or "channel:user".

	A `shared` conversation belongs to no user: the runs of all users of the session continue it.
	`conversation`: its name, where it is known.
	"""

	def __init__(
		self,
		agent_name: str,
		channel: str = "api",
		external_id: str | None = None,
		user: str | None = None,
		shared: bool = False,
		conversation: str | None = None,
	):
		self.agent_name, self.channel = agent_name, shorten_id(channel)
		self.external_id = shorten_id(external_id) if external_id else external_id
		self.user = user or frappe.session.user
		self.owner = SHARED_OWNER if shared else self.user
		self.session_id = shorten_id(f"{channel}:{external_id or self.user}")
		self.conversation = conversation
		self.is_new, self.row = False, dict[str, Any]()
		self.is_of_other = False
		self.steps: list[dict] = []
		self.steps_since = 0.0

	def get_or_create_conversation(self, title: str = "") -> str:
		"""Name of the session's active conversation. A new one is committed."""
		name = self.choose_conversation(None, title)
		self.create_chosen()
		return name

	def choose_conversation(
		self, conversation: str | None, title: str, persist: bool = True, is_active: bool = True
	) -> str:
		"""Name of the conversation: the given one, else the session's active one if `persist`, else a new
		one, which later requests of the session continue if it `is_active`.

		Writes nothing: `create_chosen` or `claim` creates a new conversation. Raises PermissionError for a
		conversation the user may not write to, UsageError for another agent's.
		"""
		self.is_new = False
		if conversation:
			self.conversation = self.check_conversation(conversation)
			return self.conversation
		self.is_new, self.conversation = (
			self.find_active() if persist else (True, frappe.generate_hash(length=10))
		)
		self.row = self.build_row(title, is_active)
		return self.conversation

	def create_chosen(self) -> None:
		"""Create the chosen conversation if it is new, and commit.

		An insert that finds the row takes a shared lock until then, which blocks others' updates.
		"""
		if self.is_new:
			insert_row("Agent Conversation", self.row, self.owner, self.conversation)
			self.is_new = False
			frappe.db.commit()

	def claim(self, run: str) -> bool:
		"""Make `run` the active run of the chosen conversation; False while another one is. Does not commit.

		After False, end the transaction: an insert that found the row holds a shared lock on it.
		"""
		if not self.is_new:
			return claim_conversation(self.conversation or "", run)
		insert_row("Agent Conversation", {**self.row, "active_run": run}, self.owner, self.conversation)
		self.is_new = False
		return read_active_run(self.conversation or "") == run

	def check_conversation(self, name: str) -> str:
		row = frappe.db.get_value("Agent Conversation", name, ["agent", "owner"], as_dict=True)
		if not row or not frappe.has_permission(
			"Agent Conversation", "write", doc=frappe.get_doc("Agent Conversation", name), user=self.user
		):
			raise frappe.PermissionError(
				_("There is no conversation {0} that you may write to. It may have been deleted.").format(
					repr(name)
				)
			)
		if row.agent != self.agent_name:
			raise UsageError(
				f"Conversation {name} is with {row.agent}. Start a new one to talk to {self.agent_name}."
			)
		self.is_of_other = row.owner != self.user
		return name

	def find_active(self) -> tuple[bool, str]:
		"""(False, the newest active conversation of this session and owner) or (True, the name of a new one).

		A new name derives from the conversation before it, so that two workers create the same row.
		"""
		session = (self.agent_name, self.session_id, self.owner)
		newest = frappe.db.sql(
			"""select name, is_active from `tabAgent Conversation`
			where agent = %s and session_id = %s and owner = %s
			order by is_active desc, creation desc, name desc limit 1""",
			session,
		)
		name, is_active = newest[0] if newest else ("", 0)
		return (False, name) if is_active else (True, digest(*session, name))

	def create_conversation(self, title: str) -> str:
		return insert_row("Agent Conversation", self.build_row(title), self.owner)

	def build_row(self, title: str, is_active: bool = True) -> dict:
		return {
			"title": clip_line(title or "", MAX_TITLE_CHARS) or self.agent_name,
			"agent": self.agent_name,
			"session_id": self.session_id,
			"channel": self.channel,
			"external_id": self.external_id,
			"is_active": int(is_active),
			"total_messages": 0,
		}

	def add_message(
		self,
		role: str,
		content: str,
		kind: str = "Message",
		run: str | None = None,
		message_files: MessageFiles = NO_FILES,
	) -> None:
		"""Append a message. Raises UsageError for a role that a history cannot have."""
		if role not in ROLES:
			raise UsageError(f"The role of a message is one of {', '.join(ROLES)}.")
		attached = message_files.as_row if message_files.files else {}
		self.add_messages([build_message_row(role, content, kind) | attached], run)

	def add_messages(self, messages: list[dict], run: str | None = None) -> None:
		"""Append rows in order with a few statements. Does nothing if the conversation was deleted."""
		# A new conversation of the session may have the name of the deleted one, with which a run that is
		# still ending began.
		row = run and frappe.db.get_value("Agent Run", run, ["name", "conversation"], for_update=True)
		if row and row[1] != self.conversation:
			return
		frappe.db.sql(
			"""update `tabAgent Conversation` set total_messages = total_messages + %s, modified = %s
			where name = %s""",
			(len(messages), now(), self.conversation),
		)
		# The update locks the row until the commit, so no other run gets the same sequence numbers.
		total = frappe.db.get_value("Agent Conversation", self.conversation, "total_messages")
		if total is None:
			return
		first = total - len(messages) + 1
		rows = [
			{"conversation": self.conversation, "run": run, "sequence": first + place, **each}
			for place, each in enumerate(messages)
		]
		insert_rows("Agent Message", rows, owner=self.user)

	def remove_messages(self, run: str) -> None:
		"""Remove a run's messages because another run answers instead. Does not commit."""
		# Branches keep their copies.
		frappe.db.delete("Agent Message", {"run": run, "conversation": self.conversation})
		# One statement, so that another run's messages are not counted twice.
		frappe.db.sql(
			"""update `tabAgent Conversation` set total_messages = (
			select coalesce(max(sequence), 0) from `tabAgent Message` where conversation = %(name)s)
			where name = %(name)s""",
			{"name": self.conversation},
		)

	@property
	def is_due(self) -> bool:
		"""Whether pending steps should be written now, so that readers of the conversation see them."""
		return bool(self.steps) and time.monotonic() - self.steps_since > MESSAGES_AFTER_S

	def add_step(self, step: int, reply: ModelReply, tool_results: list[ToolResult]) -> None:
		"""Keep a step for `write_steps`: its text, then each tool call followed by its result."""
		rows = [build_message_row("agent", reply.text, "Message", step)] if reply.text else []
		for result in tool_results:
			request, arguments = result.call.request, result.call.arguments
			call = {
				"id": request.id,
				"name": request.name,
				"arguments": request.arguments if arguments is None else arguments,
			}
			text = json.dumps(call, ensure_ascii=False)
			named = {"tool_name": clip(request.name, MAX_ID_CHARS), "tool_call_id": shorten_id(request.id)}
			rows += [
				{**build_message_row("agent", text, "Tool Call", step), **named},
				{**build_message_row("system", result.display_text, "Tool Result", step), **named},
			]
		self.steps_since = self.steps_since if self.steps else time.monotonic()
		self.steps += rows

	def write_steps(self, run: str, *last: dict) -> None:
		"""Write the pending steps, then the `last` messages. The caller clears `steps` after the commit."""
		if rows := [*self.steps, *last]:
			self.add_messages(rows, run)

	def get_conversation_history(self, limit: int = 20, without: Sequence[str] = ()) -> list[dict]:
		"""The last `limit` messages in OpenAI's format, oldest first, except those of the runs `without`.

		Tool calls are kept together with their results.
		"""
		rows = read_message_rows(self.conversation or "", 0, without, "sequence desc", limit)[::-1]
		# Leave out messages that the retention policy has blanked.
		return to_model_messages(sort_by_run([row for row in rows if row.content is not None]))

	def persist_conversation(self) -> None:
		"""Commit, so that other connections and open pages see the messages."""
		frappe.db.commit()


def build_message_row(role: str, content: str, kind: str = "Message", step: int = 0) -> dict:
	"""Fields of an Agent Message row; all kinds have the same keys."""
	return {
		"role": role,
		"content": content,
		"kind": kind,
		"step": step,
		"tool_name": None,
		"tool_call_id": None,
	}
