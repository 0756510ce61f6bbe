"""The Approvals page lists drafts that wait or were answered, and answers them, also by keyboard."""

from huf.embedded.tests.browser import needs_browser, wait_to_hear
from huf.embedded.tests.draft_pages import ANNA, DraftPageTestCase
from huf.tests.model_server import Gate, text


@needs_browser
class TestApprovalsPage(DraftPageTestCase):
	def test_late_approval_shows_who_rejected_the_draft_before(self):
		name, later = self.propose(priority="High"), Gate()
		self.model.script(later(text("Done.")))
		with self.open_page("about:blank") as page:
			# The page must not hear of the other answer before the click.
			page.route("**/socket.io/**", lambda route: route.abort())
			page.goto(f"/huf/drafts/{name}")
			page.get_by_test_id("draft-approve").wait_for()
			self.call("/api/method/huf.api.draft.reject", {"draft": name}, user=ANNA)
			page.get_by_test_id("draft-approve").click()
			page.get_by_text(f"answered before: Rejected by {ANNA}").wait_for()
			page.get_by_test_id("draft-standing").get_by_text(f"Rejected by {ANNA}").wait_for()
			self.assertEqual(page.get_by_test_id("draft-approve").count(), 0)
			self.assertTrue(later.reached.wait(30))
			later.open()

	def test_keyboard_shortcuts_select_edit_approve_and_reject_drafts(self):
		drafts = [self.propose(priority=priority) for priority in ("High", "Medium")]
		self.model.script(text("One."), text("Two."))
		with self.open_page("/huf/drafts") as page:
			self.locate_chosen(page, drafts[1]).wait_for()
			page.get_by_test_id("draft-approve").wait_for()
			page.keyboard.press("?")
			page.get_by_test_id("keys-help").wait_for()
			page.keyboard.press("Escape")
			page.get_by_test_id("keys-help").wait_for(state="detached")
			page.keyboard.press("j")
			self.locate_chosen(page, drafts[0]).wait_for()
			self.assertTrue(page.url.endswith(f"/huf/drafts/{drafts[0]}"))
			page.keyboard.press("e")
			page.get_by_test_id("draft-editor").wait_for()
			page.get_by_test_id("edit-values.priority").press("Escape")
			page.get_by_test_id("draft-editor").wait_for(state="detached")
			page.keyboard.press("a")
			self.locate_item(page, drafts[0], "Applied").wait_for()
			page.keyboard.press("k")
			self.locate_chosen(page, drafts[1]).wait_for()
			page.get_by_test_id("draft-approve").wait_for()
			page.keyboard.press("r")
			page.get_by_test_id("reject-reason").fill("j and k are letters here")
			page.keyboard.press("Enter")
			self.locate_item(page, drafts[1], "Rejected").wait_for()
			page.get_by_test_id("draft-run").click()
			page.locator("[data-testid=run][data-status=Success]").wait_for()
		self.assertEqual(self.get_stored()["priority"], "High")

	def test_sidebar_counts_pending_drafts_and_each_has_a_url(self):
		with self.open_page("/huf/runs") as page:
			page.reload()
			wait_to_hear(page)
			count = page.get_by_test_id("section-count")
			before = int(count.inner_text()) if count.count() else 0
			name = self.propose(priority="High")
			count.filter(has_text=str(before + 1)).wait_for()
			page.goto(f"/huf/drafts/{name}")
			self.locate_chosen(page, name).wait_for()
			page.get_by_test_id("draft-run").click()
			page.get_by_test_id("run-draft").wait_for()
			self.assertIn("Huf Manager", page.get_by_test_id("notice").inner_text())
			page.get_by_test_id("run-draft").click()
			self.model.script(text("No matter."))
			page.get_by_test_id("draft-reject").click()
			page.get_by_test_id("reject-confirm").click()
			self.locate_item(page, name, "Rejected").wait_for()
			page.goto("/huf/drafts/nowhere")
			page.get_by_test_id("error").wait_for()

	def test_approved_draft_leaves_the_pending_lists_without_a_reload(self):
		name = self.propose(priority="High")
		self.model.script(text("Moved up."))
		with self.open_page("/huf") as home:
			page = home.context.new_page()
			page.goto(f"/huf/drafts/{name}")
			link = home.get_by_test_id("waiting").locator(f"a[href$='{name}']")
			link.wait_for()
			waiting = page.get_by_test_id("drafts-mine").locator(f"[data-name='{name}']")
			waiting.wait_for()
			page.get_by_test_id("draft-approve").click()
			self.locate_item(page, name, "Applied").wait_for()
			waiting.wait_for(state="detached")
			page.get_by_test_id("drafts-here").locator(f"[data-name='{name}']").wait_for()
			link.wait_for(state="detached")
