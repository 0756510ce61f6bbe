"""Finds tools whose function is no longer in the code of its app, such as after a rename."""

from collections.abc import Iterator

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.tools import registry
from huf.ai.tools.types import CODE_TYPES


def list_lost_tools() -> Iterator[str]:
	"""A sentence for each such tool, with the agents that have it."""
	fields = ["name", "tool_name", "types", "provider_app", "function_path"]
	wanted = {"types": ["in", CODE_TYPES]}
	for row in frappe.get_all("Agent Tool Function", wanted, fields, order_by="name asc"):
		try:
			registry.find_tool_function(row)
		except UsageError as error:
			filters = {"tool": row.name, "parenttype": "Agent"}
			agents = frappe.get_all("Agent Tool", filters, pluck="parent", order_by="parent asc")
			used = f" (agents: {', '.join(agents)})" if agents else ""
			yield f"The tool {row.name}{used} cannot be called: {error}"
