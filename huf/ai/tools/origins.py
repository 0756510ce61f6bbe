"""Names the origins of untrusted content in tool results, for people."""

import re

from huf.ai.core.contacts import list_urls, parse_host
from huf.ai.core.flow import TYPED
from huf.ai.tools.extraction import is_closed, parse_schema
from huf.ai.tools.taint import find_origins
from huf.ai.tools.types import CODE_TYPES, HTTP_TYPES, KNOWLEDGE, MCP_TOOL, RUN_AGENT

MARK = re.compile(r'"untrusted":\s*true')
"""Key of a result that marks outside content."""
CHILD_RUN = re.compile(r'\{"run": "([^"]+)"')


def name_origin(row) -> str | None:
	"""The origin of all results of a tool; None if not all of them carry outside content."""
	if row.types in CODE_TYPES and row.untrusted_result:
		return f"tool {row.tool_name}"
	if row.types == MCP_TOOL:
		return f"mcp {parse_host(row.base_url or '')}".strip()
	if row.types in HTTP_TYPES:
		return f"web {parse_host(row.base_url)}" if row.base_url else "web"
	return "audio" if row.types == "Speech to Text" else None


def find_result_origins(row, arguments: dict, text: str) -> list[str]:
	"""The origins of one result, more specific if the result names them."""
	if row.types == RUN_AGENT:
		origins = find_origins(read_child_run(text))
		if origins and row.result_schema and is_closed(parse_schema(row.result_schema)):
			return [f"{TYPED}{row.agent}"]
		return list(origins)
	hosts = [host for url in list_urls(arguments) if (host := parse_host(url, row.base_url))]
	if hosts and name_origin(row) and row.types != MCP_TOOL:
		return [f"web {host}" for host in hosts]
	if MARK.search(text):
		return ["knowledge" if row.types == KNOWLEDGE else f"tool {row.tool_name}"]
	return []


def read_child_run(text: str) -> str | None:
	"""The called agent's run, which the result names first, or None. Works for a shortened result too."""
	found = CHILD_RUN.match(text)
	return found and found[1]
