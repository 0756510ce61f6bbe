"""The people page: invitation by link, change of roles, and disabling an account."""

import json
import urllib.error

from huf.embedded.tests.browser import needs_browser
from huf.embedded.tests.pages import PASSWORD, PageTestCase

NEW_PASSWORD = "violet kettle 93 moss"
INVITED = "eva@office.example"


@needs_browser
class TestPeoplePage(PageTestCase):
	def test_a_person_is_invited_by_a_link_sets_a_password_and_uses_the_agents(self):
		with self.open_page("/huf/people") as page:
			page.get_by_test_id("invite").click()
			page.get_by_test_id("invite-first-name").fill("Eva")
			page.get_by_test_id("invite-email").fill(INVITED)
			page.get_by_test_id("invite-link").click()
			link = page.get_by_test_id("link").input_value()
			row = page.locator(f'[data-testid=person][data-name="{INVITED}"]')
			row.get_by_text("Use agents").wait_for()
			row.get_by_test_id("person-open").press("Enter")
			row.get_by_test_id("usable-agents").get_by_text("Office Assistant").wait_for()
		with self.open_guest_page() as page:
			page.goto(link)
			page.get_by_label("New Password").fill(NEW_PASSWORD)
			page.get_by_role("button", name="Set password").click()
			page.wait_for_url("**/huf**")
			page.goto("/huf/chat")
			page.get_by_test_id("composer").wait_for()
			self.assertEqual(page.get_by_test_id("section-people").count(), 0)
		self.assertTrue(self.server.login(NEW_PASSWORD, INVITED))

	def test_role_change_and_disabling_of_a_user_are_in_the_audit_log(self):
		self.add_user("owner@office.example", "System Manager", "Huf Manager")
		self.add_user("jan@office.example", "Huf User")
		with self.open_page("/huf/people", "owner@office.example") as page:
			page.get_by_test_id("people-search").fill("jan@")
			row = page.locator('[data-testid=person][data-name="jan@office.example"]')
			row.get_by_test_id("person-open").click()
			row.get_by_test_id("role-Huf Manager").check()
			row.get_by_test_id("save-roles").click()
			row.get_by_text("Use agents, Set up agents").wait_for()
			row.get_by_test_id("toggle-enabled").click()
			page.locator("[data-testid=person][data-enabled='0']").wait_for()
			self.assertEqual(row.get_by_test_id("make-link").count(), 0)
		self.assertRaises(urllib.error.HTTPError, self.server.login, PASSWORD, "jan@office.example")
		lines = self.server.call("/api/method/huf.api.audit.export", cookie=self.sessions["Administrator"])
		entries = [json.loads(line) for line in lines.read().decode().splitlines()]
		changes = [
			[change["field"] for change in entry["changes"]]
			for entry in entries
			if (entry.get("name"), entry["action"]) == ("jan@office.example", "change")
			and entry["user"] == "owner@office.example"
		]
		self.assertEqual(changes, [["roles"], ["enabled"]])

	def test_role_change_during_a_slow_search_is_shown(self):
		self.add_user("petra@office.example", "Huf User")
		address, held = "**/*huf.api.people.get_people?*text=petra*", []
		before = self.call("/api/method/huf.api.people.get_people?text=petra")
		with self.open_page("/huf/people") as page:
			row = page.locator('[data-testid=person][data-name="petra@office.example"]')
			row.get_by_test_id("person-open").click()
			row.get_by_test_id("usable-agents").wait_for()
			page.route(address, lambda route: route.continue_() if held else held.append(route))
			with page.expect_request(address):
				page.get_by_test_id("people-search").fill("petra@")
			row.get_by_test_id("role-Huf Manager").check()
			with page.expect_request("**/*huf.api.people.get_usable_agents*"):
				row.get_by_test_id("save-roles").click()
			held[0].fulfill(json=before)
			row.get_by_text("Use agents, Set up agents").wait_for()
