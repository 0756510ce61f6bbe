"""Public name of the class that makes an Agent record runnable."""

from huf.ai.agents.manager import AgentManager

__all__ = ["AgentManager"]
