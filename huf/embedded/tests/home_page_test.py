"""The home page: first steps, running, waiting and failed runs, spend and notifications."""

from huf.embedded.tests.browser import needs_browser, say
from huf.embedded.tests.pages import PageTestCase
from huf.tests.model_server import Gate, ModelServer, call, error, text, tool_call, tool_calls

CLERK = "clerk@example.com"


@needs_browser
class TestHomePage(PageTestCase):
	def make_model(self, server: ModelServer) -> str:
		name = f"Scripted {self._testMethodName}"
		self.make("AI Provider", provide_name=name, api_key="sk-test", api_base=server.base_url)
		prices = {"own_prices": 1, "input_price": 1_000, "output_price": 2_000}
		self.make("AI Model", model_name=name, model_id="scripted", provider=name, **prices)
		return name

	def test_first_steps_are_listed_ticked_when_done_and_dismissed(self):
		with self.open_page("/huf") as page:
			self.assertEqual(page.get_by_test_id("step-talk").get_attribute("data-done"), "false")
			page.get_by_test_id("step-talk").click()
			say(page, "How many users are there?")
			page.get_by_test_id("section-home").click()
			page.locator("[data-testid=step-talk][data-done=true]").wait_for()
			self.assertEqual(page.get_by_test_id("step-agent").get_attribute("data-done"), "false")
			page.get_by_test_id("put-away").click()
			page.reload()
			page.get_by_test_id("charts").wait_for()
			self.assertEqual(page.get_by_test_id("first-steps").count(), 0)

	def test_home_page_updates_running_waiting_and_failed_runs_and_spend(self):
		gate = Gate()
		with ModelServer() as server, self.open_page("/huf") as page:
			model = self.make_model(server)
			tools = [{"tool": "create_note", "requires_approval": 1}]
			self.make("Agent", agent_name="Scribe", instructions="Write.", model=model, agent_tool=tools)
			server.script(
				gate(text("Done.")), tool_call("create_note", {"title": "Milk"}), error(400, "Broken")
			)
			chat = page.context.new_page()
			chat.goto("/huf/chat?agent=Scribe")
			chat.get_by_test_id("composer").fill("A long story")
			chat.get_by_test_id("send").click()
			self.assertTrue(gate.reached.wait(30))
			running = page.get_by_test_id("running").get_by_test_id("home-item")
			running.filter(has_text="A long story").wait_for()
			gate.open()
			chat.get_by_test_id("run-footer").wait_for()
			running.filter(has_text="A long story").wait_for(state="detached")
			self.assertNotEqual(page.get_by_test_id("spend").inner_text(), "$0.00")

			for prompt in ("Note: milk", "Fail"):
				chat.goto("/huf/chat?agent=Scribe")
				chat.get_by_test_id("composer").fill(prompt)
				chat.get_by_test_id("send").click()
				chat.locator("[data-testid=draft], [data-testid=error]").first.wait_for()
			failed = page.get_by_test_id("failures").get_by_test_id("home-item").filter(has_text="Fail")
			failed.get_by_text("did not accept the request").wait_for()
			page.get_by_test_id("waiting").get_by_text("Create a new Note").wait_for()
			failed.get_by_role("link").click()
			page.locator("[data-testid=run][data-status=Failed]").wait_for()

	def test_more_approvals_than_the_list_shows_are_one_link_away(self):
		with ModelServer() as server, self.open_page("/huf") as page:
			model = self.make_model(server)
			tools = [{"tool": "create_note", "requires_approval": 1}]
			self.make("Agent", agent_name="Prolific", instructions="Write.", model=model, agent_tool=tools)
			server.script(
				tool_calls([call("create_note", {"title": f"Note {n}"}, f"c{n}") for n in range(9)])
			)
			chat = page.context.new_page()
			chat.goto("/huf/chat?agent=Prolific&prompt=Notes")
			chat.get_by_test_id("send").click()
			chat.get_by_test_id("draft").nth(8).wait_for()
			page.reload()
			page.get_by_test_id("all-waiting").click()
			page.get_by_text("Note 8").first.wait_for()

	def test_opening_a_trigger_notification_shows_its_run_and_marks_it_read(self):
		with ModelServer() as server, self.open_page("/huf") as page:
			self.make("Agent", agent_name="Watch", instructions="Watch.", model=self.make_model(server))
			server.script(text("All is well."))
			notify = {"notify_user": "Administrator", "notify_on": "Result"}
			trigger = {
				"trigger_name": "Night watch",
				"agent": "Watch",
				"trigger_type": "Manual",
				"prompt": "Go",
			}
			self.make("Agent Trigger", **trigger, **notify, run_as="Administrator")
			self.call("/api/method/huf.api.trigger.fire", {"trigger": "Night watch"})
			notice = (
				page.get_by_test_id("notices")
				.get_by_test_id("notice")
				.filter(has_text="Night watch: Success")
			)
			notice.get_by_text("All is well.").wait_for()
			self.assertEqual(notice.get_attribute("data-read"), "false")
			notice.click()
			page.locator("[data-testid=run][data-status=Success]").wait_for()
			page.get_by_test_id("section-home").click()
			page.locator("[data-testid=notice][data-read=true]").filter(has_text="Night watch").wait_for()

	def test_runs_of_other_users_are_not_counted(self):
		self.add_user(CLERK, "Huf User")
		with self.open_page() as page:
			say(page, "How many users are there?")
		with self.open_page("/huf", user=CLERK, width=390, height=844) as page:
			page.get_by_text("No runs in progress").wait_for()
			self.assertEqual(page.get_by_test_id("run-count").inner_text(), "0")
			self.assertEqual(page.get_by_test_id("first-steps").count(), 0)
