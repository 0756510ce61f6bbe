"""Routing decisions of a site: storage, privacy, settings, patterns, outcomes and model calls."""

import json
import os
from unittest import mock

import frappe
from frappe.utils import add_to_date, now_datetime

from huf.ai.chat import routed
from huf.ai.core.session import acting_as
from huf.ai.core.settings import get_settings
from huf.ai.core.types import AgentRequest
from huf.ai.routing.types import Route, Stage
from huf.ai.runs.routing import check_escalation
from huf.ai.runs.start import start_run
from huf.ai.storage import route_decisions
from huf.ai.storage.retention import apply_retention
from huf.tests.ai.routing.test_router import read
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_agent, make_model, make_user
from huf.tests.model_server import ModelServer, error, text

SEARCH = "Busca en la web el precio de los palés"
VERDICT = '{"route": "agent", "confidence": 0.83}'


class DecidingTestCase(SiteTestCase):
	def setUp(self):
		super().setUp()
		before = frappe.get_doc("Huf Settings").as_dict()
		names = ("router_confidence_threshold", "enable_dynamic_escalation", "router_agent", "default_model")
		self.addCleanup(self.set_settings, route_patterns=[], **{name: before[name] for name in names})
		self.user = make_user("Huf User")

	def set_settings(self, **values):
		frappe.get_doc("Huf Settings").update(values).save()
		frappe.db.commit()

	def decide(self, message: str, **more):
		with acting_as(self.user):
			return routed.decide_for_user(message, **more)

	def get_last_decision(self):
		return frappe.get_last_doc("Agent Route Decision", {"owner": self.user})


class TestRecord(DecidingTestCase):
	def test_decision_is_stored_with_the_alternative_route(self):
		self.decide(SEARCH, has_attachments=True)
		row = self.get_last_decision()
		self.assertEqual((row.route, row.confidence, row.stage), ("agent", 0.92, "heuristics"))
		self.assertEqual((row.other_route, row.other_confidence, row.has_attachments), ("chat", 0.08, 1))
		self.assertEqual((row.message, row.language, row.threshold), (SEARCH, "es", 0.65))
		self.assertEqual(json.loads(row.tool_needs), ["read_file", "web_search"])

	def test_message_with_a_lone_surrogate_is_routed(self):
		self.decide("hola \ud800")
		self.assertEqual(self.get_last_decision().message, "hola \ufffd")

	def test_decision_is_hidden_from_other_users_and_cannot_be_inserted(self):
		self.decide(SEARCH)
		row = self.get_last_decision()
		with acting_as(make_user("Huf User")):
			self.assertEqual(frappe.get_list("Agent Route Decision"), [])
			self.assertFalse(row.has_permission("read"))
		with acting_as(self.user):
			self.assertTrue(row.has_permission("read"))
			with self.assertRaises(frappe.PermissionError):
				frappe.get_doc({"doctype": "Agent Route Decision", "message": "x"}).insert()

	def test_retention_clears_the_message_then_deletes_the_decision(self):
		self.decide(SEARCH)
		name, later = self.get_last_decision().name, add_to_date(now_datetime(), days=40, as_datetime=True)
		self.addCleanup(self.set_settings, keep_contents_days=0, keep_runs_days=0)
		self.set_settings(keep_contents_days=30)
		apply_retention(later)
		self.assertEqual(
			frappe.db.get_value("Agent Route Decision", name, ["message", "route"]), (None, "agent")
		)
		self.set_settings(keep_runs_days=30)
		apply_retention(later)
		self.assertFalse(frappe.db.exists("Agent Route Decision", name))

	def test_decision_links_its_run_and_marks_a_chat_run_as_escalated(self):
		with ModelServer() as server:
			self.set_settings(router_agent=make_agent(make_model(server)))
			server.script(text("Ya."), text("It is a paper."))
			for message, escalated in ((SEARCH, 0), ("What is a credit note?", 1)):
				self.decide(message)
				with acting_as(self.user):
					_plan, result = routed.run_objective(message)
				self.assertEqual(
					(self.get_last_decision().run, self.get_last_decision().escalated),
					(result["run"], escalated),
				)

	def test_outcomes_say_whether_the_agent_was_needed(self):
		rows = (
			(
				{
					"route": "chat",
					"confidence": 0.7,
					"other_confidence": 0.3,
					"escalated": 1,
					"used_tools": 0,
				},
				(0.3, True),
			),
			(
				{
					"route": "chat",
					"confidence": 0.7,
					"other_confidence": 0.3,
					"escalated": 0,
					"used_tools": 0,
				},
				(0.3, False),
			),
			(
				{
					"route": "agent",
					"confidence": 0.7,
					"other_confidence": 0.3,
					"escalated": 0,
					"used_tools": 1,
				},
				(0.7, True),
			),
			(
				{
					"route": "agent",
					"confidence": 0.7,
					"other_confidence": 0.3,
					"escalated": 0,
					"used_tools": 0,
				},
				(0.7, False),
			),
		)
		for row, outcome in rows:
			self.assertEqual(route_decisions.as_outcome(row), outcome)
		self.decide("hola")
		self.assertIn((0.05, False), route_decisions.read_outcomes())

	def test_each_decision_is_logged(self):
		with self.assertLogs(frappe.logger("huf"), "INFO") as logs:
			self.decide("Busca el precio del bitcoin hoy")
			self.decide("What is the point of an index?")
		lines = "\n".join(logs.output)
		self.assertRegex(
			lines, r"\[Router\] Heuristic match: web_search → agent \(confidence=0\.9\) \(\d+ms\)"
		)
		self.assertRegex(
			lines, r"\[Router\] Decided by classifier: no_tools → chat \(confidence=[\d.]+\) \(\d+ms\)"
		)


class TestConversation(DecidingTestCase):
	def test_route_is_kept_while_a_run_is_active_but_not_after_it(self):
		agent = make_agent()
		with acting_as(self.user):
			run = start_run(AgentRequest(agent, "Count our users", self.user, channel="chat"))
		options = {"conversation": run.conversation}
		self.assertEqual(self.decide("What is a credit note?", **options).stage, Stage.CONVERSATION)
		frappe.db.set_value("Agent Run", run.name, "status", "Success")
		self.assertEqual(self.decide("and in May?", **options).route, Route.AGENT)
		self.assertEqual(self.decide("What is a credit note?", **options).route, Route.CHAT)
		self.assertEqual(self.decide("yes", **options).route, Route.CHAT, "the last route was the chat's")

	def test_conversation_of_another_user_is_refused(self):
		agent, other = make_agent(), make_user("Huf User")
		with acting_as(other):
			run = start_run(AgentRequest(agent, "Count our users", other))
		with self.assertRaises(frappe.PermissionError):
			self.decide("yes", conversation=run.conversation)


class TestSettings(DecidingTestCase):
	def test_environment_variables_override_the_settings(self):
		self.set_settings(router_confidence_threshold=0.8, enable_dynamic_escalation=1)
		self.assertEqual(get_settings().router_confidence_threshold, 0.8)
		variables = {
			"ROUTER_CONFIDENCE_THRESHOLD": "0.7",
			"MAX_AGENT_STEPS": "8",
			"ENABLE_DYNAMIC_ESCALATION": "false",
		}
		with mock.patch.dict(os.environ, variables):
			found = get_settings()
			self.assertFalse(check_escalation("I need to search for that.").should_escalate)
		self.assertEqual((found.router_confidence_threshold, found.max_steps), (0.7, 8))
		self.assertFalse(found.enable_dynamic_escalation)

	def test_invalid_environment_values_are_ignored(self):
		for wrong in ("much", "1.5", "nan", ""):
			with mock.patch.dict(os.environ, {"ROUTER_CONFIDENCE_THRESHOLD": wrong}):
				self.assertEqual(get_settings().router_confidence_threshold, 0.65)
		for wrong in ("0", "-1", "²", "9" * 20):
			with mock.patch.dict(os.environ, {"MAX_AGENT_STEPS": wrong}):
				self.assertEqual(get_settings().max_steps, 8)

	def test_higher_confidence_threshold_routes_to_the_chat(self):
		with mock.patch.dict(os.environ, {"ROUTER_CONFIDENCE_THRESHOLD": "1"}):
			self.assertEqual(self.decide("Which of our customers have not paid?").route, Route.CHAT)
		self.assertEqual(self.decide("Which of our customers have not paid?").route, Route.AGENT)

	def test_site_pattern_decides_and_invalid_patterns_are_refused_on_save(self):
		row = {
			"pattern": "recall list",
			"route": "agent",
			"tool_need": "get_report",
			"confidence": 0.95,
			"reason": "Recall",
		}
		self.set_settings(route_patterns=[row])
		found = self.decide("Explain the RECALL list")
		self.assertEqual((found.tool_needs, found.reasons), (("get_report",), ("Recall",)))
		for wrong in ({"pattern": "(a{1000}){1000}"}, {"pattern": "("}, {"confidence": 3}):
			with self.assertRaisesRegex(frappe.ValidationError, "Row 1"):
				frappe.get_doc("Huf Settings").update({"route_patterns": [{**row, **wrong}]}).save()


class TestModel(DecidingTestCase):
	def find_doubtful_message(self) -> str:
		return next(r["text"] for r in read("test.jsonl") if 0.4 < self.decide(r["text"]).agent_score < 0.6)

	def test_model_decides_doubtful_messages_and_its_cost_is_stored(self):
		message, database = self.find_doubtful_message(), frappe.local.db
		with ModelServer() as server:
			self.set_settings(default_model=make_model(server))
			server.on_request = lambda body: self.assertEqual(database.transaction_writes, 0)
			server.script(text(VERDICT))
			found = self.decide(message)
			self.decide("hola")
		self.assertEqual((found.route, found.confidence, found.stage), (Route.AGENT, 0.83, Stage.MODEL))
		row = frappe.get_last_doc("Agent Route Decision", {"owner": self.user, "stage": "model"})
		self.assertEqual((row.input_tokens > 0, row.cost > 0, row.cost_known), (True, True, 1))

	def test_router_model_call_respects_the_token_limit_and_masks_email(self):
		message = self.find_doubtful_message()
		with ModelServer() as server:
			self.set_settings(default_model=make_model(server), user_daily_token_limit=2_000)
			self.addCleanup(self.set_settings, user_daily_token_limit=0)
			server.script(text(VERDICT))
			self.decide(f"{message} anna@example.com")
			used = frappe.db.get_value(
				"Agent Budget", {"holder": self.user, "scope": "user"}, ["tokens", "reserved_tokens"]
			)
			self.assertEqual(
				used, (sum(self.get_last_decision().get(f"{kind}_tokens") for kind in ("input", "output")), 0)
			)
			self.set_settings(user_daily_token_limit=used[0] + 10)
			found = self.decide(message)
		self.assertNotIn("anna@example.com", str(server.requests))
		self.assertEqual((found.stage, len(server.requests)), (Stage.FALLBACK, 1))

	def test_failed_router_model_call_falls_back_to_the_chat(self):
		message = self.find_doubtful_message()
		with ModelServer() as server:
			self.set_settings(default_model=make_model(server))
			server.script(error(401, "bad key"))
			found = self.decide(message)
		self.assertEqual((found.route, found.confidence, found.stage), (Route.CHAT, 0.5, Stage.FALLBACK))
