"""Runs the eval cases of an agent, checks them and counts how often they pass.

The model is really called, or the recorded answers are replayed; apart from the results on the case records
nothing stays.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import frappe
from frappe import _
from frappe.utils import now

from huf.ai.agents.manager import AgentManager
from huf.ai.core.attachments import opening_messages
from huf.ai.core.errors import ModelError, UsageError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.json_text import parse_json
from huf.ai.core.refusals import read_refusal
from huf.ai.core.stored_text import clip
from huf.ai.core.types import (
	OFFLINE,
	AgentRequest,
	CallRequest,
	ModelReply,
	Outcome,
	RunStatus,
	Tool,
	ToolResult,
)
from huf.ai.evals.budgeted_journal import BudgetedJournal
from huf.ai.evals.cases import EvalCase, parse_case
from huf.ai.evals.checks import CheckContext, Trace, TracedCall, estimate_pass_hat, find_faults
from huf.ai.evals.dry_runs import CaseDryRuns
from huf.ai.evals.judge import judge_answer
from huf.ai.loop.model import FreeModel, OnText
from huf.ai.loop.run_context import NoJournal, RunContext
from huf.ai.providers.models import get_model_row
from huf.ai.providers.sdk_agent import run_sdk_agent
from huf.ai.runs.admission import check_stops
from huf.ai.runs.provider import RunProvider

CASE = "Agent Eval Case"
RECORDED = "Recorded"
"""Stands for a model that replays the answers recorded in the case."""
MAX_TIMES = 100
MAX_FAULT_CHARS = 2_000
MAX_ANSWER_CHARS = 10_000
WRONG_RECORDS = (frappe.ValidationError, AttributeError, KeyError, TypeError, ValueError)
"""What the site raises for records or checks with values of a wrong type; its database raises errors too."""


@dataclass(frozen=True)
class CaseAttempt:
	"""One attempt at a case: the checks that failed (none: it passed), and its trace."""

	faults: tuple[str, ...]
	trace: Trace


@dataclass(frozen=True)
class CaseResult:
	"""All attempts at a case. `skipped`: why there are none."""

	case: str
	attempts: tuple[CaseAttempt, ...] = ()
	skipped: str | None = None

	@property
	def passed(self) -> int:
		return sum(not each.faults for each in self.attempts)

	@property
	def first_failure(self) -> CaseAttempt | None:
		return next((each for each in self.attempts if each.faults), None)

	@property
	def faults(self) -> list[str]:
		return list(self.first_failure.faults) if self.first_failure else []

	def as_dict(self) -> dict:
		return {
			"case": self.case,
			"passed": self.passed,
			"times": len(self.attempts),
			"skipped": self.skipped,
			"faults": self.faults,
			"answer": self.first_failure.trace.answer if self.first_failure else None,
		}


@dataclass(frozen=True)
class EvalReport:
	agent: str
	model: str
	times: int
	results: tuple[CaseResult, ...]

	@property
	def attempted(self) -> list[CaseResult]:
		return [each for each in self.results if each.attempts]

	@property
	def fully_passed(self) -> int:
		return sum(each.passed == len(each.attempts) for each in self.attempted)

	@property
	def is_good(self) -> bool:
		"""Whether at least one case was attempted and every attempt passed."""
		return bool(self.attempted) and self.fully_passed == len(self.attempted)

	def pass_rates(self) -> list[float]:
		"""pass^k for k = 1 … times, averaged over the cases."""
		rates = (
			[estimate_pass_hat(each.passed, self.times, k) for each in self.attempted]
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
	"""Run all enabled cases of an agent as the session user, and store the results on their records.

	Commits, and begins with a rollback.

	Args:
		times: attempts at each case, 1 to MAX_TIMES.
		model: an AI Model, "Offline" or "Recorded"; None: the agent's own.
		judge: the AI Model for `judge` checks; None: the site's Default Model.
		changes: values of Agent fields to evaluate instead of the stored ones.

	Raises UsageError for an agent without cases.
	"""
	if not 1 <= times <= MAX_TIMES:
		raise UsageError(_("A case can be run 1 to {0} times.").format(MAX_TIMES))
	doc = frappe.get_doc("Agent", agent).update(changes or {})
	names = frappe.get_all(CASE, {"agent": agent, "disabled": 0}, pluck="name", order_by="name asc")
	if not names:
		text = _("The agent {0} has no cases. Mark a run of it as good or bad, or add a case.")
		raise UsageError(text.format(agent))
	runner = EvalRunner(doc, model, judge)
	results = []
	for name in names:
		result = runner.run_case(name, times)
		save_result(name, result, runner.model)
		on_result(result)
		results.append(result)
	return EvalReport(agent, runner.model, times, tuple(results))


def check_models(*models: str | None) -> None:
	"""Raises UsageError for models that do not exist."""
	for model in models:
		if model and model not in (RECORDED, OFFLINE):
			get_model_row(model)


def save_result(name: str, result: CaseResult, model: str) -> None:
	failure = result.first_failure
	values = {
		"last_run": now(),
		"last_model": model,
		"passed": result.passed,
		"times": len(result.attempts),
		# A fault may quote arguments of any length.
		"last_fault": clip(result.skipped or "\n".join(result.faults), MAX_FAULT_CHARS) or None,
		"last_answer": clip(failure.trace.answer, MAX_ANSWER_CHARS) or None if failure else None,
	}
	frappe.db.set_value(CASE, name, values, update_modified=False)
	frappe.db.commit()


class EvalRunner:
	"""Runs cases of one agent with one model; `doc` is the Agent, perhaps with unsaved changes."""

	def __init__(self, doc, model: str | None, judge: str | None):
		self.doc, self.judge = doc, judge
		self.manager = AgentManager(
			doc.name, None, None if model in (RECORDED, OFFLINE) else model or doc.model
		)
		self.manager.agent_doc = doc
		self.model = model or self.manager.model

	def run_case(self, name: str, times: int) -> CaseResult:
		try:
			row = frappe.get_doc(CASE, name)
		except frappe.DoesNotExistError:
			return CaseResult(name, skipped="It was deleted during the eval.")
		try:
			case = parse_case(row.case_name, row.agent, row.prompt or "", row.definition)
		except UsageError as error:
			return CaseResult(row.case_name, (fail_attempt("this case cannot be read", error),) * times)
		if self.model == RECORDED and not case.answers:
			return CaseResult(row.case_name, skipped="It has no answers on record.")
		return CaseResult(row.case_name, tuple(self.attempt(case, row.modified_by) for _ in range(times)))

	def attempt(self, case: EvalCase, author: str) -> CaseAttempt:
		try:
			return self.try_case(case, author)
		except (UsageError, frappe.PermissionError) as error:
			return fail_attempt("this case is not permitted", error)
		except (*WRONG_RECORDS, frappe.db.DataError, frappe.db.OperationalError) as error:
			return fail_attempt("the records of this case do not fit the site", error)

	def try_case(self, case: EvalCase, author: str) -> CaseAttempt:
		"""Raises UsageError and PermissionError for a case that its user may not run, ValidationError for one
		with records that the site does not take.
		"""
		dry_runs = CaseDryRuns(case, self.doc, author)
		prompt = dry_runs.prepared_mail().prompt if case.mail else case.prompt
		outcome = run_coroutine(self.run_loop(case, dry_runs, prompt))
		trace = build_trace(outcome, dry_runs.calls_without_result)
		frappe.db.rollback()
		judge = partial(judge_answer, self.judge, prompt, trace, judged=self.doc)
		evidence = CheckContext(dry_runs.find_records, judge)
		return CaseAttempt(tuple(find_faults(case, trace, evidence)), trace)

	async def run_loop(self, case: EvalCase, dry_runs: CaseDryRuns, prompt: str) -> Outcome:
		agent = self.manager.prepare_agent().clone(tools=dry_runs.tools)
		context = RunContext(
			agent_name=self.doc.name,
			messages=opening_messages(self.manager.instructions, case.history, prompt),
			guards=self.manager.make_guards(self.doc.run_timeout or self.manager.settings.background_timeout),
			journal=NoJournal() if self.model in (RECORDED, OFFLINE) else BudgetedJournal(),
		)
		if self.model == RECORDED:
			return await run_sdk_agent(agent, prompt, RecordedModel(case), context)
		provider = None if self.model == OFFLINE else self.manager.provider
		check_stops(AgentRequest(self.doc.name, prompt, frappe.session.user), provider)
		return await RunProvider.run(agent, prompt, provider, self.model, context)


class RecordedModel(FreeModel):
	"""Returns the answers on record in a case, one after another."""

	def __init__(self, case: EvalCase):
		self.turns = iter(case.answers)

	async def complete(
		self, messages: list[dict], tools: list[Tool], on_text: OnText, max_tokens: int | None = None
	) -> ModelReply:
		turn = next(self.turns, None)
		if turn is None:
			raise ModelError("There are no more recorded answers.")
		requests = (
			CallRequest(f"call_{len(messages)}_{number}", tool, json.dumps(arguments, ensure_ascii=False))
			for number, (tool, arguments) in enumerate(turn.calls)
		)
		return ModelReply(turn.text, tuple(requests))


def fail_attempt(what: str, error: Exception) -> CaseAttempt:
	"""An attempt that an error ended. Rolls back."""
	frappe.db.rollback()
	why = f"{what}: {read_refusal(error) or type(error).__name__}"
	return CaseAttempt((why,), Trace("", (), RunStatus.FAILED.value, why))


def build_trace(outcome: Outcome, calls_without_result: list[tuple[str, dict]]) -> Trace:
	calls = tuple(build_traced_call(each, calls_without_result) for each in outcome.tool_results)
	return Trace(outcome.text, calls, outcome.status.value, outcome.error or outcome.stop_reason.value)


def build_traced_call(tool_result: ToolResult, calls_without_result: list[tuple[str, dict]]) -> TracedCall:
	call = tool_result.call
	try:
		arguments = parse_json(call.request.arguments or "{}") if call.arguments is None else call.arguments
	except ValueError:
		arguments = {}
	name = call.request.name
	lacks_result = (name, arguments) in calls_without_result
	return TracedCall(name, arguments, tool_result.ok, tool_result.text, lacks_result)


def format_summary(report: EvalReport) -> Iterator[str]:
	"""The last lines of a printed report, after those of the cases."""
	times = "once" if report.times == 1 else f"{report.times} times"
	yield (
		f"{report.agent}: {report.fully_passed} of {len(report.attempted)} cases passed, "
		f"{times} each, by {report.model}"
	)
	yield "  ".join(f"pass^{k} {rate:.2f}" for k, rate in enumerate(report.pass_rates(), 1))


def format_result(result: CaseResult) -> str:
	"""One line of a printed report."""
	if result.skipped:
		return f"  -    {result.case}: {result.skipped}"
	mark = "ok  " if result.passed == len(result.attempts) else "FAIL"
	faults = f": {'; '.join(result.faults)}" if result.faults else ""
	return f"  {mark} {result.case} {result.passed}/{len(result.attempts)}{faults}"
