"""The sales report pack: orders by region and year, as far as the user may read them."""

import frappe

from huf.ai.core.errors import ToolError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.session import acting_as
from huf.ai.evals.runner import evaluate_agent
from huf.ai.runs.entry import run_agent_sync
from huf.ai.tools import registry
from huf.ai.tools.custom_functions import build_user_context
from huf.tests.factories import make, make_model, make_user
from huf.tests.model_server import ModelServer, text, tool_call
from huf.tests.packs.samples import ShippedPackCase

PLAN = '{"tool": "sales_report_tool", "reason": "A report is asked for", "arguments": {"region": "EMEA", "year": 2024}}'


class SalesCase(ShippedPackCase):
	name = "sales_report"

	def report(self, **args) -> dict:
		return run_coroutine(registry.find_code_tool("huf", "sales_report_tool")(args, build_user_context()))


class TestReport(SalesCase):
	def test_a_report_for_region_and_year_has_one_row_and_a_summary(self):
		report = self.report(region="EMEA", year=2024)
		row = {"region": "EMEA", "year": 2024, "orders": 5, "total": 12575.0, "average": 2515.0}
		self.assertEqual(
			(report["tool"], report["region"], report["year"]), ("sales_report_tool", "EMEA", 2024)
		)
		self.assertEqual(report["data"], [row])
		self.assertEqual(
			report["summary"], "Sales report for region=EMEA, year=2024: 5 orders, EUR 12,575.00"
		)

	def test_omitted_region_and_year_select_all_regions_and_years(self):
		self.assertEqual(self.report(), self.report(region="ALL"))
		self.assertEqual(self.report(region="all")["region"], "ALL")
		rows = self.report()["data"]
		self.assertEqual(
			{(row["region"], row["year"]) for row in rows}, {(r, y) for r in REGIONS for y in YEARS}
		)
		self.assertEqual([row["year"] for row in self.report(region="apac")["data"]], [2023, 2024, 2025])
		self.assertEqual([row["region"] for row in self.report(year=2025)["data"]], REGIONS)

	def test_totals_exclude_cancelled_orders(self):
		orders = frappe.get_all(
			"Shop Order", {"status": ["!=", "Cancelled"]}, ["amount"], order_by="name asc"
		)
		rows = self.report()["data"]
		self.assertAlmostEqual(sum(row["total"] for row in rows), sum(order.amount for order in orders))
		self.assertLess(sum(row["orders"] for row in rows), frappe.db.count("Shop Order"))

	def test_a_year_begins_on_january_1_and_ends_on_december_31(self):
		for number, day in enumerate(("2030-12-31", "2031-01-01", "2031-12-31", "2032-01-01")):
			make(
				"Shop Order", order_no=f"T-{number}", region="LATAM", order_date=day, amount=1, status="Paid"
			)
		self.assertEqual(self.report(year=2031)["data"][0]["orders"], 2)

	def test_unknown_regions_and_invalid_years_raise_tool_errors(self):
		with self.assertRaisesRegex(ToolError, "no region 'Mars'. Known: AMER, APAC, EMEA, LATAM, or ALL"):
			self.report(region="Mars")
		with self.assertRaisesRegex(ToolError, "24 is not a year"):
			self.report(year=24)
		self.assertEqual(self.report(year=1999)["data"], [])

	def test_the_report_is_json_serializable(self):
		self.assertEqual(frappe.parse_json(frappe.as_json(self.report())), self.report())

	def test_the_report_needs_read_permission_of_the_user(self):
		with acting_as(make_user("Sales Reader", "Huf User")):
			self.assertEqual(self.report(year=2024)["data"][0]["region"], "AMER")
		with acting_as(make_user("Huf User")), self.assertRaises(frappe.PermissionError):
			self.report(year=2024)

	def test_orders_the_user_cannot_read_are_not_counted(self):
		user = make_user("Sales Reader", "Huf User")
		make("User Permission", user=user, allow="Shop Region", for_value="EMEA")
		with acting_as(user):
			self.assertEqual({row["region"] for row in self.report()["data"]}, {"EMEA"})


class TestAgent(SalesCase):
	def setUp(self):
		super().setUp()
		self.user = make_user("Sales Reader", "Huf User")

	def ask(self, *answers, tool_mode="Automatic") -> tuple[dict, list[dict]]:
		with ModelServer() as server:
			frappe.db.set_value(
				"Agent", "Sales Analyst", {"model": make_model(server), "tool_mode": tool_mode}
			)
			frappe.db.commit()
			server.script(*answers)
			with acting_as(self.user):
				result = run_agent_sync("Sales Analyst", "How did EMEA do in 2024?")
			frappe.db.set_value("Agent", "Sales Analyst", {"model": None, "tool_mode": "Automatic"})
			frappe.db.commit()
			return result, server.requests

	def test_a_tool_call_returns_the_report_to_the_model(self):
		call = tool_call("sales_report_tool", {"region": "EMEA", "year": 2024})
		result, requests = self.ask(call, text("5 orders."))
		self.assertEqual((result["status"], result["response"]), ("Success", "5 orders."))
		self.assertIn("12575.0", requests[1]["messages"][-1]["content"])

	def test_planner_mode_returns_the_report_to_the_model(self):
		result, requests = self.ask(text(PLAN), text("5 orders."), text("5 orders."), tool_mode="Planner")
		self.assertEqual(result["status"], "Success")
		self.assertIn("Generate sales reports by region and year", frappe.as_json(requests[0]["messages"]))
		self.assertIn("12575.0", frappe.as_json(requests[1]["messages"]))

	def test_users_without_a_role_of_the_agent_cannot_run_it(self):
		with acting_as(make_user("Huf User")), self.assertRaises(frappe.PermissionError):
			run_agent_sync("Sales Analyst", "Sales report")

	def test_all_eval_cases_but_one_pass_offline(self):
		report = evaluate_agent("Sales Analyst", 1, "Offline")
		failed = [each.case for each in report.results if not each.passed]
		self.assertEqual(failed, ["two_sides_of_a_comparison"])


REGIONS, YEARS = ["AMER", "APAC", "EMEA"], (2023, 2024, 2025)
