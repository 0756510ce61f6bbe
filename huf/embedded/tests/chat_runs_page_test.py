"""Editing a message, regenerating an answer, and other users: what happens to the runs of a chat."""

from huf.embedded.tests.accessibility_test import faults_of
from huf.embedded.tests.browser import needs_browser, say, wait_to_hear
from huf.embedded.tests.pages import BERTA, PageTestCase
from huf.tests.model_server import ModelServer, text, tool_call


@needs_browser
class TestChatRunsPage(PageTestCase):
	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		cls.add_user(BERTA, "Huf User")
		for tool, asks in (("note_now", 0), ("note_later", 1)):
			cls.make(
				"Agent Tool Function",
				tool_name=tool,
				types="Create Document",
				reference_doctype="Note",
				description="Makes a note",
				requires_approval=asks,
			)

	def test_another_answer_to_one_that_has_acted_is_generated_only_after_a_question(self):
		with ModelServer() as model:
			model.script(*[tool_call("note_now", {"title": "Tea"}), text("Done.")] * 2)
			with self.open_page(f"/huf/chat?agent={self.make_writer(model)}") as page:
				say(page, "Note tea")
				page.get_by_test_id("regenerate").press("Enter")
				self.assertIn("a second time", page.get_by_role("alertdialog").inner_text())
				self.assertEqual(faults_of(page), [])
				page.keyboard.press("Escape")
				page.locator("[data-testid=regenerate]:focus").wait_for()
				self.assertEqual(len(self.read_notes("Tea")), 1)
				page.keyboard.press("Enter")
				page.get_by_test_id("confirm").click()
				page.get_by_test_id("versions").filter(has_text="2/2").wait_for()
				page.get_by_test_id("run-footer").wait_for()
				self.assertEqual(len(self.read_notes("Tea")), 2)

	def test_editing_a_message_that_waits_withdraws_its_request(self):
		with ModelServer() as model:
			model.script(*[tool_call("note_later", {"title": title}) for title in ("Milk", "Oat milk")])
			with self.open_page(f"/huf/chat?agent={self.make_writer(model)}") as page:
				for title in ("Milk", "Oat milk"):
					if title == "Milk":
						page.get_by_test_id("composer").fill("Note milk")
						page.get_by_test_id("send").click()
					else:
						page.get_by_test_id("edit").press("Enter")
						page.get_by_text("What still runs or waits for this message is cancelled.").wait_for()
						page.get_by_test_id("edit-message").fill("Note oat milk")
						page.keyboard.press("Enter")
					page.get_by_test_id("draft").filter(has_text=title).wait_for()
				pending = self.call("/api/method/huf.api.draft.get_drafts")["message"]
				titles = [each["arguments"]["title"] for each in pending]
				self.assertEqual([title for title in titles if "milk" in title.lower()], ["Oat milk"])

	def test_message_queued_elsewhere_is_shown_at_once_beside_a_run_that_waits(self):
		with ModelServer() as model:
			model.script(tool_call("note_later", {"title": "Rice"}))
			with self.open_page(f"/huf/chat?agent={self.make_writer(model)}") as page:
				self.propose(page, "Note rice")
				wait_to_hear(page)
				with self.open_page(page.url) as other:
					other.get_by_test_id("draft").wait_for()
					other.get_by_test_id("composer").fill("And beans")
					other.get_by_test_id("send").click()
					other.get_by_test_id("queued").wait_for()
					# A page without news reads a waiting chat again after 30 seconds.
					page.get_by_test_id("queued").wait_for(timeout=15_000)

	def test_edited_queued_message_is_queued_instead_of_the_first_in_the_same_chat(self):
		with ModelServer() as model:
			model.script(tool_call("note_later", {"title": "Salt"}))
			with self.open_page(f"/huf/chat?agent={self.make_writer(model)}") as page:
				self.propose(page, "Note salt")
				page.get_by_test_id("composer").fill("And pepper")
				page.get_by_test_id("send").click()
				page.get_by_test_id("queued").wait_for()
				address = page.url
				page.get_by_test_id("edit").last.press("Enter")
				page.get_by_text("Replaces the waiting message").wait_for()
				page.get_by_test_id("edit-message").fill("And cumin")
				page.keyboard.press("Enter")
				cumin = page.get_by_test_id("message-user").filter(has_text="And cumin")
				cumin.get_by_test_id("queued").wait_for()
				page.locator("[data-testid=message-agent][data-status=Cancelled]").wait_for()
				self.assertEqual(page.get_by_test_id("queued").count(), 1)
				self.assertEqual([page.url, page.get_by_test_id("versions").count()], [address, 0])

	def test_waiting_run_of_another_user_can_neither_be_stopped_nor_answered_in_a_shared_chat(self):
		with ModelServer() as model:
			model.script(tool_call("note_later", {"title": "Thyme"}))
			with self.open_page(f"/huf/chat?agent={self.make_writer(model)}") as page:
				self.propose(page, "Note thyme")
				page.get_by_test_id("stop").wait_for()
				chat = {
					"conversation": page.url.rsplit("/", 1)[1].partition("?")[0],
					"user": BERTA,
					"write": 1,
				}
				self.call("/api/method/huf.api.conversation.share", chat)
				with self.open_page(page.url, user=BERTA) as reader:
					reader.get_by_text("Waiting for a person").wait_for()
					reader.get_by_test_id("send").wait_for()
					self.assertEqual(reader.get_by_test_id("stop").count(), 0)
					self.assertEqual(reader.get_by_role("link", name="Open the request").count(), 0)
					reader.get_by_test_id("edit").press("Enter")
					reader.get_by_text("in a new chat of your own").wait_for()

	def test_end_of_a_run_that_was_approved_elsewhere_is_announced(self):
		with ModelServer() as model:
			model.script(tool_call("note_later", {"title": "Rice"}), text("Noted."))
			with self.open_page() as page:
				page.route("**/socket.io/**", lambda route: route.abort())
				page.goto(f"/huf/chat?agent={self.make_writer(model)}")
				self.propose(page, "Note rice")
				with self.open_page(page.url) as other:
					other.get_by_test_id("draft-approve").click()
					other.get_by_test_id("run-footer").wait_for()
				page.evaluate("document.dispatchEvent(new Event('visibilitychange', {bubbles: true}))")
				page.get_by_test_id("live-region").filter(has_text="Noted.").wait_for(state="attached")

	def propose(self, page, prompt: str) -> None:
		"""Send a message whose run waits for an approval."""
		page.get_by_test_id("composer").fill(prompt)
		page.get_by_test_id("send").click()
		page.get_by_test_id("draft").wait_for()

	def make_writer(self, model) -> str:
		"""A new agent that makes notes, at once or after an approval, and answers as scripted; returns its name."""
		name = self._testMethodName
		self.make("AI Provider", provide_name=name, api_key="sk-1", api_base=model.base_url)
		self.make("AI Model", model_name=name, model_id="scripted", provider=name)
		tools = [{"tool": "note_now"}, {"tool": "note_later"}]
		self.make("Agent", agent_name=name, model=name, agent_tool=tools)
		return name

	def read_notes(self, title: str) -> list[dict]:
		return self.call(f'/api/resource/Note?filters=[["title","=","{title}"]]'.replace(" ", "%20"))["data"]
