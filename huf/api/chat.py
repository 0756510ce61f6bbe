"""REST of the chat page. Permissions are checked by what these call."""

import frappe

from huf.ai.agent_chat import CHANNEL, stream_chat
from huf.api.sse import stream_response


@frappe.whitelist(methods=["POST"])
def stream(agent: str, prompt: str, conversation: str | None = None):
	"""Say something; the run's events come as text/event-stream (see `huf.ai.types.EventKind`)."""
	return stream_response(stream_chat(agent, prompt, conversation))


@frappe.whitelist(methods=["GET"])
def get_conversations(agent: str | None = None, start: int = 0, limit: int = 30):
	"""The user's own chats, newest first: [{name, title, agent, modified, total_messages}]."""
	filters = {"channel": CHANNEL, "owner": frappe.session.user}
	if agent:
		filters["agent"] = agent
	return frappe.get_list(
		"Agent Conversation",
		filters=filters,
		fields=["name", "title", "agent", "modified", "total_messages"],
		order_by="modified desc",
		limit_start=start,
		limit_page_length=min(limit, 100),
	)


@frappe.whitelist(methods=["POST"])
def rename_conversation(conversation: str, title: str):
	doc = frappe.get_doc("Agent Conversation", conversation)
	doc.check_permission("write")
	doc.title = title.strip()[:140] or doc.title
	doc.save()
	return doc.title


@frappe.whitelist(methods=["POST"])
def delete_conversation(conversation: str):
	frappe.delete_doc("Agent Conversation", conversation)
