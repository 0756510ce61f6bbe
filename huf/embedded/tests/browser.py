"""Headless Chromium on a started Huf, for tests of pages and for pictures of them."""

import json
import os
import shutil
import unittest
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

NAMES = ("chromium-headless-shell", "chromium", "google-chrome")
"""The first one has no window to draw, and needs half of the others' time."""
CHROMIUM = os.environ.get("HUF_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
ARGUMENTS = [
	"--no-sandbox",
	"--disable-gpu",
	"--disable-quic",
	"--no-first-run",
	"--disable-background-networking",
	"--disable-component-update",
	"--disable-sync",
	"--use-fake-device-for-media-stream",
	"--use-fake-ui-for-media-stream",
]
TIMEOUT_MS = 40_000
"""On a busy machine, the first call of a model alone takes 15 s: a child process learns it."""
HARMLESS = ("Failed to load resource",)
"""How lines of the console begin that are no fault: an answer of 4xx, which the page shows in its own words."""


def needs_browser(test):
	"""Skip without Chromium; try a failed test once more.

	Several processes share the cores during a test. The runner's last line counts what was tried again.
	"""
	return pytest.mark.flaky(reruns=1)(unittest.skipUnless(CHROMIUM, "Chromium is not installed")(test))


@contextmanager
def start_browser() -> Iterator:
	"""Playwright's Browser. No event loop can run in its thread while it is open."""
	from playwright.sync_api import sync_playwright

	with sync_playwright() as playwright:
		browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
		yield browser
		browser.close()


@contextmanager
def open_page(
	browser, url: str, width: int = 1280, height: int = 900, expected: str | None = None, **options
) -> Iterator:
	"""A page of a fresh profile; Playwright's Page.

	What the page logs as an error fails the test at the end, unless it contains the `expected` text.
	"""
	size = {"width": width, "height": height}
	with browser.new_context(base_url=url, viewport=size, reduced_motion="reduce", **options) as context:
		page = context.new_page()
		page.set_default_timeout(TIMEOUT_MS)
		faults: list[str] = []
		page.on("pageerror", lambda error: faults.append(str(error)))
		page.on("console", lambda line: faults.append(line.text) if is_fault(line) else None)
		yield page
	faults = [fault for fault in faults if expected is None or expected not in fault]
	assert not faults, faults


@contextmanager
def open_browser(url: str, **options) -> Iterator:
	"""A page in a browser of its own; options are `open_page`'s."""
	with start_browser() as browser, open_page(browser, url, **options) as page:
		yield page


def is_fault(line) -> bool:
	"""Whether a line of the console tells of an error; Vue's production build writes those of components there."""
	return line.type == "error" and not line.text.startswith(HARMLESS)


def read_boot(page: str) -> dict:
	"""The data that the app's page was served with."""
	return json.loads(page.split('id="huf-boot" type="application/json">')[1].split("</script>")[0])


def sign_in(page, password: str, user: str = "Administrator") -> None:
	"""From wherever the page sends a guest, through the login page."""
	page.goto("/huf/chat")
	page.get_by_label("Email or user name").fill(user)
	page.get_by_label("Password", exact=True).fill(password)
	page.get_by_role("button", name="Log in").click()


def say(page, text: str):
	"""Say something in the chat and wait for the run to end; gives the footer of its run."""
	ended = page.get_by_test_id("run-footer").count()
	page.get_by_test_id("composer").fill(text)
	page.get_by_test_id("send").click()
	footer = page.get_by_test_id("run-footer").nth(ended)
	footer.wait_for()
	return footer


AT_REST = """async () => {
	const thread = document.querySelector("[data-testid=thread]");
	const top = thread.scrollTop;
	await new Promise((resolve) => setTimeout(resolve, 250));
	return thread.scrollTop === top;
}"""


def reach(page, item) -> None:
	"""Bring an item of a chat under the mouse.

	While a thread scrolls, and for a moment after, nothing in it can be clicked.
	"""
	item.hover()
	page.wait_for_function(AT_REST)


def wait_to_hear(page) -> None:
	"""From here on the page hears what its site tells."""
	page.locator("html[data-realtime=connected]").wait_for(state="attached")
