"""Chooses mode and model tier of a request by its task, for agents that are configured to do so."""

from dataclasses import replace

from huf.ai.core.settings import find_cached, get_settings
from huf.ai.core.types import AgentRequest
from huf.ai.routing.tiers import choose_task


def route_task(request: AgentRequest) -> AgentRequest:
	"""The routed request. A mode or model that was already chosen is kept."""
	agent = find_cached("Agent", request.agent)
	if not agent or not agent.choose_by_task or request.mode or request.model:
		return request
	task = choose_task(request.prompt or "", get_settings().cloud_tasks)
	return replace(request, mode=task.mode, tier=task.tier)
