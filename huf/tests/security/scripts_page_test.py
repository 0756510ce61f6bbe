"""Scripts in messages, answers and records: every page shows them as text and runs none."""

from urllib.parse import quote

from huf.embedded.tests.browser import needs_browser, say
from huf.embedded.tests.pages import ADMIN, PageTestCase
from huf.tests.base import enter
from huf.tests.model_server import ModelServer, text, tool_call

RAN = "window.ran = (window.ran || 0) + 1"
SCRIPTS = (
	f'Here <img src=x onerror="{RAN}"><script>{RAN}</script><svg onload="{RAN}"></svg>'
	f'<iframe srcdoc="<script>parent.{RAN}</script>"></iframe> '
	f"[link](javascript:{RAN}) ![picture](javascript:{RAN}) <a href='javascript:{RAN}'>go</a>"
)
ACTIVE = """() => [...document.querySelectorAll('*')].filter((each) =>
	[...each.attributes].some(({name, value}) => /^on/.test(name) || /^\\s*javascript:/i.test(value))
	|| each.matches('img[src=x], iframe[srcdoc]')).map((each) => each.outerHTML.slice(0, 200))"""
"""Finds elements with a script that could run."""


@needs_browser
class TestScripts(PageTestCase):
	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		cls.model = enter(cls, ModelServer())
		cls.make("AI Provider", provide_name="Scripted", api_key="sk-1", api_base=cls.model.base_url)
		cls.make("AI Model", model_name="scripted", provider="Scripted")
		tools = [{"tool": "list_todos"}, {"tool": "create_todo", "requires_approval": 1}]
		cls.make(
			"Agent",
			agent_name="Reader",
			model="scripted",
			instructions=SCRIPTS,
			description=SCRIPTS,
			agent_tool=tools,
		)
		cls.make("ToDo", description=SCRIPTS, allocated_to=ADMIN)

	def assert_harmless(self, page, seen: str) -> None:
		"""The page shows the text `seen`, has run none of the scripts, and holds none that could run."""
		page.get_by_text(seen).first.wait_for()
		page.wait_for_timeout(300)
		self.assertEqual(page.evaluate(ACTIVE), [])
		self.assertIsNone(page.evaluate("window.ran ?? null"))

	def test_no_page_runs_the_scripts_of_a_chat(self):
		self.model.script(tool_call("list_todos", {"fields": ["name", "description"]}), text(SCRIPTS))
		with self.open_page("/huf/chat?agent=Reader") as page:
			say(page, SCRIPTS)
			self.assert_harmless(page, "Here")
			run = page.get_by_test_id("run-footer").get_attribute("data-run")
			for address, seen in (
				(f"/huf/runs/{quote(run)}", "Here"),
				("/huf/runs", "Here"),
				("/huf/agents/Reader", "Reader"),
				("/huf/agents", "Reader"),
				("/huf/records/ToDo", "Here"),
				("/huf/chat", "Here"),
			):
				with self.subTest(address):
					page.goto(address)
					self.assert_harmless(page, seen)
					if page.get_by_test_id("fold-all").count():
						page.get_by_test_id("fold-all").click()
						self.assert_harmless(page, seen)

	def test_no_page_runs_the_scripts_of_a_draft(self):
		self.model.script(tool_call("create_todo", {"description": SCRIPTS}))
		with self.open_page("/huf/chat?agent=Reader") as page:
			page.get_by_test_id("composer").fill("Make it")
			page.get_by_test_id("send").click()
			page.get_by_test_id("draft").wait_for()
			self.assert_harmless(page, "Here")
			page.goto("/huf/drafts")
			self.assert_harmless(page, "Here")
