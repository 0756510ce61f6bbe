"""What tests of pages share: one started Huf for a class, people signed in to it, REST in their sessions, and
scripted models.
"""

import json
import shutil
import tempfile
import unittest
import urllib.request
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from urllib.parse import quote

from huf.embedded.tests.browser import TIMEOUT_MS, open_page, read_boot, start_browser
from huf.embedded.tests.sites import PASSWORD, make_site
from huf.embedded.tests.warm_servers import WarmServer
from huf.tests.base import enter
from huf.tests.ports import find_free_port

ADMIN = "Administrator"


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
	"""What the server is started with besides."""
	begun: set[str] = set()
	"""Ids of the tests of this process that were tried."""

	@classmethod
	def setUpClass(cls):
		cls.browser = None
		cls.home = Path(tempfile.mkdtemp(prefix="huf-test-"))
		cls.addClassCleanup(shutil.rmtree, cls.home, ignore_errors=True)
		cls.server = enter(cls, start_server(cls.home, **cls.environment))
		cls.sessions = {ADMIN: cls.server.login(PASSWORD)}
		cls.tokens: dict[str, str] = {}

	def setUp(self):
		# A test that is tried again begins on a fresh site: its first try may have left records behind.
		if self.id() in self.begun:
			self.doClassCleanups()
			self.setUpClass()
		self.begun.add(self.id())

	@classmethod
	def add_user(cls, email: str, *roles: str) -> None:
		"""A person with these roles, signed in."""
		values = {"email": email, "first_name": email.split("@")[0].title(), "new_password": PASSWORD}
		cls.make("User", **values, send_welcome_email=0, roles=[{"role": role} for role in roles])
		cls.sessions[email] = cls.server.login(PASSWORD, email)

	@classmethod
	def open_guest_page(cls, **options) -> AbstractContextManager:
		"""A page of a fresh profile, signed out, in the class's browser; options as for `browser.open_page`."""
		if cls.browser is None:
			cls.browser = enter(cls, start_browser())
		return open_page(cls.browser, cls.server.url, **options)

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
		"""REST in a user's session, by the token of its page."""
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
	"""Until what the page deletes can no longer be taken back, and is gone."""
	page.get_by_test_id("deletion").wait_for()
	with page.expect_response(lambda response: response.request.method == "DELETE"):
		page.get_by_test_id("deletion").wait_for(state="detached")


def choose(page, field: str, value: str) -> None:
	"""Finds a record in a link field and takes it."""
	page.get_by_test_id(f"field-{field}").fill(value)
	page.get_by_test_id("link-choice").filter(has_text=value).first.click()
