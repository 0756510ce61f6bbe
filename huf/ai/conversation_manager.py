"""Public name of the class that stores conversations."""

from huf.ai.storage.conversations import ConversationManager

__all__ = ["ConversationManager"]
