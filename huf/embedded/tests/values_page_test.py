"""Runs show records as links, numbers as bars, masked values, the model's input and an undo button."""

from huf.embedded.tests.accessibility_test import faults_of
from huf.embedded.tests.browser import needs_browser, reach, say
from huf.embedded.tests.pages import PageTestCase
from huf.tests.base import enter
from huf.tests.model_server import ModelServer, text, tool_call

ANSWER = "Two are open: **{0}** and `{1}`, but not x{0}x.\n\n```\n{0}\n```\n"


@needs_browser
class TestValues(PageTestCase):
	@classmethod
	def setUpClass(cls):
		cls.model = enter(cls, ModelServer())
		super().setUpClass()
		cls.todos = [
			cls.make("ToDo", description=text, priority="High")["name"]
			for text in ("Call Anna", "Water the plants")
		]
		cls.make("AI Provider", provide_name="Scripted", api_key="sk-test", api_base=cls.model.base_url)
		cls.make("AI Model", model_name="scripted", provider="Scripted")
		tools = [{"tool": "list_todos"}]
		cls.make("Agent", agent_name="Linker", model="scripted", instructions="List.", agent_tool=tools)

	def test_record_names_in_answers_and_results_are_links_with_a_preview_card(self):
		first, second = self.todos
		self.model.script(tool_call("list_todos", {}), text(ANSWER.format(first, second)))
		with self.open_page("/huf/chat?agent=Linker") as page:
			say(page, "What is open?")
			answer = page.locator(".prose", has_text="Two are open")
			links = answer.locator("a[data-record]")
			links.nth(1).wait_for()
			self.assertEqual(links.all_inner_texts(), [first, second])
			in_table = page.get_by_test_id("tool-result").locator(f"a[data-record='{first}']")
			in_table.nth(1).wait_for()
			self.assertEqual(in_table.all_inner_texts(), [first, "Call Anna"])
			reach(page, links.first)
			card = page.get_by_test_id("record-card")
			card.filter(has_text="Call Anna").wait_for()
			self.assertEqual(faults_of(page), [])
			page.keyboard.press("Escape")
			card.wait_for(state="detached")
			links.nth(1).focus()
			card.filter(has_text="Water the plants").wait_for()
			page.keyboard.press("Enter")
			page.wait_for_url(f"**/huf/records/ToDo/{second}")
			page.get_by_test_id("record-form").wait_for()

	def test_run_page_links_record_names_and_shows_the_model_input(self):
		first, second = self.todos
		self.model.script(tool_call("list_todos", {}), text(ANSWER.format(first, second)))
		values = {"agent": "Linker", "prompt": "What is open?"}
		run = self.call("/api/method/huf.ai.agent_chat.send_agent_chat_message", values)["message"]["run"]
		with self.open_page(f"/huf/runs/{run}") as page:
			page.get_by_test_id("fold-all").click()
			page.get_by_test_id("show-input").nth(1).click()
			sent = page.locator("[data-testid=input-message]")
			sent.nth(3).wait_for()
			roles = [sent.nth(index).get_attribute("data-role") for index in range(sent.count())]
			self.assertEqual(roles, ["system", "user", "assistant", "tool"])
			self.assertIn(first, sent.nth(3).inner_text())
			page.get_by_test_id("input-tools").click()
			page.get_by_test_id("model-input").get_by_text("list_todos").first.wait_for()
			self.assertEqual(faults_of(page), [])
			page.locator(f".prose a[data-record='{first}']").first.click()
			page.wait_for_url(f"**/huf/records/ToDo/{first}")

	def test_numeric_result_is_shown_as_bars_and_masked_values_are_counted(self):
		for name, price in (("cheap", 1), ("dear", 4)):
			prices = {"own_prices": 1, "input_price": price}
			self.make("AI Model", model_name=name, provider="Scripted", **prices)
		tool = {"types": "Get List", "reference_doctype": "AI Model", "description": "Models"}
		self.make("Agent Tool Function", tool_name="list_models", **tool)
		agent = {"model": "scripted", "instructions": "List.", "agent_tool": [{"tool": "list_models"}]}
		self.make("Agent", agent_name="Charter", mask_personal_data=1, **agent)
		fields = {"fields": ["name", "input_price"], "filters": {"own_prices": 1}}
		self.model.script(tool_call("list_models", fields), text("Told [EMAIL-1]."))
		values = {"agent": "Charter", "prompt": "What do models cost? Tell anna@example.com"}
		run = self.call("/api/method/huf.ai.agent_chat.send_agent_chat_message", values)["message"]["run"]
		with self.open_page(f"/huf/runs/{run}") as page:
			self.assertIn("mail addresses: 1", page.get_by_test_id("run-masked").inner_text())
			page.get_by_test_id("fold-all").click()
			page.get_by_test_id("show-chart").click()
			page.get_by_test_id("bar").nth(1).wait_for()
			bars = sorted(page.get_by_test_id("bar").all_inner_texts())
			self.assertEqual([" ".join(bar.split()) for bar in bars], ["cheap 1", "dear 4"])
			self.assertEqual(faults_of(page), [])
			page.get_by_test_id("show-chart").click()
			page.get_by_role("table").first.wait_for()

	def test_changes_of_a_run_are_undone_on_its_page(self):
		todo = self.make("ToDo", description="Send the offer", priority="Low")["name"]
		tool = {"types": "Update Document", "reference_doctype": "ToDo", "description": "Change a to-do"}
		self.make("Agent Tool Function", tool_name="change", **tool)
		agent = {"model": "scripted", "instructions": "Change.", "agent_tool": [{"tool": "change"}]}
		self.make("Agent", agent_name="Changer", **agent)
		self.model.script(tool_call("change", {"name": todo, "values": {"priority": "High"}}), text("Done."))
		values = {"agent": "Changer", "prompt": "Raise it"}
		run = self.call("/api/method/huf.ai.agent_chat.send_agent_chat_message", values)["message"]["run"]
		self.assertEqual(self.call(f"/api/resource/ToDo/{todo}")["data"]["priority"], "High")
		with self.open_page(f"/huf/runs/{run}") as page:
			page.get_by_test_id("undo").click()
			page.get_by_test_id("undo-panel").get_by_text("Low").first.wait_for()
			page.get_by_test_id("undo-apply").click()
			page.wait_for_url(lambda url: "/huf/runs/" in url and run not in url)
		self.assertEqual(self.call(f"/api/resource/ToDo/{todo}")["data"]["priority"], "Low")
