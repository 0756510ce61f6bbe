"""Messages that the site could not be sent, or whose response was lost, are kept on the chat page."""

from huf.embedded.tests.accessibility_test import faults_of
from huf.embedded.tests.browser import follow, needs_browser, say
from huf.embedded.tests.pages import BERTA, PageTestCase, lose_response
from huf.tests.model_server import Gate, ModelServer, text

STREAM = "**/huf.api.chat.stream"
UPLOAD = "**/upload_file"
MESSAGES = "**/huf.ai.agent_chat.get_agent_chat_messages*"
LOOK_AGAIN = "document.dispatchEvent(new Event('visibilitychange', {bubbles: true}))"
"""What the browser tells a page that is looked at again."""


@needs_browser
class TestUnsentPage(PageTestCase):
	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		cls.agents: list[str] = []
		cls.add_user(BERTA, "Huf User")

	def test_unsent_message_equal_to_the_one_before_stays_when_the_chat_is_read_again(self):
		with self.open_page() as page:
			say(page, "List the notes")
			page.route(STREAM, lambda route: route.abort())
			self.send(page, "List the notes")
			page.get_by_test_id("retry").wait_for()
			with page.expect_response(MESSAGES):
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
			with page.expect_event("requestfailed"):
				self.send(page, "How many users are there?")
			# An event of the run may have made the page read the chat again already.
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

	def test_text_and_files_of_a_second_page_stay_when_the_first_sends_its_own(self):
		held = []
		with self.open_page() as page:
			page.route(STREAM, lambda route: held.append(route))
			with page.expect_request(STREAM):
				self.send(page, "List the notes")
			other = page.context.new_page()
			other.goto("/huf/chat")
			other.get_by_test_id("take-back").wait_for()
			self.attach(other)
			other.get_by_test_id("composer").fill("Another chat")
			held.pop().continue_()
			page.get_by_test_id("run-footer").wait_for()
			other.get_by_test_id("take-back").wait_for(state="detached")
			self.assertEqual(other.get_by_test_id("composer").input_value(), "Another chat")
			other.reload()
			other.get_by_text("plan.txt").wait_for()
			self.assertEqual(other.get_by_test_id("composer").input_value(), "Another chat")
			# In one chat as well.
			other.goto(page.url)
			other.get_by_test_id("run-footer").wait_for()
			page.unroute(STREAM)
			page.get_by_test_id("composer").fill("How many users are there?")
			other.get_by_test_id("composer").fill("And the todos")
			page.get_by_test_id("composer").press("Enter")
			page.get_by_test_id("run-footer").nth(1).wait_for()
			other.get_by_test_id("run-footer").nth(1).wait_for()
			self.assertEqual(other.get_by_test_id("composer").input_value(), "And the todos")

	def test_message_taken_back_and_sent_unchanged_runs_once(self):
		for button in ("take-back", "new-chat"):
			with self.subTest(button), ModelServer() as model, self.open_page("about:blank") as page:
				model.script(text("Only once."))
				self.lose_first(page, model, "Pay the bill")
				page.get_by_test_id(button).click()
				page.get_by_test_id("retry").wait_for(state="detached")
				page.get_by_test_id("composer").press("Enter")
				page.get_by_text("Only once.", exact=True).wait_for()
				self.assertEqual(len(model.requests), 1)

	def test_lost_message_that_is_refused_without_a_session_is_not_called_unsent(self):
		with ModelServer() as model, self.open_page("about:blank") as page:
			model.script(text("Only once."))
			self.lose_first(page, model, "Pay the bill")
			cookies = page.context.cookies()
			page.context.clear_cookies()
			page.get_by_test_id("retry").click()
			page.get_by_text("You are signed out").wait_for()
			page.get_by_text("It is not known whether this was sent").wait_for()
			# No response to the page as a guest may replace the cookie of the session.
			page.goto("about:blank")
			page.context.add_cookies(cookies)
			page.go_back()
			page.get_by_test_id("retry").click()
			page.get_by_text("Only once.", exact=True).wait_for()

	def test_lost_first_message_is_not_shown_in_the_chat_that_a_second_one_began(self):
		with ModelServer() as model, self.open_page("about:blank") as page:
			model.script(text("One."), text("Two."))
			self.lose_first(page, model, "Find Bob")
			self.send(page, "Second")
			page.get_by_text("Two.", exact=True).wait_for()
			page.get_by_test_id("retry").click()
			page.get_by_text("“Find Bob” had arrived before").wait_for()
			self.assertEqual(self.read_messages(page), ["Second"])
			page.get_by_role("link", name="Find Bob", exact=True).click()
			page.get_by_text("One.", exact=True).wait_for()

	def test_lost_first_message_is_no_longer_unsent_once_its_chat_was_read(self):
		with ModelServer() as model, self.open_page("about:blank") as page:
			model.script(text("One."))
			self.lose_first(page, model, "Find Anna")
			page.get_by_role("link", name="Find Anna", exact=True).click()
			page.get_by_text("One.", exact=True).wait_for()
			page.get_by_test_id("new-chat").click()
			page.get_by_test_id("message-user").wait_for(state="detached")
			self.assertEqual(page.get_by_test_id("composer").input_value(), "")
			page.reload()
			page.get_by_test_id("composer").wait_for()
			self.assertEqual(page.get_by_test_id("unsent").count(), 0)

	def test_unsent_message_of_a_deleted_chat_stays_when_that_is_undone_and_else_moves_to_a_new_chat(self):
		with self.open_page() as page:
			say(page, "List the notes")
			page.route(STREAM, lambda route: route.abort())
			self.send(page, "How many users are there?")
			page.get_by_test_id("retry").wait_for()
			address = page.url
			page.get_by_role("button", name="Actions for").first.click()
			page.get_by_role("menuitem", name="Delete").click()
			page.get_by_test_id("deletion").get_by_role("button", name="Undo").click()
			follow(page, address)
			page.get_by_test_id("run-footer").wait_for()
			self.assertEqual(self.read_messages(page), ["List the notes", "How many users are there?"])
			page.get_by_test_id("composer").fill("And the todos")
			conversation = {"conversation": address.split("/")[-1]}
			self.call("/api/method/huf.api.chat.delete_conversation", conversation)
			page.reload()
			page.get_by_text("This conversation cannot be found").wait_for()
			page.get_by_role("link", name="New chat").click()
			page.get_by_text("This conversation cannot be found").wait_for(state="detached")
			written = page.get_by_test_id("composer").input_value()
			self.assertEqual(written, "How many users are there?\n\nAnd the todos")

	def test_unsent_message_in_a_chat_that_has_become_read_only_is_edited_in_a_new_chat(self):
		share = "/api/method/huf.api.conversation.share"
		with self.open_page() as page:
			say(page, "List the notes")
			chat = {"conversation": page.url.rsplit("/", 1)[1].partition("?")[0], "user": BERTA}
			self.call(share, {**chat, "write": 1})
			with self.open_page(page.url, user=BERTA) as other:
				other.route(STREAM, lambda route: route.abort())
				self.send(other, "And the todos")
				other.get_by_test_id("retry").wait_for()
				self.call(share, {**chat, "write": 0})
				other.reload()
				other.get_by_test_id("read-only").wait_for()
				self.assertTrue(other.get_by_test_id("retry").is_disabled())
				other.get_by_test_id("take-back").click()
				other.wait_for_url("**/huf/chat")
				self.assertEqual(other.get_by_test_id("composer").input_value(), "And the todos")
				self.assertEqual(other.get_by_test_id("unsent").count(), 0)

	def test_version_whose_message_is_sent_after_a_reload_is_listed(self):
		with self.open_page() as page:
			say(page, "List the notes")
			page.get_by_test_id("message-user").hover()
			page.get_by_test_id("edit").click()
			page.get_by_test_id("edit-message").fill("List my open todos")
			page.route(STREAM, lambda route: route.abort())
			page.get_by_test_id("edit-send").click()
			page.get_by_test_id("retry").wait_for()
			page.reload()
			page.unroute(STREAM)
			with page.expect_response("**/huf.api.conversation.show"):
				page.get_by_test_id("retry").click()
			page.get_by_test_id("run-footer").wait_for()
			listed = self.call("/api/method/huf.api.chat.get_conversations")["message"]
			self.assertIn(page.url.split("/")[-1], [chat["name"] for chat in listed])

	def test_failed_reading_is_not_reported_once_the_chat_was_read_beside_an_unsent_message(self):
		with self.open_page() as page:
			say(page, "List the notes")
			page.route(STREAM, lambda route: route.abort())
			self.send(page, "How many users are there?")
			page.get_by_test_id("retry").wait_for()
			page.reload()
			page.get_by_test_id("run-footer").wait_for()
			page.route(MESSAGES, lambda route: route.abort())
			page.evaluate(LOOK_AGAIN)
			page.get_by_text("The chat could not be refreshed").wait_for()
			page.unroute(MESSAGES)
			page.evaluate(LOOK_AGAIN)
			page.get_by_text("The chat could not be refreshed").wait_for(state="detached")
			page.get_by_test_id("retry").wait_for()

	def test_file_whose_upload_ends_after_the_chat_began_is_kept_over_a_reload(self):
		held = []
		with self.open_page() as page:
			for address in (STREAM, UPLOAD):
				page.route(address, lambda route: held.append(route))
			with page.expect_request(STREAM):
				self.send(page, "List the notes")
			with page.expect_request(UPLOAD):
				self.attach(page)
			held[0].continue_()
			page.get_by_test_id("run-footer").wait_for()
			with page.expect_response(UPLOAD):
				held[1].continue_()
			page.reload()
			page.get_by_test_id("run-footer").wait_for()
			page.get_by_text("plan.txt").wait_for()

	def test_page_asks_before_it_is_left_with_a_message_that_could_not_be_stored(self):
		asked = []
		with self.open_page() as page:
			page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
			page.route(STREAM, lambda route: route.abort())
			page.evaluate("void (Storage.prototype.setItem = () => { throw new Error() })")
			self.send(page, "List the notes")
			page.get_by_test_id("take-back").click()
			page.reload()
			page.get_by_test_id("composer").wait_for()
			self.assertEqual(asked, ["beforeunload"])

	def test_message_beside_the_form_of_an_agent_is_not_offered_in_a_new_chat(self):
		with ModelServer() as model, self.open_page("about:blank") as page:
			agent = self.make_agent(model)
			for address, count in ((f"?agent={agent}&embed=1&test=1", 1), ("", 0)):
				page.route(STREAM, lambda route: route.abort())
				page.goto(f"/huf/chat{address}")
				if count:
					self.send(page, "A test")
					page.get_by_test_id("retry").wait_for()
					page.reload()
					page.get_by_test_id("retry").wait_for()
				page.locator("[data-testid=composer]:enabled").wait_for()
				self.assertEqual(page.get_by_test_id("retry").count(), count)

	def lose_first(self, page, model: ModelServer, message: str) -> None:
		"""Send the first message of a chat with a scripted agent and lose the response."""
		page.goto(f"/huf/chat?agent={self.make_agent(model)}")
		page.route(STREAM, lose_response)
		self.send(page, message)
		page.get_by_test_id("retry").wait_for()
		page.unroute(STREAM)

	def attach(self, page) -> None:
		file = {"name": "plan.txt", "mimeType": "text/plain", "buffer": b"Tea"}
		page.locator("input[type=file]").first.set_input_files(file)

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
