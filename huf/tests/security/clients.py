"""A client that sends requests as one user with an API key. Runs on both runtimes."""

import unittest
from io import BytesIO

import frappe

from huf.tests.factories import make_user
from huf.tests.http import send

stricter_than_frappe = unittest.skipUnless("embedded" in frappe.__version__, "Frappe 15 allows this")
"""Marks tests of what only the embedded runtime refuses; on a bench the app cannot prevent it."""


class Client:
	"""Sends requests as one user."""

	def __init__(self, *roles: str):
		self.user = make_user(*roles)
		self.headers = {"Accept": "application/json", "Authorization": f"token {give_api_key(self.user)}"}

	def send(self, path: str, method: str = "GET", **options):
		return send(path, method=method, headers={**self.headers, **options.pop("headers", {})}, **options)

	def upload(self, file_name: str, content: bytes, **form):
		file = (BytesIO(content), file_name)
		return self.send("/api/method/upload_file", "POST", data={"file": file, **form})


def give_api_key(user: str) -> str:
	"""Give a user a new API key; returns `key:secret`."""
	key, secret = frappe.generate_hash(length=15), frappe.generate_hash(length=15)
	document = frappe.get_doc("User", user)
	document.update({"api_key": key, "api_secret": secret})
	document.save()
	frappe.db.commit()
	return f"{key}:{secret}"
