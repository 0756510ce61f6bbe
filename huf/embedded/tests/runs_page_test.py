"""The runs pages: list, filters in the URL, rating, comparison, replay and missing runs."""

from huf.embedded.tests.accessibility_test import faults_of
from huf.embedded.tests.browser import needs_browser, resize, say, sign_in
from huf.embedded.tests.pages import PASSWORD, PageTestCase

QUESTIONS = ("List my open todos", "How many users are there?", "How many users are there?")


@needs_browser
class TestRunsPage(PageTestCase):
	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		with cls.open_guest_page() as page:
			sign_in(page, PASSWORD)
			for question in QUESTIONS:
				say(page, question)

	def test_the_list_opens_a_run_and_leads_back_to_its_conversation(self):
		with self.open_guest_page() as page:
			self.open_list(page)
			items = page.get_by_test_id("run-item")
			self.assertEqual(items.count(), len(QUESTIONS))
			name = items.last.get_attribute("data-name")
			items.last.get_by_role("link").click()
			page.get_by_test_id("timeline").wait_for()
			self.assertTrue(page.url.endswith(f"/huf/runs/{name}"))
			self.assertEqual(page.get_by_role("heading", level=1).inner_text(), QUESTIONS[0])

			page.get_by_test_id("fold-all").click()
			self.assertIn("ToDo", page.get_by_test_id("tool-call").get_by_test_id("tool-result").inner_text())
			self.assertGreater(page.get_by_test_id("model-call").count(), 1)
			page.get_by_test_id("run-conversation").click()
			page.get_by_test_id("message-user").filter(has_text=QUESTIONS[0]).wait_for()

	def test_prompts_are_readable_beside_the_sidebar_and_on_a_tablet(self):
		with self.open_guest_page() as page:
			page.route("**/huf.api.run.get_runs*", name_trigger)
			self.open_list(page)
			for width in (1100, 1024, 768):
				resize(page, {"width": width, "height": 900})
				title = page.get_by_test_id("run-item").get_by_text(QUESTIONS[0])
				self.assertFalse(title.evaluate("(each) => each.scrollWidth > each.clientWidth"))

	def test_cost_of_a_run_is_listed_on_a_tablet(self):
		with self.open_guest_page() as page:
			page.route("**/huf.api.run.get_runs*", spend)
			self.open_list(page)
			resize(page, {"width": 768, "height": 900})
			page.get_by_test_id("run-item").first.get_by_text("1,500 tokens · ").wait_for()

	def test_run_that_a_new_worker_has_taken_over_shows_its_attempts(self):
		with self.open_guest_page() as page:
			page.route("**/huf.api.run.get_run?*", lose_workers)
			self.open_list(page)
			page.get_by_test_id("run-item").first.get_by_role("link").click()
			page.locator("div", has=page.get_by_text("Attempts", exact=True)).get_by_text(
				"3", exact=True
			).wait_for()

	def test_run_rated_bad_with_a_note_becomes_an_eval_case(self):
		with self.open_guest_page() as page:
			self.open_list(page)
			page.get_by_test_id("run-item").last.get_by_role("link").click()
			page.get_by_test_id("verdict-Bad").click()
			page.get_by_test_id("verdict-note").fill("It named none of them.")
			page.get_by_test_id("verdict-store").click()
			page.locator("[data-testid=run-verdict][data-verdict=Bad]").wait_for()
			self.assertIn("It named none of them.", page.get_by_test_id("run-verdict").inner_text())
		(case,) = self.call("/api/method/huf.api.eval.get_cases?agent=Office%20Assistant")["message"]["cases"]
		self.assertEqual((case["verdict"], case["note"]), ("Bad", "It named none of them."))

	def test_comparison_of_two_runs_shows_different_or_same_steps(self):
		with self.open_guest_page() as page:
			self.open_list(page)
			for index in (0, 2):
				page.get_by_test_id("run-item").nth(index).get_by_test_id("pick").check(force=True)
			page.get_by_test_id("compare").click()
			page.get_by_test_id("comparison").wait_for()
			first = page.get_by_test_id("compare-step").first
			self.assertEqual(first.get_attribute("data-same"), "false")
			self.assertIn("Different", first.inner_text())
			self.assertIn(QUESTIONS[0], page.get_by_test_id("side-left").inner_text())
			page.go_back()
			page.get_by_test_id("run-item").first.wait_for()
			self.assertEqual(page.locator("[data-testid=pick]:checked").count(), 2)

			page.get_by_test_id("run-item").first.get_by_role("link").click()
			page.get_by_test_id("compare-with").click()
			page.get_by_test_id("run-item").nth(1).get_by_test_id("pick").check()
			page.get_by_test_id("compare").click()
			self.assertIn("took the same steps", page.get_by_test_id("compare-summary").inner_text())

	def test_runs_are_filtered_by_text_and_user_and_one_is_replayed(self):
		with self.open_guest_page() as page:
			self.open_list(page)
			page.get_by_test_id("runs-search").fill("my open TODOS")
			page.wait_for_function("() => document.querySelectorAll('[data-testid=run-item]').length === 1")
			self.assertIn("text=my+open+TODOS", page.url)
			page.get_by_test_id("runs-more-filters").click()
			page.get_by_test_id("filter-user").fill("nobody@example.com")
			page.get_by_test_id("filter-user").press("Enter")
			page.get_by_test_id("runs-empty").wait_for()
			self.assertEqual(faults_of(page), [])
			page.get_by_test_id("filter-user").fill("Administrator")
			page.get_by_test_id("filter-user").press("Enter")
			page.get_by_test_id("run-item").get_by_role("link").click()
			page.get_by_test_id("replay-run").click()
			self.assertEqual(page.get_by_test_id("replayed").get_attribute("data-identical"), "true")

	def test_filters_are_in_the_url_and_keys_and_embed_mode_work(self):
		with self.open_guest_page() as page:
			self.open_list(page)
			page.get_by_test_id("run-item").first.get_by_role("link").focus()
			page.keyboard.press("j")
			page.keyboard.press("Enter")
			page.get_by_test_id("run").wait_for()
			page.go_back()
			page.get_by_test_id("filter-status").select_option("Failed")
			page.get_by_test_id("runs-empty").wait_for()
			self.assertTrue(page.url.endswith("/huf/runs?status=Failed"))
			page.reload()
			page.get_by_test_id("runs-empty").wait_for()

			page.goto("/huf/runs/nowhere?embed=1")
			page.get_by_test_id("error").wait_for()
			page.get_by_role("link", name="All runs").click()
			page.get_by_test_id("run-item").first.wait_for()
			self.assertEqual(page.get_by_test_id("sections").count(), 0)

	def open_list(self, page):
		sign_in(page, PASSWORD)
		page.get_by_test_id("section-runs").click()
		page.get_by_test_id("run-item").first.wait_for()


def spend(route) -> None:
	"""Answer with runs that have used a model."""
	response = route.fetch()
	runs = response.json()["message"]
	route.fulfill(json={"message": [{**run, "input_tokens": 1500, "offline": 0} for run in runs]})


def name_trigger(route) -> None:
	"""Answer with runs that a trigger has begun."""
	response = route.fetch()
	runs = response.json()["message"]
	begun_by = {"trigger": "Every evening, the open orders", "agent": "Clerk of the open orders"}
	route.fulfill(json={"message": [{**run, **begun_by} for run in runs]})


def lose_workers(route) -> None:
	"""Answer with a run that two workers have lost and a third works on."""
	response = route.fetch()
	timeline = response.json()["message"]
	run = {**timeline["run"], "status": "Started", "lost_workers": 2}
	route.fulfill(json={"message": {**timeline, "run": run}})
