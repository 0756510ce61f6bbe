"""The agents page: create with record tools, try, edit, restore instructions and delete agents."""

from urllib.error import HTTPError

from huf.embedded.tests.browser import follow, needs_browser, wait_to_hear
from huf.embedded.tests.pages import PageTestCase, wait_for_deletion

CLERK = "clerk@example.com"
MANAGER = "manager@example.com"
COUNSEL = "counsel@example.com"
RUN = "/api/method/huf.ai.agent_integration.run_agent_sync"
FITS = """() => {
	const scrollers = [...document.querySelectorAll("main .overflow-y-auto")];
	return scrollers.every((each) => each.scrollWidth <= each.clientWidth);
}"""


@needs_browser
class TestAgentsPage(PageTestCase):
	def get_stored(self, name: str) -> dict:
		return self.call(f"/api/resource/Agent/{name}")["data"]

	def make_agent(self, name: str, **values) -> dict:
		return self.make("Agent", agent_name=name, instructions="Be brief.", **values)

	def test_agent_is_created_with_doctype_tools_and_tried_in_the_preview_chat(self):
		with self.open_page("/huf/agents") as page:
			page.get_by_test_id("new-agent").click()
			page.get_by_test_id("field-agent_name").fill("Notekeeper")
			page.get_by_test_id("field-instructions").fill("You keep notes.")
			page.get_by_test_id("maker-doctype").fill("Role")
			page.get_by_test_id("link-choice").get_by_text("Role", exact=True).first.click()
			page.get_by_test_id("make-tools").click()
			page.locator("[data-testid=agent-tool]").nth(1).wait_for()
			page.get_by_test_id("search-tools").fill("create note")
			page.get_by_test_id("tool-create_note").check()
			row = page.locator("[data-testid=agent-tool][data-name=create_note]")
			row.get_by_test_id("ask-first").check()
			row.get_by_test_id("second-person").check()
			page.get_by_test_id("save").click()
			page.wait_for_url("**/huf/agents/Notekeeper")
			chat = page.frame_locator("iframe")
			chat.get_by_test_id("agent-picker").filter(has_text="Notekeeper").wait_for()
			self.assertEqual(chat.get_by_test_id("theme-toggle").count(), 0)
			chat.get_by_test_id("composer").fill("List the roles")
			chat.get_by_test_id("send").click()
			chat.get_by_test_id("run-footer").wait_for()
			self.assertIn("Huf Manager", chat.get_by_test_id("message-agent").inner_text())
		rows = self.get_stored("Notekeeper")["agent_tool"]
		self.assertEqual([row["tool"] for row in rows], ["list_role", "read_role", "create_note"])
		self.assertEqual([row["requires_approval"] for row in rows], [0, 0, 1])
		self.assertEqual([row["second_person"] for row in rows], [0, 0, 1])

	def test_preview_chat_of_an_agent_that_the_user_may_not_use_offers_no_other_agent(self):
		self.make("Role", role_name="Lawyer")
		self.make_agent("Advocate", allow_chat=1, roles=[{"role": "Lawyer"}])
		self.add_user(COUNSEL, "Huf Manager")
		with self.open_page("/huf/agents/Advocate", user=COUNSEL) as page:
			chat = page.get_by_test_id("test-chat").frame_locator("iframe")
			chat.get_by_text("You cannot chat with Advocate").wait_for()
			self.assertEqual(chat.get_by_test_id("composer").count(), 0)

	def test_list_is_read_again_once_the_page_hears_the_site_after_a_break(self):
		asked = []
		with self.open_page("about:blank") as page:
			page.route_web_socket("**/socket.io/**", lambda socket: socket.close())
			page.goto("/huf/agents")
			wait_to_hear(page)
			page.get_by_text("Office Assistant").wait_for()
			page.route("**/socket.io/*sid=*", lambda route: route.abort())
			# What is heard ends the request that waits for news; the next one fails.
			self.call(RUN, {"agent_name": "Office Assistant", "prompt": "How many users are there?"})
			page.locator("html[data-realtime=disconnected]").wait_for(state="attached")
			page.on("request", lambda request: asked.append("huf.api.agent." in request.url))
			self.make_agent("Unheard")
			for _ in range(3):
				page.wait_for_event("requestfailed", lambda request: "socket.io" in request.url)
			self.assertEqual(sum(asked), 0)
			page.unroute("**/socket.io/*sid=*")
			page.get_by_text("Unheard").wait_for()

	def test_instruction_versions_are_compared_and_restored(self):
		self.make_agent("Changeable")
		self.call("/api/resource/Agent/Changeable", {"instructions": "Be brief.\nBe rude."}, "PUT")
		with self.open_page("/huf/agents/Changeable?view=versions") as page:
			lines = page.get_by_test_id("difference")
			lines.locator("[data-kind=add]").filter(has_text="Be rude.").wait_for()
			self.assertEqual(lines.locator("[data-kind=same]").count(), 1)
			page.get_by_test_id("version").nth(1).click()
			page.get_by_test_id("restore").click()
			self.assertEqual(page.get_by_test_id("field-instructions").input_value(), "Be brief.")
			page.get_by_test_id("save").click()
			page.get_by_test_id("saved").wait_for()
			page.get_by_test_id("view-versions").click()
			page.get_by_test_id("version").nth(2).wait_for()
		self.assertEqual(self.get_stored("Changeable")["instructions"], "Be brief.")

	def test_new_agent_reached_from_another_agent_begins_blank_with_a_list_of_tools(self):
		with self.open_page("/huf/agents/Office%20Assistant") as page:
			page.get_by_test_id("agent-tool").first.wait_for()
			follow(page, "/huf/new-agent")
			page.get_by_test_id("tool-choices").wait_for()
			self.assertEqual(page.get_by_test_id("field-agent_name").input_value(), "")

	def test_missing_name_and_invalid_temperature_are_reported_on_saving(self):
		with self.open_page("/huf/new-agent", width=390, height=844) as page:
			page.get_by_test_id("save").click()
			page.get_by_text("Fill in: Agent Name").wait_for()
			page.get_by_test_id("field-agent_name").fill("Too warm")
			page.get_by_test_id("part-limits_section").locator("summary").click()
			page.get_by_test_id("field-temperature").fill("5")
			page.get_by_test_id("save").click()
			page.get_by_text("must be between 0 and 2").wait_for()
			page.get_by_test_id("field-temperature").fill("1")
			page.get_by_test_id("save").click()
			page.wait_for_url("**/huf/agents/Too%20warm")

	def test_agent_shows_its_triggers_and_is_disabled_and_deleted(self):
		self.make_agent("Doomed")
		trigger = {"agent": "Doomed", "trigger_type": "Manual"}
		self.make("Agent Trigger", trigger_name="Press me", **trigger)
		with self.open_page("/huf/agents") as page:
			page.locator("[data-testid=agent-item][data-name=Doomed]").get_by_role("link").click()
			page.get_by_test_id("field-disabled").check()
			self.assertEqual(page.locator("input[data-testid=field-agent_name]").count(), 0)
			page.keyboard.press("Control+s")
			page.get_by_test_id("saved").wait_for()
			page.get_by_test_id("view-triggers").click()
			page.locator("[data-testid=trigger-item][data-name='Press me']").wait_for()
			page.get_by_test_id("add-schedule").click()
			self.assertEqual(page.get_by_test_id("field-agent").input_value(), "Doomed")
			self.call("/api/resource/Agent%20Trigger/Press%20me", method="DELETE")
			page.go_back()
			page.get_by_test_id("delete-agent").click()
			page.wait_for_url("**/huf/agents")
			wait_for_deletion(page)
		self.assertRaises(HTTPError, self.get_stored, "Doomed")

	def test_doctype_request_of_a_manager_notifies_the_administrator(self):
		self.add_user(MANAGER, "Huf Manager", "Huf User")
		with self.open_page("/huf/new-agent", user=MANAGER) as page:
			page.get_by_test_id("maker-wish").fill("stock")
			page.get_by_test_id("maker-ask-them").click()
			page.get_by_test_id("maker-asked").filter(has_text="Asked: Administrator").wait_for()
		with self.open_page("/huf") as page:
			page.get_by_test_id("notice").filter(has_text="Manager asks for a DocType: stock").click()
			page.wait_for_url("**/huf/new-record/DocType")
			page.get_by_test_id("field-name").or_(page.get_by_test_id("save")).first.wait_for()
			self.assertEqual(page.get_by_test_id("maker-ask").count(), 0)

	def test_page_of_an_agent_does_not_scroll_sideways_on_a_phone_in_german(self):
		with self.open_page("/huf/agents/Office%20Assistant", width=390, height=844, locale="de-DE") as page:
			page.get_by_test_id("agent-memory").wait_for()
			self.assertTrue(page.evaluate(FITS))

	def test_agent_form_is_read_only_for_users_without_the_manager_role(self):
		self.add_user(CLERK, "Huf User")
		self.make_agent("Guarded")
		with self.open_page("/huf/agents/Guarded", user=CLERK) as page:
			page.get_by_test_id("field-agent_name").wait_for()
			self.assertEqual(page.locator("input:visible:enabled, textarea:visible:enabled").count(), 0)
			self.assertEqual(page.get_by_test_id("section-agents").count(), 0)
			page.goto("/huf/agents")
			item = page.locator("[data-testid=agent-item][data-name=Guarded]").inner_text()
			self.assertNotIn("run", item)
			self.assertNotIn("trigger", item)
		with self.assertRaises(HTTPError) as error:
			self.call("/api/method/huf.api.agent.get_versions?agent=Guarded", user=CLERK)
		self.assertEqual(error.exception.code, 403)
