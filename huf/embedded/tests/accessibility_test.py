"""Every page passes axe in light and dark, fits a phone screen and works by keyboard."""

import unittest
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from huf.embedded.tests.browser import needs_browser, open_page, resize
from huf.embedded.tests.showcase import PAGES, open_showcase
from huf.tests.base import enter

AXE = Path(__file__).resolve().parents[2] / "ui" / "node_modules" / "axe-core" / "axe.min.js"
SERIOUS = ("serious", "critical")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
COLOUR_RULES = ["color-contrast", "link-in-text-block"]
"""Rules whose result may differ between light and dark."""
FAULTS = """async (rules) => {
	const { violations } = await axe.run(document, { runOnly: rules, resultTypes: ["violations"] });
	return violations.map(({ id, impact, nodes }) => [impact, id, nodes.slice(0, 3).map((node) => node.html.slice(0, 160))]);
}"""
PHONE = {"width": 390, "height": 844}
IS_WIDER = "() => document.documentElement.scrollWidth > innerWidth"
REACHABLE = """(start) => {
	const root = document.querySelector(start);
	const all = [...root.querySelectorAll("a[href], button, input, select, textarea, [tabindex]")];
	const isTabStop = (each) => each.tabIndex >= 0 && !each.disabled && each.checkVisibility({ visibilityProperty: true });
	const isUncheckedRadio = (each) => each.type === "radio" && !each.checked;
	const stops = all.filter((each) => isTabStop(each) && !isUncheckedRadio(each));
	stops.forEach((each, index) => (each.dataset.stop = index));
	// Tab continues from the last focus, so move that to the top of the root.
	const top = root.insertBefore(document.createElement("button"), root.firstChild);
	top.focus();
	top.remove();
	return stops.map((each) => each.outerHTML.slice(0, 160));
}"""
FOCUSED = """() => {
	const el = document.activeElement;
	const isOutlined = (each) => each && getComputedStyle(each).outlineStyle !== "none";
	// A field may show its focus by the border of the box around it; the page in an iframe shows its own.
	const isBordered = el.matches("input, textarea, select, iframe");
	const names = [el.getAttribute("aria-label"), el.innerText, el.labels?.[0]?.innerText, el.title, el.placeholder];
	return {
		index: el === document.body ? null : Number(el.dataset.stop ?? -1),
		tag: el.outerHTML.slice(0, 160),
		isMarked: el.tagName === "IFRAME" || isOutlined(el) || isBordered || isOutlined(el.nextElementSibling) || isOutlined(el.parentElement),
		isNamed: Boolean(names.find((name) => name?.trim()) || el.getAttribute("aria-labelledby") || el.tabIndex < 0 || el.querySelector("pre, table")),
	};
}"""
MAX_STOPS = 400
IS_WITHIN = "(role) => Boolean(document.activeElement.closest(`[role=${role}]`))"
IS_FOCUSED = "(opener) => document.activeElement === opener"
OPENERS = (
	("new-chat", "[data-testid=user-menu]", "menu"),
	("new-chat", "[data-testid=agent-picker]", "dialog"),
	("chat", "[data-testid=conversation-item] button", "menu"),
	("drafts", "[data-testid=keys]", "dialog"),
	("trigger", "[data-testid=fire]", "dialog"),
	("runs", "[data-testid=stop-all]", "alertdialog"),
)
"""(page, openers, role of the popup): an opener after a bar is in the popup that the first one opens."""


def faults_of(page, rules: Sequence[str] = RULES) -> list[str]:
	"""Serious and critical axe violations of the page in its current state; `rules` are ids or tags."""
	if not page.evaluate("() => Boolean(window.axe)"):
		page.evaluate(AXE.read_text())
	return [
		f"{impact} {rule}: {nodes}"
		for impact, rule, nodes in page.evaluate(FAULTS, rules)
		if impact in SERIOUS
	]


def close_dialog(page) -> None:
	"""Close a dialog that the page opened with, because it traps the focus."""
	if page.get_by_role("dialog").count():
		page.keyboard.press("Escape")
		page.get_by_role("dialog").wait_for(state="detached")
		page.wait_for_load_state("networkidle")


@needs_browser
@unittest.skipUnless(AXE.is_file(), "axe-core is not installed: npm --prefix huf/ui ci")
class TestAccessibility(unittest.TestCase):
	@classmethod
	def setUpClass(cls):
		cls.show = enter(cls, open_showcase())

	def test_every_page_passes_axe_is_reached_by_tab_and_fits_a_phone(self):
		"""Each page is visited once for all checks: opening it takes as long as checking it."""
		with self.open_page() as page:
			desktop = page.viewport_size
			self.show.open(page, PAGES[0])
			for one in PAGES:
				self.show.visit(page, one)
				with self.subTest(one.name, check="axe, light"):
					self.assertEqual(faults_of(page), [])
				with self.subTest(one.name, check="axe, dark"):
					page.emulate_media(color_scheme="dark")
					page.locator("html[data-theme=dark]").wait_for(state="attached")
					self.assertEqual(faults_of(page, COLOUR_RULES), [])
				page.emulate_media(color_scheme="light")
				with self.subTest(one.name, check="phone"):
					resize(page, PHONE)
					self.assertFalse(page.evaluate(IS_WIDER))
				resize(page, desktop)
				with self.subTest(one.name, check="tab key"):
					# The sidebar is the same on each page.
					self.check_tab_key(page, start="body" if one is PAGES[0] else "main")

	def check_tab_key(self, page, start: str):
		"""Tab reaches every control in the element `start`; each is visibly focused and has a name."""
		close_dialog(page)
		controls = page.evaluate(REACHABLE, start)
		focused = list(walk(page))
		faulty = {stop["tag"] for stop in focused if not (stop["isMarked"] and stop["isNamed"])}
		self.assertEqual(faulty, set())
		reached = {stop["index"] for stop in focused}
		self.assertEqual([tag for index, tag in enumerate(controls) if index not in reached], [])

	def test_popups_trap_focus_and_return_it_to_the_opener_on_escape(self):
		with self.open_page() as page:
			for name, openers, role in OPENERS:
				with self.subTest(openers):
					self.show.open(page, next(one for one in PAGES if one.name == name))
					first, *rest = openers.split(" | ")
					opener = page.locator(first).first
					opener.press("Enter")
					for each in rest:
						page.locator(each).press("Enter")
					page.get_by_role(role).wait_for()
					page.wait_for_function(IS_WITHIN, arg=role)
					self.assertEqual(faults_of(page), [])
					for _ in range(8 if role != "menu" else 0):
						page.keyboard.press("Tab")
						self.assertTrue(page.evaluate(IS_WITHIN, role))
					page.keyboard.press("Escape")
					page.get_by_role(role).wait_for(state="detached")
					page.wait_for_function(IS_FOCUSED, arg=opener.element_handle())

	def test_mobile_drawer_traps_focus_and_returns_it_on_escape(self):
		with self.open_page(width=390, height=844) as page:
			self.show.open(page, next(one for one in PAGES if one.name == "new-chat"))
			opener = page.get_by_test_id("show-sidebar")
			opener.press("Enter")
			page.get_by_role("dialog").wait_for()
			page.wait_for_function(IS_WITHIN, arg="dialog")
			self.assertEqual(faults_of(page), [])
			for _ in range(20):
				page.keyboard.press("Tab")
				self.assertTrue(page.evaluate(IS_WITHIN, "dialog"))
			search = page.get_by_role("dialog").get_by_test_id("history-search")
			search.fill("tea")
			search.press("Escape")
			self.assertEqual(
				search.input_value(), "", "Escape clears a field before it closes what is around it"
			)
			search.press("Escape")
			page.wait_for_function(IS_FOCUSED, arg=opener.element_handle())

	def test_drawer_closes_when_the_window_becomes_wide(self):
		with self.open_page(width=820, height=1180) as page:
			self.show.open(page, next(one for one in PAGES if one.name == "new-chat"))
			page.get_by_test_id("show-sidebar").click()
			page.get_by_role("dialog").wait_for()
			resize(page, {"width": 1180, "height": 820})
			page.get_by_test_id("section-runs").click()
			page.get_by_role("heading", name="Runs").wait_for()

	def test_skip_link_moves_focus_to_main_content(self):
		with self.open_page() as page:
			self.show.open(page, next(one for one in PAGES if one.name == "runs"))
			page.keyboard.press("Tab")
			page.keyboard.press("Enter")
			page.keyboard.press("Tab")
			self.assertTrue(page.evaluate("() => document.activeElement.closest('main') !== null"))

	@contextmanager
	def open_page(self, **options):
		with open_page(self.show.server.url, **options) as page:
			self.show.rest.sign_in(page)
			yield page


def walk(page) -> Iterator[dict]:
	"""Press Tab until the focus leaves the page, and yield each stop."""
	for _ in range(MAX_STOPS):
		page.keyboard.press("Tab")
		stop = page.evaluate(FOCUSED)
		if stop["index"] is None:
			return
		yield stop
	raise AssertionError("the focus never leaves the page")
