"""Sets up the OpenTelemetry SDK from the environment. Needs the extra `otel`."""

import os
from importlib.metadata import entry_points
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

DEFAULT_PROTOCOL = "http/protobuf"


def connect_exporters() -> None:
	"""Connect the exporters that OTEL_TRACES_EXPORTER and OTEL_METRICS_EXPORTER name: otlp, console, or those
	of installed packages, such as prometheus.

	The SDK reads the other variables: OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_EXPORTER_OTLP_*,
	OTEL_TRACES_SAMPLER, OTEL_BSP_*. Raises ValueError for an unknown exporter.
	"""
	named = os.environ.get("OTEL_SERVICE_NAME") or "service.name=" in os.environ.get(
		"OTEL_RESOURCE_ATTRIBUTES", ""
	)
	resource = Resource.create({} if named else {SERVICE_NAME: "huf"})
	provider = TracerProvider(resource=resource)
	for exporter in load_exporters("OTEL_TRACES_EXPORTER", "opentelemetry_traces_exporter"):
		provider.add_span_processor(BatchSpanProcessor(exporter))
	trace.set_tracer_provider(provider)
	if readers := load_metric_readers():
		metrics.set_meter_provider(MeterProvider(readers, resource=resource))


def load_metric_readers() -> list[MetricReader]:
	return [
		# Some are scraped, as by Prometheus, instead of pushing their metrics.
		found if isinstance(found, MetricReader) else PeriodicExportingMetricReader(found)
		for found in load_exporters("OTEL_METRICS_EXPORTER", "opentelemetry_metrics_exporter")
	]


def load_exporters(variable: str, group: str) -> list[Any]:
	wanted = [name.strip() for name in os.environ.get(variable, "").split(",")]
	signal = variable.split("_")[1]
	protocol = os.environ.get(
		f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL",
		os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", DEFAULT_PROTOCOL),
	)
	return [load_exporter(name, group, protocol) for name in wanted if name not in ("", "none")]


def load_exporter(name: str, group: str, protocol: str) -> Any:
	full = f"otlp_proto_{protocol.partition('/')[0]}" if name == "otlp" else name
	found = next(iter(entry_points(group=group, name=full)), None)
	if found is None:
		raise ValueError(
			f"There is no OpenTelemetry exporter {full!r}. Install its package, or choose another"
		)
	return found.load()()
