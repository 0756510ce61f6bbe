"""Runs as front ends store them, and the log lines of a run."""

import json
import logging

import frappe
from frappe.utils import now_datetime

from huf.ai.core.route_choice import Routed
from huf.ai.core.session import acting_as
from huf.ai.core.types import AgentRequest
from huf.ai.queries.run_store import AgentRunRecord, RunStore
from huf.ai.runs.entry import run_agent, run_agent_sync
from huf.ai.runs.start import start_run
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_agent, make_model, make_tool, make_user
from huf.tests.model_server import ModelServer, error, text, tool_call


class TestRunStore(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.user = make_user("Huf User")

	def record(self, **values) -> AgentRunRecord:
		values = {"status": "completed", "result": "Done.", "steps": 2, "duration_ms": 40, **values}
		tools = ["web_search", "final_answer"]
		name = frappe.generate_hash(length=10)
		return AgentRunRecord(
			name,
			"Find it",
			confidence=0.9,
			plan=["Look"],
			tools_used=tools,
			created_at=now_datetime(),
			**values,
		)

	def test_saved_record_is_readable_and_writable_only_by_its_owner(self):
		record = self.record(completed_at=now_datetime())
		with acting_as(self.user):
			RunStore().save(record)
			stored = RunStore().get(record.run_id)
			self.assertEqual([each.run_id for each in RunStore().list()], [record.run_id])
		fields = (
			"run_id",
			"objective",
			"route",
			"confidence",
			"plan",
			"tools_used",
			"steps",
			"duration_ms",
			"status",
		)
		for name in (*fields, "result", "error", "created_at", "completed_at"):
			self.assertEqual(getattr(stored, name), getattr(record, name), name)
		with acting_as(make_user("Huf User")):
			self.assertIsNone(RunStore().get(record.run_id))
			self.assertEqual(RunStore().list(), [])
			with self.assertRaises(frappe.PermissionError):
				RunStore().save(record)

	def test_saving_again_changes_the_record(self):
		record = self.record()
		RunStore().save(record)
		RunStore().save(
			AgentRunRecord(record.run_id, "Find it", "failed", result={"why": 1}, error="It broke.")
		)
		stored = RunStore().get(record.run_id)
		self.assertEqual((stored.status, stored.error, stored.result), ("failed", "It broke.", {"why": 1}))

	def test_a_run_is_in_the_store_when_it_has_ended(self):
		with ModelServer() as server:
			agent, tool = self.agent(server)
			server.script(tool_call(tool, {}), tool_call(tool, {"limit": 1}), text("Done."))
			request = AgentRequest(agent, "Look", "Administrator", routed=Routed(0.8, ("One", "Two")))
			stored = RunStore().get(run_agent(request).run)
		self.assertEqual((stored.status, stored.confidence, stored.plan), ("completed", 0.8, ["One", "Two"]))
		self.assertEqual((stored.tools_used, stored.steps, stored.result), ([tool], 3, "Done."))
		with acting_as(self.user):
			unfinished = start_run(AgentRequest(agent, "Look", self.user))
			self.assertIsNone(RunStore().get(unfinished.name))

	def agent(self, server) -> tuple[str, str]:
		tool = make_tool("Get List", reference_doctype="ToDo")
		return make_agent(make_model(server), (tool,)), tool

	def test_log_records_start_calls_and_end_of_a_run(self):
		log = frappe.logger("huf")
		self.addCleanup(log.setLevel, log.level)
		log.setLevel(logging.DEBUG)
		with ModelServer() as server, self.assertLogs(log, logging.DEBUG) as logs:
			agent, tool = self.agent(server)
			server.script(tool_call(tool, {"limit": 1}), text("Done."))
			result = run_agent_sync(agent, "Look at it")
		lines = [line.partition(f"{log.name}:")[2] for line in logs.output]
		self.assertEqual(lines[0], '[AgentRunner] Starting agent run for objective: "Look at it"')
		self.assertEqual(lines[1], f'[AgentRunner] Step 0: {tool}({{"limit": 1}})')
		self.assertRegex(lines[2], r"^\[AgentRunner\] Step 0 completed: success=true, duration=\d+ms$")
		end = json.loads(lines[3])
		self.assertRegex(end.pop("timestamp"), r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
		self.assertIsInstance(end.pop("duration_ms"), int)
		expected = {"level": "info", "component": "AgentRunner", "event": "run_completed", "route": "agent"}
		expected |= {"run_id": result["run"], "tools_used": [tool], "steps": 2, "status": "completed"}
		self.assertEqual(end, expected)

	def test_log_contains_no_control_characters_of_a_message(self):
		log = frappe.logger("huf")
		with ModelServer() as server, self.assertLogs(log, logging.INFO) as logs:
			agent, _tool = self.agent(server)
			server.script(text("Done."))
			run_agent_sync(agent, "Grüße\x1b[2J\x9b31m\u202e\nan Anna")
		self.assertIn('"Grüße[2J31m an Anna"', logs.records[0].getMessage())

	def test_log_names_the_route_of_a_chat_run(self):
		log = frappe.logger("huf")
		with ModelServer() as server, self.assertLogs(log, logging.INFO) as logs:
			agent, _tool = self.agent(server)
			server.script(text("Done."))
			run_agent_sync(agent, "Look at it", route="chat")
		self.assertEqual(json.loads(logs.records[-1].getMessage())["route"], "chat")

	def test_failed_run_is_logged_as_an_error(self):
		log = frappe.logger("huf")
		with ModelServer() as server, self.assertLogs(log, logging.ERROR) as logs:
			agent, _tool = self.agent(server)
			server.script(error(401, "bad key"))
			run_agent_sync(agent, "Look at it")
		self.assertEqual(json.loads(logs.records[0].getMessage())["status"], "failed")
