"""Money and tokens are reserved before each call and settled after it; limits that stop a run are named."""

from datetime import datetime, timedelta
from unittest.mock import patch

import frappe
from frappe.utils import now_datetime

from huf.ai.core import times
from huf.ai.core.costs import WorstCase
from huf.ai.core.errors import BudgetReserved, RunStopped
from huf.ai.core.session import acting_as
from huf.ai.core.types import AgentRequest, Usage
from huf.ai.queries.costs import list_budgets
from huf.ai.runs.entry import run_agent, run_agent_sync
from huf.ai.runs.queue import recover_runs, work_on
from huf.ai.storage import budgets, limits
from huf.ai.storage.budgets import release_reservation, reserve_budget
from huf.ai.storage.limits import AGENT, SITE, USER, Cap, Limit, keep_set, read_limits
from huf.ai.storage.standalone_calls import budgeted_call
from huf.tests.base import SiteTestCase, enter
from huf.tests.factories import make_agent, make_model, make_tool, make_user, unique
from huf.tests.model_server import ModelServer, cut, error, text, usage

MILLION = 1_000_000
A_LOT = {"usage": usage(100_000, 50_000)}
"""USD 0.2 at the prices of `make_model`."""


class BudgetTestCase(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.server = enter(self, ModelServer())

	def make_agent(self, model=None, tools=(), **limits) -> str:
		return make_agent(model or make_model(self.server), tools, **limits)

	def budget(self, scope: str, holder: str):
		fields = ["cost", "reserved_cost", "tokens", "reserved_tokens"]
		return frappe.db.get_value(
			"Agent Budget", {"scope": scope, "holder": holder}, fields, order_by="creation desc", as_dict=True
		)


class TestRunsWithLimits(BudgetTestCase):
	def test_a_run_stops_before_the_call_that_could_go_over_its_limit(self):
		tool = make_tool("Get List", reference_doctype="ToDo")
		agent = self.make_agent(tools=(tool,), run_cost_limit=0.0051, max_tokens=1000)
		self.server.script(call_of(tool, usage(1000, 2000)))
		result = run_agent_sync(agent, "Go on and on")
		self.assertEqual(
			(result["status"], result["stop_reason"], result["steps"]), ("Stopped", "money_budget", 1)
		)

	def test_budget_stop_message_names_the_limit_the_amount_and_the_manager_role(self):
		agent = self.make_agent(daily_cost_limit=0.2)
		self.server.script(text("Dear.", **A_LOT))
		run_agent_sync(agent, "Spend")
		result = run_agent_sync(agent, "Spend more")
		for part in (
			"0.2 USD",
			"0.2000 USD spent",
			f"the agent {agent}",
			"Huf Manager",
			f"Cost per Day of Agent {agent}",
		):
			self.assertIn(part, result["error"])

	def test_a_limit_that_is_set_later_counts_what_its_period_has_cost_before(self):
		agent, user = self.make_agent(), make_user("Huf User")
		self.server.script(text("Dear.", **A_LOT))
		with acting_as(user):
			run_agent_sync(agent, "Spend")
		for limit in ({"agent_daily_cost_limit": 0.2}, {"user_daily_token_limit": 150_000}):
			with self.subTest(limit), settings(**limit), acting_as(user):
				shown = [each["tokens"] for each in list_budgets(now_datetime())]
				self.assertEqual(shown, [150_000] if "user_daily_token_limit" in limit else [])
				result = run_agent_sync(agent, "Spend more")
				self.assertEqual((result["status"], result["stop_reason"]), ("Stopped", "money_budget"))
		self.assertAlmostEqual(self.budget("agent", agent).cost, 0.2, places=6)
		self.assertEqual(self.budget("user", user).tokens, 150_000)

	def test_a_limit_that_was_off_for_a_while_counts_what_was_spent_meanwhile(self):
		agent, user = self.make_agent(), make_user("Huf User")
		self.server.forever(text("Dear.", **A_LOT))
		self.addCleanup(self.set_values, "Huf Settings", "Huf Settings", user_daily_cost_limit=0)
		for doctype, name, field in (
			("Agent", agent, "daily_cost_limit"),
			("Huf Settings", "Huf Settings", "user_daily_cost_limit"),
		):
			for limit, status in ((1.5, "Success"), (0, "Success"), (0.3, "Stopped")):
				self.set_values(doctype, name, **{field: limit})
				with self.subTest(doctype, limit=limit), acting_as(user):
					self.assertEqual(run_agent_sync(agent, "Spend")["status"], status)
			self.set_values(doctype, name, **{field: 0})
		self.assertAlmostEqual(self.budget("agent", agent).cost, 0.8, places=6)
		self.assertAlmostEqual(self.budget("user", user).cost, 0.8, places=6)

	def set_values(self, doctype: str, name: str, **values) -> None:
		frappe.set_user("Administrator")
		frappe.get_doc(doctype, name).update(values).save()
		frappe.db.commit()

	def test_budget_stop_message_is_in_the_language_of_the_run_user(self):
		agent = self.make_agent(daily_token_limit=2000, max_tokens=4000)
		user = make_user("Huf User")
		for language, words in (
			("de", ("Vom Limit 2000 Token für den Agenten", "Ein Huf-Manager kann es erhöhen")),
			("es", ("El límite de 2000 tokens para el agente", "Un administrador de Huf puede subirlo")),
			("cs", ("Z limitu 2000 tokenů pro agenta", "Správce Huf ho může zvýšit")),
		):
			with self.subTest(language):
				frappe.db.set_value("User", user, "language", language)
				frappe.clear_document_cache("User", user)
				self.server.script(text("So far", finish_reason="length", usage=usage(100, 20)))
				error = run_agent(AgentRequest(agent, unique("Tell me all"), user)).error
				for each in (*words, agent):
					self.assertIn(each, error)
				for english in ("The limit", "tokens per Day", "Tokens per Day", " of "):
					self.assertNotIn(english, error)

	def test_every_text_about_limits_is_translated(self):
		texts = [budgets.EXHAUSTED, budgets.CUT_SHORT, budgets.TOO_MANY_RUNS]
		texts += [budgets.NOT_PRICED, budgets.NOT_MEASURED]
		texts += [scope.title for scope in (limits.RUN, limits.AGENT, limits.USER, limits.SITE)]
		for language in ("de", "es", "cs"):
			for each in texts:
				self.assertNotEqual(frappe._(each, lang=language), each, language)

	def test_answer_cut_at_the_remaining_token_budget_stops_the_run_with_a_reason(self):
		agent = self.make_agent(daily_token_limit=2000, max_tokens=4000)
		self.server.script(text("So far", finish_reason="length", usage=usage(100, 500)))
		result = run_agent_sync(agent, "Tell me all")
		self.assertLess(self.server.requests[0]["max_tokens"], 2000)
		self.assertEqual((result["stop_reason"], result["response"]), ("money_budget", "So far"))
		self.assertIn("The limit of 2000 tokens for the agent", result["error"])
		self.assertIn(
			"leaves too little for a longer answer: 0 spent. A Huf Manager can raise it", result["error"]
		)

	def test_models_without_a_price_are_not_called_under_a_cost_limit(self):
		agent = self.make_agent(make_model(self.server, own_prices=0), run_cost_limit=1)
		result = run_agent_sync(agent, "Hi")
		self.assertEqual((result["stop_reason"], self.server.requests), ("money_budget", []))
		self.assertIn("AI Model", result["error"])

	def test_a_limit_of_tokens_needs_no_price(self):
		agent = self.make_agent(make_model(self.server, own_prices=0), run_token_limit=10_000)
		self.server.script(text("Hello."))
		self.assertEqual(run_agent_sync(agent, "Hi")["status"], "Success")

	def test_missing_usage_is_charged_at_the_reserved_amount(self):
		agent = self.make_agent(daily_cost_limit=1, max_tokens=1000)
		self.server.script(text("Hello.", usage=None))
		self.assertIsNone(run_agent_sync(agent, "Hi")["total_cost"])
		budget = self.budget("agent", agent)
		self.assertGreater(budget.cost, 1000 * 2 / MILLION)
		self.assertEqual((budget.reserved_cost, budget.reserved_tokens), (0, 0))

	def test_reported_usage_is_charged_exactly(self):
		agent = self.make_agent(daily_cost_limit=1)
		self.server.script(text("Hello.", usage=usage(100, 50, cached=40)))
		run_agent_sync(agent, "Hi")
		budget = self.budget("agent", agent)
		self.assertAlmostEqual(budget.cost, (60 * 1 + 40 * 0.5 + 50 * 2) / MILLION, places=9)
		self.assertEqual((budget.tokens, budget.reserved_tokens), (150, 0))

	def test_refused_requests_cost_nothing_and_server_errors_cost_the_reservation(self):
		agent = self.make_agent(daily_cost_limit=1, max_tokens=1000)
		self.server.script(error(400, "no"))
		run_agent_sync(agent, "Hi")
		self.assertEqual(self.budget("agent", agent).cost, 0)
		self.server.script(error(500, "oh"), text("Hello.", usage=usage(100, 10)))
		run_agent_sync(agent, "Hi")
		budget = self.budget("agent", agent)
		self.assertGreater(budget.cost, 1000 * 2 / MILLION)
		self.assertAlmostEqual(budget.reserved_cost, 0, places=9)

	def test_unreachable_and_overloaded_providers_cost_nothing(self):
		model = make_model(self.server)
		agent = self.make_agent(model, daily_cost_limit=1)
		self.server.script(error(503, "busy"), error(529, "full"), error(503, "busy"))
		self.assertEqual(run_agent_sync(agent, "Hi")["status"], "Failed")
		provider = frappe.db.get_value("AI Model", model, "provider")
		self.set_values("AI Provider", provider, api_base="http://127.0.0.1:9/v1", api_key="key")
		self.assertIn("Nothing listens", run_agent_sync(agent, "Hi")["error"])
		self.assertEqual(self.budget("agent", agent).cost, 0)

	def test_child_run_spends_from_the_budget_of_its_caller(self):
		child = self.make_agent()
		tool = make_tool("Run Agent", agent=child)
		parent = self.make_agent(tools=(tool,), run_cost_limit=0.2001)
		self.server.script(call_of(tool, usage(10, 10), prompt="Work"), text("Dear.", **A_LOT))
		result = run_agent_sync(parent, "Have it done")
		self.assertEqual(result["stop_reason"], "money_budget")
		run = frappe.get_last_doc("Agent Run", {"parent_run": result["run"]})
		self.assertEqual(run.status, "Success")
		self.assertAlmostEqual(self.budget("run", result["run"]).cost, 0.20003, places=6)

	def test_user_and_site_limits_apply_to_a_run(self):
		agent = self.make_agent()
		with settings(user_daily_cost_limit=2, site_monthly_token_limit=10):
			limits = keep_set(read_limits("run", agent, "Administrator"))
		self.assertEqual([limit.scope.key for limit in limits], ["user", "site"])

	def test_reservation_of_a_lost_call_outside_runs_is_charged_once(self):
		user, worst = make_user("Huf User"), WorstCase("m", 100, 10, extra_cost=0.01)
		with settings(user_daily_cost_limit=2), acting_as(user):
			lost = budgeted_call(worst)
			lost.__enter__()
		self.assertAlmostEqual(self.budget("user", user).reserved_cost, 0.01)
		recover_runs()
		self.assertAlmostEqual(self.budget("user", user).reserved_cost, 0.01)
		for _ in range(2):
			recover_runs(now_datetime() + timedelta(hours=2))
		# The call was not lost but slow, and ends now.
		lost.__exit__(None, None, None)
		budget = self.budget("user", user)
		self.assertAlmostEqual(budget.reserved_cost, 0)
		self.assertAlmostEqual(budget.cost, 0.01)
		self.assertEqual(frappe.db.get_value("Agent LLM Call", {"owner": user}, "status"), "Failed")

	def test_a_call_outside_runs_records_its_usage(self):
		user = make_user("Huf User")
		with acting_as(user), budgeted_call(WorstCase("m", 100, 10)) as used:
			used.usage = Usage(90, 5, 60, 0.01)
		fields = ["status", "input_tokens", "cached_tokens", "output_tokens", "cost"]
		recorded = frappe.db.get_value("Agent LLM Call", {"owner": user}, fields)
		self.assertEqual(recorded, ("Success", 90, 60, 5, 0.01))

	def test_a_call_outside_runs_is_not_lost_because_clocks_were_set_forward(self):
		user, worst = make_user("Huf User"), WorstCase("m", 100, 10, extra_cost=0.01)
		with settings(user_daily_cost_limit=2), acting_as(user):
			call = budgeted_call(worst)
			call.__enter__()
		frappe.db.set_value("Agent LLM Call", {"owner": user}, "started_at", "2027-03-28 01:59:00")
		with patch.object(times, "get_system_timezone", return_value="Europe/Berlin"):
			recover_runs(datetime(2027, 3, 28, 3, 1))
			self.assertAlmostEqual(self.budget("user", user).reserved_cost, 0.01)
			recover_runs(datetime(2027, 3, 28, 4, 1))
		self.assertAlmostEqual(self.budget("user", user).reserved_cost, 0)
		call.__exit__(None, None, None)

	def test_run_without_a_model_spends_no_budget(self):
		agent = make_agent(daily_cost_limit=0.000001, daily_token_limit=1)
		self.assertEqual(run_agent_sync(agent, "Hello")["status"], "Success")

	def test_reservation_of_a_lost_worker_is_charged_once(self):
		agent = self.make_agent(daily_cost_limit=1, max_tokens=1000)
		self.server.script(cut(text("Hello.")), error(400, "no"))
		with settings(model_retries=0):
			run = run_agent_sync(agent, "Hi")["run"]
		spent = self.budget("agent", agent).cost
		self.assertGreater(spent, 1000 * 2 / MILLION)
		# As if the worker had been lost before it recorded the end of the call.
		frappe.db.sql("update `tabAgent LLM Call` set status = 'Started', settled = null where run = %s", run)
		frappe.db.sql(
			"update `tabAgent Budget` set reserved_cost = cost, reserved_tokens = tokens where holder = %s",
			agent,
		)
		frappe.db.sql(
			"update `tabAgent Run` set status = 'Started', lease_until = '2020-01-01' where name = %s", run
		)
		frappe.db.commit()
		for _ in range(2):
			recover_runs()
		work_on(run)
		budget = self.budget("agent", agent)
		self.assertAlmostEqual(budget.reserved_cost, 0, places=9)
		self.assertAlmostEqual(budget.cost, spent, places=9)


class TestReservations(SiteTestCase):
	"""Reserving and settling, without a run."""

	def limit(self, cost=0.0, tokens=0, scope=AGENT) -> list[Limit]:
		return [Limit(scope, unique("holder"), Cap(cost, "Cost"), Cap(tokens, "Tokens"))]

	def test_open_reservation_reduces_the_available_budget(self):
		limits = self.limit(tokens=1000)
		reserve_budget(limits, WorstCase("m", 100, 700))
		with self.assertRaises(BudgetReserved):
			reserve_budget(limits, WorstCase("m", 100, 700))

	def test_released_reservation_can_be_reserved_again(self):
		limits = self.limit(tokens=1000)
		release_reservation(reserve_budget(limits, WorstCase("m", 100, 700)), 0, 150)
		self.assertEqual(reserve_budget(limits, WorstCase("m", 100, 700)).grant.max_tokens, 700)

	def test_budget_too_small_for_an_answer_stops_the_run(self):
		limits = self.limit(tokens=300)
		with self.assertRaisesRegex(RunStopped, "300 tokens"):
			reserve_budget(limits, WorstCase("m", 200, 1000))

	def test_exhausted_limit_leaves_the_other_limits_unreserved(self):
		plenty, little = self.limit(tokens=10_000, scope=USER), self.limit(tokens=50, scope=SITE)
		with self.assertRaises(RunStopped):
			reserve_budget(plenty + little, WorstCase("m", 200, 1000))
		self.assertEqual(reserve_budget(plenty, WorstCase("m", 0, 10_000)).grant.max_tokens, 10_000)


def call_of(tool: str, used: dict | None = None, **arguments):
	from huf.tests.model_server import tool_call

	return tool_call(tool, arguments, **({"usage": used} if used else {}))


class settings:
	"""Huf Settings with these values within the block."""

	def __init__(self, **values):
		self.values = values

	def __enter__(self):
		doc = frappe.get_doc("Huf Settings")
		self.before = {field: doc.get(field) for field in self.values}
		self.put(self.values)

	def __exit__(self, *_):
		self.put(self.before)

	def put(self, values):
		doc = frappe.get_doc("Huf Settings")
		doc.update(values)
		doc.save()
		frappe.db.commit()
