"""The chat page: sign-in, offline answers, choice of agent and model, routing, streaming and history."""

from io import BytesIO
from pathlib import Path

from pypdf import PdfReader

from huf.embedded.tests.browser import TIMEOUT_MS, needs_browser, say, sign_in
from huf.embedded.tests.first_page import loaded_bytes, open_first_page
from huf.embedded.tests.pages import PASSWORD, PageTestCase
from huf.tests.model_server import Gate, ModelServer, text, tool_call

SCROLL_AND_LEAVE = """() => {
	const thread = document.querySelector("[data-testid=thread]");
	thread.style.maxHeight = "40px";
	thread.scrollTop = thread.scrollTop ? 0 : 9;
	document.querySelector("aside a[href$='/runs']").click();
}"""


@needs_browser
class TestChatPage(PageTestCase):
	def test_offline_agent_counts_users_and_creates_a_todo(self):
		with self.open_guest_page() as page:
			sign_in(page, PASSWORD)
			self.assertEqual(say(page, "How many users are there?").get_attribute("data-status"), "Success")
			counted = page.get_by_test_id("tool-call").last
			self.assertEqual(counted.get_attribute("data-tool"), "list_users")
			self.assertEqual(counted.get_attribute("data-status"), "done")
			self.assertIn("Administrator", counted.get_by_test_id("tool-result").inner_text())
			self.assertIn(str(self.count("User")), page.get_by_test_id("message-agent").last.inner_text())

			before = self.count("ToDo")
			say(page, "Create a todo to call Anna")
			created = page.get_by_test_id("tool-call").last
			self.assertEqual(created.get_attribute("data-tool"), "create_todo")
			self.assertIn("Anna", created.get_by_test_id("tool-arguments").inner_text())
			self.assertEqual(self.count("ToDo"), before + 1)

	def test_the_agent_of_a_chat_is_chosen_by_keyboard(self):
		self.make("Agent", agent_name="Zoe", allow_chat=1)
		with self.open_page() as page:
			picker = page.get_by_test_id("agent-picker")
			picker.filter(has_text="Office Assistant").wait_for()
			picker.press("Enter")
			page.get_by_test_id("agent-option").filter(has_text="Zoe").wait_for()
			page.keyboard.press("End")
			page.keyboard.press("Enter")
			picker.filter(has_text="Zoe").wait_for()
			say(page, "List my open todos")
			name = page.url.rpartition("/")[2]
		conversation = self.call(f"/api/resource/Agent%20Conversation/{name}")["data"]
		self.assertEqual(conversation["agent"], "Zoe")

	def test_first_page_load_stays_below_its_size_limit(self):
		with self.open_page() as page:
			open_first_page(page)
			javascript, total = loaded_bytes(page)
		self.assertGreater(javascript, 50_000)
		self.assertLess(javascript, 160_000)
		self.assertLess(total, 170_000)

	def test_first_message_sent_offline_is_kept_over_the_reload_that_the_page_asks_for(self):
		with self.open_page(expected="/ChatThread-") as page:
			page.locator("[data-testid=composer]:enabled").wait_for()
			page.wait_for_load_state("networkidle")
			page.context.set_offline(True)
			page.get_by_test_id("composer").fill("How many users are there?")
			page.keyboard.press("Enter")
			page.get_by_text("The messages could not be loaded").wait_for()
			page.context.set_offline(False)
			page.get_by_role("button", name="Reload").click()
			page.get_by_test_id("retry").click()
			page.get_by_test_id("run-footer").wait_for()

	def test_message_from_a_page_of_an_earlier_session_is_kept_with_what_is_added_before_the_reload(self):
		def send_old_token(route):
			route.continue_(headers={**route.request.headers, "x-frappe-csrf-token": "of another session"})

		with self.open_page() as page:
			page.route("**/huf.api.chat.stream", send_old_token)
			composer = page.get_by_test_id("composer")
			composer.fill("How many users are there?")
			page.get_by_test_id("send").click()
			reload = page.get_by_role("button", name="Reload the page")
			reload.wait_for()
			composer.press_sequentially(" And todos?")
			reload.click()
			page.locator("[data-testid=send]:enabled").wait_for()
			self.assertEqual(composer.input_value(), "How many users are there? And todos?")

	def test_refused_message_shows_the_reason_of_the_site(self):
		self.make("Agent", agent_name="Retired", allow_chat=1)
		with self.open_page("/huf/chat?agent=Retired") as page:
			page.get_by_test_id("composer").fill("How many users are there?")
			self.call("/api/resource/Agent/Retired", {"disabled": 1}, "PUT")
			page.get_by_test_id("send").click()
			page.get_by_text("The agent Retired is disabled").wait_for()

	def test_message_sent_before_the_agents_are_known_goes_to_the_agent_of_the_address(self):
		self.make("Agent", agent_name="Ada", allow_chat=1)
		held = []
		with self.open_page("about:blank") as page:
			page.route("**/huf.api.agent.get_agents*", lambda route: held.append(route))
			page.goto("/huf/chat?agent=Ada")
			page.get_by_test_id("composer").fill("How many users are there?")
			page.keyboard.press("Enter")
			held.pop().continue_()
			page.get_by_test_id("run-footer").wait_for()
			page.get_by_test_id("message-agent").get_by_role("heading", name="Ada").wait_for()

	def test_going_back_to_the_runs_of_an_agent_keeps_the_picked_agent(self):
		self.make("Agent", agent_name="Grace", allow_chat=1)
		with self.open_page("/huf/runs?agent=Grace") as page:
			# A link that is clicked while the first page loads replaces it in the history.
			page.get_by_role("heading", name="Runs").wait_for()
			page.get_by_role("link", name="Chat", exact=True).click()
			# The picker is enabled once the agents have loaded.
			picker = page.locator("[data-testid=agent-picker]:enabled")
			picked = picker.inner_text()
			page.go_back()
			page.get_by_role("heading", name="Runs").wait_for()
			page.get_by_role("link", name="Chat", exact=True).click()
			self.assertEqual(picker.inner_text(), picked)

	def test_leaving_a_chat_while_it_scrolls_logs_no_error(self):
		with self.open_page("/huf/runs") as page:
			page.get_by_role("link", name="Chat", exact=True).click()
			say(page, "How many users are there?")
			page.evaluate(SCROLL_AND_LEAVE)
			page.get_by_role("heading", name="Runs").wait_for()

	def test_conversation_is_restored_after_a_reload(self):
		with self.open_guest_page() as page:
			sign_in(page, PASSWORD)
			say(page, "List my open todos")
			address = page.url
			page.reload()
			page.get_by_test_id("run-footer").wait_for()
			self.assertEqual(page.url, address)
			self.assertIn("List my open todos", page.get_by_test_id("message-user").inner_text())
			self.assertEqual(page.get_by_test_id("tool-call").count(), 1)
			page.get_by_test_id("conversation-item").first.wait_for()

	def test_printed_chat_has_its_messages_out_of_view_too_and_no_composer(self):
		wanted = [f"Create a todo to call number {number}" for number in range(4)]
		with self.open_page() as page:
			for prompt in wanted:
				say(page, prompt)
			pages = PdfReader(BytesIO(page.pdf())).pages
			placeholder = page.get_by_test_id("composer").get_attribute("placeholder")
		printed = " ".join(" ".join(each.extract_text() for each in pages).split())
		self.assertGreater(len(pages), 1)
		self.assertEqual([prompt for prompt in wanted if prompt not in printed], [])
		self.assertNotIn(placeholder, printed)

	def test_printed_chat_says_that_older_messages_have_not_been_loaded(self):
		with self.open_page() as page:
			say(page, "How many users are there?")
			conversation = page.url.rsplit("/", 1)[1]
			for number in range(25):
				self.call(
					"/api/method/huf.ai.agent_integration.run_agent_sync",
					{
						"agent_name": "Office Assistant",
						"prompt": f"Number {number}",
						"conversation_id": conversation,
					},
				)
			page.reload()
			page.get_by_test_id("message-user").filter(has_text="Number 24").wait_for()
			before = self.read_printed(page)
			page.get_by_test_id("older").evaluate("button => button.click()")
			page.get_by_test_id("older-place").wait_for(state="detached")
			after = self.read_printed(page)
		self.assertIn("Earlier messages are missing here", before)
		self.assertNotIn("Earlier messages", after)
		self.assertIn("How many users are there?", after)

	def read_printed(self, page) -> str:
		return " ".join(each.extract_text() for each in PdfReader(BytesIO(page.pdf())).pages)

	def test_auto_route_shows_the_routing_decision_before_and_after_a_reload(self):
		with ModelServer() as model, self.open_guest_page() as page:
			model.script(
				text("I need to search for current information."), text("Bern."), text("A big town.")
			)
			self.use_model(model)
			sign_in(page, PASSWORD)
			page.get_by_test_id("route").select_option("auto")
			say(page, "What is the capital of Switzerland?")
			self.assertIn("Bern.", page.get_by_test_id("message-agent").last.inner_text())
			decision = page.get_by_test_id("run-route")
			self.assertEqual(decision.locator("summary").inner_text(), "Passed on from the chat to the agent")
			say(page, "What is a city?")
			self.assertRegex(
				decision.last.locator("summary").inner_text(), r"Answered without tools \(\d+% sure\)"
			)
			page.reload()
			decision.nth(1).wait_for()
			decision.nth(1).locator("summary").click()
			decision.nth(1).get_by_text("To decide yourself").wait_for()
			self.assertEqual(page.get_by_test_id("message-agent").count(), 2)
			self.assertEqual(page.get_by_test_id("route").input_value(), "auto")

	def test_table_of_an_answer_is_downloaded_for_a_spreadsheet(self):
		answer = "| Customer | Open |\n|---|--:|\n| **Anna** | 1,200.50 |\n| =A1 | -7 |\n"
		with ModelServer() as model, self.open_guest_page() as page:
			model.script(tool_call("list_users", {"group_by": ["enabled"]}), text(answer))
			self.use_model(model)
			sign_in(page, PASSWORD)
			say(page, "What is open per customer?")
			with page.expect_download() as caught:
				page.get_by_test_id("message-agent").get_by_text("Download CSV").click()
			self.assertEqual(
				Path(caught.value.path()).read_text("utf-8-sig").splitlines(),
				["Customer,Open", 'Anna,"1,200.50"', "'=A1,-7"],
			)

	def test_reload_during_an_answer_resumes_its_stream_without_duplicates(self):
		answer = " ".join(f"Sentence {number}." for number in range(40))
		with ModelServer() as model, self.open_guest_page() as page:
			rest = Gate()
			model.script(
				tool_call("list_users", {"limit": 1}),
				rest(text(answer, chunk_size=8, pace=0.03), after_chunks=20),
			)
			self.use_model(model)
			sign_in(page, PASSWORD)
			page.get_by_test_id("composer").fill("Tell me a story")
			page.get_by_test_id("send").click()
			said = page.get_by_test_id("message-agent")
			said.filter(has_text="Sentence 3.").wait_for()
			page.reload()
			said.filter(has_text="Sentence 3.").wait_for()
			self.assertEqual(page.get_by_test_id("run-footer").count(), 0)
			# The rest arrives while the page loads.
			page.reload(wait_until="commit")
			rest.open()
			said.filter(has_text="Sentence 39.").wait_for()
			page.get_by_test_id("run-footer").wait_for()
			shown = page.get_by_test_id("message-agent").last.inner_text()
			self.assertEqual(" ".join(shown.split()).count(answer), 1)
			# The claims below the answer quote it again.
			claims = page.get_by_test_id("claims").locator("q:visible").filter(has_text="Sentence 3.").count()
			self.assertEqual(shown.count("Sentence 3."), 1 + claims)
			self.assertEqual(page.get_by_test_id("tool-call").count(), 1)

	def test_message_that_cannot_be_queued_stays_visible_with_a_retry_button(self):
		with ModelServer() as model, self.open_guest_page() as page:
			gate = Gate()
			model.script(gate(text("Let me think about it.")))
			self.use_model(model)
			sign_in(page, PASSWORD)
			page.get_by_test_id("composer").fill("What do you think?")
			page.get_by_test_id("send").click()
			page.get_by_test_id("message-agent").wait_for()
			page.route("**/api/method/huf.api.chat.stream", lambda route: route.abort())
			page.get_by_test_id("composer").fill("And tomorrow?")
			with page.expect_event("requestfailed"):
				page.get_by_test_id("composer").press("Enter")
			gate.open()
			page.get_by_test_id("message-agent").get_by_text("Let me think about it.").wait_for()
			page.get_by_test_id("run-footer").wait_for()
			page.get_by_test_id("retry").wait_for()
			self.assertIn("And tomorrow?", page.get_by_test_id("message-user").last.inner_text())

	def test_reasoning_is_collapsed_and_kept_after_a_reload_and_in_the_run(self):
		with ModelServer() as model, self.open_guest_page() as page:
			gate = Gate()
			model.script(
				tool_call("list_users", {"limit": 1}, reasoning="I have to look **first**."),
				gate(text("There is one.", reasoning="One row came back.")),
			)
			self.use_model(model)
			sign_in(page, PASSWORD)
			page.get_by_test_id("composer").fill("How many users are there?")
			page.get_by_test_id("send").click()
			reasoning = page.get_by_test_id("reasoning")
			reasoning.get_by_role("button").click()
			reasoning.locator("strong", has_text="first").wait_for()
			gate.open()
			page.get_by_test_id("run-footer").wait_for()
			self.assertEqual(reasoning.count(), 2)
			self.assertNotIn("One row came back", page.get_by_test_id("message-agent").inner_text())
			page.reload()
			page.get_by_test_id("run-footer").wait_for()
			self.assertEqual(reasoning.count(), 2)
			# By the keyboard: a click may miss while the list still moves to its end.
			reasoning.last.get_by_role("button", name="Reasoning").press("Enter")
			reasoning.last.get_by_text("One row came back.").wait_for()
			page.goto(f"/huf/runs/{page.get_by_test_id('run-footer').get_attribute('data-run')}")
			page.get_by_test_id("fold-all").click()
			reasoning.last.get_by_role("button").click()
			reasoning.last.get_by_text("One row came back.").wait_for()

	def test_a_model_is_chosen_in_the_chat_where_the_agent_allows_it(self):
		with ModelServer() as model, self.open_guest_page() as page:
			model.script(text("By the large one."), text("Again."))
			own = self.use_model(model)
			large = self.make("AI Model", model_name=f"Large {own}", provider=own)["name"]
			address = "/api/resource/Agent/Office%20Assistant"
			sign_in(page, PASSWORD)
			page.get_by_test_id("route").wait_for()
			self.assertEqual(page.get_by_test_id("model").count(), 0)
			self.call(address, {"chat_models": [{"model": large}]}, "PUT")
			self.addCleanup(self.call, address, {"chat_models": []}, "PUT")
			page.reload()
			page.get_by_test_id("model").select_option(large)
			say(page, "Hello")
			self.assertEqual(model.requests[-1]["model"], large)
			page.reload()
			page.get_by_test_id("run-footer").wait_for()
			self.assertEqual(page.get_by_test_id("model").input_value(), large)
			page.get_by_test_id("model").select_option("")
			say(page, "And now?")
			self.assertEqual(model.requests[-1]["model"], "scripted")

	def test_scrolling_up_loads_older_messages_without_duplicates(self):
		with self.open_guest_page() as page:
			sign_in(page, PASSWORD)
			say(page, "How many users are there?")
			self.add_messages(page.url.rsplit("/", 1)[1], 300)
			page.reload()
			page.get_by_test_id("older-place").wait_for(state="attached")
			self.assertEqual(page.get_by_text("Message 0.", exact=True).count(), 0)
			page.get_by_test_id("thread").focus()
			first = page.get_by_test_id("message-user").filter(has_text="How many users are there?")
			for _ in range(TIMEOUT_MS // 100):
				page.keyboard.press("Home")
				if first.count():
					break
				page.wait_for_timeout(100)
			first.wait_for()
			page.get_by_test_id("older-place").wait_for(state="detached")
			page.get_by_text("Message 0.", exact=True).wait_for()
			self.assertEqual(page.get_by_text("Message 0.", exact=True).count(), 1)

	def add_messages(self, conversation: str, count: int) -> None:
		"""Store messages of a user, as a program of the site would."""
		values = {"conversation": conversation, "count": count}
		self.call("/api/method/huf.embedded.tests.samples.add_messages", values)

	def use_model(self, model) -> str:
		name = f"Scripted {self._testMethodName}"
		self.make("AI Provider", provide_name=name, api_key="sk-test", api_base=model.base_url)
		self.make("AI Model", model_name=name, model_id="scripted", provider=name)
		address = "/api/resource/Agent/Office%20Assistant"
		self.call(address, {"model": name}, "PUT")
		self.addCleanup(self.call, address, {"model": ""}, "PUT")
		return name

	def test_wrong_password_shows_an_error_and_stays_on_the_login_page(self):
		with self.open_guest_page() as page:
			sign_in(page, "wrong")
			page.get_by_role("alert").wait_for()
			self.assertIn("/login", page.url)

	def count(self, doctype: str) -> int:
		return len(self.call(f"/api/resource/{doctype}?limit_page_length=0")["data"])
