"""Each stop rule stops its agent, names the reason, and counts anew after a release."""

from contextvars import copy_context

import frappe

from huf.ai.chat.approvals import reject_call
from huf.ai.core.errors import UsageError
from huf.ai.core.session import acting_as
from huf.ai.runs.entry import run_agent_sync
from huf.ai.runs.queue import work_on
from huf.ai.runs.stop_rules import apply_stop_rules, check_working_agents
from huf.ai.runs.stopping import release
from huf.ai.storage.stops import describe_stop, read_stops
from huf.tests.base import SiteTestCase, enter
from huf.tests.contract.connections import elsewhere
from huf.tests.doctypes import EDITOR, ORDER, make_doctypes, make_order
from huf.tests.factories import make_agent, make_model, make_tool, make_user, remove_stops, unique
from huf.tests.model_server import ModelServer, error, text, tool_call


class TestStopRules(SiteTestCase):
	def setUp(self):
		super().setUp()
		make_doctypes()
		self.addCleanup(remove_stops)
		self.addCleanup(self.set_site_rule, 0)
		self.server = enter(self, ModelServer())
		self.update = make_tool("Update Document", reference_doctype=ORDER)
		self.create = make_tool("Create Document", reference_doctype="ToDo", requires_approval=1)
		self.model = make_model(self.server)
		self.user = make_user("Huf User", EDITOR)

	def make(self, **rules) -> str:
		return make_agent(self.model, (self.update, self.create), persist_conversation=0, **rules)

	def set_site_rule(self, failures: int) -> None:
		frappe.db.set_single_value("Huf Settings", "stop_after_failures", failures)
		frappe.clear_document_cache("Huf Settings", "Huf Settings")
		frappe.db.commit()

	def run_as_user(self, agent: str, *turns) -> dict:
		self.server.script(*turns)
		with acting_as(self.user):
			return run_agent_sync(agent, "Go", channel_id=frappe.generate_hash(length=8))

	def stop_of(self, agent: str) -> dict | None:
		frappe.db.rollback()
		return next((each for each in read_stops() if each["target"] == agent), None)

	def test_failed_runs_stop_the_agent_until_it_is_released(self):
		agent = self.make(stop_after_failures=2)
		for expected in (None, "Automatic: 2 failed runs within an hour"):
			self.assertEqual(self.run_as_user(agent, error(400, "broken"))["status"], "Failed")
			stop = self.stop_of(agent)
			self.assertEqual(stop and stop["reason"], expected)
		self.assertIn("2 failed runs", describe_stop(stop))
		with self.assertRaisesRegex(UsageError, "2 failed runs"):
			self.run_as_user(agent)
		release(stop["name"])
		self.assertIsNone(apply_stop_rules(agent))
		self.assertEqual(self.run_as_user(agent, text("Hello."))["status"], "Success")

	def test_an_agent_renamed_after_its_release_counts_from_the_release(self):
		agent = self.make(stop_after_failures=1)
		self.run_as_user(agent, error(400, "broken"))
		release(self.stop_of(agent)["name"])
		renamed = unique("Renamed")
		frappe.rename_doc("Agent", agent, renamed, force=True)
		frappe.db.commit()
		self.assertIsNone(apply_stop_rules(renamed))

	def test_spending_stops_the_agent(self):
		agent = self.make(stop_after_cost=0.000001)
		self.run_as_user(agent, text("Hello."))
		self.assertRegex(self.stop_of(agent)["reason"], "USD .* spent")

	def test_rejected_calls_stop_the_agent(self):
		agent = self.make(stop_after_refusals=1)
		card = self.run_as_user(
			agent, tool_call(self.create, {"description": "x", "allocated_to": self.user})
		)["draft"]
		with acting_as(self.user):
			reject_call(card["draft"])
		self.server.script(text("I left it."))
		work_on(card["run"])
		self.assertIn("1 calls that people rejected", self.stop_of(agent)["reason"])

	def test_repeated_changes_of_one_record_stop_the_agent_during_its_run(self):
		agent, order, other = self.make(stop_after_record_writes=3), make_order("nail"), make_order("screw")

		def change(name: str, number: int) -> dict:
			return tool_call(self.update, {"name": name, "values": {"note": f"note {number}"}})

		self.run_as_user(
			agent, change(order.name, 1), change(other.name, 1), change(other.name, 2), text("Done.")
		)
		self.assertIsNone(self.stop_of(agent))
		seen, context = [], copy_context()

		def answer(request):
			seen.append(1)
			if len(seen) == 3:
				# The scheduler does this every minute, on another connection.
				self.assertEqual(context.run(elsewhere, check_working_agents), [agent])
			return change(order.name, 10 + len(seen))

		self.server.forever(answer)
		with acting_as(self.user):
			result = run_agent_sync(agent, "Go", channel_id=frappe.generate_hash(length=8))
		self.assertEqual(result["status"], "Queued", result)
		self.assertIn(f"3 changes of {ORDER} {order.name}", self.stop_of(agent)["reason"])
		self.assertEqual(frappe.db.get_value(ORDER, order.name, "note"), "note 12")

	def test_site_stop_rule_applies_to_agents_without_a_rule(self):
		self.set_site_rule(1)
		plain, lenient = self.make(), self.make(stop_after_failures=5)
		for agent in (plain, lenient):
			self.run_as_user(agent, error(400, "broken"))
		self.assertTrue(self.stop_of(plain))
		self.assertIsNone(self.stop_of(lenient))

	def test_without_rules_nothing_is_stopped(self):
		agent = self.make()
		self.run_as_user(agent, error(400, "broken"))
		self.assertIsNone(self.stop_of(agent))
