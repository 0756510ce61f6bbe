"""Decisions on a site: on record, private, by its own settings and patterns, and told of what became of them."""

import json
import os
from unittest import mock

import frappe
from frappe.utils import add_to_date, now_datetime

from huf.ai.chat import routed
from huf.ai.core.settings import get_settings
from huf.ai.core.types import AgentRequest
from huf.ai.routing.types import Route, Stage
from huf.ai.runs.admission import acting_as
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
		kept = ("router_confidence_threshold", "enable_dynamic_escalation", "router_agent", "default_model")
		self.addCleanup(self.set_settings, route_patterns=[], **{name: before[name] for name in kept})
		self.user = make_user("Huf User")

	def set_settings(self, **values):
		frappe.get_doc("Huf Settings").update(values).save()
		frappe.db.commit()

	def decide(self, message: str, **more):
		with acting_as(self.user):
			return routed.decide_for_user(message, **more)

	def last(self):
		return frappe.get_last_doc("Agent Route Decision", {"owner": self.user})


class TestRecord(DecidingTestCase):
	def test_a_decision_is_on_record_with_what_the_other_route_would_have_been(self):
		self.decide(SEARCH, has_attachments=True)
		row = self.last()
		self.assertEqual((row.route, row.confidence, row.stage), ("agent", 0.92, "heuristics"))
		self.assertEqual((row.other_route, row.other_confidence, row.has_attachments), ("chat", 0.08, 1))
		self.assertEqual((row.message, row.language, row.threshold), (SEARCH, "es", 0.65))
		self.assertEqual(json.loads(row.tool_needs), ["read_file", "web_search"])

	def test_only_the_owner_and_managers_see_it_and_nobody_writes_it(self):
		self.decide(SEARCH)
		row = self.last()
		with acting_as(make_user("Huf User")):
			self.assertEqual(frappe.get_list("Agent Route Decision"), [])
			self.assertFalse(row.has_permission("read"))
		with acting_as(self.user):
			self.assertTrue(row.has_permission("read"))
			with self.assertRaises(frappe.PermissionError):
				frappe.get_doc({"doctype": "Agent Route Decision", "message": "x"}).insert()

	def test_retention_takes_the_words_then_the_row(self):
		self.decide(SEARCH)
		name, later = self.last().name, add_to_date(now_datetime(), days=40, as_datetime=True)
		self.addCleanup(self.set_settings, keep_contents_days=0, keep_runs_days=0)
		self.set_settings(keep_contents_days=30)
		apply_retention(later)
		self.assertEqual(
			frappe.db.get_value("Agent Route Decision", name, ["message", "route"]), (None, "agent")
		)
		self.set_settings(keep_runs_days=30)
		apply_retention(later)
		self.assertFalse(frappe.db.exists("Agent Route Decision", name))

	def test_the_run_that_came_of_it_is_told_and_a_chat_that_became_a_run_is_escalated(self):
		with ModelServer() as server:
			self.set_settings(router_agent=make_agent(make_model(server)))
			server.script(text("Ya."), text("It is a paper."))
			for message, escalated in ((SEARCH, 0), ("What is a credit note?", 1)):
				self.decide(message)
				with acting_as(self.user):
					_plan, result = routed.run_objective(message)
				self.assertEqual((self.last().run, self.last().escalated), (result.run, escalated))

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

	def test_the_log_tells_each_decision(self):
		with self.assertLogs(frappe.logger("huf"), "INFO") as told:
			self.decide("Busca el precio del bitcoin hoy")
			self.decide("What is the point of an index?")
		lines = "\n".join(told.output)
		self.assertRegex(
			lines, r"\[Router\] Heuristic match: web_search → agent \(confidence=0\.9\) \(\d+ms\)"
		)
		self.assertRegex(
			lines, r"\[Router\] Decided by classifier: no_tools → chat \(confidence=[\d.]+\) \(\d+ms\)"
		)


class TestConversation(DecidingTestCase):
	def test_a_task_that_goes_on_keeps_its_route_and_a_finished_one_does_not(self):
		agent = make_agent()
		with acting_as(self.user):
			run = start_run(AgentRequest(agent, "Count our users", self.user, channel="chat"))
		talk = {"conversation": run.conversation}
		self.assertEqual(self.decide("What is a credit note?", **talk).stage, Stage.CONVERSATION)
		frappe.db.set_value("Agent Run", run.name, "status", "Success")
		self.assertEqual(self.decide("and in May?", **talk).route, Route.AGENT)
		self.assertEqual(self.decide("What is a credit note?", **talk).route, Route.CHAT)
		self.assertEqual(self.decide("yes", **talk).route, Route.CHAT, "the last route was the chat's")

	def test_a_conversation_of_another_is_not_looked_into(self):
		agent, other = make_agent(), make_user("Huf User")
		with acting_as(other):
			run = start_run(AgentRequest(agent, "Count our users", other))
		with self.assertRaises(frappe.PermissionError):
			self.decide("yes", conversation=run.conversation)


class TestSettings(DecidingTestCase):
	def test_the_environment_wins_over_the_record(self):
		self.set_settings(router_confidence_threshold=0.8, enable_dynamic_escalation=1)
		self.assertEqual(get_settings().router_confidence_threshold, 0.8)
		given = {
			"ROUTER_CONFIDENCE_THRESHOLD": "0.7",
			"MAX_AGENT_STEPS": "8",
			"ENABLE_DYNAMIC_ESCALATION": "false",
		}
		with mock.patch.dict(os.environ, given):
			found = get_settings()
			self.assertFalse(check_escalation("I need to search for that.").should_escalate)
		self.assertEqual((found.router_confidence_threshold, found.max_steps), (0.7, 8))
		self.assertFalse(found.enable_dynamic_escalation)

	def test_what_makes_no_sense_in_the_environment_does_not_count(self):
		for wrong in ("much", "1.5", "nan", ""):
			with mock.patch.dict(os.environ, {"ROUTER_CONFIDENCE_THRESHOLD": wrong}):
				self.assertEqual(get_settings().router_confidence_threshold, 0.65)

	def test_the_threshold_decides(self):
		with mock.patch.dict(os.environ, {"ROUTER_CONFIDENCE_THRESHOLD": "1"}):
			self.assertEqual(self.decide("Which of our customers have not paid?").route, Route.CHAT)
		self.assertEqual(self.decide("Which of our customers have not paid?").route, Route.AGENT)

	def test_a_site_s_pattern_decides_and_a_bad_one_is_refused_when_it_is_saved(self):
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
		for wrong in ({"pattern": "(a+)+"}, {"pattern": "("}, {"confidence": 3}):
			with self.assertRaisesRegex(frappe.ValidationError, "Row 1"):
				frappe.get_doc("Huf Settings").update({"route_patterns": [{**row, **wrong}]}).save()


class TestModel(DecidingTestCase):
	def doubtful(self) -> str:
		return next(r["text"] for r in read("test.jsonl") if 0.4 < self.decide(r["text"]).agent_score < 0.6)

	def test_a_model_decides_what_is_in_doubt_and_its_cost_is_on_record(self):
		message, database = self.doubtful(), frappe.local.db
		with ModelServer() as server:
			self.set_settings(default_model=make_model(server))
			server.on_request = lambda body: self.assertEqual(database.transaction_writes, 0)
			server.script(text(VERDICT))
			found = self.decide(message)
			self.decide("hola")
		self.assertEqual((found.route, found.confidence, found.stage), (Route.AGENT, 0.83, Stage.MODEL))
		row = frappe.get_last_doc("Agent Route Decision", {"owner": self.user, "stage": "model"})
		self.assertEqual((row.input_tokens > 0, row.cost > 0, row.cost_known), (True, True, 1))

	def test_a_limit_is_kept_and_personal_data_is_not_shown(self):
		message = self.doubtful()
		with ModelServer() as server:
			self.set_settings(default_model=make_model(server), user_daily_token_limit=2_000)
			self.addCleanup(self.set_settings, user_daily_token_limit=0)
			server.script(text(VERDICT))
			self.decide(f"{message} anna@example.com")
			used = frappe.db.get_value(
				"Agent Budget", {"holder": self.user, "scope": "user"}, ["tokens", "reserved_tokens"]
			)
			self.assertEqual(used, (sum(self.last().get(f"{way}_tokens") for way in ("input", "output")), 0))
			self.set_settings(user_daily_token_limit=used[0] + 10)
			found = self.decide(message)
		self.assertNotIn("anna@example.com", str(server.requests))
		self.assertEqual((found.stage, len(server.requests)), (Stage.FALLBACK, 1))

	def test_a_model_that_fails_leaves_the_chat_and_says_so(self):
		message = self.doubtful()
		with ModelServer() as server:
			self.set_settings(default_model=make_model(server))
			server.script(error(401, "bad key"))
			found = self.decide(message)
		self.assertEqual((found.route, found.confidence, found.stage), (Route.CHAT, 0.5, Stage.FALLBACK))
