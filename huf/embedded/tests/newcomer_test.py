"""As in docs/newcomer.md, an agent with tools and a schedule is set up on a fresh site in few clicks."""

from huf.embedded.tests.browser import needs_browser
from huf.embedded.tests.pages import ADMIN, PASSWORD, PageTestCase

MAX_CLICKS = 25


class Mouse:
	"""Counts all mouse clicks, including those that put the cursor into a field."""

	def __init__(self, page):
		self.page, self.clicks = page, 0

	def click(self, target) -> None:
		target.click()
		self.clicks += 1

	def write(self, target, text: str) -> None:
		self.click(target)
		self.page.keyboard.type(text)

	def choose(self, target, text: str) -> None:
		self.write(target, text)
		self.click(self.page.get_by_test_id("link-choice").get_by_text(text, exact=True).first)


@needs_browser
class TestNewcomer(PageTestCase):
	def test_agent_with_tools_and_schedule_is_set_up_within_25_clicks(self):
		self.make("ToDo", description="Call Anna", allocated_to=ADMIN)
		with self.open_guest_page() as page:
			mouse, by = Mouse(page), page.get_by_test_id
			page.goto("/huf")
			page.get_by_label("Email or user name").fill(ADMIN)
			page.get_by_label("Password", exact=True).fill(PASSWORD)
			mouse.click(page.get_by_role("button", name="Log in"))

			mouse.click(by("step-agent"))
			mouse.write(by("field-agent_name"), "Taskmaster")
			mouse.write(
				by("field-instructions"),
				"You look after the to-dos. Say what is open, and add what is asked for.",
			)
			self.assertIn("A System Manager can create a DocType", by("maker-own").inner_text())
			mouse.choose(by("maker-doctype"), "ToDo")
			mouse.click(by("maker-create"))
			mouse.click(by("make-tools"))
			by("agent-tool").nth(2).wait_for()
			mouse.click(by("save"))

			chat = page.frame_locator("iframe")
			chat.get_by_test_id("agent-picker").filter(has_text="Taskmaster").wait_for()
			mouse.click(chat.get_by_test_id("composer"))
			page.keyboard.type("List the todos")
			page.keyboard.press("Enter")
			chat.get_by_text("Call Anna").first.wait_for()

			mouse.click(by("view-triggers"))
			mouse.click(by("add-schedule"))
			mouse.write(by("field-trigger_name"), "Every morning")
			mouse.write(by("field-prompt"), "List the todos")
			mouse.choose(by("field-run_as"), ADMIN)
			mouse.click(by("save"))
			page.locator("[data-testid=trigger][data-enabled=true]").wait_for()

			mouse.click(by("fire"))
			mouse.click(by("fire-confirm"))
			page.locator("[data-testid=event][data-status=Fired]").wait_for()
			mouse.click(by("event-run"))
			page.locator("[data-testid=run][data-status=Success]").wait_for()
		self.assertLessEqual(mouse.clicks, MAX_CLICKS)
		trigger = self.call("/api/resource/Agent%20Trigger/Every%20morning")["data"]
		self.assertEqual((trigger["agent"], trigger["trigger_type"]), ("Taskmaster", "Schedule"))
		self.assertTrue(trigger["next_execution"])
