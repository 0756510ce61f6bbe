"""Chats are searched, edited in versions, rated, branched and shared on the page."""

from contextlib import contextmanager
from urllib.parse import quote, unquote

from huf.embedded.tests.accessibility_test import faults_of
from huf.embedded.tests.browser import needs_browser, reach, say, wait_to_hear
from huf.embedded.tests.pages import BERTA, PageTestCase
from huf.tests.model_server import Gate, ModelServer, error, text

IS_STORED = "(words) => Object.values(localStorage).includes(words)"
COMPOSER_HAS = "(words) => document.querySelector('[data-testid=composer]').value === words"
NAMES = list(enumerate("Adler Berger Conrad Dorn Ebert Falk Graf".split(), 11))


@needs_browser
class TestChatsPage(PageTestCase):
	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		cls.has_counter = False
		cls.add_user(BERTA, "Huf User")

	def test_editing_a_message_creates_a_version_and_keeps_the_first(self):
		with self.open_page() as page:
			say(page, "How many users are there?")
			say(page, "List my open todos")
			address = page.url
			page.get_by_test_id("conversation-item").first.wait_for()
			listed = page.get_by_test_id("conversation-item").count()
			reach(page, page.get_by_test_id("message-user").last)
			page.get_by_test_id("edit").last.click()
			page.get_by_test_id("edit-message").press("Escape")
			page.keyboard.press("Enter")
			page.get_by_test_id("edit-message").fill("List the notes")
			page.keyboard.press("Enter")
			page.get_by_test_id("message-user").filter(has_text="List the notes").wait_for()
			versions = page.get_by_test_id("versions")
			versions.filter(has_text="2/2").wait_for()
			self.assertNotEqual(page.url, address)
			self.assertEqual(self.read_user_messages(page), ["How many users are there?", "List the notes"])
			self.wait_for_chats(page, listed)
			page.get_by_test_id("version-previous").press("Enter")
			page.get_by_test_id("message-user").filter(has_text="List my open todos").wait_for()
			versions.filter(has_text="1/2").wait_for()
			self.assertEqual(page.url, address)
			page.reload()
			versions.filter(has_text="1/2").wait_for()
			self.wait_for_chats(page, listed)

	def wait_for_chats(self, page, count: int):
		"""The list is loaded again shortly after a chat has changed."""
		has_count = "(count) => document.querySelectorAll('[data-testid=conversation-item]').length === count"
		page.wait_for_function(has_count, arg=count)

	def test_regenerated_answer_is_a_version_beside_the_first(self):
		with ModelServer() as model:
			model.script(text("Four."), text("Five."))
			self.use_scripted_model(model)
			with self.open_page("/huf/chat?agent=Counter") as page:
				say(page, "How many?")
				# Not dblclick: on a busy machine, its second click may come after the answer.
				page.get_by_test_id("regenerate").evaluate("button => [1, 2].forEach(() => button.click())")
				page.get_by_test_id("versions").filter(has_text="2/2").wait_for()
				page.get_by_text("Five.", exact=True).wait_for()
				self.assertEqual(self.read_user_messages(page), ["How many?"])
				page.get_by_test_id("version-previous").click()
				page.get_by_text("Four.", exact=True).wait_for()

	def test_all_but_three_unconfirmed_claims_of_an_answer_are_folded(self):
		with ModelServer() as model:
			model.forever(text(" ".join(f"Customer {name} paid {number}7 euros." for number, name in NAMES)))
			self.use_scripted_model(model)
			tools = [{"tool": "list_todos"}]
			self.make(
				"Agent", agent_name="Teller", model=f"Scripted {self._testMethodName}", agent_tool=tools
			)
			with self.open_page("/huf/chat?agent=Teller") as page:
				say(page, "Who paid?")
				claims = page.get_by_test_id("claims").locator("li")
				self.assertEqual(page.get_by_test_id("more-claims").inner_text(), "4 more not confirmed")
				self.assertEqual([each.is_visible() for each in claims.all()], [True] * 3 + [False] * 4)
				page.get_by_test_id("more-claims").press("Enter")
				claims.nth(6).wait_for()
				self.assertEqual(faults_of(page), [])

	def test_an_answer_is_rated_and_a_bad_one_becomes_an_eval_case(self):
		with self.open_page() as page:
			say(page, "How many users are there?")
			run = page.get_by_test_id("run-footer").get_attribute("data-run")
			page.get_by_test_id("rate-Good").press("Enter")
			page.locator("[data-testid=rating][data-verdict=Good]").wait_for(state="attached")
			page.locator("[data-testid=rate-Good]:focus").wait_for()
			self.assertEqual(
				self.call(f"/api/resource/Agent Run/{run}".replace(" ", "%20"))["data"]["verdict"], "Good"
			)
			page.get_by_test_id("rate-Bad").press("Enter")
			page.get_by_test_id("rating-note").fill("It counted the disabled ones.")
			self.assertEqual(faults_of(page), [])
			page.get_by_test_id("rating-case").click()
			page.get_by_text("Saved as an eval case").wait_for()
			page.locator("[data-testid=rate-Bad]:focus").wait_for()
			page.reload()
			page.locator("[data-testid=rating][data-verdict=Bad]").wait_for(state="attached")
			cases = self.call("/api/method/huf.api.eval.get_cases?agent=Office%20Assistant")["message"][
				"cases"
			]
			self.assertEqual(
				[each["note"] for each in cases if each["run"] == run], ["It counted the disabled ones."]
			)

	def test_code_formulas_and_task_lists_of_an_answer_are_rendered(self):
		answer = "- [x] Counted\n\nSo $a^2$ is\n\n```python\nreturn 4\n```\n"
		with ModelServer() as model:
			model.script(text(answer))
			self.use_scripted_model(model)
			with self.open_page("/huf/chat?agent=Counter") as page:
				say(page, "Show it")
				page.locator(".prose .hljs-keyword").filter(has_text="return").wait_for()
				self.assertEqual(page.locator(".prose math msup").count(), 1)
				self.assertEqual("".join(page.locator(".prose math").text_content().split()), "a2")
				page.get_by_role("img", name="Done").wait_for()
				self.assertEqual(page.locator(".prose > div").first.get_attribute("dir"), "auto")
				self.assertEqual(faults_of(page), [])

	def test_mermaid_diagram_is_rendered_and_invalid_source_stays_code(self):
		diagram = "flowchart LR\n  A[Order] --> B{Paid?}\n  B -->|yes| C[Ship]"
		answer = f"It goes so:\n\n```mermaid\n{diagram}\n```\n\nAnd:\n\n```mermaid\nno such diagram\n```\n"
		with ModelServer() as model:
			model.script(text(answer))
			self.use_scripted_model(model)
			with self.open_page("/huf/chat?agent=Counter") as page:
				violations = []
				page.on("console", lambda message: violations.append(message.text))
				say(page, "Draw it")
				picture = page.get_by_test_id("diagram").locator("img")
				picture.wait_for()
				self.assertGreater(
					picture.evaluate("async (img) => (await img.decode(), img.naturalWidth)"), 100
				)
				self.assertIn("Paid?", picture.get_attribute("alt"))
				self.assertIn("Ship", unquote(picture.get_attribute("src")))
				self.assertEqual(page.get_by_test_id("diagram").count(), 1)
				page.locator(".prose pre").filter(has_text="no such diagram").wait_for()
				self.assertEqual(faults_of(page), [])
				page.get_by_test_id("diagram-code").press("Enter")
				page.locator(".prose pre").filter(has_text="flowchart LR").wait_for()
				self.assertEqual([each for each in violations if "Content Security Policy" in each], [])

	def test_unsaved_message_edit_survives_a_refresh_of_the_chat(self):
		with self.open_page() as page:
			say(page, "How many users are there?")
			wait_to_hear(page)
			reach(page, page.get_by_test_id("message-user"))
			page.get_by_test_id("edit").click()
			page.get_by_test_id("edit-message").fill("How many roles")
			conversation = page.url.rpartition("/")[2]
			message = {
				"agent": "Office Assistant",
				"message": "List my open todos",
				"conversation": conversation,
			}
			self.call("/api/method/huf.api.agent.chat", message)
			page.get_by_test_id("message-user").filter(has_text="List my open todos").wait_for()
			page.get_by_test_id("run-footer").nth(1).wait_for()
			self.assertEqual(page.get_by_test_id("edit-message").input_value(), "How many roles")

	def test_text_that_another_tab_has_sent_is_no_longer_in_the_field(self):
		with self.open_page() as page:
			say(page, "How many users are there?")
			page.get_by_test_id("composer").fill("How many roles are there?")
			other = page.context.new_page()
			other.goto(page.url)
			other.wait_for_function(COMPOSER_HAS, arg="How many roles are there?")
			page.get_by_test_id("send").click()
			other.wait_for_function(COMPOSER_HAS, arg="")

	def test_branching_from_an_answer_continues_in_a_new_chat(self):
		with self.open_page() as page:
			say(page, "How many users are there?")
			say(page, "List my open todos")
			address = page.url
			page.get_by_test_id("thread").press("Home")
			reach(page, page.get_by_test_id("branch").first)
			page.get_by_test_id("branch").first.click()
			page.wait_for_function("(address) => location.href !== address", arg=address)
			page.get_by_test_id("run-footer").wait_for()
			self.assertEqual(self.read_user_messages(page), ["How many users are there?"])
			say(page, "List the notes")
			self.assertEqual(self.read_user_messages(page), ["How many users are there?", "List the notes"])

	def test_chat_search_finds_messages_by_their_text(self):
		with self.open_page() as page:
			say(page, "List my open todos about the xylophone")
			page.get_by_test_id("new-chat").click()
			page.get_by_test_id("history-search").fill("xyloph")
			page.get_by_test_id("history-found").click()
			page.get_by_test_id("message-user").filter(has_text="xylophone").wait_for()
			page.get_by_test_id("history-search").fill("nothing like that")
			page.get_by_text("No conversations found.").wait_for()
			page.get_by_test_id("history-search").press("Escape")
			page.get_by_test_id("conversation-item").first.wait_for()

	def test_shared_chat_is_read_only_then_writable_then_revoked(self):
		with self.open_page() as page:
			say(page, "How many users are there?")
			address = page.url
			self.share(page, "nobody@example.com")
			page.get_by_role("alert").filter(has_text="There is no user").wait_for()
			page.get_by_test_id("share-user").fill(BERTA)
			page.get_by_test_id("share-add").click()
			page.get_by_test_id("share-remove").wait_for()
			with self.open_second_page(page, address) as reader:
				reader.get_by_test_id("read-only").wait_for()
				reader.get_by_test_id("run-footer").wait_for()
				reader.get_by_test_id("message-user").locator("h2", has_text="Administrator").wait_for()
				self.assertEqual(reader.get_by_test_id("composer").count(), 0)
				page.get_by_test_id("share-write").check()
				page.get_by_test_id("share-user").fill(BERTA)
				page.get_by_test_id("share-add").click()
				page.get_by_text("can read and write").wait_for()
				reader.reload()
				reader.get_by_test_id("run-footer").wait_for()
				wait_to_hear(page)
				say(reader, "List the notes")
				shown = page.get_by_test_id("message-user").filter(has_text="List the notes")
				shown.locator("h2", has_text="Berta").wait_for()
				page.reload()
				self.open_share(page)
				page.get_by_test_id("share-remove").click()
				page.get_by_text("Only you and Huf Managers can read it").wait_for()
				reader.reload()
				reader.get_by_text("This conversation cannot be found").wait_for()
				reader.locator("main").get_by_role("link", name="New chat").click()
				reader.get_by_test_id("composer").wait_for()

	def test_without_realtime_a_page_looked_at_again_shows_what_others_have_written(self):
		with self.open_page() as page:
			page.route("**/socket.io/**", lambda route: route.abort())
			say(page, "How many users are there?")
			address = page.url
			page.reload()
			page.get_by_test_id("run-footer").wait_for()
			with self.open_page() as other:
				other.goto(address)
				other.get_by_test_id("run-footer").wait_for()
				say(other, "List the notes")
				# What the browser tells a page that is looked at again.
				page.evaluate("document.dispatchEvent(new Event('visibilitychange', {bubbles: true}))")
				page.get_by_test_id("message-user").filter(has_text="List the notes").wait_for()

	def test_late_list_of_shares_is_not_shown_for_another_chat(self):
		held = []
		with self.open_page() as page:
			say(page, "How many users are there?")
			self.share(page, BERTA)
			page.get_by_test_id("share-remove").wait_for()
			page.keyboard.press("Escape")
			page.get_by_test_id("new-chat").click()
			say(page, "List the notes")
			page.route("**/huf.api.conversation.get_shares?*", lambda route: held.append(route))
			for place in (1, 0):
				with page.expect_request("**/huf.api.conversation.get_shares?*"):
					self.open_share(page, place)
				page.keyboard.press("Escape" if place else "Tab")
			for route in reversed(held):
				with page.expect_response(route.request.url):
					route.continue_()
			page.get_by_text("Only you and Huf Managers can read it").wait_for()
			self.assertEqual(page.get_by_test_id("share-remove").count(), 0)

	def test_transcribed_speech_is_added_to_the_composer_without_sending(self):
		with ModelServer() as model:
			model.script(text("How many users are there?"))
			with self.open_listener(model) as page:
				page.get_by_test_id("composer").fill("Please:")
				self.record(page)
				page.wait_for_function(COMPOSER_HAS, arg="Please: How many users are there?")
				self.assertEqual(page.get_by_test_id("message-user").count(), 0)

	def test_recording_whose_transcription_failed_is_kept_until_it_succeeds_or_is_discarded(self):
		with ModelServer() as model:
			model.script(error(503, "Busy."), error(503, "Busy."), text("Call Anna."), error(503, "Busy."))
			with self.open_listener(model) as page:
				self.record(page)
				failed = page.locator("[data-testid=voice][data-state=failed]")
				failed.click()
				failed.click()
				page.wait_for_function(COMPOSER_HAS, arg="Call Anna.")
				self.record(page)
				page.get_by_test_id("voice-discard").click()
				page.locator("[data-testid=voice][data-state=idle]").wait_for()
		self.assertEqual(len({len(body) for body in model.bodies[:3]}), 1)

	def test_words_spoken_in_a_chat_that_was_left_wait_there(self):
		spoken = Gate()
		with ModelServer() as model:
			model.script(spoken(text("Call Anna.")))
			with self.open_listener(model) as page:
				say(page, "First chat")
				address = page.url
				self.record(page)
				spoken.reached.wait()
				page.get_by_test_id("new-chat").first.click()
				page.wait_for_function("() => !location.pathname.split('/')[3]")
				spoken.open()
				page.wait_for_function(IS_STORED, arg="Call Anna.")
				self.assertEqual(page.get_by_test_id("composer").input_value(), "")
				page.goto(address)
				page.wait_for_function(COMPOSER_HAS, arg="Call Anna.")

	def test_recording_without_words_says_so(self):
		with ModelServer() as model:
			model.script(text(" "))
			with self.open_listener(model) as page:
				self.record(page)
				page.get_by_text("No words were recognized").wait_for()

	def open_listener(self, model):
		"""The chat of an agent whose tool transcribes with the scripted model."""
		name = f"Listener {self._testMethodName}"
		self.make("AI Provider", provide_name=name, api_key="sk-1", api_base=model.base_url)
		self.make("AI Model", model_name=name, provider=name)
		tool_name = "hear_" + self._testMethodName[5:25]
		tool = {"tool_name": tool_name, "types": "Speech to Text", "model": name}
		self.make("Agent Tool Function", **tool, description="Transcribes speech")
		self.make("Agent", agent_name=name, agent_tool=[{"tool": tool_name}])
		return self.open_page(f"/huf/chat?agent={quote(name)}", permissions=["microphone"])

	def record(self, page) -> None:
		page.get_by_test_id("voice").click()
		page.locator("[data-testid=voice][data-state=recording]").click()

	@contextmanager
	def open_second_page(self, page, address: str):
		"""A second page with the chat, as Berta sees it."""
		context = page.context.browser.new_context()
		name, value = self.sessions[BERTA].split("=")
		context.add_cookies([{"name": name, "value": value, "url": self.server.url}])
		reader = context.new_page()
		reader.goto(address)
		yield reader
		context.close()

	def use_scripted_model(self, model) -> None:
		"""Give the agent Counter a new model that answers as scripted."""
		provider = name = f"Scripted {self._testMethodName}"
		self.make("AI Provider", provide_name=provider, api_key="sk-1", api_base=model.base_url)
		self.make("AI Model", model_name=name, model_id="scripted", provider=provider)
		if not self.has_counter:
			self.make("Agent", agent_name="Counter")
			type(self).has_counter = True
		self.call("/api/resource/Agent/Counter", {"model": name}, "PUT")

	def read_user_messages(self, page) -> list[str]:
		"""Contents of the user messages in the open chat."""
		name = page.url.rsplit("/", 1)[1].partition("?")[0]
		path = f"/api/method/huf.ai.agent_chat.get_agent_chat_messages?conversation={name}"
		return [each["content"] for each in self.call(path)["message"]["messages"] if each["role"] == "user"]

	def open_share(self, page, place: int = 0) -> None:
		item = page.get_by_test_id("conversation-item").nth(place)
		item.hover()
		item.get_by_role("button").click()
		page.get_by_test_id("share").click()

	def share(self, page, user: str) -> None:
		self.open_share(page)
		page.get_by_test_id("share-user").fill(user)
		page.get_by_test_id("share-add").click()
