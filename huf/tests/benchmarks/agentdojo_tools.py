"""AgentDojo's tools as code tools of Huf, once with a careful author's declarations, once with none."""

from typing import Any

from agentdojo.functions_runtime import FunctionCall, FunctionsRuntime
from agentdojo.task_suite.load_suites import get_suites
from pydantic import BaseModel

from huf.ai.core.errors import ToolError
from huf.ai.tools.registry import register_tool
from huf.tests.benchmarks.agentdojo_suites import CAREFUL, VERSION

SUITES = get_suites(VERSION)
environment: Any = None
"""The environment that the tools read and change."""
calls: list[FunctionCall] = []
"""All calls so far, in order."""


def list_names(variant: str, suite: str) -> list[str]:
	return [f"{variant}_{suite}_{tool.name}" for tool in SUITES[suite].tools]


def add_tool(variant: str, suite: str, tool) -> None:
	def function(**arguments: Any) -> Any:
		calls.append(FunctionCall(function=tool.name, args=arguments))
		result, error = FunctionsRuntime([tool]).run_function(environment, tool.name, arguments)
		if error:
			raise ToolError(error)
		return to_json(result)

	name = f"{variant}_{suite}_{tool.name}"
	function.__name__ = function.__qualname__ = name
	globals()[name] = function
	schema = {"type": "object", "properties": {}, "additionalProperties": True}
	declared = CAREFUL[tool.name] if variant == "careful" else {}
	register_tool(name, function, tool.description, parameters=schema, **declared)


def to_json(value: Any) -> Any:
	if isinstance(value, BaseModel):
		return value.model_dump(mode="json")
	if isinstance(value, list | tuple):
		return [to_json(each) for each in value]
	return {key: to_json(each) for key, each in value.items()} if isinstance(value, dict) else value


for _variant in ("careful", "undeclared"):
	for _suite in SUITES.values():
		for _tool in _suite.tools:
			add_tool(_variant, _suite.name, _tool)
