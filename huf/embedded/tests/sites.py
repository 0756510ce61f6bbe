"""A temporary embedded site for a test class, and HTTP clients of it."""

import atexit
import contextvars
import json
import os
import shutil
import tempfile
import unittest
from pathlib import Path

import frappe
import frappe.app
from werkzeug.test import Client

from huf.embedded import site

PASSWORD = "a good password 7"
TEMPLATE = "HUF_TEST_TEMPLATE"


def isolated(call, *args, **kwargs):
	"""Run in a new context, as another request would: the caller's `frappe.local` stays unchanged."""
	return contextvars.copy_context().run(call, *args, **kwargs)


def make_template() -> str:
	"""The folder of a fresh site, which this process and those it starts share.

	A copy takes a hundredth of the time of creating a site.
	"""
	if TEMPLATE not in os.environ:
		folder = tempfile.mkdtemp(prefix="huf-test-")
		atexit.register(shutil.rmtree, folder, ignore_errors=True)
		isolated(site.create, Path(folder), PASSWORD)
		allow_tests(Path(folder))
		os.environ[TEMPLATE] = folder
	return os.environ[TEMPLATE]


def allow_tests(home: Path, is_allowed: bool = True) -> None:
	"""Set whether the site of `home` serves `samples.py`."""
	file = home / "sites" / site.SITE / "site_config.json"
	file.write_text(json.dumps({**json.loads(file.read_text()), "allow_tests": is_allowed}))


def make_site(home: Path) -> None:
	"""Create a site in `home`, where Administrator's password is PASSWORD."""
	shutil.copytree(make_template(), home, dirs_exist_ok=True)


class Browser:
	"""An HTTP client with cookies, which sends the CSRF token of its session after a login."""

	def __init__(self):
		self.client = Client(frappe.app.application)
		self.headers = {"Accept": "application/json"}

	def open(self, path: str, method="GET", headers=None, **body):
		headers = {**self.headers, **(headers or {})}
		return isolated(self._open, path, method=method, headers=headers, **body)

	def _open(self, path, **options):
		response = self.client.open(path, **options)
		response.get_data()
		response.close()
		return response

	def post(self, path, **body):
		return self.open(path, "POST", **body)

	def login(self, user="Administrator", password=PASSWORD):
		answer = self.post("/api/method/login", data={"usr": user, "pwd": password})
		if answer.status_code == 200:
			self.take_token()
		return answer

	def take_token(self):
		token = self.open("/api/method/huf.embedded.tests.samples.csrf_token").json["message"]
		self.headers["X-Frappe-CSRF-Token"] = token
		return token


class SiteTestCase(unittest.TestCase):
	"""Each test runs as Administrator, in a new context, on a site that the class shares."""

	@classmethod
	def setUpClass(cls):
		cls.home = Path(tempfile.mkdtemp(prefix="huf-test-"))
		cls.addClassCleanup(shutil.rmtree, cls.home, ignore_errors=True)
		cls.sites_path = str(cls.home / "sites")
		make_site(cls.home)

	def run(self, result=None):
		return isolated(super().run, result)

	def setUp(self):
		before = frappe.app._site, frappe.app._sites_path
		self.addCleanup(self.serve_site, *before)
		self.serve_site(site.SITE, self.sites_path)
		frappe.init(site.SITE, sites_path=self.sites_path, force=True)
		frappe.connect()
		frappe.local.flags.in_test = True
		self.addCleanup(frappe.destroy)

	def serve_site(self, name, sites_path):
		frappe.app._site, frappe.app._sites_path = name, sites_path

	def admin(self) -> Browser:
		browser = Browser()
		self.assertEqual(browser.login().status_code, 200)
		return browser

	def make_user(self, email: str, *roles: str, **values):
		if not frappe.db.exists("User", email):
			user = frappe.get_doc(
				{"doctype": "User", "email": email, "first_name": email.split("@")[0], **values}
			)
			user.new_password = PASSWORD
			for role in roles:
				user.append("roles", {"role": role})
			user.insert(ignore_permissions=True)
			frappe.db.commit()
		return email
