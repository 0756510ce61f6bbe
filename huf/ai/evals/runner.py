"""An agent's cases run, judged and counted. The model is really asked (or plays what is on record); nothing else happens."""

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import frappe
from frappe.utils import now

from huf.ai.agents.manager import AgentManager
from huf.ai.concurrency.event_loops import run_coroutine
from huf.ai.core.errors import ModelError, UsageError
from huf.ai.core.types import OFFLINE, CallRequest, ModelReply, Outcome, ToolResult
from huf.ai.evals.cases import EvalCase, parse_case
from huf.ai.evals.checks import Evidence, Trace, TracedCall, estimate_pass_hat, find_faults
from huf.ai.evals.dry_runs import CaseDryRuns
from huf.ai.evals.judge import judge_answer
from huf.ai.loop.guards import NUDGE, Deadline, Stall, StepCap, ToolFailures
from huf.ai.providers.turns import drive, opening
from huf.ai.runs.provider import RunProvider

CASE = "Agent Eval Case"
RECORDED = "Recorded"
"""In the place of a model's name: the answers that the case has on record."""
MAX_TIMES = 100


@dataclass(frozen=True)
class Attempt:
	"""One try of a case: what was wrong (nothing: it passed), and what came of it."""

	faults: tuple[str, ...]
	trace: Trace


@dataclass(frozen=True)
class CaseResult:
	"""A case's tries. `skipped`: why it was not tried."""

	case: str
	tries: tuple[Attempt, ...] = ()
	skipped: str | None = None

	@property
	def passed(self) -> int:
		return sum(not each.faults for each in self.tries)

	def as_dict(self) -> dict:
		bad = next((each for each in self.tries if each.faults), None)
		told = (
			{"faults": list(bad.faults), "answer": bad.trace.answer}
			if bad
			else {"faults": [], "answer": None}
		)
		return {
			"case": self.case,
			"passed": self.passed,
			"times": len(self.tries),
			"skipped": self.skipped,
			**told,
		}


@dataclass(frozen=True)
class EvalReport:
	agent: str
	model: str
	times: int
	results: tuple[CaseResult, ...]

	@property
	def is_good(self) -> bool:
		"""There are cases, and each passed each time."""
		tried = [each for each in self.results if each.tries]
		return bool(tried) and all(each.passed == len(each.tries) for each in tried)

	def pass_rates(self) -> list[float]:
		"""For k from 1 on: how likely all of k tries of a case pass (pass^k)."""
		tried = [each for each in self.results if each.tries]
		rates = (
			[estimate_pass_hat(each.passed, self.times, k) for each in tried]
			for k in range(1, self.times + 1)
		)
		return [sum(each) / len(each) if each else 0.0 for each in rates]

	def as_dict(self) -> dict:
		return {
			"agent": self.agent,
			"model": self.model,
			"times": self.times,
			"good": self.is_good,
			"pass": self.pass_rates(),
			"cases": [each.as_dict() for each in self.results],
		}


def evaluate_agent(
	agent: str,
	times: int = 1,
	model: str | None = None,
	judge: str | None = None,
	changes: dict | None = None,
	on_result: Callable[[CaseResult], None] = lambda result: None,
) -> EvalReport:
	"""Run all enabled cases of an agent as the user in session, each so many times, and keep how it went with each.

	`model`: an AI Model, "Offline" or "Recorded"; None: the agent's own. `changes`: values of the agent to try. Commits; begin
	with nothing uncommitted.
	Raises UsageError for an agent without cases.
	"""
	if not 1 <= times <= MAX_TIMES:
		raise UsageError(f"A case can be run 1 to {MAX_TIMES} times.")
	doc = frappe.get_doc("Agent", agent).update(changes or {})
	names = frappe.get_all(CASE, {"agent": agent, "disabled": 0}, pluck="name", order_by="name asc")
	if not names:
		raise UsageError(
			f"The agent {agent} has no cases. Mark a run of it as good or bad, or add an {CASE}."
		)
	runner = EvalRunner(doc, model, judge)
	results = []
	for name in names:
		result = runner.run_times(name, times)
		save_result(name, result, runner.model)
		on_result(result)
		results.append(result)
	return EvalReport(agent, runner.model, times, tuple(results))


def save_result(name: str, result: CaseResult, model: str) -> None:
	"""How it went last, on the case's record."""
	told = result.as_dict()
	values = {"last_run": now(), "last_model": model, "passed": result.passed, "times": len(result.tries)}
	values["last_fault"] = result.skipped or "\n".join(told["faults"]) or None
	frappe.db.set_value(CASE, name, values, update_modified=False)
	frappe.db.commit()


class EvalRunner:
	"""Runs cases of one agent with one model."""

	def __init__(self, doc, model: str | None, judge: str | None):
		self.doc, self.judge = doc, judge
		self.manager = AgentManager(
			doc.name, None, None if model in (RECORDED, OFFLINE) else model or doc.model
		)
		self.manager.agent_doc = doc
		self.model = model or self.manager.model

	def run_times(self, name: str, times: int) -> CaseResult:
		row = frappe.get_doc(CASE, name)
		case = parse_case(row.case_name, row.agent, row.prompt or "", row.definition)
		if self.model == RECORDED and not case.answers:
			return CaseResult(row.case_name, skipped="It has no answers on record.")
		return CaseResult(row.case_name, tuple(self.run_once(case) for _ in range(times)))

	def run_once(self, case: EvalCase) -> Attempt:
		trials = CaseDryRuns(case, self.doc)
		prompt = trials.prepared().prompt if case.mail else case.prompt
		outcome = run_coroutine(self.ask(case, trials, prompt))
		frappe.db.rollback()
		trace = trace_of(outcome)
		judge = partial(judge_answer, self.judge, prompt, trace)
		witness = Evidence(partial(look, trials), judge)
		return Attempt(tuple(find_faults(case, trace, witness)), trace)

	async def ask(self, case: EvalCase, trials: CaseDryRuns, prompt: str) -> Outcome:
		agent = self.manager.create_agent().clone(tools=trials.tools)
		began = time.monotonic()
		settings = self.manager.settings
		seconds = self.doc.run_timeout or settings.background_timeout
		context = {
			"agent_name": self.doc.name,
			"messages": opening(self.doc.instructions, case.history, prompt),
			"guards": [
				StepCap(self.manager.steps),
				Deadline(seconds, lambda: time.monotonic() - began),
				ToolFailures(settings.max_tool_failures),
				Stall(self.doc.stall_message or NUDGE),
			],
		}
		if self.model == RECORDED:
			return await drive(agent, prompt, play(case), context)
		provider = None if self.model == OFFLINE else self.manager.provider
		return await RunProvider.run(agent, prompt, provider, self.model, context)


def play(case: EvalCase):
	"""A model that says what is on record."""
	turns = iter(case.answers)

	async def ask(messages, tools, on_text, **more) -> ModelReply:
		turn = next(turns, None)
		if turn is None:
			raise ModelError("The answers on record have come to their end.")
		text, calls = turn
		place = len(messages)
		requests = (
			CallRequest(f"call_{place}_{number}", tool, json.dumps(arguments, ensure_ascii=False))
			for number, (tool, arguments) in enumerate(calls)
		)
		return ModelReply(text, tuple(requests))

	ask.room = lambda tools: None
	return ask


def trace_of(outcome: Outcome) -> Trace:
	calls = tuple(made_of(each) for each in outcome.tool_results)
	return Trace(outcome.text, calls, outcome.status.value, outcome.error or outcome.stop_reason.value)


def made_of(tool_result: ToolResult) -> TracedCall:
	call = tool_result.call
	try:
		asked = json.loads(call.request.arguments or "{}") if call.arguments is None else call.arguments
	except ValueError:
		asked = {}
	return TracedCall(call.request.name, asked, tool_result.ok, tool_result.text)


def look(trials: CaseDryRuns, check) -> list:
	where = check.get("where") or {}
	return trials.look(check["record"], where, [*(check.get("values") or {}), *where])


def format_summary(report: EvalReport) -> Iterable[str]:
	"""Lines for a person, after those of the cases."""
	rates = "  ".join(f"pass^{k} {rate:.2f}" for k, rate in enumerate(report.pass_rates(), 1))
	tried = [each for each in report.results if each.tries]
	good = sum(each.passed == len(each.tries) for each in tried)
	yield f"{report.agent}: {good} of {len(tried)} cases passed, {report.times} times each, by {report.model}"
	yield rates


def format_result(result: CaseResult) -> str:
	if result.skipped:
		return f"  -    {result.case}: {result.skipped}"
	told = result.as_dict()
	mark = "ok  " if result.passed == len(result.tries) else "FAIL"
	faults = f": {'; '.join(told['faults'])}" if told["faults"] else ""
	return f"  {mark} {result.case} {result.passed}/{len(result.tries)}{faults}"
