"""Base of tests on a served bench: users, REST calls in their sessions, and headless Chromium.

HUF_BENCH_URL, HUF_BENCH_USER and HUF_BENCH_PASSWORD name a System Manager of a served site, HUF_BENCH_SHOTS a
folder for screenshots. Records that the tests create stay on the site; their names begin with "Desk Walk".
"""

import os
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from huf.embedded.tests.browser import get_browser, needs_browser
from huf.tests.base import enter

URL, USER, PASSWORD = (os.environ.get(f"HUF_BENCH_{key}") for key in ("URL", "USER", "PASSWORD"))
USER_PASSWORD = "a good password 7"


@needs_browser
@unittest.skipUnless(URL and USER and PASSWORD, "HUF_BENCH_URL, _USER and _PASSWORD name no bench")
class BenchTestCase(unittest.TestCase):
	@classmethod
	def setUpClass(cls):
		cls.people = {USER: cls.sign_in(USER, PASSWORD)}

	@classmethod
	def sign_in(cls, user: str, password: str) -> tuple:
		"""(REST session, browser context) of a user. A REST session without pages needs no CSRF token."""
		contexts = [
			enter(cls, get_browser().new_context(base_url=URL, viewport={"width": 1280, "height": 900}))
			for _ in range(2)
		]
		for context in contexts:
			answer = context.request.post("/api/method/login", form={"usr": user, "pwd": password})
			assert answer.ok, f"{URL} refuses the login of {user}: {answer.text()}"
		rest, context = contexts
		return rest.request, context

	@classmethod
	def add_person(cls, email: str, *roles: str) -> None:
		"""Create a user with these roles, or reuse the one of an earlier test run, and sign in."""
		values = {
			"first_name": email.split("@")[0].title(),
			"new_password": USER_PASSWORD,
			"send_welcome_email": 0,
		}
		cls.make("User", email, email=email, **values, roles=[{"role": role} for role in roles])
		cls.people[email] = cls.sign_in(email, USER_PASSWORD)

	@classmethod
	def make(cls, doctype: str, name: str | None = None, **values) -> dict:
		"""Create a document, or update the one of this name that an earlier test run left."""
		path = f"/api/resource/{quote(doctype)}"
		document_path = f"{path}/{quote(name)}" if name else ""
		rest = cls.people[USER][0]
		exists = document_path and rest.get(document_path).ok
		answer = rest.put(document_path, data=values) if exists else rest.post(path, data=values)
		assert answer.ok, answer.text()
		return answer.json()["data"]

	@classmethod
	def call(cls, method: str, user: str = USER, **values):
		"""Result of a whitelisted function."""
		answer = cls.people[user][0].post(f"/api/method/{method}", data=values)
		assert answer.ok, answer.text()
		return answer.json()["message"]

	@contextmanager
	def open_page(self, address: str, user: str = USER) -> Iterator:
		"""A page in a user's session; an uncaught error on it fails the test."""
		page = self.people[user][1].new_page()
		page.set_default_timeout(20_000)
		errors: list[str] = []
		page.on("pageerror", lambda error: errors.append(str(error)))
		page.goto(address)
		try:
			yield page
		except Exception:
			self.shoot(page, f"failed {self.id().split('.')[-1]}")
			raise
		page.close()
		self.assertEqual(errors, [])

	def shoot(self, page, name: str) -> None:
		if folder := os.environ.get("HUF_BENCH_SHOTS"):
			page.wait_for_timeout(1000)
			page.screenshot(path=Path(folder) / f"{name}.png")
