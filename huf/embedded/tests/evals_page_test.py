"""Eval cases run on their agent's page, which shows progress and pass rates."""

from huf.embedded.tests.accessibility_test import faults_of
from huf.embedded.tests.browser import needs_browser
from huf.embedded.tests.pages import PageTestCase
from huf.tests.base import enter
from huf.tests.model_server import Gate, ModelServer, text


@needs_browser
class TestEvalsPage(PageTestCase):
	@classmethod
	def setUpClass(cls):
		cls.model = enter(cls, ModelServer())
		super().setUpClass()
		cls.make("AI Provider", provide_name="Scripted", api_key="sk-test", api_base=cls.model.base_url)
		cls.make("AI Model", model_name="scripted", provider="Scripted")
		for agent in ("Tested", "Followed"):
			cls.make("Agent", agent_name=agent, model="scripted", instructions="Be brief.", hold_changes=1)
			for name in ("first", "second"):
				definition = "expect:\n- says: fine\n"
				cls.make("Agent Eval Case", agent=agent, case_name=name, prompt=name, definition=definition)

	def test_cases_are_run_and_their_pass_rate_is_kept(self):
		second = Gate()
		self.model.script(text("All fine."), second(text("Not so good.")))
		with self.open_page("/huf/agents/Tested?view=evals") as page:
			page.locator("[data-testid=eval-case][data-state=never]").nth(1).wait_for()
			page.get_by_test_id("run-cases").click()
			page.get_by_test_id("eval-progress").filter(has_text="1 of 2 cases done").wait_for()
			self.assertTrue(page.get_by_test_id("run-cases").is_disabled())
			second.open()
			page.locator("[data-testid=eval-row][data-status=Finished]").filter(has_text="50%").wait_for()
			self.assertIn("scripted", page.get_by_test_id("eval-row").inner_text())
			failed = page.locator("[data-testid=eval-case][data-state=failed]")
			self.assertIn("second", failed.inner_text())
			self.assertEqual(faults_of(page), [])
			failed.get_by_role("link").click()
			page.get_by_test_id("record-form").wait_for()

	def test_another_persons_eval_is_followed_and_one_that_was_cut_short_says_so(self):
		last = Gate()
		self.model.script(text("All fine."), last(text("All fine.")))
		self.call("/api/resource/Agent/Followed", {"instructions": "Be rude."}, "PUT")
		with self.open_page("/huf/agents/Followed?view=evals") as page:
			page.get_by_test_id("run-cases").wait_for()
			self.call("/api/method/huf.api.eval.run", {"agent": "Followed"})
			page.get_by_test_id("run-cases").click()
			page.get_by_test_id("eval-progress").filter(has_text="1 of 2 cases done").wait_for()
			self.call("/api/resource/Agent/Followed", {"instructions": "Be kind."}, "PUT")
			last.open()
			failed = page.locator("[data-testid=eval-row][data-status=Failed]")
			failed.filter(has_text="100%").filter(has_text="Run the cases again").wait_for()

	def test_changes_held_for_evals_are_shown_and_discarded(self):
		with self.open_page("/huf/agents/Tested") as page:
			page.get_by_test_id("field-instructions").fill("Be rude.")
			page.get_by_test_id("save").click()
			page.get_by_test_id("held").click()
			page.get_by_test_id("notice").filter(has_text="instructions").wait_for()
			page.get_by_test_id("discard-held").click()
			page.get_by_test_id("notice").wait_for(state="detached")
		self.assertFalse(self.call("/api/resource/Agent/Tested")["data"].get("pending_changes"))
