"""Exporters of OpenTelemetry are chosen by the environment."""

import os
import unittest
from importlib.metadata import EntryPoint
from unittest import mock

from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from huf.ai.core import telemetry_export
from huf.tests.base import enter


def install_entry_point(test: unittest.TestCase, name: str, value: str) -> None:
	"""As if a package with this entry point were installed."""

	def entry_points(group: str, name: str):
		return [found] if (found.group, found.name) == (group, name) else []

	found = EntryPoint(name, value, "opentelemetry_metrics_exporter")
	enter(test, mock.patch.object(telemetry_export, "entry_points", entry_points))


class TestTelemetryExport(unittest.TestCase):
	def test_an_exporter_that_is_asked_for_its_metrics_is_used_as_it_is(self):
		install_entry_point(self, "scraped", "opentelemetry.sdk.metrics.export:InMemoryMetricReader")
		enter(self, mock.patch.dict(os.environ, {"OTEL_METRICS_EXPORTER": "scraped"}))
		self.assertEqual([*map(type, telemetry_export.load_metric_readers())], [InMemoryMetricReader])

	def test_the_protocol_of_a_signal_comes_before_the_protocol_of_all(self):
		install_entry_point(self, "otlp_proto_grpc", "opentelemetry.sdk.metrics.export:InMemoryMetricReader")
		protocols = {
			"OTEL_METRICS_EXPORTER": "otlp",
			"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
			"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "grpc",
		}
		enter(self, mock.patch.dict(os.environ, protocols))
		self.assertEqual(len(telemetry_export.load_metric_readers()), 1)
