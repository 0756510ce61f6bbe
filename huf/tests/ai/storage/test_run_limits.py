"""A user waits for a limited number of runs at once, and starts a limited number in an hour."""

import frappe

from huf.ai.core.errors import TooManyRuns
from huf.ai.core.session import acting_as
from huf.ai.core.types import AgentRequest
from huf.ai.runs.entry import run_agent_sync, start_inline
from huf.ai.storage import budgets
from huf.ai.storage.limits import Cap
from huf.tests.ai.storage.test_budgets import BudgetTestCase, call_of
from huf.tests.base import enter
from huf.tests.contract.connections import together
from huf.tests.factories import make_tool, make_user, unique
from huf.tests.model_server import text


class TestRunsAtOnce(BudgetTestCase):
	def test_runs_above_the_concurrent_limit_of_a_user_are_refused(self):
		self.limit_runs_at_once(2)
		self.addCleanup(self.limit_runs_at_once, 0)
		agent = self.make_agent()
		# Other tests may leave active runs of the Administrator.
		enter(self, acting_as(make_user("Huf User")))
		self.server.script(*(text("Done.") for _ in range(4)))
		active = run_agent_sync(agent, "Hi")["run"]
		run_agent_sync(agent, "The first has ended")
		before = frappe.db.count("Agent Run")
		self.make_active(active)
		self.assertEqual(run_agent_sync(agent, "One is active")["status"], "Success")
		self.make_active(run_agent_sync(agent, "Hi")["run"])
		with self.assertRaisesRegex(TooManyRuns, "2 of your runs are still running"):
			run_agent_sync(agent, "Two are active")
		self.assertEqual(frappe.db.count("Agent Run"), before + 2, "the refused run is not recorded")
		frappe.db.set_value("Agent Run", active, "parent_run", "a run that called this agent")
		self.server.script(text("Done."), text("Done."))
		self.assertEqual(run_agent_sync(agent, "A child run does not count")["status"], "Success")
		frappe.db.set_value("Agent Run", active, {"status": "Success", "parent_run": None})
		self.assertEqual(run_agent_sync(agent, "One has ended")["status"], "Success")

	def test_of_runs_that_start_together_only_as_many_begin_as_are_allowed(self):
		self.limit_runs_at_once(2)
		self.addCleanup(self.limit_runs_at_once, 0)
		agent, user = self.make_agent(), make_user("Huf User")
		frappe.db.commit()
		begun = together([(begin_run, agent, user)] * 5)
		for run in filter(None, begun):
			self.addCleanup(self.end_run, run)
		self.assertEqual(len([run for run in begun if run]), 2)
		rows = frappe.get_all(
			"Agent Run",
			filters={"agent": agent},
			fields=["name", "status", "request_key"],
			order_by="name asc",
		)
		self.assertEqual({row.name for row in rows if row.request_key}, set(filter(None, begun)))
		self.assertEqual({row.status for row in rows if not row.request_key} - {"Cancelled"}, set())
		active = frappe.get_all(
			"Agent Conversation", filters={"agent": agent}, pluck="active_run", order_by="creation asc"
		)
		self.assertEqual(set(filter(None, active)), set(filter(None, begun)))

	def limit_runs_at_once(self, limit: int):
		frappe.db.set_single_value("Huf Settings", "runs_at_once", limit)
		frappe.db.commit()
		frappe.clear_document_cache("Huf Settings", "Huf Settings")

	def make_active(self, run: str):
		frappe.db.set_value("Agent Run", run, "status", "Started")
		self.addCleanup(self.end_run, run)

	def end_run(self, run: str):
		frappe.db.set_value("Agent Run", run, "status", "Success")
		frappe.db.commit()


class TestRunsPerHour(BudgetTestCase):
	def test_runs_above_the_hourly_limit_are_refused_with_a_retry_time(self):
		agent = self.make_agent(runs_per_hour=2)
		self.server.script(text("One."), text("Two."))
		for _ in range(2):
			run_agent_sync(agent, "Hi")
		with self.assertRaisesRegex(TooManyRuns, r"2 runs .* an hour. Try again at \d\d:\d\d"):
			run_agent_sync(agent, "Hi")

	def test_first_runs_that_start_together_are_counted_or_refused(self):
		agent = self.make_agent(runs_per_hour=3)
		frappe.db.commit()
		counted = together([(is_counted, agent)] * 6)
		self.assertEqual(sorted(counted), [False, False, False, True, True, True])

	def test_hourly_run_limit_resets_after_an_hour(self):
		agent = self.make_agent(runs_per_hour=1)
		self.server.script(text("One."), text("Two."))
		run_agent_sync(agent, "Hi")
		frappe.db.sql(
			"update `tabAgent Budget` set since = '2020-01-01' where scope = 'rate' and period = %s", agent
		)
		self.assertEqual(run_agent_sync(agent, "Hi")["status"], "Success")

	def test_child_runs_do_not_count_toward_the_hourly_limit(self):
		child = self.make_agent(runs_per_hour=1)
		tool = make_tool("Run Agent", agent=child)
		parent = self.make_agent(tools=(tool,))
		self.server.script(call_of(tool, prompt="Work"), text("Done."), text("Done."))
		run_agent_sync(parent, "Have it done")
		self.server.script(text("Here."))
		self.assertEqual(run_agent_sync(child, "Hi")["status"], "Success")


def begin_run(agent: str, user: str) -> str | None:
	"""The run that begins; None if it is refused."""
	with acting_as(user):
		request = AgentRequest(agent, "Hi", user, external_id=unique("thread"), request_key="key")
		try:
			return start_inline(request).name
		except TooManyRuns:
			return None


def is_counted(agent: str) -> bool:
	frappe.db.get_value("Agent", agent, "name")  # the first read fixes what a transaction of MariaDB sees
	try:
		budgets.count_run_start("Administrator", agent, Cap(3, ""))
	except TooManyRuns:
		return False
	return True
