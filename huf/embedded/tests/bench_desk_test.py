"""Every button in the web chat, the approvals and the Desk of a bench works.

Agents run offline, except where a scripted model answers. See `bench.py` for the environment variables.
"""

import time
from urllib.parse import quote
from uuid import uuid4

from huf.embedded.tests.bench import USER, BenchTestCase
from huf.embedded.tests.browser import say
from huf.tests.base import enter
from huf.tests.model_server import ModelServer, text

AGENT, PROVIDER, MODEL, TRIGGER = (f"Desk Walk {kind}" for kind in ("Agent", "Provider", "Model", "Trigger"))
TOOLS = {"walk_list_todos": "Get List", "walk_create_todo": "Create Document", "walk_broken": "GET"}
ANNA, BEN = "desk-walk-anna@example.com", "desk-walk-ben@example.com"
QUESTION = "How many todos are there?"
BAR = ".chart-container .bar:not([height='0'])"
ASK = "Ask an agent about this"


class TestDeskOfABench(BenchTestCase):
	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		cls.model = enter(cls, ModelServer(strict=False))
		cls.model.forever(text("OK"))
		cls.add_person(ANNA, "Huf User", "Huf Manager", "System Manager")
		cls.add_person(BEN, "Huf User")
		cls.make_records()
		cls.run_name = cls.run_agent(QUESTION)["run"]

	@classmethod
	def make_records(cls):
		base = {"api_key": "sk-1", "api_base": cls.model.base_url}
		cls.make("AI Provider", PROVIDER, provide_name=PROVIDER, **base)
		cls.make("AI Model", MODEL, model_name=MODEL, provider=PROVIDER)
		for name, types in TOOLS.items():
			values = {"description": name.replace("_", " "), "reference_doctype": "ToDo", "types": types}
			if types == "GET":
				values |= {"base_url": "http://127.0.0.1:9/nothing", "reference_doctype": None}
			cls.make("Agent Tool Function", name, tool_name=name, **values)
		approvals = {"walk_create_todo": {"requires_approval": 1}}
		tools = [{"tool": name, **approvals.get(name, {})} for name in TOOLS]
		cls.make("Agent", AGENT, agent_name=AGENT, agent_tool=tools, allow_chat=1)
		event = {"trigger_type": "Doc Event", "reference_doctype": "ToDo", "doc_event": "after_insert"}
		cls.make(
			"Agent Trigger",
			TRIGGER,
			trigger_name=TRIGGER,
			agent=AGENT,
			run_as=ANNA,
			condition="doc.description == 'Desk Walk'",
			prompt=QUESTION,
			**event,
		)
		cls.todo = cls.make("ToDo", description="Desk Walk")["name"]

	@classmethod
	def run_agent(cls, prompt: str, user: str = USER) -> dict:
		"""Result of a run in a new conversation."""
		values = {"agent_name": AGENT, "prompt": prompt, "external_id": uuid4().hex}
		return cls.call("huf.ai.agent_integration.run_agent_sync", user, **values)

	@classmethod
	def propose(cls, what: str, user: str = ANNA) -> str:
		"""Name of a new draft that waits for this user's approval."""
		run = cls.run_agent(f"Create a todo: {what}", user)["run"]
		[draft] = cls.people[user][0].get(f"/api/method/huf.api.draft.get_drafts?run={run}").json()["message"]
		return draft["draft"]

	# --- the workspace and the reports ---

	def test_workspace_shows_number_cards_charts_and_links(self):
		with self.open_page("/app/huf") as page:
			card = page.locator(".number-widget-box", has_text="Runs Today")
			card.locator(".number").wait_for()
			self.assertGreaterEqual(int(card.locator(".number").inner_text()), 1)
			self.assertEqual(page.locator(".number-widget-box").count(), 4)
			page.locator(BAR).first.wait_for()
			# A line whose costs are all zero has no height, so the browser does not count it as visible.
			page.locator(".chart-container .line-graph-path").first.wait_for(state="attached")
			for link in ("Chat", "Approvals", "Agent Mailbox", "Agent Costs", "Huf Settings"):
				page.locator(".widget").get_by_text(link, exact=True).first.wait_for()
			self.shoot(page, "workspace")

	def test_each_report_has_rows(self):
		self.run_agent("Walk broken", ANNA)
		for name in ("Agent Runs", "Agent Costs", "Agent Slow Tools", "Agent Tool Failures"):
			with self.subTest(name), self.open_page(f"/app/query-report/{quote(name)}") as page:
				page.locator(".dt-row .dt-cell__content").filter(has_text="alk").first.wait_for()
				self.shoot(page, f"report {name}")

	# --- the forms ---

	def test_an_agent_is_tested_from_its_form(self):
		with self.open_form("Agent", AGENT) as page:
			self.click_action(page, "Test")
			page.locator(".modal:visible textarea").fill(QUESTION)
			page.locator(".modal:visible").get_by_role("button", name="Ask").click()
			answer = page.locator(".msgprint-dialog:visible")
			answer.get_by_text("Success").wait_for()
			self.shoot(page, "agent tested")
			self.assertRegex(answer.inner_text(), r"\d")
			with page.expect_popup() as opened:
				answer.get_by_role("link", name="Timeline").click()
			opened.value.get_by_text(QUESTION).first.wait_for()

	def test_run_form_opens_the_timeline_and_the_tool_calls(self):
		with self.open_form("Agent Run", self.run_name) as page:
			self.assertEqual(page.get_by_text("Not Saved").count(), 0)
			self.shoot(page, "run")
			with page.expect_popup() as opened:
				self.click_action(page, "Timeline")
			opened.value.get_by_text(QUESTION).first.wait_for()
			self.shoot(opened.value, "timeline")
			self.click_action(page, "Tool Calls")
			page.locator(".list-row .indicator-pill", has_text="Success").first.wait_for()

	def test_provider_key_and_model_are_tested_from_their_forms(self):
		with self.open_form("AI Provider", PROVIDER) as page:
			self.click_action(page, "Test Key")
			self.fill_first(page, "model", MODEL)
			page.locator(".modal:visible [role=option]", has_text=MODEL).first.click()
			page.locator(".modal:visible").get_by_role("button", name="Test").click()
			page.get_by_text("The Key Works").wait_for()
			self.shoot(page, "key tested")
		with self.open_form("AI Model", MODEL) as page:
			self.click_action(page, "Test")
			page.get_by_text("The Model Responds").wait_for()

	def fill_first(self, page, fieldname, text):
		"""Fill the first field of a dialog once it has the focus: Frappe does not search for earlier input."""
		field = page.locator(f".modal:visible [data-fieldname={fieldname}] input")
		field.and_(page.locator(":focus")).wait_for()
		field.fill(text)

	def test_trigger_is_backtested_and_fired_from_its_form(self):
		with self.open_form("Agent Trigger", TRIGGER) as page:
			self.click_action(page, "Backtest")
			page.locator(".msgprint-dialog:visible li", has_text=self.todo).wait_for()
			self.shoot(page, "trigger tried")
			page.locator(".msgprint-dialog:visible .btn-modal-close").click()
			self.click_action(page, "Fire Now")
			self.fill_first(page, "document", self.todo)
			page.locator(".modal:visible [role=option]", has_text=self.todo).first.wait_for()
			page.keyboard.press("Tab")
			page.locator(".modal:visible").get_by_role("button", name="Fire").click()
			page.get_by_text("Trigger fired").wait_for()
			self.click_action(page, "Events")
			page.locator(".list-row", has_text=TRIGGER).first.wait_for()

	def test_drafts_are_approved_and_rejected_on_their_forms(self):
		draft = self.propose("call Clara")
		with self.open_form("Agent Draft", draft, ANNA) as page:
			page.locator(".form-dashboard-section:visible td", has_text="call Clara").first.wait_for()
			self.shoot(page, "draft")
			self.click_action(page, "Approve")
			self.locate_pill(page, "Approved").or_(self.locate_pill(page, "Applied")).wait_for()
			self.wait_until_applied(draft)
		with self.open_form("Agent Draft", self.propose("call Dora"), ANNA) as page:
			self.click_action(page, "Reject")
			page.locator(".modal:visible textarea").fill("Not today")
			page.locator(".modal:visible .btn-modal-primary").click()
			self.locate_pill(page, "Rejected").wait_for()
			self.assertIn("Not today", page.locator("[data-fieldname=reason]").first.inner_text())

	def test_chat_doctype_form_embeds_a_working_chat(self):
		with self.open_page("/app/agent-chat") as page:
			page.locator("[data-fieldname=agent] input").first.fill(AGENT)
			page.locator("[data-fieldname=agent] [role=option]", has_text=AGENT).first.click()
			chat = page.frame_locator("[data-fieldname=chat] iframe")
			chat.get_by_placeholder(f"Message {AGENT}").wait_for()
			chat.get_by_test_id("composer").fill(QUESTION)
			chat.get_by_test_id("send").click()
			chat.locator("[data-testid=run-footer][data-status=Success]").wait_for()
			self.shoot(page, "chat form")

	def test_list_views_show_coloured_status_indicators(self):
		self.propose("call Emil")
		for doctype, word, colour in (
			("agent-run", "Success", "green"),
			("agent-tool-call", "Success", "green"),
			("agent-draft", "Pending", "orange"),
			("agent", "Enabled", "green"),
			("agent-trigger", "Enabled", "green"),
		):
			with self.subTest(doctype), self.open_page(f"/app/{doctype}", ANNA) as page:
				page.locator(f".list-row .indicator-pill.{colour}", has_text=word).first.wait_for()
				self.shoot(page, f"list {doctype}")

	# --- Ask an agent about this ---

	def test_document_sidebar_and_search_bar_open_a_chat_with_prefilled_prompt(self):
		with self.open_form("ToDo", self.todo) as page:
			page.locator(".form-sidebar .huf-ask").wait_for()
			self.assertEqual(page.locator(".menu-btn-group a", has_text=ASK).count(), 1)
			page.evaluate("cur_frm.refresh()")
			self.assertEqual(page.locator(".form-sidebar:visible .huf-ask").count(), 1)
			with page.expect_popup() as opened:
				page.locator(".form-sidebar .huf-ask").click()
			self.assert_in_composer(opened.value, f'About ToDo "{self.todo}"')
			# The search bar of Frappe 15; later versions open it as a dialog.
			page.keyboard.press("Control+k")
			page.locator("#navbar-search").fill("is this late")
			row = page.locator("#navbar-search ~ ul li", has_text="Ask an agent: is this late")
			row.wait_for()
			self.shoot(page, "ask")
			with page.expect_popup() as opened:
				row.click()
			self.assert_in_composer(opened.value, "is this late")

	def assert_in_composer(self, page, words: str):
		composer = page.get_by_test_id("composer")
		composer.wait_for()
		self.assertIn(words, composer.input_value())
		self.assertNotIn("prompt=", page.url)
		composer.fill("")

	# --- the web pages on a bench ---

	def test_web_chat_completes_a_run(self):
		with self.open_page(f"/huf/chat?agent={quote(AGENT)}") as page:
			say(page, QUESTION)
			page.locator("[data-testid=run-footer][data-status=Success]").wait_for()
			self.shoot(page, "web chat")

	def test_pending_draft_is_shown_and_approved_on_the_web_page(self):
		draft = self.propose("call Fred")
		with self.open_page(f"/huf/drafts/{draft}", ANNA) as page:
			change = page.locator("[data-testid=change-field]", has_text="all Fred")
			change.first.wait_for()
			self.shoot(page, "web draft")
			page.get_by_test_id("draft-approve").click()
			self.wait_until_applied(draft)
			page.reload()
			page.locator("[data-testid=draft][data-status=Applied]").wait_for()
		todos = self.people[ANNA][0].get('/api/resource/ToDo?filters=[["description","like","%call Fred%"]]')
		self.assertTrue(todos.json()["data"])

	# --- permissions ---

	def test_user_sees_only_own_runs_in_workspace_report_and_list(self):
		own = self.run_agent(QUESTION, BEN)["run"]
		runs = self.people[BEN][0].get("/api/resource/Agent Run?limit_page_length=0").json()["data"]
		with self.open_page("/app/huf", BEN) as page:
			number = page.locator(".number-widget-box", has_text="Runs Today").locator(".number")
			number.wait_for()
			self.assertLessEqual(int(number.inner_text()), len(runs))
			page.locator(BAR).first.wait_for()
			self.shoot(page, "workspace of a user")
		with self.open_page("/app/query-report/Agent Runs", BEN) as page:
			page.locator(".dt-cell__content", has_text=own).first.wait_for()
			self.shoot(page, "runs of a user")
			self.assertEqual(page.locator(".dt-cell__content", has_text=self.run_name).count(), 0)
		with self.open_page("/app/agent-run", BEN) as page:
			page.locator(".list-row").first.wait_for()
			self.assertLessEqual(page.locator(".list-row").count(), len(runs))

	# --- helpers ---

	def locate_pill(self, page, word: str):
		return page.locator(".page-head:visible .indicator-pill", has_text=word)

	def wait_until_applied(self, draft: str):
		"""Needs a running worker of the bench."""
		for _ in range(60):
			if (
				self.people[ANNA][0].get(f"/api/resource/Agent Draft/{draft}").json()["data"]["status"]
				== "Applied"
			):
				return
			time.sleep(0.5)
		self.fail("no worker applied the draft within 30 s")

	def open_form(self, doctype: str, name: str, user: str = USER):
		return self.open_page(f"/app/{doctype.lower().replace(' ', '-')}/{quote(name)}", user)

	def click_action(self, page, label: str):
		page.locator(".page-head:visible .custom-actions").get_by_role(
			"button", name=label, exact=True
		).click()
