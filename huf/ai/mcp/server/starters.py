"""Offers the conversation starters of agents as prompts."""

from collections.abc import Sequence

from mcp.server.context import HandlerResult, ServerRequestContext
from mcp_types import GetPromptRequestParams, GetPromptResult, Prompt, PromptMessage, TextContent

from huf.ai.core.field_values import split_lines
from huf.ai.mcp.server.catalog import Catalog
from huf.ai.mcp.server.servers import list_agents
from huf.ai.mcp.server.tools import name_of_agent


class Starters(Catalog):
	def list_starters(self) -> dict[str, tuple[str, str]]:
		"""{prompt name: (the agent's tool, the starter)}."""
		found: dict[str, tuple[str, str]] = {}
		for agent in list_agents(self.offer):
			tool = name_of_agent(agent.name)
			lines = enumerate(split_lines(agent.starters), 1)
			found |= {f"{tool}_{number}": (tool, line) for number, line in lines}
		return found

	def list_prompts(self) -> Sequence[Prompt]:
		return [
			Prompt(name=name, title=starter, description=f"With {tool}: {starter}")
			for name, (tool, starter) in self.list_starters().items()
		]

	async def get_prompt(self, ctx: ServerRequestContext, params: GetPromptRequestParams) -> HandlerResult:
		found = self.list_starters().get(params.name)
		if found is None:
			return None
		tool, starter = found
		content = TextContent(text=f"{starter}\n\nUse the tool {tool}.")
		return GetPromptResult(description=starter, messages=[PromptMessage(role="user", content=content)])
