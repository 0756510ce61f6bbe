"""Headless Chromium on a running Huf, for page tests and screenshots."""

import atexit
import json
import os
import shutil
import unittest
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

NAMES = ("chromium-headless-shell", "chromium", "google-chrome")
"""The first has no window to draw and takes half the time of the others."""
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
"""On a busy machine, a model's first call alone takes 15 s: a child process checks it with LiteLLM."""
HARMLESS = ("Failed to load resource",)
"""Beginnings of console errors that are ignored: a 4xx response, which the page reports itself."""
_kept: list = []
_opened = ExitStack()


def needs_browser(test):
	"""Skip without Chromium; rerun a failed test once, also one of whose subtests has failed.

	Several processes share the cores during a test. The last line of pytest's output counts the reruns.
	"""
	test.subTest = fail_with_subtest
	test = unittest.skipUnless(CHROMIUM, "Chromium is not installed")(test)
	return pytest.mark.browser(pytest.mark.flaky(reruns=1)(test))


@contextmanager
def fail_with_subtest(test: unittest.TestCase, *arguments, **parameters) -> Iterator[None]:
	"""`TestCase.subTest` whose failure also fails the test, at its end: pytest reruns no subtests."""
	with unittest.TestCase.subTest(test, *arguments, **parameters):
		try:
			yield
		except unittest.SkipTest:
			raise
		except Exception:
			if "has_failed" not in vars(test):
				test.has_failed = True
				test.addCleanup(test.fail, "a subtest has failed")
			raise


def get_browser():
	"""Playwright's Browser, which this process keeps until `close_browser`: starting one takes longer than
	most tests of pages. Its thread can have no other event loop meanwhile.
	"""
	from playwright.sync_api import sync_playwright

	if not _kept or not _kept[0].is_connected():
		close_browser()
		playwright = _opened.enter_context(sync_playwright())
		_kept.append(playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS))
		_opened.callback(_kept[0].close)
	return _kept[0]


@atexit.register
def close_browser() -> None:
	_kept.clear()
	_opened.close()


@contextmanager
def open_page(
	url: str, width: int = 1280, height: int = 900, expected: str | None = None, **options
) -> Iterator:
	"""Playwright's Page in a fresh profile.

	An error that the page logs fails the test at the end, unless it contains the `expected` text. A test that
	fails earlier prints what the page shows.
	"""
	size = {"width": width, "height": height}
	new_context = get_browser().new_context
	with new_context(base_url=url, viewport=size, reduced_motion="reduce", **options) as context:
		page = context.new_page()
		page.set_default_timeout(TIMEOUT_MS)
		faults: list[str] = []
		page.on("pageerror", lambda error: faults.append(str(error)))
		page.on("console", lambda line: faults.append(line.text) if is_fault(line) else None)
		try:
			yield page
		except Exception:
			print(page.url, *faults, page.locator("body").aria_snapshot(), sep="\n")
			raise
	faults = [fault for fault in faults if expected is None or expected not in fault]
	assert not faults, faults


def is_fault(line) -> bool:
	"""Whether a console line reports an error; Vue's production build logs errors of components there."""
	return line.type == "error" and not line.text.startswith(HARMLESS)


def read_boot(page: str) -> dict:
	"""The data that the app's page was served with."""
	return json.loads(page.split('id="huf-boot" type="application/json">')[1].split("</script>")[0])


FOLLOW = """(address) => {
	history.pushState({}, "", address);
	dispatchEvent(new PopStateEvent("popstate", { state: {} }));
}"""


def follow(page, address: str) -> None:
	"""Go to another page of the app as a link does: the app is not loaded again."""
	page.evaluate(FOLLOW, address)


def sign_in(page, password: str, user: str = "Administrator") -> None:
	"""Sign in on the login page, to which the chat redirects guests."""
	page.goto("/huf/chat")
	page.get_by_label("Email or user name").fill(user)
	page.get_by_label("Password", exact=True).fill(password)
	page.get_by_role("button", name="Log in").click()


def say(page, text: str):
	"""Send a message in the chat and wait for its run to end; returns the footer of the run."""
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
	"""Hover over an item of a chat once its thread has stopped scrolling.

	Nothing in a thread can be clicked while it scrolls, and for a moment after.
	"""
	item.hover()
	page.wait_for_function(AT_REST)


def wait_to_hear(page) -> None:
	"""Wait until the page receives realtime events of its site."""
	page.locator("html[data-realtime=connected]").wait_for(state="attached")


IS_LAID_OUT = """async (width) => {
	// Listeners of a media query run before the next frame is drawn, what they change is in the one after it.
	for (const _ of [1, 2]) await new Promise(requestAnimationFrame);
	return innerWidth === width;
}"""


def resize(page, size: dict[str, int]) -> None:
	"""Resize the viewport and wait until the page has changed its layout."""
	page.set_viewport_size(size)
	page.wait_for_function(IS_LAID_OUT, arg=size["width"])
