"""Spans and metrics of real runs, from the SDK's in-memory exporters, use the names of the conventions."""

import json
import os
import subprocess
import sys
import time

import frappe
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics
from opentelemetry.semconv.attributes import error_attributes

from huf.ai.core import telemetry, telemetry_names
from huf.ai.core.types import AgentRequest, RunStatus
from huf.ai.runs.entry import run_agent_sync
from huf.ai.runs.queue import work_on
from huf.ai.runs.start import start_run
from huf.tests.base import SiteTestCase, enter
from huf.tests.contract.connections import together
from huf.tests.factories import make_agent, make_model, make_tool, make_user
from huf.tests.http import post
from huf.tests.model_server import Gate, ModelServer, error, text, tool_call

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"


class TestNames(SiteTestCase):
	def test_attribute_names_follow_the_conventions_or_start_with_huf(self):
		modules = (gen_ai_attributes, gen_ai_metrics, error_attributes)
		known = {value for module in modules for value in vars(module).values() if isinstance(value, str)}
		known |= {each.value for each in gen_ai_attributes.GenAiOperationNameValues}
		used = {
			key: value for key, value in vars(telemetry_names).items() if key.isupper() and key != "PROVIDERS"
		}
		unknown = {value for value in used.values() if value not in known and not value.startswith("huf.")}
		self.assertEqual(unknown, set())
		providers = {each.value for each in gen_ai_attributes.GenAiProviderNameValues}
		self.assertEqual(set(telemetry_names.PROVIDERS.values()) - providers, set())


class TestOff(SiteTestCase):
	def test_telemetry_is_loaded_only_when_an_exporter_is_configured(self):
		program = (
			"import sys; from huf.ai.core import telemetry; on = telemetry.is_on();"
			"print(on, 'opentelemetry.sdk' in sys.modules, telemetry.trace_headers())"
		)
		for variables, expected in (
			({}, "False False {}"),
			({"OTEL_TRACES_EXPORTER": "none"}, "False False {}"),
			({"OTEL_TRACES_EXPORTER": "console"}, "True True {}"),
			({"OTEL_TRACES_EXPORTER": "console", "OTEL_SDK_DISABLED": "true"}, "False False {}"),
			({"OTEL_TRACES_EXPORTER": "no-such-exporter"}, "False True {}"),
		):
			with self.subTest(variables):
				clean = {key: value for key, value in os.environ.items() if not key.startswith("OTEL_")}
				answer = subprocess.run(
					[sys.executable, "-c", program],
					env={**clean, **variables},
					capture_output=True,
					text=True,
				)
				self.assertEqual(answer.stdout.strip(), expected, answer.stderr)


class TestTraces(SiteTestCase):
	@classmethod
	def setUpClass(cls):
		cls.exporter, cls.reader = InMemorySpanExporter(), InMemoryMetricReader()
		enter(cls, providers_replaced(cls.exporter, cls.reader))

	def setUp(self):
		super().setUp()
		self.exporter.clear()
		self.server = enter(self, ModelServer())
		self.addCleanup(frappe.db.set_single_value, "Huf Settings", "trace_contents", 0)

	def trace_contents(self) -> None:
		frappe.db.set_single_value("Huf Settings", "trace_contents", 1)
		frappe.db.commit()

	def spans(self) -> dict:
		return {span.name: span for span in self.exporter.get_finished_spans()}

	def run_tool(self, **values) -> tuple[dict, str]:
		tool = make_tool("Get List", reference_doctype="ToDo")
		self.server.script(tool_call(tool, {"limit": 3}), text("Three."))
		model = make_model(self.server)
		return run_agent_sync(make_agent(model, (tool,), **values), "How many? sk-secret-12345678"), tool

	def test_a_run_is_a_span_with_its_model_calls_and_tool_calls(self):
		result, tool = self.run_tool()
		run = self.spans()[f"invoke_agent {self.agent_of(result)}"]
		chats = [span for span in self.exporter.get_finished_spans() if span.name.startswith("chat ")]
		call = self.spans()[f"execute_tool {tool}"]
		self.assertEqual(len(chats), 2)
		for child in (*chats, call):
			self.assertEqual(child.parent.span_id, run.context.span_id)
		attributes = dict(run.attributes)
		self.assertEqual(attributes["gen_ai.operation.name"], "invoke_agent")
		self.assertEqual(attributes["gen_ai.conversation.id"], result["conversation"])
		self.assertEqual(attributes["huf.run.name"], result["run"])
		self.assertEqual(attributes["gen_ai.usage.input_tokens"], result["input_tokens"])
		self.assertAlmostEqual(attributes["huf.cost"], result["total_cost"])
		self.assertEqual(call.attributes["huf.tool.call.status"], "Success")
		self.assertEqual(chats[0].kind, trace.SpanKind.CLIENT)

	def test_contents_are_traced_only_when_enabled_and_never_for_masked_agents(self):
		self.run_tool()
		self.assertNotIn("How many", self.all_attributes())
		self.trace_contents()
		self.run_tool(mask_personal_data=1)
		self.assertNotIn("How many", self.all_attributes())
		self.run_tool()
		found = self.all_attributes()
		self.assertIn("How many", found)
		self.assertIn('\\"limit\\"', found.replace("\\\\", "\\"))
		self.assertNotIn("sk-secret-12345678", found)
		measured = self.reader.get_metrics_data().to_json()
		self.assertNotIn("How many", measured)
		self.assertNotIn("gen_ai.tool.call.arguments", measured)

	def test_tokens_cost_and_duration_are_measured(self):
		result, _ = self.run_tool()
		data = self.reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics
		points = {metric.name: metric.data.data_points for metric in data}
		self.assertEqual(
			set(points), {"gen_ai.client.token.usage", "gen_ai.client.operation.duration", "huf.cost"}
		)
		mine = [p for p in points["huf.cost"] if p.attributes["gen_ai.request.model"] == result["model"]]
		self.assertAlmostEqual(sum(point.value for point in mine), result["total_cost"])
		durations = points["gen_ai.client.operation.duration"]
		operations = {point.attributes["gen_ai.operation.name"] for point in durations}
		self.assertEqual(operations, {"invoke_agent", "chat", "execute_tool"})
		for point in durations:
			self.assertFalse({"gen_ai.tool.call.id", "huf.run.name"} & set(point.attributes))

	def test_failed_model_call_marks_the_run_span_as_error(self):
		self.server.script(error(401, "no"))
		result = run_agent_sync(make_agent(make_model(self.server)), "Hello")
		run = self.spans()[f"invoke_agent {self.agent_of(result)}"]
		self.assertEqual(
			(run.status.status_code, run.attributes["error.type"]), (trace.StatusCode.ERROR, "error")
		)

	def test_span_of_a_model_call_interrupted_by_a_takeover_is_ended(self):
		agent = make_agent(make_model(self.server))
		run = start_run(AgentRequest(agent, "Hello", "Administrator"), RunStatus.QUEUED).name
		frappe.db.commit()
		late = Gate()
		self.server.script(late(text("Late.")))
		together([(self.take_over, run), (work_on, run)])
		late.open()
		(chat,) = [span for span in self.exporter.get_finished_spans() if span.name.startswith("chat ")]
		self.assertEqual(chat.attributes["error.type"], "interrupted")
		self.assertIn(f"invoke_agent {agent}", self.spans())

	def take_over(self, run: str) -> None:
		"""Gives the run to another worker during the model call."""
		while not self.server.headers:
			time.sleep(0.05)
		frappe.db.set_value("Agent Run", run, "worker", "another")

	def test_the_trace_of_a_request_continues_through_models_and_http_tools(self):
		with ModelServer(strict=False) as service:
			tool = make_tool("POST", base_url=service.base_url, allow_private_hosts=1)
			self.server.script(tool_call(tool, {"url": "things", "body": {"a": 1}}), text("Sent."))
			agent = make_agent(make_model(self.server), (tool,))
			answer = post(
				"/api/method/huf.ai.agent_integration.run_agent_sync",
				json={"agent_name": agent, "prompt": "Send it"},
				headers={"traceparent": TRACEPARENT, "Authorization": f"token {make_key()}"},
			)
			self.assertEqual(answer.status_code, 200, answer.text)
		run = self.spans()[f"invoke_agent {agent}"]
		self.assertEqual(f"{run.context.trace_id:032x}", TRACE)
		self.assertEqual(f"{run.parent.span_id:016x}", PARENT)
		for headers in (*self.server.headers, *service.headers):
			self.assertIn(TRACE, {key.lower(): value for key, value in headers.items()}["traceparent"])
		self.assertEqual((len(self.server.headers), len(service.headers)), (2, 1))

	def test_a_queued_run_belongs_to_the_trace_that_queued_it(self):
		self.server.script(text("Hi."))
		agent = make_agent(make_model(self.server))
		run = start_run(AgentRequest(agent, "Hello", "Administrator"), RunStatus.QUEUED)
		frappe.db.commit()
		work_on(run.name, trace={"traceparent": TRACEPARENT})
		span = self.spans()[f"invoke_agent {agent}"]
		self.assertEqual(f"{span.context.trace_id:032x}", TRACE)

	def agent_of(self, result: dict) -> str:
		return frappe.db.get_value("Agent Run", result["run"], "agent")

	def all_attributes(self) -> str:
		spans = self.exporter.get_finished_spans()
		self.exporter.clear()
		return json.dumps([dict(span.attributes) for span in spans], default=str)


def providers_replaced(exporter, reader):
	"""Sets global providers for one class of tests: the API has no public way to reset them."""
	from contextlib import contextmanager
	from unittest.mock import patch

	@contextmanager
	def replaced():
		tracer_provider = TracerProvider()
		tracer_provider.add_span_processor(SimpleSpanProcessor(exporter))
		telemetry.get_instruments.cache_clear()
		with (
			patch.object(trace, "_TRACER_PROVIDER", tracer_provider),
			patch.object(metrics._internal, "_METER_PROVIDER", MeterProvider([reader])),
		):
			yield
		telemetry.get_instruments.cache_clear()

	return replaced()


def make_key() -> str:
	user = frappe.get_doc("User", make_user("Huf Manager", "System Manager"))
	user.api_key, user.api_secret = frappe.generate_hash(length=15), frappe.generate_hash(length=15)
	secret = user.api_secret
	user.save()
	frappe.db.commit()
	return f"{user.api_key}:{secret}"
