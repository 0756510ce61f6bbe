"""The newcomer of docs/newcomer.md: from a fresh site to an own agent with tools and a schedule, by the
mouse, in few clicks.
"""

from huf.embedded.tests.browser import needs_browser
from huf.embedded.tests.pages import ADMIN, PASSWORD, PageTestCase

MAX_CLICKS = 25


class Hand:
	"""A person's hand: every press of the mouse counts, also the one that puts the cursor into a field."""

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
			hand, by = Hand(page), page.get_by_test_id
			page.goto("/huf")
			page.get_by_label("Email or user name").fill(ADMIN)
			page.get_by_label("Password", exact=True).fill(PASSWORD)
			hand.click(page.get_by_role("button", name="Log in"))

			hand.click(by("step-agent"))
			hand.write(by("field-agent_name"), "Taskmaster")
			hand.write(
				by("field-instructions"),
				"You look after the to-dos. Say what is open, and add what is asked for.",
			)
			self.assertIn("A System Manager can create a DocType", by("maker-own").inner_text())
			hand.choose(by("maker-doctype"), "ToDo")
			hand.click(by("maker-create"))
			hand.click(by("make-tools"))
			by("agent-tool").nth(2).wait_for()
			hand.click(by("save"))

			chat = page.frame_locator("iframe")
			chat.get_by_test_id("agent-picker").filter(has_text="Taskmaster").wait_for()
			hand.click(chat.get_by_test_id("composer"))
			page.keyboard.type("List the todos")
			page.keyboard.press("Enter")
			chat.get_by_text("Call Anna").first.wait_for()

			hand.click(by("view-triggers"))
			hand.click(by("add-schedule"))
			hand.write(by("field-trigger_name"), "Every morning")
			hand.write(by("field-prompt"), "List the todos")
			hand.choose(by("field-run_as"), ADMIN)
			hand.click(by("create"))
			page.locator("[data-testid=trigger][data-enabled=true]").wait_for()

			hand.click(by("fire"))
			hand.click(by("fire-confirm"))
			page.locator("[data-testid=event][data-status=Fired]").wait_for()
			hand.click(by("event-run"))
			page.locator("[data-testid=run][data-status=Success]").wait_for()
		self.assertLessEqual(hand.clicks, MAX_CLICKS)
		trigger = self.call("/api/resource/Agent%20Trigger/Every%20morning")["data"]
		self.assertEqual((trigger["agent"], trigger["trigger_type"]), ("Taskmaster", "Schedule"))
		self.assertTrue(trigger["next_execution"])
