"""The tool by which a model says that it is done. Only says so: ending the run is the loop's work."""

from huf.ai.core.types import Effect
from huf.ai.tools.registry import tool


@tool(effect=Effect.READ)
def final_answer(answer: str) -> str:
	"""Give the final answer to the person. Call it once, when everything is done.

	Args:
		answer: The whole answer
	"""
	return answer
