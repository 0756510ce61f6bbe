"""The idempotency key of the tool call that is being made, for tools that pass it on."""

from contextvars import ContextVar

CALL_KEY: ContextVar[str | None] = ContextVar("huf_call_key", default=None)
"""Each of several calls that run side by side sees its own."""
