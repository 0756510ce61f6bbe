"""OpenTelemetry spans and metrics of runs, model calls and tool calls."""

import json
import time
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import frappe
from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, StatusCode, set_span_in_context

from huf.ai.core import telemetry
from huf.ai.core import telemetry_names as names
from huf.ai.core.costs import Grant
from huf.ai.core.secret_text import mask_secrets
from huf.ai.core.settings import get_settings
from huf.ai.core.types import Call, ModelReply, RunResult, RunStatus, ToolResult, Usage
from huf.ai.loop.run_context import MeasureCost
from huf.ai.runs.start import OpenRun
from huf.ai.storage.journal import RunJournal

MAX_CONTENT_CHARS = 20_000
MODEL = "model"
INTERRUPTED = "interrupted"
"""Error type of a call that the run did not see the end of, because it lost its lease, for example."""
MEASURED = (names.OPERATION, names.PROVIDER, names.REQUEST_MODEL, names.AGENT, names.TOOL)
"""Attributes of metrics: low cardinality, no contents."""


class OpenSpan:
	"""A span that is the current one from its start to its end."""

	def __init__(self, operation: str, target: str, kind: SpanKind, attributes: dict, parent: Context | None):
		self.attributes = {names.OPERATION: operation, **drop_empty(attributes)}
		self.span: Span = telemetry.get_tracer().start_span(
			f"{operation} {target}", parent, kind, self.attributes
		)
		self.token = otel_context.attach(set_span_in_context(self.span, parent))
		self.started = time.monotonic()

	def end(self, attributes: dict, error: str | None = None, message: str | None = None) -> None:
		"""`error`: the type of failure, also for metrics; `message`: its description for people."""
		self.span.set_attributes(drop_empty(attributes))
		self.measured = {key: value for key, value in self.attributes.items() if key in MEASURED}
		if error:
			self.measured[names.ERROR_TYPE] = error
			self.span.set_attribute(names.ERROR_TYPE, error)
			self.span.set_status(StatusCode.ERROR, mask_secrets(message or error)[:500])
		_, durations, _ = telemetry.get_instruments()
		durations.record(time.monotonic() - self.started, self.measured)
		otel_context.detach(self.token)
		self.span.end()


async def trace_run(run: OpenRun, work: Awaitable[RunResult]) -> RunResult:
	"""Await the work on a run inside its span, whose parent is the request that started it."""
	attributes = {
		names.AGENT: run.request.agent,
		names.PROVIDER: names.normalize_provider(run.manager.provider),
		names.REQUEST_MODEL: run.manager.model,
		names.CONVERSATION: run.conversation,
		names.RUN: run.name,
	}
	if keeps_contents(run):
		attributes[names.INPUT_MESSAGES] = to_messages("user", run.request.prompt)
	span = OpenSpan(names.INVOKE_AGENT, run.request.agent, SpanKind.INTERNAL, attributes, find_parent())
	try:
		result = await work
	except BaseException as error:  # re-raised: a cancelled run ends its span as well
		span.end({}, type(error).__name__, str(error))
		raise
	reason = result.stop_reason.value if result.stop_reason else None
	ended = {
		**describe_usage(result.usage),
		names.RUN_STATUS: result.status.value,
		names.STOP_REASON: reason,
		names.OUTPUT_MESSAGES: to_messages("assistant", result.response) if keeps_contents(run) else None,
	}
	span.end(ended, reason if result.status is RunStatus.FAILED else None, result.error)
	return result


def find_parent() -> Context | None:
	"""The trace context of the web request; None without a request, or if a current span is the parent."""
	if telemetry.trace_headers():
		return None
	request = getattr(frappe.local, "request", None)
	environ = getattr(request, "environ", None) or {}
	sent = {name: environ.get(f"HTTP_{name.upper()}") for name in ("traceparent", "tracestate")}
	return telemetry.read_context({name: value for name, value in sent.items() if value})


def trace_of_request() -> dict[str, str]:
	"""The trace context that a queued job continues; {} without one."""
	if not telemetry.is_on():
		return {}
	with in_trace(find_parent()):
		return telemetry.trace_headers()


def continuing(trace: Mapping[str, str] | None) -> AbstractContextManager[None]:
	"""Continue the trace that `trace_of_request` returned in another process."""
	return in_trace(telemetry.read_context(trace) if trace and telemetry.is_on() else None)


@contextmanager
def in_trace(context: Context | None) -> Iterator[None]:
	"""Make a trace context the current one inside the block; None changes nothing."""
	token = otel_context.attach(context) if context else None
	try:
		yield
	finally:
		if token:
			otel_context.detach(token)


class TracedJournal(RunJournal):
	"""A journal that also traces each model call and tool call."""

	def __init__(self, has_contents: bool, *args: Any):
		super().__init__(*args)
		self.has_contents = has_contents
		self.spans: dict[int | str, OpenSpan] = {}
		"""Those of open calls: of tools by their position, and MODEL."""

	def start_model_call(self, step: int, measure_cost: MeasureCost) -> Grant | None:
		grant = super().start_model_call(step, measure_cost)
		attributes = {
			names.PROVIDER: names.normalize_provider(self.provider),
			names.REQUEST_MODEL: self.model,
		}
		self.spans[MODEL] = OpenSpan(names.CHAT, self.model, SpanKind.CLIENT, attributes, None)
		return grant

	def finish_model_call(self, step: int, reply: ModelReply) -> None:
		attributes = {
			**describe_usage(reply.usage),
			names.RESPONSE_MODEL: reply.model,
			names.FINISH_REASONS: [reply.finish_reason],
			names.OUTPUT_MESSAGES: to_messages("assistant", reply.text) if self.has_contents else None,
		}
		span = self.spans.pop(MODEL)
		span.end(attributes)
		record_usage(reply.usage, span.measured)
		super().finish_model_call(step, reply)

	def fail_model_call(self, step: int, why: str, partial: str, usage: Usage | None) -> None:
		span = self.spans.pop(MODEL)
		span.end(describe_usage(usage) if usage else {}, "model_error", why)
		if usage:
			record_usage(usage, span.measured)
		super().fail_model_call(step, why, partial, usage)

	def start_tool_call(self, step: int, call: Call) -> None:
		super().start_tool_call(step, call)
		attributes = {
			names.TOOL: call.request.name,
			names.TOOL_TYPE: "function",
			names.CALL_ID: call.request.id,
			names.EFFECT: call.effect.value,
			names.TOOL_ARGUMENTS: clean(call.request.arguments) if self.has_contents else None,
		}
		self.spans[call.position] = OpenSpan(
			names.EXECUTE_TOOL, call.request.name, SpanKind.INTERNAL, attributes, None
		)

	def finish_tool_call(self, step: int, tool_result: ToolResult) -> None:
		attributes = {
			names.CALL_STATUS: tool_result.status.value,
			names.TOOL_RESULT: clean(tool_result.text) if self.has_contents else None,
		}
		span = self.spans.pop(tool_result.call.position)
		span.end(attributes, None if tool_result.ok else tool_result.status.value.lower())
		super().finish_tool_call(step, tool_result)

	def withdraw_tool_call(self, call: Call) -> None:
		if span := self.spans.pop(call.position, None):
			span.end({names.CALL_STATUS: "Withdrawn"})
		super().withdraw_tool_call(call)

	def end(self) -> None:
		for span in self.spans.values():
			span.end({}, INTERRUPTED)


def keeps_contents(run: OpenRun) -> bool:
	"""Whether spans contain prompts, answers and results; never for agents that mask personal data."""
	return get_settings().trace_contents and not run.manager.agent_doc.mask_personal_data


def to_messages(role: str, text: str) -> str:
	parts = [{"type": "text", "content": clean(text or "")}]
	return json.dumps([{"role": role, "parts": parts}], ensure_ascii=False)


def clean(content: str) -> str:
	return mask_secrets(content)[:MAX_CONTENT_CHARS]


def describe_usage(usage: Usage) -> dict[str, Any]:
	return {
		names.INPUT_TOKENS: usage.input_tokens,
		names.OUTPUT_TOKENS: usage.output_tokens,
		names.CACHED_TOKENS: usage.cached_tokens or None,
		names.COST: None if usage.unpriced_calls else usage.cost,
	}


def record_usage(usage: Usage, attributes: dict) -> None:
	tokens, _, costs = telemetry.get_instruments()
	tokens.record(usage.input_tokens, {**attributes, names.TOKEN_TYPE: "input"})
	tokens.record(usage.output_tokens, {**attributes, names.TOKEN_TYPE: "output"})
	if usage.cost:
		costs.add(usage.cost, attributes)


def drop_empty(attributes: dict) -> dict:
	return {key: value for key, value in attributes.items() if value is not None}
