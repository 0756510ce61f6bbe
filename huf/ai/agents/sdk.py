"""Agents and tools as objects of the Agents SDK, for programs that use it: providers of apps, and callers of
`huf.ai.agent_manager` and `huf.ai.sdk_tools`. Imports the SDK, which takes a second.
"""

from dataclasses import asdict, fields
from typing import Any

from agents import Agent, FunctionTool, ModelSettings

from huf.ai.agents import function_tool, tool_factory
from huf.ai.agents.function_tool import EffectTool
from huf.ai.agents.runnable import RunnableAgent
from huf.ai.agents.tool_handlers import RunChild


def to_sdk_agent(agent: RunnableAgent) -> Agent:
	return Agent(
		name=agent.name,
		instructions=agent.instructions,
		model=agent.model,
		tools=[*map(to_sdk_tool, agent.tools)],
		model_settings=ModelSettings(**asdict(agent.model_settings)),
	)


def to_sdk_tool(tool: EffectTool) -> FunctionTool:
	"""Keeps the attributes of EffectTool, which the loop reads from every tool."""
	made = FunctionTool(
		tool.name, tool.description, tool.params_json_schema, tool.on_invoke_tool, tool.strict_json_schema
	)
	for each in fields(tool):
		setattr(made, each.name, getattr(tool, each.name))
	return made


def create_sdk_function_tool(*args: Any, **kwargs: Any) -> FunctionTool:
	"""Like `huf.ai.agents.function_tool.create_function_tool`."""
	return to_sdk_tool(function_tool.create_function_tool(*args, **kwargs))


def create_sdk_agent_tools(agent: Any, run_child: RunChild | None = None) -> list[FunctionTool]:
	"""Like `huf.ai.agents.tool_factory.create_agent_tools`."""
	return [*map(to_sdk_tool, tool_factory.create_agent_tools(agent, run_child))]


def create_sdk_tools(row: Any, agent: Any = None, run_child: RunChild | None = None) -> list[FunctionTool]:
	"""Like `huf.ai.agents.tool_factory.create_tools`."""
	return [*map(to_sdk_tool, tool_factory.create_tools(row, agent, run_child))]
