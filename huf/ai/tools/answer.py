"""The tool with which a model says that it is done. The loop ends the run, not this tool."""

from huf.ai.core.types import Effect
from huf.ai.tools.registry import tool


@tool(effect=Effect.READ)
def final_answer(answer: str) -> str:
	"""Give the final answer to the person. Call it once, when everything is done.

	Args:
		answer: The whole answer
	"""
	return answer
