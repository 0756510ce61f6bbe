"""Whether OpenTelemetry is on, and the trace context of calls. Off unless the environment names an exporter.

An application that sets up OpenTelemetry itself (such as `opentelemetry-instrument`) is left alone.
"""

import logging
import os
from collections.abc import Mapping
from functools import lru_cache

from opentelemetry import metrics, propagate, trace
from opentelemetry.context import Context
from opentelemetry.metrics import Counter, Histogram

from huf.ai.core.telemetry_names import COST, DURATION, TOKEN_USAGE

EXPORTERS = ("OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER")
OFF = ("", "none")


def is_on() -> bool:
	"""Whether spans go anywhere. Sets OpenTelemetry up the first time in a process, if it is wanted."""
	if any(os.environ.get(name, "").strip().lower() not in OFF for name in EXPORTERS):
		set_up(os.getpid())
	return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider | trace.NoOpTracerProvider)


@lru_cache(maxsize=1)
def set_up(process: int) -> None:
	"""Connect the SDK as the usual OTEL_* variables say; a worker process that was forked does it again."""
	if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
		return
	if not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
		return
	try:
		from huf.ai.core import telemetry_export

		telemetry_export.connect_exporters()
	except Exception as error:  # whatever an exporter raises, runs go on without it
		advice = " Its SDK comes with: pip install 'huf[otel]'" if isinstance(error, ImportError) else ""
		logging.getLogger("huf").warning("OpenTelemetry is not set up: %s.%s", error, advice)


def get_tracer() -> trace.Tracer:
	return trace.get_tracer("huf")


@lru_cache(maxsize=1)
def get_instruments() -> tuple[Histogram, Histogram, Counter]:
	"""(tokens, duration in seconds, cost in USD)"""
	meter = metrics.get_meter("huf")
	return (
		meter.create_histogram(TOKEN_USAGE, "{token}", "Tokens of model calls"),
		meter.create_histogram(DURATION, "s", "Duration of runs, model calls and tool calls"),
		meter.create_counter(COST, "{USD}", "Cost of model calls"),
	)


def trace_headers() -> dict[str, str]:
	"""The W3C headers that carry the current trace to another service; {} outside one."""
	headers: dict[str, str] = {}
	if trace.get_current_span().get_span_context().is_valid:
		propagate.inject(headers)
	return headers


def read_context(headers: Mapping[str, str]) -> Context | None:
	"""The trace that these headers continue; None without one."""
	found = propagate.extract(headers)
	return found if trace.get_current_span(found).get_span_context().is_valid else None
