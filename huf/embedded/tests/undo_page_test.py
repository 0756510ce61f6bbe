"""Undo on the pages of runs, agents, triggers and records; the stop switch; records marked as trusted."""

import time
from urllib.error import HTTPError

from huf.embedded.tests.browser import needs_browser, wait_to_hear
from huf.embedded.tests.pages import PageTestCase
from huf.tests.base import enter
from huf.tests.model_server import ModelServer, text, tool_call

RUN = "/api/method/huf.ai.agent_integration.run_agent_sync"
CHANGE = "keep_todo"


@needs_browser
class TestUndoPages(PageTestCase):
	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		cls.model = enter(cls, ModelServer())
		cls.make("AI Provider", provide_name="Scripted", api_key="sk-1", api_base=cls.model.base_url)
		cls.make("AI Model", model_name="scripted", provider="Scripted")
		values = {"types": "Update Document", "reference_doctype": "ToDo", "description": "Change a to-do"}
		cls.make("Agent Tool Function", tool_name=CHANGE, **values)

	def setUp(self):
		super().setUp()
		self.agent = f"Keeper {self._testMethodName[5:40]}"
		values = {"model": "scripted", "instructions": "Keep", "agent_tool": [{"tool": CHANGE}]}
		self.make("Agent", agent_name=self.agent, **values)
		self.todo = self.make("ToDo", description="old")["name"]

	def change(self, words: str, **request) -> str:
		"""A run in which the agent changes the to-do; returns its name."""
		self.model.script(
			tool_call(CHANGE, {"name": self.todo, "values": {"description": words}}), text("Done.")
		)
		prompt = {"agent_name": self.agent, "prompt": f"Write {words!r}", **request}
		result = self.call(RUN, prompt)["message"]
		self.assertEqual(result["status"], "Success", result)
		return result["run"]

	def get_description(self) -> str:
		return self.call(f"/api/resource/ToDo/{self.todo}")["data"]["description"]

	def apply_undo(self, page) -> None:
		page.get_by_test_id("undo-panel").get_by_text("old").first.wait_for()
		before = page.url
		page.locator("[data-testid=undo-apply]:not([disabled])").click()
		page.wait_for_url(lambda url: "/huf/runs/" in url and url != before)
		page.get_by_test_id("timeline").wait_for()

	def test_undone_run_shows_a_notice_that_links_to_the_undo_run(self):
		run = self.change("new")
		with self.open_page(f"/huf/runs/{run}") as page:
			page.get_by_test_id("undo").click()
			self.apply_undo(page)
			self.assertFalse(page.url.endswith(run))
			page.get_by_text(f"ToDo {self.todo} has its earlier values again").wait_for()
			self.assertIn("none", page.locator("dl > div").filter(has_text="Cost").inner_text())
			self.assertEqual(self.get_description(), "old")
			page.goto(f"/huf/runs/{run}")
			page.get_by_test_id("notice").filter(has_text="undone").wait_for()
			page.get_by_test_id("notice").get_by_role("link").click()
			page.wait_for_url(lambda url: "/huf/runs/" in url and not url.endswith(run))

	def test_the_panel_takes_the_focus_and_gives_it_back_when_it_is_left(self):
		run = self.change("new")
		with self.open_page(f"/huf/runs/{run}", width=360, height=480) as page:
			page.get_by_test_id("timeline").scroll_into_view_if_needed()
			page.get_by_test_id("undo").press("Enter")
			panel = page.get_by_test_id("undo-panel")
			panel.and_(page.locator(":focus")).wait_for()
			panel.get_by_text("old").first.wait_for()
			self.assertGreaterEqual(panel.bounding_box()["y"], 0)
			panel.get_by_role("button", name="Cancel").press("Enter")
			page.get_by_test_id("undo").and_(page.locator(":focus")).wait_for()

	def test_a_preview_that_failed_can_be_tried_again(self):
		run = self.change("new")
		with self.open_page(f"/huf/runs/{run}") as page:
			page.route("**/huf.api.undo.preview", lambda route: route.abort())
			page.get_by_test_id("undo").click()
			page.get_by_test_id("undo-panel").get_by_test_id("error").wait_for()
			self.assertTrue(page.get_by_test_id("undo-apply").is_disabled())
			page.unroute("**/huf.api.undo.preview")
			page.get_by_test_id("undo-panel").get_by_test_id("retry").click()
			self.apply_undo(page)
		self.assertEqual(self.get_description(), "old")

	def test_conflicting_change_by_a_person_is_kept_by_default(self):
		run = self.change("new")
		self.call(f"/api/resource/ToDo/{self.todo}", {"description": "mine"}, "PUT")
		with self.open_page(f"/huf/runs/{run}") as page:
			page.get_by_test_id("undo").click()
			conflicts = page.get_by_test_id("undo-conflicts")
			conflicts.wait_for()
			self.assertIn("mine", conflicts.inner_text())
			self.assertTrue(page.get_by_test_id("undo-apply").is_disabled(), "all of it is kept")
			conflicts.get_by_role("radio").last.check()
			self.apply_undo(page)
		self.assertEqual(self.get_description(), "old")

	def test_changes_of_an_agent_are_undone_on_its_page(self):
		self.change("first")
		self.change("second")
		with self.open_page(f"/huf/agents/{self.agent}") as page:
			page.get_by_test_id("undo-since-open").click()
			self.apply_undo(page)
		self.assertEqual(self.get_description(), "old")

	def test_undo_is_disabled_when_nothing_changed_since_the_chosen_time(self):
		self.change("new")
		with self.open_page(f"/huf/agents/{self.agent}") as page:
			page.get_by_test_id("undo-since-open").click()
			page.get_by_test_id("undo-panel").get_by_text("old").first.wait_for()
			page.get_by_test_id("undo-since").fill("2199-01-01T00:00")
			page.get_by_test_id("undo-panel").get_by_text("old").first.wait_for(state="detached")
			self.assertTrue(page.get_by_test_id("undo-apply").is_disabled())
		self.assertEqual(self.get_description(), "new")

	def test_the_runs_of_a_trigger_are_undone_on_its_page(self):
		trigger = self.make(
			"Agent Trigger",
			trigger_name=self.agent,
			agent=self.agent,
			trigger_type="Manual",
			prompt="Write 'new'",
			run_as="Administrator",
		)["name"]
		self.change("by hand")
		self.call(f"/api/resource/ToDo/{self.todo}", {"description": "old"}, "PUT")
		self.model.script(
			tool_call(CHANGE, {"name": self.todo, "values": {"description": "new"}}), text("Done.")
		)
		self.call("/api/method/huf.api.trigger.fire", {"trigger": trigger})
		self.wait_for(lambda: self.get_description() == "new")
		with self.open_page(f"/huf/triggers/{trigger}") as page:
			page.get_by_test_id("undo-since-open").click()
			self.apply_undo(page)
		self.assertEqual(self.get_description(), "old")

	def test_agent_changes_to_a_record_are_undone_on_its_page(self):
		self.change("new")
		with self.open_page(f"/huf/records/ToDo/{self.todo}", locale="de-DE") as page:
			page.get_by_test_id("undo-since-open").click()
			change = page.get_by_test_id("change").get_by_role("heading")
			self.assertRegex(change.inner_text(), "^Aufgabe .+ ändern$")
			self.apply_undo(page)
		self.assertEqual(self.get_description(), "old")

	def wait_for(self, is_done) -> None:
		deadline = time.monotonic() + 20
		while not is_done():
			self.assertLess(time.monotonic(), deadline, "the condition did not become true")
			time.sleep(0.1)

	def test_stop_switch_refuses_runs_until_it_is_released(self):
		with self.open_page("/huf/runs") as page, self.open_page(locale="cs-CZ") as other:
			wait_to_hear(other)
			page.get_by_test_id("stop-all").click()
			page.get_by_test_id("confirm").click()
			page.get_by_test_id("stops").wait_for()
			self.assertIn("Administrator", page.get_by_test_id("stops").inner_text())
			# By realtime: the banner itself asks only every 30 seconds.
			other.get_by_test_id("stops").get_by_text("Vše: zastaveno, Administrator").wait_for(
				timeout=15_000
			)
			count = len(self.model.requests)
			with self.assertRaises(HTTPError) as refused:
				self.call(RUN, {"agent_name": self.agent, "prompt": "Write 'new'"})
			self.assertIn("stopped", refused.exception.read().decode().lower())
			self.assertEqual(len(self.model.requests), count)
			page.goto("/huf/chat")
			page.get_by_test_id("stops").wait_for()
			page.get_by_test_id("release").click()
			page.get_by_test_id("stops").wait_for(state="detached")
		self.change("new")
		self.assertEqual(self.get_description(), "new")

	def test_record_with_untrusted_content_is_marked_as_trusted(self):
		file = self.make("File", file_name="letter.txt", content="A letter from outside", is_private=1)[
			"name"
		]
		self.change("new", attachments=[file])
		with self.open_page(f"/huf/records/ToDo/{self.todo}") as page:
			page.get_by_test_id("untrusted").wait_for()
			self.assertIn("files", page.get_by_test_id("untrusted").inner_text())
			page.get_by_test_id("trust-record").click()
			page.get_by_test_id("confirm").click()
			page.get_by_test_id("untrusted").wait_for(state="detached")
		record = self.call(f"/api/method/huf.api.record.get_record?doctype=ToDo&name={self.todo}")["message"]
		self.assertIsNone(record["untrusted"])
