"""Triggers are created, backtested, fired, disabled and deleted on the page, which shows their events."""

from huf.embedded.tests.accessibility_test import faults_of
from huf.embedded.tests.browser import needs_browser, wait_to_hear
from huf.embedded.tests.pages import ADMIN, PageTestCase, choose
from huf.tests.model_server import Gate, ModelServer, text, tool_call

AGENT, PAGE = "Office Assistant", "/huf/triggers"
MANAGER = "manager@office.example"
HAS_VALUE = "([field, value]) => document.querySelector(`[data-testid=field-${field}]`).value === value"


@needs_browser
class TestTriggersPage(PageTestCase):
	def test_manual_trigger_is_created_and_fired_once(self):
		with self.open_page(PAGE) as page:
			begin_trigger(page, "Count users", "Manual")
			page.get_by_test_id("field-prompt").fill("How many users are there?")
			page.get_by_test_id("save").click()
			page.get_by_test_id("events-empty").wait_for()

			page.get_by_test_id("fire").click()
			page.get_by_test_id("fire-confirm").click()
			page.locator("[data-testid=event][data-status=Fired]").wait_for()
			self.assertEqual(page.get_by_test_id("event").count(), 1)

			page.get_by_test_id("event-run").click()
			page.locator("[data-testid=run][data-status=Success]").wait_for()
			call = page.get_by_test_id("timeline").get_by_test_id("tool-call")
			self.assertEqual(call.get_attribute("data-tool"), "list_users")
			call.get_by_role("button").first.click()
			self.assertIn("Administrator", call.get_by_test_id("tool-result").inner_text())
			page.get_by_test_id("run-trigger").click()
			page.get_by_test_id("trigger-events").wait_for()
			self.assertTrue(page.url.endswith("/huf/triggers/Count%20users"))

	def test_whole_names_typed_into_link_fields_are_chosen_without_the_list(self):
		with self.open_page("/huf/new-trigger") as page:
			page.get_by_test_id("field-trigger_name").fill("By keyboard")
			page.get_by_test_id("type-Manual").click()
			for field, typed, chosen in (("agent", AGENT.lower(), AGENT), ("run_as", ADMIN, ADMIN)):
				page.get_by_test_id(f"field-{field}").click()
				page.keyboard.insert_text(typed)
				page.keyboard.press("Tab")
				page.wait_for_function(HAS_VALUE, arg=[field, chosen])
			page.get_by_test_id("field-run_as").click()
			page.get_by_test_id("field-run_as").fill("Guest")
			page.get_by_test_id("link-choice").first.wait_for()
			page.keyboard.press("Escape")
			page.get_by_test_id("save").click()
			page.get_by_test_id("events-empty").wait_for()
		stored = self.call("/api/resource/Agent%20Trigger/By%20keyboard")["data"]
		self.assertEqual((stored["agent"], stored["run_as"]), (AGENT, ADMIN))

	def test_part_of_a_name_is_not_chosen_because_the_site_does_not_answer(self):
		with self.open_page("/huf/new-trigger") as page:
			page.get_by_test_id("type-Manual").click()
			page.get_by_test_id("field-run_as").click()
			page.keyboard.insert_text(ADMIN)
			page.keyboard.press("Tab")
			page.wait_for_function(HAS_VALUE, arg=["run_as", ADMIN])
			page.route("**/*search_link*", lambda route: route.abort())
			page.get_by_test_id("field-run_as").click()
			page.get_by_test_id("field-run_as").fill("Gue")
			page.get_by_test_id("link-choice").first.wait_for()
			page.get_by_test_id("field-trigger_name").click()
			page.get_by_test_id("link-choice").first.wait_for(state="detached")
			page.wait_for_timeout(300)
			self.assertEqual(page.get_by_test_id("field-run_as").input_value(), ADMIN)

	def test_document_trigger_is_backtested_enabled_and_fired(self):
		self.save_todo("Before it was there", priority="High")
		with self.open_page(PAGE) as page:
			begin_trigger(page, "Look at todos", "Doc Event")
			page.get_by_test_id("backtest-look").click()
			problem = page.get_by_test_id("backtest").get_by_role("alert")
			problem.wait_for()
			choose(page, "reference_doctype", "ToDo")
			problem.wait_for(state="detached")
			page.get_by_test_id("condition-view").click()
			page.get_by_test_id("field-condition").fill("doc.priority == 'High' and doc.description")
			page.get_by_test_id("field-prompt").fill("List my open todos")
			page.get_by_test_id("backtest-look").click()
			found = page.get_by_test_id("backtest-found").inner_text()
			self.assertIn("fired 1 time on 1 document", found)
			page.get_by_test_id("create-off").click()

			page.get_by_test_id("turn-on").click()
			page.locator("[data-testid=trigger][data-enabled=true]").wait_for()
			self.save_todo("Call Anna", priority="High")
			self.save_todo("Water the plants", priority="Low")
			page.locator("[data-testid=event][data-status=Fired]").wait_for()
			skipped = page.locator("[data-testid=event][data-status=Skipped]")
			skipped.wait_for()
			self.assertEqual(page.get_by_test_id("event").count(), 2)
			skipped.get_by_role("button").click()
			checks = skipped.get_by_test_id("check")
			answers = [checks.nth(index).get_attribute("data-ok") for index in range(checks.count())]
			self.assertEqual(answers, ["false", "null"])
			self.assertIn("priority = 'Low'", checks.first.inner_text())

	def test_condition_rows_become_python_and_simple_python_becomes_rows(self):
		python = "doc.priority == 'High' and 'offer' in (doc.description or '')"
		with self.open_page(PAGE) as page:
			begin_trigger(page, "Urgent offers", "Doc Event")
			choose(page, "reference_doctype", "ToDo")
			for index, (field, operator, value) in enumerate(
				(("priority", "is", "High"), ("description", "contains", "offer"))
			):
				page.get_by_test_id("add-condition").click()
				row = page.get_by_test_id("condition-row").nth(index)
				row.get_by_test_id("condition-field").select_option(field)
				row.get_by_test_id("condition-operator").select_option(operator)
				fill = row.get_by_test_id("condition-value")
				fill.select_option(value) if field == "priority" else fill.fill(value)
			self.assertEqual(faults_of(page), [])
			page.get_by_test_id("condition-view").click()
			self.assertEqual(page.get_by_test_id("field-condition").input_value(), python)
			page.get_by_test_id("create-off").click()
			page.get_by_test_id("view-settings").click()
			page.get_by_test_id("condition-row").nth(1).wait_for()
			self.assertEqual(page.get_by_test_id("condition-row").count(), 2)
			self.assertEqual(page.get_by_test_id("condition-value").nth(0).input_value(), "High")
			page.get_by_test_id("remove-condition").nth(1).click()
			page.get_by_test_id("condition-view").click()
			page.get_by_test_id("field-condition").fill("doc.priority == 'High' or doc.date")
			page.keyboard.press("Control+s")
			page.get_by_test_id("saved").wait_for()
			page.reload()
			page.get_by_test_id("condition-python-only").wait_for()
		stored = self.call("/api/resource/Agent%20Trigger/Urgent%20offers")["data"]
		self.assertEqual(stored["condition"], "doc.priority == 'High' or doc.date")

	def test_trigger_is_not_saved_without_a_condition_whose_number_is_unreadable(self):
		with self.open_page(PAGE) as page:
			begin_trigger(page, "Expensive agents", "Doc Event")
			choose(page, "reference_doctype", "Agent")
			page.get_by_test_id("add-condition").click()
			page.get_by_test_id("condition-field").select_option("daily_cost_limit")
			page.get_by_test_id("condition-operator").select_option("above")
			page.get_by_test_id("condition-value").fill("1,50")
			page.get_by_text("such as 1234.5: Cost per Day").wait_for()
			page.get_by_test_id("create-off").click()
			page.get_by_text("Fill in: Only if").wait_for()
			self.assertEqual(faults_of(page), [])
			page.get_by_test_id("condition-value").fill("1.50")
			page.get_by_test_id("create-off").click()
			page.get_by_test_id("view-settings").click()
		stored = self.call("/api/resource/Agent%20Trigger/Expensive%20agents")["data"]
		self.assertEqual(stored["condition"], "(doc.daily_cost_limit or 0) > 1.5")

	def test_edit_of_a_trigger_keeps_what_somebody_else_changed_meanwhile(self):
		path = "/api/resource/Agent%20Trigger/Two%20editors"
		values = {"trigger_name": "Two editors", "agent": AGENT, "trigger_type": "Manual"}
		self.call("/api/resource/Agent%20Trigger", values)
		with self.open_page(f"{PAGE[:4]}/triggers/Two%20editors?view=settings") as page:
			page.get_by_test_id("field-prompt").fill("Mine")
			self.call(path, {"run_as": "Administrator"}, "PUT")
			page.reload()
			page.get_by_test_id("save").click()
			page.get_by_role("button", name="Keep mine").click()
			page.get_by_test_id("saved").wait_for()
		stored = self.call(path)["data"]
		self.assertEqual((stored["prompt"], stored["run_as"]), ("Mine", "Administrator"))

	def test_what_is_wrong_with_a_field_is_read_out_with_it(self):
		error = "field => document.getElementById(field.getAttribute('aria-describedby')).textContent.trim()"
		with self.open_page("/huf/new-trigger") as page:
			page.get_by_test_id("save").click()
			page.locator("[data-testid=field-trigger_name]:focus").wait_for()
			for field in ("trigger_name", "reference_doctype", "agent"):
				text = page.get_by_test_id(f"field-{field}").evaluate(error)
				self.assertEqual(text, "This field is required.", field)

	def test_schedule_shows_a_description_and_its_next_five_times(self):
		with self.open_page(f"{PAGE[:4]}/new-trigger?type=Schedule") as page:
			page.get_by_test_id("plan-cron").click()
			page.get_by_test_id("field-cron").fill("0 9 * * 1-5")
			page.locator("strong", has_text="Monday to Friday at 09:00").wait_for()
			page.get_by_test_id("coming-time").filter(has_text="09:00").nth(4).wait_for()
			times = page.get_by_test_id("coming-time").all_inner_texts()
			self.assertEqual(len(times), 5)
			self.assertTrue(all("09:00" in each for each in times), times)

	def test_invalid_cron_is_reported_and_the_form_survives_a_reload(self):
		with self.open_page(PAGE) as page:
			begin_trigger(page, "Every morning", "Schedule")
			page.get_by_test_id("plan-cron").click()
			page.get_by_test_id("field-cron").fill("at nine")
			page.get_by_text("It takes five fields").wait_for()
			page.get_by_test_id("save").click()
			self.assertIn("It takes five fields", page.get_by_test_id("error").inner_text())

			page.reload()
			self.assertEqual(page.get_by_test_id("field-cron").input_value(), "at nine")
			page.get_by_test_id("field-cron").fill("0 9 * * 1-5")
			page.get_by_test_id("coming").wait_for()
			page.get_by_test_id("save").click()
			page.get_by_test_id("view-settings").click()
			self.assertEqual(page.get_by_test_id("field-cron").input_value(), "0 9 * * 1-5")

	def test_a_trigger_is_changed_switched_off_and_deleted(self):
		values = {"trigger_name": "Short-lived", "agent": AGENT, "trigger_type": "Manual"}
		self.call("/api/resource/Agent%20Trigger", values)
		with self.open_page("/huf/chat", width=390, height=844) as page:
			page.get_by_test_id("show-sidebar").click()
			page.get_by_role("dialog").get_by_test_id("fold-setup").click()
			page.get_by_role("dialog").get_by_test_id("section-triggers").click()
			item = page.locator("[data-testid=trigger-item][data-name='Short-lived']")
			item.get_by_test_id("toggle").click()
			page.locator("[data-testid=trigger-item][data-name='Short-lived'][data-enabled=false]").wait_for()
			item.get_by_role("link").click()
			page.get_by_test_id("view-settings").click()
			page.get_by_test_id("field-prompt").fill("Good morning")
			page.keyboard.press("Control+s")
			page.get_by_test_id("saved").wait_for()
			stored = self.call("/api/resource/Agent%20Trigger/Short-lived")["data"]
			self.assertEqual((stored["prompt"], stored["disabled"]), ("Good morning", 1))

			page.get_by_test_id("delete-trigger").click()
			page.wait_for_url("**/huf/triggers")
			self.assertEqual(item.count(), 0)

	def test_document_chosen_for_one_trigger_is_not_taken_for_the_next(self):
		todo = self.make("ToDo", description="Water the plants")["name"]
		for name in ("First", "Second"):
			values = {
				"agent": AGENT,
				"trigger_type": "Doc Event",
				"reference_doctype": "ToDo",
				"run_as": ADMIN,
			}
			self.make("Agent Trigger", trigger_name=name, doc_event="on_trash", **values)
		with self.open_page("/huf/triggers/First") as page:
			page.get_by_test_id("trigger").wait_for()
			page.keyboard.press("Control+k")
			page.get_by_test_id("palette-text").fill("Second")
			page.get_by_test_id("palette-entry").filter(has_text="Second").click()
			page.locator("[data-testid=trigger][data-name=Second]").wait_for()
			page.go_back()
			page.locator("[data-testid=trigger][data-name=First]").wait_for()
			page.get_by_test_id("fire").click()
			field = page.get_by_test_id("fire-document")
			field.fill(todo)
			page.get_by_test_id("link-choice").first.click()
			page.get_by_role("button", name="Cancel").click()
			page.go_forward()
			page.locator("[data-testid=trigger][data-name=Second]").wait_for()
			page.get_by_test_id("fire").click()
			self.assertEqual(field.input_value(), "")

	def test_trigger_names_with_special_characters_have_working_urls(self):
		for name in ("new", "Mail in/out", "50% off? #1 & more", "Ünïted.v2"):
			values = {"trigger_name": name, "agent": AGENT, "trigger_type": "Manual"}
			self.call("/api/resource/Agent%20Trigger", values)
			with self.subTest(name), self.open_page(PAGE) as page:
				page.locator(f"[data-testid=trigger-item][data-name='{name}']").get_by_role("link").click()
				page.get_by_test_id("events-empty").wait_for()
				page.reload()
				page.get_by_test_id("events-empty").wait_for()
				self.assertEqual(page.get_by_role("heading", level=1).inner_text(), name)

	def test_background_run_shows_its_progress_in_chat_and_run_page(self):
		first_reply, second_reply = Gate(), Gate()
		with ModelServer() as server:
			server.script(first_reply(tool_call("list_users", {})), second_reply(text("There is one.")))
			event = self.fire_in_background(server)
			self.assertTrue(first_reply.reached.wait(30))
			run = self.call(f"/api/resource/Agent%20Trigger%20Event/{event}")["data"]["run"]
			conversation = self.call(f"/api/resource/Agent%20Run/{run}")["data"]["conversation"]
			with self.open_page("/huf/triggers") as chat:
				page = chat.context.new_page()
				for one, address in ((chat, f"/huf/chat/{conversation}"), (page, f"/huf/runs/{run}")):
					one.goto(address)
					wait_to_hear(one)
				first_reply.open()
				for progress in (chat.get_by_test_id("ongoing"), page.get_by_test_id("run-progress")):
					progress.filter(has_text="Step 1 of 9: List or count the users of this site").wait_for()
				second_reply.open()
				chat.get_by_test_id("run-footer").wait_for()
				page.locator("[data-testid=run][data-status=Success]").wait_for()

	def test_document_trigger_of_administrator_needs_a_run_as_user(self):
		self.add_user(MANAGER, "Huf Manager")
		with self.open_page(PAGE) as page:
			page.get_by_test_id("new-trigger").click()
			page.get_by_test_id("field-trigger_name").fill("Look at new to-dos")
			page.get_by_test_id("type-Doc Event").click()
			choose(page, "reference_doctype", "ToDo")
			choose(page, "agent", AGENT)
			page.get_by_test_id("ask-run-as").wait_for()
			page.get_by_test_id("create-off").click()
			page.locator("[data-testid=field-run_as][aria-invalid=true]").wait_for()
			page.get_by_test_id("take-run-as").filter(has_text=MANAGER).click()
			self.assertEqual(page.get_by_test_id("field-run_as").input_value(), MANAGER)
			self.assertEqual(page.get_by_test_id("ask-run-as").count(), 0)
			page.get_by_test_id("create-off").click()
			page.get_by_test_id("turn-on").wait_for()
		stored = self.call("/api/resource/Agent%20Trigger/Look%20at%20new%20to-dos")["data"]
		self.assertEqual(stored["run_as"], MANAGER)

	def fire_in_background(self, server: ModelServer) -> str:
		"""Fire a trigger of an agent whose model is the scripted server; returns the event."""
		agent = {"agent_name": "Counter", "model": "scripted", "max_iterations": 9}
		trigger = {"trigger_name": "Count", "agent": "Counter", "trigger_type": "Manual", "run_as": ADMIN}
		for doctype, values in (
			("AI%20Provider", {"provide_name": "Scripted", "api_key": "sk-1", "api_base": server.base_url}),
			("AI%20Model", {"model_name": "scripted", "provider": "Scripted"}),
			("Agent", {**agent, "agent_tool": [{"tool": "list_users"}]}),
			("Agent%20Trigger", {**trigger, "prompt": "Go"}),
		):
			self.call(f"/api/resource/{doctype}", values)
		return self.call("/api/method/huf.api.trigger.fire", {"trigger": "Count"})["message"]["name"]

	def save_todo(self, description: str, **values):
		self.call("/api/resource/ToDo", {"description": description, **values})


def begin_trigger(page, name: str, kind: str) -> None:
	"""Begin a new trigger on the list: the demo agent, run as Administrator."""
	page.get_by_test_id("new-trigger").click()
	page.get_by_test_id("field-trigger_name").fill(name)
	page.get_by_test_id(f"type-{kind}").click()
	choose(page, "agent", AGENT)
	choose(page, "run_as", ADMIN)
