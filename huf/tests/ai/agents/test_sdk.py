"""Agents and tools as objects of the OpenAI Agents SDK."""

import json

from agents import Agent, FunctionTool

from huf.ai.agent_manager import AgentManager
from huf.ai.core.errors import ToolError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.types import Effect
from huf.ai.providers.litellm import _execute_tool_call, _find_tool
from huf.ai.providers.sdk_agent import to_loop_tool
from huf.ai.sdk_tools import create_agent_tools, create_function_tool
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_agent, make_tool


class TestSdkObjects(SiteTestCase):
	def test_sdk_agent_has_instructions_settings_and_tools_of_the_record(self):
		tool = make_tool("Create Document", reference_doctype="ToDo")
		name = make_agent(tools=(tool,), temperature=0.2, top_p=0.5, max_tokens=77, instructions="Be brief.")
		agent = AgentManager(name).create_agent()
		self.assertIsInstance(agent, Agent)
		settings = agent.model_settings
		self.assertEqual((settings.temperature, settings.top_p, settings.max_tokens), (0.2, 0.5, 77))
		self.assertEqual(agent.instructions, "Be brief.")
		(found,) = agent.tools
		self.assertIsInstance(found, FunctionTool)
		# In the loop, the tool keeps its effect.
		self.assertEqual((to_loop_tool(found).effect, to_loop_tool(found).creates), (Effect.WRITE, True))
		self.assertEqual([each.name for each in create_agent_tools(name)], [found.name])

	def test_a_tool_of_the_sdk_is_called_with_a_context_and_json(self):
		parameters = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
		tool = create_function_tool("double", "Doubles n", parameters, lambda n: 2 * n)
		self.assertIsInstance(tool, FunctionTool)
		self.assertFalse(tool.strict_json_schema)
		self.assertEqual(run_coroutine(tool.on_invoke_tool(None, json.dumps({"n": 4}))), "8")

	def test_a_tool_of_an_agent_is_found_by_its_name_and_called_with_raw_arguments(self):
		agent = Agent("Test", tools=[create_function_tool("double", "Doubles n", {}, lambda n: 2 * n)])
		found = _find_tool(agent, "double")
		self.assertEqual(run_coroutine(_execute_tool_call(found, '{"n": 4}')), "8")
		for tool, arguments in ((_find_tool(agent, "halve"), "{}"), (found, "[4]"), (found, "{")):
			with self.assertRaises(ToolError):
				run_coroutine(_execute_tool_call(tool, arguments))
