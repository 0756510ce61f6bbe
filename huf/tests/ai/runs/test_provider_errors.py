"""How a run fails or goes on after errors of a provider: advice, pauses, time-outs, broken streams."""

import time

import frappe

from huf.ai.chat.messages import continue_in_background
from huf.ai.core.types import AgentRequest
from huf.ai.providers.models import CallPath
from huf.ai.runs.entry import run_agent, run_agent_sync, stream_agent
from huf.ai.runs.queue import work_on
from huf.tests.base import SiteTestCase
from huf.tests.factories import SECRET, make_agent, make_model
from huf.tests.model_server import ModelServer, cut, error, garbage, slow, stall, text


class TestProviderErrors(SiteTestCase):
	def test_each_provider_error_fails_the_run_with_advice(self):
		refused = error(401, f"Incorrect API key provided: {SECRET}")
		for answers, advice in (
			([refused], "under Models"),
			([error(402)], "too little credit"),
			([error(301, body="<html>Moved</html>")], "leads to another one"),
			([error(429)] * 3, "rate limit"),
			([error(500)] * 3, "The provider failed"),
			([error(404)], "name of the model"),
			([garbage()] * 3, ""),
		):
			with self.subTest(advice):
				self.assert_fails(answers, advice)

	def test_a_rate_limit_that_passes_does_not_fail_the_run(self):
		with ModelServer() as server:
			agent = make_agent(make_model(server))
			server.script(error(429), text("Now."))
			self.assertEqual(run_agent_sync(agent, "Hi")["response"], "Now.")

	def test_provider_that_names_a_pause_is_called_again_after_it(self):
		for way in (CallPath.AUTOMATIC, CallPath.WRAPPED):
			with self.subTest(way), ModelServer() as server:
				server.script(error(429, retry_after=0.7), text("Now."))
				model = make_model(server)
				provider = frappe.db.get_value("AI Model", model, "provider")
				frappe.db.set_value("AI Provider", provider, "call_way", way.value)
				began = time.monotonic()
				result = run_agent_sync(make_agent(model), "Hello?")
				self.assertEqual(result["response"], "Now.")
				self.assertGreater(time.monotonic() - began, 0.7)

	def test_provider_that_asks_for_a_long_pause_is_not_called_again(self):
		with ModelServer() as server:
			server.script(error(429, retry_after=3600))
			result = run_agent_sync(make_agent(make_model(server)), "Hello?")
		self.assertEqual(result["status"], "Failed")

	def test_model_timeout_fails_the_run_and_names_the_setting(self):
		settings = frappe.get_doc("Huf Settings")
		self.addCleanup(self.set_model_timeout, settings.model_timeout, settings.model_retries)
		self.set_model_timeout(1, 0)
		self.assert_fails(
			[slow(30, text("Too late."))], "raise Model Timeout in Huf Settings", [lambda event: None]
		)

	def test_steady_stream_may_exceed_the_model_timeout(self):
		settings = frappe.get_doc("Huf Settings")
		self.addCleanup(self.set_model_timeout, settings.model_timeout, settings.model_retries)
		self.set_model_timeout(1, 0)
		for values in ({}, {"call_way": "Wrapped"}, {"is_local": 1}):
			with self.subTest(values), ModelServer() as server:
				model = make_model(server)
				provider = frappe.get_doc("AI Provider", frappe.db.get_value("AI Model", model, "provider"))
				provider.update(values).save()
				server.script(text("One word after another comes, slowly.", chunk_size=6, pace=0.25))
				# A local model streams even without watchers.
				watchers = [] if "is_local" in values else [lambda event: None]
				result = run_agent(AgentRequest(make_agent(model), "Hi", "Administrator"), watchers)
			self.assertEqual(result.response, "One word after another comes, slowly.")
			self.assertGreater(result.duration_ms, 1500)

	def test_stalled_stream_stops_the_run_which_can_be_continued(self):
		settings = frappe.get_doc("Huf Settings")
		self.addCleanup(self.set_model_timeout, settings.model_timeout, settings.model_retries)
		self.set_model_timeout(1, 0)
		with ModelServer() as server:
			agent = make_agent(make_model(server))
			server.script(stall(text("Half of the answer is here, the rest never comes."), 2))
			*_, last = stream_agent(AgentRequest(agent, "Answer", "Administrator"))
			self.assertEqual((last.data["status"], last.data["stop_reason"]), ("Stopped", "timeout"))
			self.assertIn("sent nothing for too long", last.data["error"])
			self.assertTrue(last.data["response"])
			server.script(text("Here is the rest."))
			queued = continue_in_background(last.run)
			self.assertEqual(work_on(queued["run"]).response, "Here is the rest.")

	def set_model_timeout(self, seconds, retries):
		settings = frappe.get_doc("Huf Settings")
		settings.update({"model_timeout": seconds, "model_retries": retries})
		settings.save()
		frappe.db.commit()

	def test_interrupted_stream_fails_the_run_and_keeps_partial_text(self):
		broken = cut(text("This is a long answer that breaks off"), after_chunks=2)
		result = self.assert_fails(
			[broken], "broke off in the middle of the answer", watchers=[lambda event: None]
		)
		self.assertTrue(result["response"].startswith("This is"))

	def assert_fails(self, answers, advice, watchers=()):
		with ModelServer() as server:
			agent = make_agent(make_model(server))
			server.script(*answers)
			result = run_agent(AgentRequest(agent, "Do something", "Administrator"), watchers).as_dict()
		self.assertEqual((result["status"], result["stop_reason"]), ("Failed", "error"))
		self.assertIn(advice, result["error"])
		recorded = frappe.get_all(
			"Agent Message", {"run": result["run"]}, ["kind", "content"], order_by="sequence asc"
		)
		self.assertEqual((recorded[0].content, recorded[-1].kind), ("Do something", "Error"))
		self.assert_no_secret(result)
		return result

	def assert_no_secret(self, result):
		stored = [result, frappe.get_doc("Agent Run", result["run"]).as_dict()]
		for doctype in ("Agent LLM Call", "Agent Message"):
			stored += frappe.get_all(doctype, {"run": result["run"]}, ["*"])
		self.assertNotIn(SECRET, frappe.as_json(stored))
