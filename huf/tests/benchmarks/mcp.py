"""The cost of a tool call over MCP, compared with the same call by REST; the target is at most 3 ms more."""

import json
import logging
import statistics
from collections.abc import Callable
from time import perf_counter, process_time

import frappe
import requests

from huf.ai.core.types import DIRECT
from huf.ai.providers.direct import write_prompt
from huf.tests.api.test_mcp import META, REVISION
from huf.tests.factories import make, make_agent, make_tool, make_user, unique
from huf.tests.mcp_fixture.server import serve

ROUNDS = 200


def measure() -> None:
	"""Print milliseconds of both, each including a run and its journal, and the difference."""
	tool = make_tool("Get List", reference_doctype="ToDo")
	# Each call has its own conversation, so that neither reads a history.
	agent = make_agent(None, (tool,), persist_conversation=0)
	offers = [{"offer_type": "Agent Tool Function", "offer": tool}]
	slug = make("MCP Server", server_name=unique("Bench"), agent=agent, offers=offers).slug
	user = make_user("Huf User", "Huf Manager")
	frappe.db.commit()
	arguments = {"limit": 1}
	by_rest = {"agent_name": agent, "prompt": write_prompt(tool, arguments), "model": DIRECT}
	logging.getLogger("werkzeug").setLevel(logging.WARNING)
	with serve(user) as base, requests.Session() as rest, requests.Session() as mcp:
		mcp.headers.update(list_headers(tool))
		body = build_call(tool, arguments)

		def call_rest() -> None:
			answer = rest.post(f"{base}/api/method/huf.ai.agent_integration.run_agent_sync", json=by_rest)
			assert answer.json()["message"]["success"], answer.text

		def call_mcp() -> None:
			answer = mcp.post(f"{base}/mcp/{slug}", data=body)
			assert not answer.json()["result"].get("isError"), answer.text

		pairs = [(timed(call_rest), timed(call_mcp)) for _ in range(ROUNDS + 10)][10:]
	for index, clock in enumerate(("on the clock", "of the processor")):
		print_difference([(their[index], our[index]) for their, our in pairs], clock)


def timed(call: Callable[[], None]) -> tuple[float, float]:
	"""Wall and CPU milliseconds; CPU time depends less on other load."""
	began, cpu_start = perf_counter(), process_time()
	call()
	return (perf_counter() - began) * 1000, (process_time() - cpu_start) * 1000


def print_difference(pairs: list[tuple[float, float]], clock: str) -> None:
	theirs, ours = (statistics.median(side) for side in zip(*pairs, strict=True))
	added = statistics.median(our - their for their, our in pairs)
	ratio = statistics.median(our / their for their, our in pairs)
	print(f"{clock:17} REST {theirs:7.2f} ms, MCP {ours:7.2f} ms, ratio {ratio:.2f}, adds {added:.2f} ms")


def build_call(tool: str, arguments: dict) -> str:
	params = {"name": tool, "arguments": arguments, "_meta": META}
	return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})


def list_headers(tool: str) -> dict[str, str]:
	return {
		"Content-Type": "application/json",
		"Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": REVISION,
		"Mcp-Method": "tools/call",
		"Mcp-Name": tool,
	}
