"""An agent is proposed from one sentence, reviewed, created and run, with and without a model."""

import json

from huf.embedded.tests.accessibility_test import faults_of
from huf.embedded.tests.browser import needs_browser
from huf.embedded.tests.pages import PageTestCase
from huf.tests.base import enter
from huf.tests.model_server import ModelServer, text, tool_call

SENTENCE = "Watch overdue to-dos and write me a summary"
MAX_CLICKS = 8
COUNT_CLICKS = """addEventListener("pointerdown", () => (localStorage.clicks = Number(localStorage.clicks || 0) + 1), true)"""
PROPOSED = {
	"name": "Overdue Watch",
	"description": "Watches what is overdue.",
	"instructions": "List the open to-dos.\nSum up what is overdue.",
	"tools": [{"doctype": "ToDo", "kinds": ["list", "read", "update"]}],
	"trigger": {
		"trigger_type": "Schedule",
		"cron": "0 9 * * 1-5",
		"reference_doctype": "",
		"doc_event": "",
		"prompt": "Sum up what is overdue.",
	},
	"max_iterations": 12,
	"daily_cost_limit": 2,
	"cases": [
		{"prompt": "What is overdue?", "doctype": "ToDo", "kind": "list", "question": ""},
		{"prompt": "Is anything late?", "doctype": "ToDo", "kind": "list", "question": "Is it brief?"},
		{"prompt": "Who are you?", "doctype": "", "kind": "", "question": "Does it say its purpose?"},
	],
}


@needs_browser
class TestAgentBuilder(PageTestCase):
	@classmethod
	def setUpClass(cls):
		cls.model = enter(cls, ModelServer())
		super().setUpClass()

	def connect_model(self):
		base = self.model.base_url
		self.make("AI Provider", provide_name="Scripted", api_key="sk-test", api_base=base)
		self.make(
			"AI Model",
			model_name="scripted",
			provider="Scripted",
			own_prices=1,
			input_price=1,
			output_price=2,
		)
		self.set_default_model("scripted")
		self.addCleanup(self.set_default_model, "")

	def set_default_model(self, name: str):
		self.call("/api/resource/Huf%20Settings/Huf%20Settings", {"default_model": name}, "PUT")

	def get_stored(self, doctype: str, name: str) -> dict:
		return self.call(f"/api/resource/{doctype}/{name}".replace(" ", "%20"))["data"]

	def test_agent_is_proposed_created_and_run_from_one_sentence_in_few_clicks(self):
		self.connect_model()
		self.model.script(
			text(json.dumps(PROPOSED)), tool_call("list_todos", {}), text("Nothing is overdue.")
		)
		with self.open_page("/huf/agents") as page:
			page.add_init_script(COUNT_CLICKS)
			page.reload()
			page.get_by_test_id("new-agent").click()
			page.get_by_test_id("sentence").click()
			page.keyboard.type(SENTENCE)
			page.get_by_test_id("propose").click()
			page.get_by_test_id("proposal-source").filter(has_text="scripted").wait_for()
			self.assertEqual(page.get_by_test_id("proposal-name").input_value(), "Overdue Watch")
			self.assertEqual(page.get_by_test_id("proposal-case").count(), 3)
			page.get_by_text("Monday to Friday at 09:00").wait_for()
			page.get_by_test_id("coming-time").nth(4).wait_for()
			page.get_by_test_id("writes-ask").wait_for()
			self.assertEqual(faults_of(page), [])
			self.assertEqual(
				self.call("/api/resource/Agent?filters={%22name%22:%22Overdue%20Watch%22}")["data"], []
			)
			page.get_by_test_id("create-proposed").click()
			page.wait_for_url("**/huf/agents/Overdue%20Watch")
			chat = page.frame_locator("iframe")
			chat.get_by_test_id("starter").first.click()
			chat.get_by_test_id("run-footer").wait_for()
			# The end of an answer may still be typed out when the footer is there.
			chat.get_by_test_id("message-agent").filter(has_text="Nothing is overdue.").wait_for()
			self.assertLessEqual(int(page.evaluate("localStorage.clicks")), MAX_CLICKS)
		rows = self.get_stored("Agent", "Overdue Watch")["agent_tool"]
		self.assertEqual(
			[(row["tool"], row["requires_approval"]) for row in rows],
			[("list_todos", 0), ("read_todo", 0), ("update_todo", 1)],
		)
		self.assertEqual(self.get_stored("Agent Trigger", "Overdue Watch")["cron"], "0 9 * * 1-5")

	def test_keyword_proposal_without_a_model_creates_only_checked_parts(self):
		with self.open_page("/huf/new-agent", width=390, height=844) as page:
			page.get_by_test_id("example").nth(2).click()
			page.get_by_test_id("propose").click()
			page.get_by_test_id("proposal-source").filter(has_text="No model is connected").wait_for()
			self.assertEqual(page.get_by_test_id("field-agent_name").count(), 0)
			page.get_by_test_id("proposal-name").fill("Priority Setter")
			page.get_by_test_id("kind-create").check()
			page.get_by_test_id("kind-read").uncheck()
			page.get_by_test_id("proposal-trigger").uncheck()
			page.get_by_test_id("proposal-case").nth(1).click()
			page.get_by_test_id("proposal-case").nth(2).click()
			page.get_by_test_id("create-proposed").click()
			page.wait_for_url("**/huf/agents/Priority%20Setter")
		tools = [row["tool"] for row in self.get_stored("Agent", "Priority Setter")["agent_tool"]]
		effects = [self.get_stored("Agent Tool Function", tool)["types"] for tool in tools]
		self.assertEqual(sorted(effects), ["Create Document", "Get List", "Update Document"])
		for doctype, count in (("Agent Trigger", 0), ("Agent Eval Case", 1)):
			found = self.call(
				f'/api/resource/{doctype}?filters={{"agent":"Priority Setter"}}'.replace(" ", "%20")
			)["data"]
			self.assertEqual(len(found), count, doctype)

	def test_discarding_a_proposal_shows_the_form_and_keeps_the_sentence(self):
		with self.open_page("/huf/new-agent") as page:
			page.get_by_test_id("sentence").fill(SENTENCE)
			page.keyboard.press("Enter")
			page.get_by_test_id("drop-proposal").click()
			page.get_by_test_id("field-agent_name").wait_for()
			self.assertEqual(page.get_by_test_id("sentence").input_value(), SENTENCE)
