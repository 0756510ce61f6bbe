"""The settings page saves valid values, refuses others, and is read-only without the manager role."""

from huf.embedded.tests.browser import needs_browser
from huf.embedded.tests.pages import PageTestCase

CLERK = "clerk@example.com"


@needs_browser
class TestSettingsPage(PageTestCase):
	def test_invalid_setting_is_refused_with_an_error_and_valid_ones_saved(self):
		with self.open_page("/huf/settings") as page:
			page.get_by_test_id("go-router_section").click()
			page.get_by_test_id("field-router_confidence_threshold").fill("7")
			page.get_by_test_id("field-max_steps").fill("4")
			page.get_by_test_id("save").click()
			page.get_by_text("must be between 0 and 1").wait_for()
			page.get_by_test_id("field-router_confidence_threshold").fill("0.7")
			page.keyboard.press("Control+s")
			page.get_by_test_id("saved").wait_for()
		stored = self.call("/api/resource/Huf%20Settings/Huf%20Settings")["data"]
		self.assertEqual((stored["router_confidence_threshold"], stored["max_steps"]), (0.7, 4))

	def test_every_setting_has_a_description(self):
		meta = self.call("/api/method/huf.api.record.get_meta?doctype=Huf%20Settings")["message"]
		undescribed = [
			field["fieldname"]
			for field in meta["fields"]
			if not field["fieldtype"].endswith("Break")
			and field["fieldtype"] != "Table"
			and not field.get("hidden")
			and not field.get("description")
		]
		self.assertEqual(undescribed, [])

	def test_settings_are_read_only_for_users_without_the_manager_role(self):
		self.add_user(CLERK, "Huf User")
		with self.open_page("/huf/settings", user=CLERK) as page:
			page.get_by_test_id("field-max_steps").wait_for()
			self.assertEqual(page.locator("input:visible:enabled, textarea:visible:enabled").count(), 0)
			self.assertEqual(page.get_by_test_id("section-settings").count(), 0)
