"""The costs page shows spend by group, budgets and a CSV file; a run shows the cost of each model call."""

from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from huf.embedded.tests.accessibility_test import faults_of
from huf.embedded.tests.browser import needs_browser, resize, say
from huf.embedded.tests.pages import PageTestCase
from huf.tests.model_server import ModelServer, text, tool_call


@needs_browser
class TestCostsPage(PageTestCase):
	def test_costs_are_grouped_by_agent_and_user_with_budget_and_csv_download(self):
		with ModelServer() as model:
			model.script(text("Four."))
			self.make("AI Provider", provide_name="Priced", api_key="sk-1", api_base=model.base_url)
			prices = {"input_price": 1_000_000, "output_price": 0}
			self.make(
				"AI Model",
				model_name="priced",
				model_id="scripted",
				provider="Priced",
				own_prices=1,
				**prices,
			)
			self.make("Agent", agent_name="Counter", model="priced", daily_cost_limit=1_000_000)
			with self.open_page("/huf/chat?agent=Counter") as page:
				say(page, "How many?")
				page.goto("/huf/costs")
				row = page.get_by_test_id("cost-row").filter(has_text="Counter")
				row.wait_for()
				cost = row.locator("td").nth(4).inner_text()
				self.assertRegex(cost, r"^\$[1-9]")
				total = f"${sum(self.read_costs(page)):,.2f}"
				for name in ("period", "month"):
					self.assertIn(total, page.get_by_test_id(f"costs-{name}").inner_text())
				self.assertRegex(page.get_by_test_id("costs-forecast").inner_text(), r"\$[1-9]")
				self.assertIn(f"{cost} of $1,000,000", page.get_by_test_id("budget").inner_text())
				with page.expect_download() as caught:
					page.get_by_test_id("costs-csv").click()
				lines = Path(caught.value.path()).read_text("utf-8-sig").splitlines()
				self.assertEqual(lines[0], "Agent,Runs,Successes,Tokens,Cost (USD),Cost unknown")
				self.assertTrue(any(line.startswith("Counter,1,1,") for line in lines), lines)
				page.get_by_test_id("costs-group").select_option("User")
				page.get_by_test_id("cost-row").filter(has_text="Administrator").wait_for()
				self.assertIn("group=User", page.url)
				page.get_by_test_id("costs-to").fill("2020-01-31")
				page.get_by_test_id("costs-from").fill("2020-01-01")
				page.get_by_text("There were no runs in this period.").wait_for()
				self.assertEqual(faults_of(page), [])
				resize(page, {"width": 360, "height": 740})
				self.assertFalse(page.evaluate("() => document.documentElement.scrollWidth > innerWidth"))

	def test_a_waiting_run_is_shown_without_the_figures_of_an_ended_one(self):
		tools = [{"tool": "create_todo", "requires_approval": 1}]
		self.make("Agent", agent_name="Careful", allow_chat=1, agent_tool=tools)
		request = {"agent_name": "Careful", "prompt": "Create a todo to call Anna"}
		self.call("/api/method/huf.ai.agent_integration.run_agent_sync", request)
		with self.open_page("/huf/runs") as page:
			row = page.locator("[data-testid=run-item][data-status=Waiting]")
			row.wait_for()
			self.assertNotIn("0 ms", row.inner_text())
			row.get_by_role("link").click()
			page.get_by_test_id("timeline").wait_for()
			for figure in ("Duration", "Cost"):
				self.assertEqual(page.get_by_text(figure, exact=True).count(), 0)

	def test_the_period_ends_with_the_day_of_the_site_not_of_the_browser(self):
		with self.open_page("/huf/profile", timezone_id="Pacific/Kiritimati") as page:
			page.get_by_test_id("profile").wait_for()
			zone = page.evaluate("JSON.parse(document.getElementById('huf-boot').textContent).time_zone")
			at = datetime.now(ZoneInfo(zone)).replace(hour=22)
			page.clock.set_fixed_time(at)
			page.goto("/huf/costs")
			page.get_by_test_id("costs").wait_for()
			first = (at - timedelta(days=29)).date()
			self.assertEqual(page.get_by_test_id("costs-to").input_value(), str(at.date()))
			self.assertEqual(page.get_by_test_id("costs-from").input_value(), str(first))

	def read_costs(self, page) -> list[float]:
		"""Costs of all agents that have any; other tests use the same site."""
		cells = [row.locator("td").nth(4).inner_text() for row in page.get_by_test_id("cost-row").all()]
		return [float(each[1:].replace(",", "")) for each in cells if each.startswith("$")]

	def test_run_page_shows_tokens_and_cost_of_each_model_call(self):
		with ModelServer() as model:
			model.script(tool_call("list_todos", {}), text("None."))
			self.make("AI Provider", provide_name="Metered", api_key="sk-1", api_base=model.base_url)
			prices = {"input_price": 1_000_000, "output_price": 0}
			self.make(
				"AI Model",
				model_name="metered",
				model_id="scripted",
				provider="Metered",
				own_prices=1,
				**prices,
			)
			self.make("Agent", agent_name="Todo Lister", model="metered", agent_tool=[{"tool": "list_todos"}])
			with self.open_page("/huf/chat?agent=Todo%20Lister") as page:
				# The first call of a model takes seconds: a child process checks it with LiteLLM.
				page.set_default_timeout(60_000)
				run = say(page, "What is open?").get_attribute("data-run")
				page.goto(f"/huf/runs/{run}")
				page.get_by_test_id("fold-all").click()
				calls = page.get_by_test_id("model-call")
				calls.nth(1).wait_for()
				for each in calls.all():
					self.assertRegex(each.inner_text(), r"[1-9]\d* tokens · \$[1-9]")
				details = page.get_by_test_id("call-details").first.inner_text()
				self.assertRegex(details, r"\d+ in, \d+ out")
				self.assertIn("Cost $", details)
