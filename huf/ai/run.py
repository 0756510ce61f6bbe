"""Public name of the provider routing: from a provider's name to the module that runs an agent with it."""

from huf.ai.runs.provider import RunProvider

__all__ = ["RunProvider"]
