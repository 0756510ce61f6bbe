"""Reports, cards and charts on the Desk."""

import json

import frappe
from frappe.utils import now_datetime

from huf.ai.queries import reports
from huf.api import desk
from huf.huf.report.agent_costs.agent_costs import execute
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_user, unique


class TestReports(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.agent, self.user, self.tool = unique("agent"), make_user("Huf User"), unique("tool")
		self.first = self.add(
			"Agent Run", agent=self.agent, status="Success", total_cost=1.5, total_tokens=10
		)
		self.add("Agent Run", agent=self.agent, status="Failed", total_cost=0.5, total_tokens=5)
		self.add("Agent Tool Call", run=self.first, tool=self.tool, status="Failed", duration_ms=300)
		self.add("Agent Tool Call", run=self.first, tool=self.tool, status="Success", duration_ms=100)

	def add(self, doctype: str, **values) -> str:
		row = frappe.get_doc({"doctype": doctype, **values})
		row.flags.ignore_links = row.flags.ignore_mandatory = True
		return row.insert().name

	def rows_with(self, rows, field, value):
		return [row for row in rows if row[field] == value]

	def test_costs_are_summed_by_agent(self):
		[row] = self.rows_with(execute({"group_by": "Agent"})[1], "grouped", self.agent)
		self.assertEqual((row.runs, row.successes, row.tokens, row.cost), (2, 1, 15, 2.0))

	def test_costs_include_model_calls_outside_runs(self):
		before = {group: self.read_outside_costs(group) for group in reports.GROUPS}
		called = {"call_type": "outside", "status": "Success", "input_tokens": 4, "output_tokens": 1}
		self.add("Agent LLM Call", cost=0.25, cost_known=1, **called)
		self.add("Agent LLM Call", run=self.first, model="other", cost=9, **{**called, "call_type": "agent"})
		for group, (cost, tokens) in before.items():
			self.assertEqual(self.read_outside_costs(group), (round(cost + 0.25, 6), tokens + 5), group)
		self.assertIn("Outside runs", [row.grouped for row in execute({})[1]])

	def test_model_call_without_cost_and_tokens_is_reported_as_unpriced(self):
		model = unique("speech")
		self.add("Agent LLM Call", call_type="outside", status="Success", model=model)
		[row] = self.rows_with(execute({"group_by": "Model"})[1], "grouped", model)
		self.assertEqual((row.runs, row.unpriced), (0, 1))

	def test_run_without_a_known_cost_is_unpriced_once_in_every_group_and_has_no_cost_in_the_list(self):
		agent, model = unique("agent"), unique("model")
		used = {"agent": agent, "model": model, "status": "Success", "run_as": self.user}
		run = self.add("Agent Run", total_cost=0, unpriced_calls=2, **used)
		for _ in range(2):
			self.add("Agent LLM Call", run=run, call_type="agent", status="Success", model=model)
		for group, name in (("Agent", agent), ("Model", model), ("User", self.user)):
			[row] = self.rows_with(reports.sum_costs({"group_by": group}), "grouped", name)
			self.assertEqual((row.runs, row.unpriced), (1, 1), group)
		self.assertIsNone(reports.list_report_runs({"agent": agent})[0].total_cost)

	def read_outside_costs(self, group: str) -> tuple[float, int]:
		"""(cost, tokens) outside any agent, model or trigger; of Administrator if grouped by user."""
		name = "Administrator" if group == "User" else None
		rows = self.rows_with(reports.sum_costs({"group_by": group}), "grouped", name)
		return round(sum(row.cost or 0 for row in rows), 6), sum(row.tokens or 0 for row in rows)

	def test_cost_chart_lists_the_most_expensive_group_first(self):
		*_, chart = execute({"group_by": "Agent"})
		rows = reports.sum_costs({})
		self.assertEqual(rows[0].cost, max(row.cost for row in rows))
		self.assertEqual(chart["data"]["labels"][0], rows[0].grouped)
		frappe.set_user(self.user)
		self.assertEqual(execute({})[3], {})

	def test_runs_are_filtered_by_agent_and_status(self):
		rows = reports.list_report_runs({"agent": self.agent, "status": "Success"})
		self.assertEqual([row.name for row in rows], [self.first])

	def test_runs_outside_the_date_filter_are_not_listed(self):
		self.assertEqual(reports.list_report_runs({"agent": self.agent, "from_date": "2999-01-01"}), [])
		self.assertEqual(reports.list_report_runs({"agent": self.agent, "to_date": "2000-01-01"}), [])

	def test_failure_report_lists_only_failed_calls(self):
		rows = reports.list_failures({"tool": self.tool})
		self.assertEqual([row.status for row in rows], ["Failed"])

	def test_tool_report_shows_call_count_durations_and_failures(self):
		[row] = self.rows_with(reports.time_tools({}), "tool", self.tool)
		self.assertEqual((row.calls, row.average_ms, row.longest_ms, row.failures), (2, 200, 300, 1))

	def test_reports_and_cards_exclude_runs_and_calls_of_other_users(self):
		frappe.set_user(self.user)
		for read in (reports.list_report_runs, reports.sum_costs, reports.list_failures, reports.time_tools):
			self.assertEqual(read({}), [], read.__name__)
		self.assertEqual(desk.get_success_rate()["value"], 0)
		self.assertEqual(desk.get_cost()["value"], 0)
		self.assertEqual(self.read_chart("runs"), {"Succeeded": 0, "Unsuccessful": 0, "Other": 0})

	def test_cards_and_charts_count_only_runs_the_user_may_read(self):
		self.assertGreaterEqual(desk.get_cost()["value"], 2.0)
		for status, cost in (("Success", 0.25), ("Stopped", 0.004)):
			run = self.add("Agent Run", agent=self.agent, status=status, total_cost=cost)
			frappe.db.set_value("Agent Run", run, "owner", self.user)
		frappe.set_user(self.user)
		self.assertEqual(desk.get_success_rate()["value"], 50)
		self.assertEqual(desk.get_cost()["value"], 0.25)
		self.assertEqual(self.read_chart("runs"), {"Succeeded": 1, "Unsuccessful": 1, "Other": 0})
		self.assertEqual(self.read_chart("cost"), {"Cost (USD)": 0.254})

	def read_chart(self, figure: str) -> dict:
		"""Today's values of a chart."""
		days = desk.get_days(filters=json.dumps({"figure": figure}))
		self.assertEqual(days["labels"][-1], str(now_datetime().date()))
		return {dataset["name"]: dataset["values"][-1] for dataset in days["datasets"]}

	def test_unknown_group_by_value_falls_back_to_agent(self):
		self.assertTrue(self.rows_with(reports.sum_costs({"group_by": "name; drop"}), "grouped", self.agent))
