"""Messages that the site could not be sent, or whose response was lost, are kept on the chat page."""

from huf.embedded.tests.accessibility_test import faults_of
from huf.embedded.tests.browser import needs_browser, say
from huf.embedded.tests.pages import PageTestCase
from huf.tests.model_server import Gate, ModelServer, text

STREAM = "**/huf.api.chat.stream"
LOOK_AGAIN = "document.dispatchEvent(new Event('visibilitychange', {bubbles: true}))"
"""What the browser tells a page that is looked at again."""


def lose_response(route) -> None:
	"""The site gets the message, and the page no answer."""
	route.fetch()
	route.abort()


@needs_browser
class TestUnsentPage(PageTestCase):
	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		cls.agents: list[str] = []

	def test_unsent_message_equal_to_the_one_before_stays_when_the_chat_is_read_again(self):
		with self.open_page() as page:
			say(page, "List the notes")
			page.route(STREAM, lambda route: route.abort())
			self.send(page, "List the notes")
			page.get_by_test_id("retry").wait_for()
			with page.expect_response("**/huf.ai.agent_chat.get_agent_chat_messages*"):
				page.evaluate(LOOK_AGAIN)
			page.wait_for_load_state("networkidle")
			self.assertEqual(self.read_messages(page), ["List the notes"] * 2)
			self.assertEqual(faults_of(page), [])
			page.unroute(STREAM)
			page.get_by_test_id("retry").click()
			page.get_by_test_id("unsent").wait_for(state="detached")
			page.get_by_test_id("run-footer").nth(1).wait_for()

	def test_each_of_two_messages_that_could_not_be_queued_is_kept_over_a_reload_and_sent_again(self):
		with ModelServer() as model, self.open_page("about:blank") as page:
			gate = Gate()
			model.script(gate(text("One.")), text("Two."), text("Three."))
			page.goto(f"/huf/chat?agent={self.make_agent(model)}")
			self.send(page, "First")
			page.get_by_test_id("message-agent").wait_for()
			page.route(STREAM, lambda route: route.abort())
			for place, message in enumerate(("Second", "Third")):
				self.send(page, message)
				page.get_by_test_id("retry").nth(place).wait_for()
			gate.open()
			page.get_by_text("One.", exact=True).wait_for()
			page.reload()
			page.get_by_text("One.", exact=True).wait_for()
			self.assertEqual(self.read_messages(page), ["First", "Second", "Third"])
			page.unroute(STREAM)
			for answer in ("Two.", "Three."):
				page.get_by_test_id("retry").first.click()
				page.get_by_text(answer, exact=True).wait_for()
			self.assertEqual(page.get_by_test_id("unsent").count(), 0)
			page.reload()
			page.get_by_text("Three.", exact=True).wait_for()
			self.assertEqual(self.read_messages(page), ["First", "Second", "Third"])

	def test_message_whose_response_was_lost_is_sent_again_without_running_twice(self):
		with ModelServer() as model, self.open_page("about:blank") as page:
			model.script(text("Only once."))
			page.goto(f"/huf/chat?agent={self.make_agent(model)}")
			page.route(STREAM, lose_response)
			self.send(page, "Pay the bill")
			page.get_by_test_id("retry").wait_for()
			page.unroute(STREAM)
			page.reload()
			page.get_by_text("Trying again never sends it twice").wait_for()
			page.get_by_test_id("retry").click()
			page.get_by_text("Only once.", exact=True).wait_for()
			page.wait_for_url("**/huf/chat/*")
			self.assertEqual(page.get_by_test_id("unsent").count(), 0)
			self.assertEqual(len(model.requests), 1)

	def test_message_whose_response_was_lost_is_not_unsent_once_the_chat_is_read_again(self):
		with self.open_page() as page:
			say(page, "List the notes")
			page.route(STREAM, lose_response)
			self.send(page, "How many users are there?")
			page.get_by_test_id("retry").wait_for()
			page.evaluate(LOOK_AGAIN)
			page.get_by_test_id("unsent").wait_for(state="detached")
			page.get_by_test_id("run-footer").nth(1).wait_for()
			page.reload()
			page.get_by_test_id("message-user").filter(has_text="How many users are there?").wait_for()
			page.get_by_test_id("run-footer").last.wait_for()
			self.assertEqual(page.get_by_test_id("unsent").count(), 0)
			self.assertEqual(page.get_by_test_id("composer").input_value(), "")

	def test_text_typed_while_a_message_is_on_its_way_replaces_neither(self):
		held = []
		with self.open_page() as page:
			page.route(STREAM, lambda route: held.append(route))
			with page.expect_request(STREAM):
				self.send(page, "List the notes")
			page.get_by_test_id("composer").press_sequentially("And the todos")
			held.pop().abort()
			page.get_by_test_id("retry").wait_for()
			page.reload()
			page.get_by_test_id("retry").wait_for()
			self.assertEqual(self.read_messages(page), ["List the notes"])
			self.assertEqual(page.get_by_test_id("composer").input_value(), "And the todos")
			page.get_by_test_id("take-back").click()
			self.assertEqual(page.get_by_test_id("composer").input_value(), "List the notes\n\nAnd the todos")
			self.assertEqual(self.read_messages(page), [])

	def test_first_message_that_fails_after_new_chat_was_pressed_returns_to_the_field(self):
		held = []
		with self.open_page() as page:
			page.route(STREAM, lambda route: held.append(route))
			with page.expect_request(STREAM):
				self.send(page, "List the notes")
			page.get_by_test_id("new-chat").click()
			page.get_by_test_id("message-user").wait_for(state="detached")
			self.assertEqual(page.get_by_test_id("composer").input_value(), "")
			page.get_by_test_id("composer").fill("Another one")
			held.pop().abort()
			page.get_by_role("alert").filter(has_text="could not be reached").wait_for()
			self.assertEqual(page.get_by_test_id("composer").input_value(), "List the notes\n\nAnother one")

	def test_open_edit_and_edited_message_that_could_not_be_sent_are_kept_over_a_reload(self):
		with self.open_page() as page:
			say(page, "List the notes")
			page.get_by_test_id("message-user").hover()
			page.get_by_test_id("edit").click()
			page.get_by_test_id("edit-message").fill("List my open todos")
			page.reload()
			edited = page.get_by_test_id("edit-message")
			edited.wait_for()
			self.assertEqual(edited.input_value(), "List my open todos")
			page.route(STREAM, lambda route: route.abort())
			page.get_by_test_id("edit-send").click()
			page.get_by_test_id("retry").wait_for()
			page.reload()
			page.get_by_test_id("retry").wait_for()
			self.assertEqual(self.read_messages(page), ["List my open todos"])

	def send(self, page, message: str) -> None:
		page.locator("[data-testid=composer]:enabled").fill(message)
		page.get_by_test_id("composer").press("Enter")

	def read_messages(self, page) -> list[str]:
		return page.get_by_test_id("message-user").locator("p[dir=auto]").all_inner_texts()

	def make_agent(self, model: ModelServer) -> str:
		"""An agent whose model answers as scripted."""
		name = f"Scripted {len(self.agents)}"
		self.agents.append(name)
		self.make("AI Provider", provide_name=name, api_key="sk-1", api_base=model.base_url)
		self.make("AI Model", model_name=name, model_id="scripted", provider=name)
		return self.make("Agent", agent_name=name, model=name)["name"]
