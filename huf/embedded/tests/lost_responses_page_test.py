"""What a page says about a write that arrived although the site's response was lost."""

from huf.embedded.tests.browser import needs_browser
from huf.embedded.tests.pages import PageTestCase, lose_response
from huf.tests.model_server import ModelServer, text

INVITED = "eva@office.example"


@needs_browser
class TestLostResponsesPage(PageTestCase):
	def test_a_changed_record_is_shown_as_saved(self):
		note = self.make("Note", title="Lost")["name"]
		with self.open_page(f"/huf/records/Note/{note}") as page:
			page.route(f"**/api/resource/Note/{note}", lose_put)
			page.get_by_test_id("field-content").fill("Kept")
			page.get_by_test_id("save").click()
			page.get_by_test_id("saved").wait_for()
			self.assertEqual(page.get_by_role("alert").count(), 0)

	def test_a_new_record_is_not_called_unsaved(self):
		with self.open_page("/huf/new-record/ToDo") as page:
			page.get_by_test_id("field-description").fill("Only once")
			page.route("**/api/resource/ToDo", lose_response)
			page.get_by_test_id("save").click()
			page.get_by_text("look in the list before you create it again").wait_for()
			self.assertEqual(page.get_by_text("Not saved", exact=True).count(), 0)

	def test_an_approval_reports_no_failure(self):
		tools = [{"tool": "create_todo", "requires_approval": 1}]
		self.make("Agent", agent_name="Careful", agent_tool=tools)
		sent = {"agent": "Careful", "prompt": "Create a todo to call Anna tomorrow"}
		answer = self.call("/api/method/huf.ai.agent_chat.send_agent_chat_message", sent)["message"]
		with self.open_page(f"/huf/drafts/{answer['draft']['draft']}") as page:
			page.route("**/huf.api.draft.approve", lose_response)
			page.get_by_test_id("draft-approve").click()
			page.locator("[data-testid=draft][data-status=Applied]").wait_for()
			self.assertEqual(page.get_by_text("Your answer was not accepted").count(), 0)

	def test_an_invited_person_is_in_the_list(self):
		with self.open_page("/huf/people") as page:
			page.get_by_test_id("invite").click()
			page.get_by_test_id("invite-first-name").fill("Eva")
			page.get_by_test_id("invite-email").fill(INVITED)
			page.route("**/huf.api.people.invite", lose_response)
			page.get_by_test_id("invite-link").click()
			page.locator(f'[data-testid=person][data-name="{INVITED}"]').wait_for()


@needs_browser
class TestLostConnection(PageTestCase):
	"""On a site of its own: the model becomes the default one, which answers no other test."""

	def test_a_connected_model_is_in_the_list(self):
		values = {"provider": "Zeta", "api_key": "sk-1", "model": "zeta-1"}
		with ModelServer(strict=False) as server, self.open_page("/huf/models") as page:
			server.forever(text("ready"))
			page.get_by_test_id("provider-Other").click()
			for field, value in {**values, "api_base": server.base_url}.items():
				page.get_by_test_id(f"field-{field}").fill(value)
			page.route("**/huf.api.model.connect", lose_response)
			page.get_by_test_id("connect").click()
			page.get_by_test_id("model-item").filter(has_text="zeta-1").wait_for()


def lose_put(route) -> None:
	if route.request.method == "PUT":
		lose_response(route)
	else:
		route.continue_()
