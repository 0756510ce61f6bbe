"""The pages work under their content security policy, which blocks inline scripts."""

from huf.embedded.tests.browser import needs_browser, sign_in
from huf.embedded.tests.pages import PASSWORD, PageTestCase

PAGES = ("/huf/chat", "/huf/agents", "/huf/settings", "/huf/records", "/huf/runs")
INLINE = "() => { const tag = document.createElement('script'); tag.textContent = 'window.injected = 1'; document.body.append(tag); return window.injected }"


@needs_browser
class TestContentPolicy(PageTestCase):
	def test_login_and_pages_cause_no_policy_violations(self):
		violations = []
		with self.open_guest_page() as page:
			page.on("console", lambda message: violations.append(message.text))
			sign_in(page, PASSWORD)
			page.get_by_test_id("composer").wait_for()
			for address in PAGES:
				page.goto(address)
				page.get_by_role("heading").first.wait_for()
			self.assertEqual([text for text in violations if "Content Security Policy" in text], [])
			self.assertIn(page.locator("html").get_attribute("data-theme"), ("light", "dark"))

	def test_an_injected_script_does_not_run(self):
		with self.open_page("/huf/chat", expected="Content Security Policy") as page:
			page.get_by_test_id("composer").wait_for()
			self.assertIsNone(page.evaluate(INLINE))

	def test_string_passed_to_a_timer_is_not_evaluated(self):
		"""Playwright's evaluate bypasses the policy, but a string passed to a timer does not."""
		with self.open_page("/huf/chat", expected="Content Security Policy") as page:
			page.get_by_test_id("composer").wait_for()
			page.evaluate("() => { setTimeout('window.evaluated = 1', 0) }")
			page.wait_for_timeout(200)
			self.assertIsNone(page.evaluate("() => window.evaluated ?? null"))
