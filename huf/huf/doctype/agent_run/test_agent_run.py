import frappe
from frappe.utils import get_datetime

from huf.ai.runs.entry import run_agent_sync
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_agent, make_model
from huf.tests.model_server import ModelServer, text


class TestAgentRun(SiteTestCase):
	def test_deleting_a_run_deletes_its_model_calls_and_keeps_messages(self):
		with ModelServer() as server:
			agent = make_agent(make_model(server))
			server.script(text("Hello."))
			result = run_agent_sync(agent, "Hi")
		frappe.delete_doc("Agent Run", result["run"])
		self.assertFalse(frappe.db.exists("Agent LLM Call", {"run": result["run"]}))
		self.assertEqual(frappe.db.count("Agent Message", {"conversation": result["conversation"]}), 2)

	def test_total_cost_is_a_currency_in_usd(self):
		with ModelServer() as server:
			agent = make_agent(make_model(server))
			server.script(text("Hello."))
			run = frappe.get_doc("Agent Run", run_agent_sync(agent, "Hi")["run"])
		field = run.meta.get_field("total_cost")
		self.assertEqual((field.fieldtype, run.get(field.options)), ("Currency", "USD"))

	def test_runs_update_the_total_and_last_run_of_their_agent(self):
		with ModelServer() as server:
			agent = make_agent(make_model(server))
			server.script(text("One."), text("Two."))
			run_agent_sync(agent, "Hi")
			run_agent_sync(agent, "Hi")
		total, last = frappe.db.get_value("Agent", agent, ["total_run", "last_run"])
		newest = frappe.get_last_doc("Agent Run", {"agent": agent})
		self.assertEqual(total, 2)
		self.assertLess(abs((get_datetime(last) - get_datetime(newest.creation)).total_seconds()), 30)
