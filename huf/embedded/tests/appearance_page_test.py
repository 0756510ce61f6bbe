"""Pages as a person first sees them: nothing is cut off on a phone, sizes agree, empty lists have a text."""

from huf.embedded.tests.browser import needs_browser
from huf.embedded.tests.pages import PageTestCase

PHONE = {"width": 390, "height": 844, "has_touch": True, "locale": "de-DE"}
IS_WIDER = "element => element.scrollWidth > element.clientWidth + 1"
IS_CUT_OFF = "element => element.scrollWidth > element.clientWidth"
SHOWS = "([field, text]) => document.querySelector(`[data-testid=field-${field}]`).value === text"
EVA = "eva@office.example"


@needs_browser
class TestAppearancePage(PageTestCase):
	def test_title_of_a_page_is_whole_beside_the_link_back(self):
		with self.open_page("/huf/import-tools", **PHONE) as page:
			title = page.get_by_role("heading", name="Werkzeuge importieren")
			title.wait_for()
			self.assertFalse(title.evaluate(IS_CUT_OFF))

	def test_tables_of_costs_and_evals_do_not_scroll_sideways(self):
		run = {"agent_name": "Office Assistant", "prompt": "How many users are there?"}
		self.call("/api/method/huf.ai.agent_integration.run_agent_sync", run)
		case = {"case_name": "Users", "prompt": run["prompt"], "definition": "expect:\n- calls: list_users\n"}
		self.make("Agent Eval Case", agent="Office Assistant", **case)
		self.call("/api/method/huf.api.eval.run", {"agent": "Office Assistant"})
		for address, row, words in (
			("/huf/costs", "cost-row", "Erfolge: 1 · Token: 0 · Kosten unbekannt: 0"),
			("/huf/agents/Office%20Assistant?view=evals", "eval-row", "Fassung der Anweisungen: 1, Offline"),
		):
			with self.subTest(address), self.open_page(address, **PHONE) as page:
				page.get_by_test_id(row).get_by_text(words).wait_for()
				tables = page.locator(".table-scroll")
				self.assertEqual([table.evaluate(IS_WIDER) for table in tables.all()], [False])

	def test_button_that_removes_a_tool_is_beside_its_name(self):
		with self.open_page("/huf/agents/Office%20Assistant", **PHONE) as page:
			row = page.locator("[data-testid=agent-tool][data-name=create_todo]")
			name, remove = (
				row.get_by_role("link").bounding_box(),
				row.get_by_test_id("remove-tool").bounding_box(),
			)
			self.assertLess(remove["y"], name["y"] + name["height"])
			self.assertGreater(remove["x"], 300)

	def test_the_page_of_a_missing_address_has_the_menu(self):
		with self.open_page("/huf/nowhere", **PHONE) as page:
			page.get_by_role("heading", name="Seite nicht gefunden").wait_for()
			page.get_by_test_id("show-sidebar").click()
			page.get_by_role("dialog").get_by_text("Läufe").wait_for()

	def test_the_page_of_a_missing_record_names_its_list_in_the_page_language(self):
		with self.open_page("/huf/records/ToDo/gone", locale="de-DE") as page:
			page.get_by_test_id("retry").wait_for()
			page.get_by_test_id("up").get_by_text("Aufgabe", exact=True).wait_for()

	def test_a_site_without_people_says_that_nobody_is_invited(self):
		with self.open_page("/huf/people") as page:
			page.get_by_text("Nobody has been invited yet.").wait_for()
			page.get_by_test_id("people-search").fill("Eva")
			page.get_by_text("Nobody found.").wait_for()

	def test_mailboxes_and_rules_say_that_there_are_none_and_which_is_switched_off(self):
		with self.open_page("/huf/mail?view=rules", locale="de-DE") as page:
			page.get_by_text("Noch keine Regeln.").wait_for()
			page.goto("/huf/mail?view=mailboxes")
			page.get_by_text("Noch keine Postfächer.").wait_for()
			box = {"mailbox_name": "Office", "email": "office@office.example", "run_as": "Administrator"}
			self.make("Agent Mailbox", **box, enabled=0)
			page.reload()
			page.get_by_test_id("mailbox-item").get_by_text("ausgeschaltet").wait_for()

	def test_an_app_for_sign_ins_is_shown_by_its_title_where_a_mailbox_names_it(self):
		with self.open_page("/huf/mail?view=mailboxes") as page:
			page.get_by_test_id("new-mailbox").click()
			page.get_by_test_id("preset-Microsoft 365").click()
			page.get_by_test_id("make-app").click()
			page.get_by_test_id("redirect-uri").wait_for()
			page.wait_for_function(SHOWS, arg=["connected_app", "Microsoft 365"], timeout=5_000)

	def test_an_empty_list_of_mail_leads_to_the_mailboxes(self):
		with self.open_page("/huf/mail") as page:
			page.get_by_test_id("mails-empty").get_by_role("link", name="Mailboxes").click(timeout=5_000)
			page.get_by_test_id("new-mailbox").wait_for()

	def test_the_bar_of_a_stored_tool_begins_where_its_form_begins(self):
		with self.open_page("/huf/tools/create_todo") as page:
			page.get_by_test_id("try-tool").wait_for()
			page.get_by_test_id("field-description").fill("Create one to-do")
			form, save = (page.get_by_test_id(name).bounding_box() for name in ("record-form", "save"))
			self.assertEqual(form["x"], save["x"])

	def test_the_line_of_a_model_call_and_of_an_answered_draft_have_no_stray_marks(self):
		tools = [{"tool": "create_todo", "requires_approval": 1}]
		self.make("Agent", agent_name="Careful", allow_chat=1, agent_tool=tools)
		with self.open_page("/huf/chat?agent=Careful") as page:
			page.get_by_test_id("composer").fill("Create a todo to call Anna")
			page.keyboard.press("Enter")
			page.get_by_test_id("draft-approve").click()
			standing = page.get_by_test_id("draft-standing").filter(has_text="carried out as shown.")
			standing.wait_for()
			self.assertNotIn("·", standing.inner_text())
			page.get_by_test_id("run-footer").wait_for()
			page.goto("/huf/runs")
			page.get_by_test_id("run-item").filter(has_text="Create a todo to call Anna").first.click()
			page.get_by_test_id("model-call").get_by_text("Created ToDo call Anna").wait_for(timeout=5_000)

	def test_a_model_that_was_never_tested_has_no_result_of_a_test(self):
		self.make("AI Provider", provide_name="Zeta", api_key="sk-1", api_base="http://127.0.0.1:9/v1")
		self.make("AI Model", model_name="zeta-1", provider="Zeta")
		with self.open_page("/huf/models/zeta-1") as page:
			page.get_by_role("heading", name="Prices").wait_for()
			self.assertEqual(page.get_by_role("heading", name="Last Test").count(), 0)

	def test_the_buttons_of_a_model_are_beside_each_other_on_a_phone(self):
		self.make("AI Provider", provide_name="House", api_key="sk-1", api_base="http://127.0.0.1:9/v1")
		self.make("AI Model", model_name="house-1", provider="House")
		with self.open_page("/huf/models", **{**PHONE, "locale": "en-US"}) as page:
			item = page.locator("[data-testid=model-item][data-name=house-1]")
			item.wait_for()
			tops = {item.get_by_test_id(name).bounding_box()["y"] for name in ("make-default", "check-model")}
			self.assertEqual(len(tops), 1, tops)

	def test_checkboxes_beside_long_texts_have_the_same_size(self):
		self.add_user(EVA, "Huf User")
		with self.open_page(f"/huf/people?person={EVA}", **PHONE) as page:
			boxes = page.locator("[data-testid=person] input[type=checkbox]")
			boxes.first.wait_for()
			sizes = {(box.bounding_box()["width"], box.bounding_box()["height"]) for box in boxes.all()}
			self.assertEqual(sizes, {(16, 16)})
