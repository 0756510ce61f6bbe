"""A limit that is set while a model call is under way counts that call once."""

from contextvars import copy_context

import frappe

from huf.ai.core.costs import WorstCase
from huf.ai.core.session import acting_as
from huf.ai.core.types import Usage
from huf.ai.runs.entry import run_agent_sync
from huf.ai.storage.budgets import release_reservation, reserve_budget
from huf.ai.storage.limits import keep_set, read_limits, read_limits_outside_runs
from huf.ai.storage.standalone_calls import budgeted_call
from huf.tests.ai.storage.test_budgets import A_LOT, BudgetTestCase, call_of, settings, usage
from huf.tests.contract.connections import elsewhere
from huf.tests.factories import make_tool, make_user
from huf.tests.model_server import text


class TestLateLimits(BudgetTestCase):
	def test_a_limit_set_during_a_call_of_a_run_counts_it_once(self):
		agent = self.make_agent()
		self.set_during_first_request(agent, daily_cost_limit=1)
		self.server.script(text("Dear.", **A_LOT), text("Dear.", **A_LOT))
		for cost in (0.2, 0.4):
			self.assertEqual(run_agent_sync(agent, "Spend")["status"], "Success")
			budget = self.budget("agent", agent)
			self.assertAlmostEqual(budget.cost, cost, places=6)
			self.assertEqual((budget.reserved_cost, budget.reserved_tokens), (0, 0))

	def test_a_limit_set_during_a_run_counts_its_later_calls(self):
		tool = make_tool("Get List", reference_doctype="ToDo")
		agent = self.make_agent(tools=(tool,))
		self.set_during_first_request(agent, daily_token_limit=10_000)
		self.server.script(call_of(tool, usage(100, 20)), text("Done.", usage=usage(300, 30)))
		run_agent_sync(agent, "Look")
		self.assertEqual(self.budget("agent", agent).tokens, 450)

	def test_a_second_limit_set_during_a_call_counts_it_and_the_first_one_counts_it_once(self):
		agent = self.make_agent(run_token_limit=500_000)
		self.set_during_first_request(agent, daily_token_limit=500_000)
		self.server.script(text("Dear.", **A_LOT))
		run = run_agent_sync(agent, "Spend")["run"]
		for scope, holder in (("run", run), ("agent", agent)):
			budget = self.budget(scope, holder)
			self.assertEqual((budget.tokens, budget.reserved_tokens), (150_000, 0))

	def test_a_limit_set_during_a_call_outside_runs_counts_it_once(self):
		user = make_user("Huf User")
		with settings(user_daily_cost_limit=0), acting_as(user):
			with budgeted_call(WorstCase("m", 100, 10)) as used:
				with acting_as("Administrator"):
					frappe.get_doc("Huf Settings").update({"user_daily_cost_limit": 1}).save()
				create_budgets(keep_set(read_limits_outside_runs(user)))
				used.usage = Usage(90, 5, 0, 0.01)
			self.assertAlmostEqual(self.budget("user", user).cost, 0.01)
			with budgeted_call(WorstCase("m", 100, 10)) as used:
				used.usage = Usage(90, 5, 0, 0.01)
			self.assertAlmostEqual(self.budget("user", user).cost, 0.02)

	def set_during_first_request(self, agent: str, **limits) -> None:
		"""Set the agent's limits during the first model call, and make another call under them."""
		context = copy_context()

		def set_limits():
			frappe.get_doc("Agent", agent).update(limits).save()
			create_budgets(keep_set(read_limits("another", agent, "Administrator")))

		def on_request(request):
			self.server.on_request = None
			context.run(elsewhere, set_limits)

		self.server.on_request = on_request


def create_budgets(limits) -> None:
	release_reservation(reserve_budget(limits, WorstCase("m", 10, 10, extra_cost=0.001)), 0, 0)
	frappe.db.commit()
