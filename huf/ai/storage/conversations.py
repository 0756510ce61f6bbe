"""Conversations: found or begun, appended to, and read back as a model's history.

The only writer of Agent Conversation rows and Agent Message rows during a run. Never commits on its own but in
`persist_conversation`.
"""

import json
from collections.abc import Sequence

import frappe
from frappe.utils import now

from huf.ai.core.attachments import NO_FILES, MessageFiles, read_message_files
from huf.ai.core.errors import UsageError
from huf.ai.core.types import ModelReply, ToolResult
from huf.ai.storage.rows import digest, insert_row, insert_rows

MAX_TITLE_CHARS = 60
ROLES = {"user": "user", "agent": "assistant", "system": "system"}


SHARED_OWNER = "Administrator"
"""Owns the conversations that no user has to themselves: only those who may see every conversation see them."""


class ConversationManager:
	"""One agent's conversation with one counterpart: `session_id` is "channel:external_id or user".

	A `shared` one is nobody's own: every user's runs of the session go on in it.
	"""

	def __init__(
		self,
		agent_name: str,
		channel: str = "api",
		external_id: str | None = None,
		user: str | None = None,
		shared: bool = False,
	):
		self.agent_name, self.channel, self.external_id = agent_name, channel, external_id
		self.user = user or frappe.session.user
		self.owner = SHARED_OWNER if shared else self.user
		self.session_id = f"{channel}:{external_id or self.user}"
		self.conversation: str | None = None

	def get_or_create_conversation(
		self, conversation: str | None = None, title: str = "", persist: bool = True
	) -> str:
		"""Name of the conversation: the one named, else the session's active one, else a new one.

		Raises PermissionError for a conversation that is not the user's, UsageError for another agent's.
		"""
		if conversation:
			self.conversation = self.check_conversation(conversation)
		else:
			self.conversation = self.find_or_begin(title) if persist else self.begin(title)
		return self.conversation

	def check_conversation(self, name: str) -> str:
		row = frappe.db.get_value("Agent Conversation", name, ["agent", "owner"], as_dict=True)
		if not row or not frappe.has_permission(
			"Agent Conversation", "write", doc=frappe.get_doc("Agent Conversation", name), user=self.user
		):
			raise frappe.PermissionError(f"There is no conversation {name!r} that you may write to.")
		if row.agent != self.agent_name:
			raise UsageError(
				f"Conversation {name} is with {row.agent}. Start a new one to talk to {self.agent_name}."
			)
		return name

	def find_or_begin(self, title: str) -> str:
		"""The newest active conversation of this session, or a new one; two who begin at once begin the same.

		Only the user's own, or a shared one. A new one is committed at once.
		"""
		# One read for both questions: the name of a new one is made of the one before it.
		known = frappe.get_all(
			"Agent Conversation",
			filters={"agent": self.agent_name, "session_id": self.session_id, "owner": self.owner},
			fields=["name", "is_active"],
			order_by="creation desc, name desc",
		)
		if active := next((row.name for row in known if row.is_active), None):
			return active
		before = known[0].name if known else ""
		name = self.begin(title, digest(self.agent_name, self.session_id, self.owner, before))
		# Who finds the row there shares a lock on it, and would wait for the others to let go of theirs.
		self.persist_conversation()
		return name

	def begin(self, title: str, name: str | None = None) -> str:
		row = {
			"title": shorten_title(title) or self.agent_name,
			"agent": self.agent_name,
			"session_id": self.session_id,
			"channel": self.channel,
			"external_id": self.external_id,
			"is_active": 1,
			"total_messages": 0,
		}
		return insert_row("Agent Conversation", row, self.owner, name)

	def add_message(
		self,
		role: str,
		content: str,
		kind: str = "Message",
		run: str | None = None,
		step: int = 0,
		message_files: MessageFiles = NO_FILES,
	) -> None:
		self.add_messages([build_message_row(role, content, kind, step) | message_files.as_row], run)

	def add_messages(self, messages: list[dict], run: str | None = None) -> None:
		"""Append rows in order, in three statements however many they are; none where the conversation was deleted."""
		frappe.db.sql(
			"update `tabAgent Conversation` set total_messages = total_messages + %s, modified = %s where name = %s",
			(len(messages), now(), self.conversation),
		)
		# Read after the update: it holds the row until the commit, so no other run takes the same places.
		total = frappe.db.get_value("Agent Conversation", self.conversation, "total_messages")
		if total is None:
			return
		first = total - len(messages) + 1
		rows = [
			{"conversation": self.conversation, "run": run, "sequence": first + place, **each}
			for place, each in enumerate(messages)
		]
		insert_rows("Agent Message", rows, owner=self.user)

	def add_step(self, run: str, step: int, reply: ModelReply, tool_results: list[ToolResult]) -> None:
		"""What a step said, asked for and saw: text first, then each call with its result behind it."""
		rows = [build_message_row("agent", reply.text, "Message", step)] if reply.text else []
		for seen in tool_results:
			request = seen.call.request
			call = {
				"id": request.id,
				"name": request.name,
				"arguments": request.arguments if seen.call.arguments is None else seen.call.arguments,
			}
			named = {"tool_name": request.name, "tool_call_id": request.id}
			rows.append(
				{
					**build_message_row("agent", json.dumps(call, ensure_ascii=False), "Tool Call", step),
					**named,
				}
			)
			rows.append({**build_message_row("system", seen.shown, "Tool Result", step), **named})
		self.add_messages(rows, run)

	def get_conversation_history(self, limit: int = 20, without: Sequence[str] = ()) -> list[dict]:
		"""The last `limit` messages (but those of some runs) in OpenAI's form, oldest first, each once.

		Calls stand together with their results.
		"""
		# Errors are for the reader: a model that saw its failures would go on talking about them.
		filters = {"conversation": self.conversation, "kind": ["!=", "Error"]}
		if without:
			filters["run"] = ["not in", list(without)]
		rows = frappe.get_all(
			"Agent Message",
			filters=filters,
			fields=["role", "kind", "content", "run", "step", "tool_call_id"],
			order_by="sequence desc",
			limit=limit,
		)
		return to_model_messages(rows[::-1])

	def persist_conversation(self) -> None:
		"""Commit, so that other connections and open pages see what was said."""
		frappe.db.commit()


def build_message_row(role: str, content: str, kind: str = "Message", step: int = 0) -> dict:
	return {
		"role": role,
		"content": content,
		"kind": kind,
		"step": step,
		"tool_name": None,
		"tool_call_id": None,
	}


def shorten_title(text: str) -> str:
	line = " ".join((text or "").split())
	return line if len(line) <= MAX_TITLE_CHARS else line[: MAX_TITLE_CHARS - 1].rstrip() + "…"


def to_model_messages(rows: list, with_files: bool = False) -> list[dict]:
	"""Rows of Agent Message as a model's messages; `with_files`: with what it is told of attached files.

	The calls of one step become one assistant message with the results behind it. A call or result whose counterpart
	is not among the rows is left out: providers refuse halves.
	"""
	results = {
		(row.run, row.step, row.tool_call_id): row.content for row in rows if row.kind == "Tool Result"
	}
	history: list[dict] = []
	open_step = None
	pending: list[dict] = []
	for row in rows:
		key = (row.run, row.step)
		if row.kind == "Tool Call" and (*key, row.tool_call_id) in results:
			if open_step != key:
				history += pending
				pending, open_step = [], key
				history.append(take_assistant_message(history, row))
			history[-1]["tool_calls"].append(to_openai_call(row))
			pending.append(
				{
					"role": "tool",
					"tool_call_id": row.tool_call_id,
					"content": results[(*key, row.tool_call_id)],
				}
			)
		elif row.kind == "Message":
			history += pending
			pending, open_step = [], None
			told = read_message_files(row).to_message(row.content) if with_files else {"content": row.content}
			history.append({**told, "role": ROLES[row.role], "step": key})
	history += pending
	return [{key: value for key, value in each.items() if key != "step"} for each in history]


def take_assistant_message(history: list[dict], row) -> dict:
	"""The assistant message that carries a step's calls: the step's text if it had one."""
	said = history.pop()["content"] if history and history[-1].get("step") == (row.run, row.step) else None
	return {"role": "assistant", "content": said, "tool_calls": [], "step": None}


def to_openai_call(row) -> dict:
	call = json.loads(row.content)
	arguments = call["arguments"]
	text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
	return {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": text}}
