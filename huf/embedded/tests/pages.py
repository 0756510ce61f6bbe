"""Base of page tests: one Huf server per class, signed-in users, and REST calls in their sessions."""

import json
import shutil
import tempfile
import unittest
import urllib.request
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from urllib.parse import quote

from huf.embedded.tests.browser import TIMEOUT_MS, open_page, read_boot
from huf.embedded.tests.sites import PASSWORD, make_site
from huf.embedded.tests.warm_servers import WarmServer
from huf.tests.base import enter
from huf.tests.ports import find_free_port

ADMIN, BERTA = "Administrator", "berta@example.com"


@contextmanager
def start_server(home: Path, **environment: str) -> Iterator[WarmServer]:
	make_site(home)
	server = WarmServer(home, find_free_port(), **environment)
	try:
		yield server
	finally:
		server.stop()


class PageTestCase(unittest.TestCase):
	"""Has a `server` on a fresh site, in which ADMIN is signed in."""

	environment: dict[str, str] = {}
	"""Additional environment variables of the server."""
	begun: set[str] = set()
	"""Ids of the tests that this process has started."""

	@classmethod
	def setUpClass(cls):
		cls.home = Path(tempfile.mkdtemp(prefix="huf-test-"))
		cls.addClassCleanup(shutil.rmtree, cls.home, ignore_errors=True)
		cls.server = enter(cls, start_server(cls.home, **cls.environment))
		cls.sessions = {ADMIN: cls.server.login(PASSWORD)}
		cls.tokens: dict[str, str] = {}

	def setUp(self):
		# A rerun begins on a fresh site: the first attempt may have left records behind.
		if self.id() in self.begun:
			self.doClassCleanups()
			self.setUpClass()
		self.begun.add(self.id())

	@classmethod
	def add_user(cls, email: str, *roles: str) -> None:
		"""Create a user with these roles and sign in."""
		values = {"email": email, "first_name": email.split("@")[0].title(), "new_password": PASSWORD}
		cls.make("User", **values, send_welcome_email=0, roles=[{"role": role} for role in roles])
		cls.sessions[email] = cls.server.login(PASSWORD, email)

	@classmethod
	def open_guest_page(cls, **options) -> AbstractContextManager:
		"""A signed-out page in a fresh profile; options as for `browser.open_page`."""
		return open_page(cls.server.url, **options)

	@contextmanager
	def open_page(self, address: str = "/huf/chat", user: str = ADMIN, **options) -> Iterator:
		"""A page of a user who is signed in already; options as for `open_guest_page`."""
		with self.open_guest_page(**options) as page:
			name, value = self.sessions[user].split("=")
			page.context.add_cookies([{"name": name, "value": value, "url": self.server.url}])
			page.goto(address)
			yield page

	@classmethod
	def make(cls, doctype: str, **values) -> dict:
		return cls.call(f"/api/resource/{quote(doctype)}", values)["data"]

	@classmethod
	def call(cls, path: str, data: dict | None = None, method: str | None = None, user: str = ADMIN) -> dict:
		"""A REST call in a user's session, with its CSRF token."""
		if user not in cls.tokens:
			page = cls.server.call("/huf", cookie=cls.sessions[user]).read().decode()
			cls.tokens[user] = read_boot(page)["csrf_token"]
		headers = {"Cookie": cls.sessions[user], "X-Frappe-CSRF-Token": cls.tokens[user]}
		body = None if data is None else json.dumps(data).encode()
		request = urllib.request.Request(
			cls.server.url + path, body, {**headers, "Content-Type": "application/json"}, method=method
		)
		return json.load(urllib.request.urlopen(request, timeout=TIMEOUT_MS / 1000))


def wait_for_deletion(page) -> None:
	"""Wait until a deletion on the page can no longer be undone and is sent."""
	page.get_by_test_id("deletion").wait_for()
	with page.expect_response(lambda response: response.request.method == "DELETE"):
		page.get_by_test_id("deletion").wait_for(state="detached")


def choose(page, field: str, value: str) -> None:
	"""Select a record in a link field."""
	page.get_by_test_id(f"field-{field}").fill(value)
	page.get_by_test_id("link-choice").filter(has_text=value).first.click()


def lose_response(route) -> None:
	"""The site gets the request, and the page no answer."""
	route.fetch()
	route.abort()
