"""In a chat, a run stopped by a limit continues in the background, and later messages are queued."""

from contextlib import contextmanager
from urllib.parse import quote

from huf.embedded.tests.browser import needs_browser
from huf.embedded.tests.pages import PageTestCase
from huf.tests.base import enter
from huf.tests.model_server import Gate, ModelServer, stall, text, tool_call


@needs_browser
class TestContinuedRuns(PageTestCase):
	setups = 0

	def setUp(self):
		super().setUp()
		self.model = enter(self, ModelServer())
		type(self).setups += 1
		self.agent, provider = f"Counter {self.setups}", f"Scripted {self.setups}"
		self.make("AI Provider", provide_name=provider, api_key="sk-1", api_base=self.model.base_url)
		model = {"model_name": f"scripted-{self.setups}", "model_id": "scripted"}
		self.make("AI Model", **model, provider=provider)
		self.make(
			"Agent", agent_name=self.agent, model=model["model_name"], agent_tool=[{"tool": "list_users"}]
		)

	def test_answer_cut_by_the_step_limit_continues_in_the_background(self):
		self.call(f"/api/resource/Agent/{quote(self.agent)}", {"max_iterations": 1}, method="PUT")
		self.model.script(tool_call("list_users", {}), text("Not done."), text("There is one."))
		with self.open_chat("How many?") as page:
			page.get_by_test_id("go-on").click()
			page.locator("[data-testid=message-agent][data-status=Success]").wait_for()
			page.get_by_test_id("message-agent").get_by_text("There is one.", exact=True).wait_for()
			modes = page.get_by_test_id("run-badge").evaluate_all("all => all.map(e => e.dataset.mode)")
			self.assertEqual(modes, ["Inline", "Background"])

	def test_answer_cut_by_the_time_limit_continues_in_the_background(self):
		# The first run of a server takes seconds to load its libraries.
		self.model.script(text("Hello."))
		hello = {"agent_name": self.agent, "prompt": "Hello", "channel_id": "test"}
		self.call("/api/method/huf.ai.agent_integration.run_agent_sync", hello)
		settings = "/api/resource/Huf%20Settings/Huf%20Settings"
		self.call(settings, {"inline_timeout": 5}, method="PUT")
		self.addCleanup(self.call, settings, {"inline_timeout": 600}, "PUT")
		self.model.script(stall(text("One moment, please wait."), 2), text("There is one."))
		with self.open_chat("How many?") as page:
			stopped = page.get_by_test_id("stopped")
			stopped.get_by_text("reached its time limit").wait_for()
			stopped.get_by_role("button", name="Continue").click()
			page.locator("[data-testid=message-agent][data-status=Success]").wait_for()
			page.get_by_test_id("message-agent").get_by_text("There is one.", exact=True).wait_for()

	def test_enter_queues_a_message_while_a_run_works_in_the_background(self):
		self.call(f"/api/resource/Agent/{quote(self.agent)}", {"max_iterations": 1}, method="PUT")
		later = Gate()
		answers = (
			tool_call("list_users", {}),
			text("Not done."),
			later(text("There is one.")),
			text("Monday."),
		)
		self.model.script(*answers)
		with self.open_chat("How many?") as page:
			page.get_by_test_id("go-on").click()
			self.assertTrue(later.reached.wait(30))
			page.get_by_test_id("ongoing").wait_for()
			page.get_by_test_id("composer").fill("What day is it?")
			page.get_by_test_id("composer").press("Enter")
			hint = "answered when the run before it has ended"
			page.get_by_test_id("queued").filter(has_text=hint).wait_for()
			self.assertEqual(page.get_by_test_id("composer").input_value(), "")
			later.open()
			page.get_by_test_id("message-agent").get_by_text("Monday.", exact=True).wait_for()
			page.get_by_test_id("message-agent").get_by_text("There is one.", exact=True).wait_for()
			self.assertEqual(page.get_by_test_id("queued").count(), 0)

	@contextmanager
	def open_chat(self, message: str):
		"""A chat with the agent in which `message` was sent."""
		with self.open_page(f"/huf/chat?agent={quote(self.agent)}") as page:
			page.get_by_test_id("agent-picker").filter(has_text=self.agent).wait_for()
			page.get_by_test_id("composer").fill(message)
			page.get_by_test_id("send").click()
			yield page
