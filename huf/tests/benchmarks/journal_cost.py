"""The cost of the journal per step: the same loop over the same model, with and without it, in turn."""

import statistics

import frappe

from huf.ai.agents.manager import AgentManager
from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.types import AgentRequest
from huf.ai.runs.execution import execute_run
from huf.ai.runs.provider import RunProvider
from huf.ai.runs.start import start_run
from huf.tests.benchmarks.run_cost import timed
from huf.tests.benchmarks.stub import list_tool, model_process
from huf.tests.factories import SECRET, make, make_agent, unique

TURNS = 10
ROUNDS = 15
TARGET = 3
"""Milliseconds per step, on SQLite."""


def measure() -> None:
	"""Print milliseconds per step of both variants, and their difference."""
	tool = list_tool(TURNS)
	with model_process(TURNS, tool, {"limit": 1}) as base_url:
		provider = make("AI Provider", provide_name=unique("Scripted"), api_key=SECRET, api_base=base_url)
		model = make("AI Model", model_name=unique("scripted"), provider=provider.name, own_prices=1).name
		agent = make_agent(model, (tool,), max_iterations=2 * TURNS)
		pairs = [(without_journal(agent), with_journal(agent)) for _ in range(ROUNDS + 2)][2:]
	steps = TURNS + 1
	bare, journaled = (statistics.median(side) / steps for side in zip(*pairs, strict=True))
	added = statistics.median((journaled - bare) / steps for bare, journaled in pairs)
	print(f"the loop without a journal                  {bare:7.2f} ms a step")
	print(f"with journal, lease, conversation and events{journaled:7.2f} ms a step")
	print(f"the journal adds                            {added:7.2f} ms a step (target {TARGET})")


def without_journal(agent: str) -> float:
	manager = AgentManager(agent)
	agent_spec = manager.prepare_agent()
	context = {"agent_name": agent, "guards": ()}
	return timed(
		lambda: run_coroutine(RunProvider.run(agent_spec, "Go", manager.provider, manager.model, context))
	)


def with_journal(agent: str) -> float:
	run = start_run(
		AgentRequest(agent, "Go", frappe.session.user, external_id=frappe.generate_hash(length=8))
	)
	return timed(lambda: run_coroutine(execute_run(run)))
