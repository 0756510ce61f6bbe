"""Pages for a Huf User: profile, sessions, agents without the managers' buttons, and chats."""

from huf.embedded.tests.browser import needs_browser
from huf.embedded.tests.pages import PASSWORD, PageTestCase


@needs_browser
class TestProfilePage(PageTestCase):
	def test_the_profile_is_saved_and_a_weak_password_is_refused(self):
		with self.open_page("/huf/profile") as page:
			page.get_by_test_id("first-name").fill("Jana")
			page.get_by_test_id("last-name").fill("Nová")
			page.get_by_test_id("save-profile").click()
			page.get_by_test_id("profile-done").wait_for()
			page.get_by_test_id("old-password").fill(PASSWORD)
			page.get_by_test_id("new-password").fill("anna")
			page.get_by_test_id("change-password").click()
			page.get_by_test_id("error").get_by_text("too easy to guess").wait_for()

	def test_what_is_typed_while_the_profile_is_saved_stays(self):
		held = []
		with self.open_page("/huf/profile") as page:
			page.route("**/*save_profile*", lambda route: held.append(route))
			page.get_by_test_id("first-name").fill("Petra")
			with page.expect_request("**/*save_profile*"):
				page.get_by_test_id("save-profile").click()
			page.get_by_test_id("last-name").fill("Later")
			self.assertTrue(page.get_by_test_id("save-profile").is_disabled())
			held[0].continue_()
			page.get_by_test_id("profile-done").wait_for()
			self.assertEqual(page.get_by_test_id("first-name").input_value(), "Petra")
			self.assertEqual(page.get_by_test_id("last-name").input_value(), "Later")

	def test_a_profile_that_could_not_be_loaded_can_be_loaded_again(self):
		with self.open_page("/huf/help/mcp") as page:
			page.route("**/*get_profile*", lambda route: route.abort())
			page.goto("/huf/profile")
			page.get_by_test_id("retry").wait_for()
			page.unroute("**/*get_profile*")
			page.get_by_test_id("retry").click()
			page.get_by_test_id("first-name").wait_for()
			self.assertEqual(page.get_by_test_id("retry").count(), 0)

	def test_other_sessions_are_ended(self):
		self.add_user("roaming@office.example", "Huf User")
		self.server.login(PASSWORD, "roaming@office.example")
		with self.open_page("/huf/profile", "roaming@office.example") as page:
			page.get_by_test_id("session").nth(1).wait_for()
			page.get_by_test_id("end-session").first.click()
			page.get_by_text("Signed out there.").wait_for()
			self.server.login(PASSWORD, "roaming@office.example")
			page.reload()
			page.get_by_test_id("session").nth(1).wait_for()
			page.get_by_test_id("end-sessions").click()
			page.get_by_test_id("profile-done").wait_for()
			self.assertEqual(page.get_by_test_id("session").count(), 1)
			self.assertIn("this browser", page.get_by_test_id("session").inner_text())

	def test_a_huf_user_sees_the_agents_and_no_button_to_make_one(self):
		self.add_user("jana@office.example", "Huf User")
		with self.open_page("/huf/agents", "jana@office.example") as page:
			page.get_by_test_id("agent-item").first.wait_for()
			self.assertEqual(page.get_by_test_id("new-agent").count(), 0)
			self.assertEqual(page.get_by_role("link", name="New agent").count(), 0)
			page.wait_for_load_state("networkidle")
			self.assertEqual(page.get_by_test_id("error").count(), 0)
			self.assertEqual(page.get_by_role("alert").count(), 0)
			self.assertNotIn("permi", page.locator("main").inner_text().lower())

	def test_a_chat_opened_by_its_address_logs_no_error(self):
		with self.open_page("/huf/chat") as page:
			page.get_by_test_id("composer").fill("How many notes are there?")
			page.get_by_test_id("composer").press("Enter")
			page.wait_for_url("**/huf/chat/*")
			page.get_by_test_id("run-footer").wait_for()
			page.reload()
			page.get_by_text("How many notes are there?").first.wait_for()
			page.wait_for_timeout(500)

	def test_sending_after_sign_out_announces_nothing_and_offers_sign_in(self):
		self.add_user("leaving@office.example", "Huf User")
		with self.open_page("/huf/chat", "leaving@office.example") as page:
			page.evaluate(
				"""() => new MutationObserver(() => (window.announced = (window.announced || "")
					+ document.querySelector("[data-testid=live-region]").textContent))
					.observe(document.querySelector("[data-testid=live-region]"),
						{ childList: true, characterData: true, subtree: true })"""
			)
			page.get_by_test_id("composer").fill("How many notes are there?")
			page.get_by_test_id("send").click()
			page.wait_for_function("() => window.announced?.includes('Answer')")
			chars_before = len(page.evaluate("window.announced"))
			# A pending response may set the cookie again, so the session ends on the server, too.
			self.call("/api/method/logout", {}, user="leaving@office.example")
			page.context.clear_cookies()
			page.get_by_test_id("composer").fill("And how many users?")
			page.get_by_test_id("send").click()
			page.get_by_test_id("error").get_by_role("link", name="Sign in").wait_for()
			self.assertEqual(page.evaluate("window.announced")[chars_before:], "")
