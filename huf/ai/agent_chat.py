"""Public REST methods of the chat page."""

from huf.ai.chat.messages import get_agent_chat_messages, send_agent_chat_message

__all__ = ["get_agent_chat_messages", "send_agent_chat_message"]
