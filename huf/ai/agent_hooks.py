"""Public names that `hooks.py` and other apps use for document events."""

from huf.ai.triggers.doc_events import (
	clear_doc_event_agents_cache,
	get_doc_event_agents,
	run_agent_for_doc,
	run_hooked_agents,
)

__all__ = ["clear_doc_event_agents_cache", "get_doc_event_agents", "run_agent_for_doc", "run_hooked_agents"]
