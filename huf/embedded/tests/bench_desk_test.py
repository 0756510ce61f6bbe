"""A walk through the web chat and the Desk of a bench, in headless Chromium.

Needs HUF_BENCH_URL, HUF_BENCH_USER and HUF_BENCH_PASSWORD; HUF_BENCH_SHOTS names a folder for screenshots.
"""

import os
import unittest
from pathlib import Path

from huf.embedded.tests.browser import ARGUMENTS, CHROMIUM

URL, USER, PASSWORD = (os.environ.get(f"HUF_BENCH_{key}") for key in ("URL", "USER", "PASSWORD"))
REPORTS = ("Agent Runs", "Agent Costs", "Agent Tool Failures", "Agent Slow Tools")
FORMS = {"Agent": "Runs", "Agent Run": "Timeline", "AI Provider": "Test Key", "AI Model": "Test"}


@unittest.skipUnless(URL and USER and PASSWORD, "HUF_BENCH_URL, _USER and _PASSWORD name no bench")
class TestDeskOfABench(unittest.TestCase):
	@classmethod
	def setUpClass(cls):
		from playwright.sync_api import sync_playwright

		cls.playwright = sync_playwright().start()
		cls.addClassCleanup(cls.playwright.stop)
		cls.browser = cls.playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
		cls.addClassCleanup(cls.browser.close)
		cls.context = cls.browser.new_context(base_url=URL, viewport={"width": 1280, "height": 900})
		login = {"usr": USER, "pwd": PASSWORD}
		assert cls.context.request.post("/api/method/login", form=login).ok, "the bench refuses this login"

	def setUp(self):
		self.page = self.context.new_page()
		self.addCleanup(self.page.close)
		self.errors = []
		self.page.on("pageerror", lambda error: self.errors.append(str(error)))

	def see(self, address: str, text: str, shot: str):
		self.page.goto(address)
		self.page.get_by_text(text, exact=True).locator("visible=true").first.wait_for(timeout=20_000)
		if folder := os.environ.get("HUF_BENCH_SHOTS"):
			self.page.wait_for_timeout(1500)
			self.page.screenshot(path=Path(folder) / f"{shot}.png")
		self.assertEqual(self.errors, [])

	def test_the_workspace_shows_cards_and_charts(self):
		self.see("/app/huf", "Runs Today", "workspace")
		self.page.get_by_text("Runs per Day").first.wait_for()

	def test_each_report_opens(self):
		for name in REPORTS:
			with self.subTest(name):
				self.see(f"/app/query-report/{name}", name, name)

	def test_forms_have_their_buttons_and_the_way_to_an_agent(self):
		for doctype, button in FORMS.items():
			with self.subTest(doctype):
				found = self.context.request.get(f"/api/resource/{doctype}?limit_page_length=1").json()[
					"data"
				]
				if not found:
					continue
				self.see(f"/app/{doctype.lower().replace(' ', '-')}/{found[0]['name']}", button, doctype)
				menu = self.page.locator(".menu-btn-group a", has_text="Ask an agent about this")
				self.assertEqual(menu.count(), 1)

	def test_lists_show_how_runs_ended(self):
		self.see("/app/agent-run", "Status", "run list")

	def test_chat_takes_the_words_an_address_brings(self):
		self.page.goto("/huf/chat?prompt=About%20ToDo")
		self.page.wait_for_function(
			"[...document.querySelectorAll('textarea')].some((field) => field.value.includes('About ToDo'))"
		)
		self.assertNotIn("prompt=", self.page.url)

	def test_drafts_open(self):
		self.see("/huf/drafts", "Drafts", "drafts")
