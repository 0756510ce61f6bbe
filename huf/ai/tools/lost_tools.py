"""Finds tools whose function is no longer in the code of its app, such as after a rename."""

from collections.abc import Iterator

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.tools import custom_functions, registry
from huf.ai.tools.types import CODE_TYPES, CUSTOM_FUNCTION


def list_lost_tools() -> Iterator[str]:
	"""A sentence for each such tool, with the agents that have it."""
	fields = ["name", "types", "provider_app", "function_path"]
	wanted = {"types": ["in", CODE_TYPES]}
	for row in frappe.get_all("Agent Tool Function", wanted, fields, order_by="name asc"):
		try:
			check_code(row)
		except UsageError as error:
			filters = {"tool": row.name, "parenttype": "Agent"}
			agents = frappe.get_all("Agent Tool", filters, pluck="parent", order_by="parent asc")
			used = f" (agents: {', '.join(agents)})" if agents else ""
			yield f"The tool {row.name}{used} cannot be called: {error}"


def check_code(row) -> None:
	"""Raises UsageError if the function is gone."""
	if row.types == CUSTOM_FUNCTION:
		custom_functions.find_offered_function(row.function_path)
	else:
		registry.find_code_tool(row.provider_app, row.function_path or row.name)
