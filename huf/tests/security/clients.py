"""A user who sends requests with an API key, as any program may. Runs on both runtimes."""

import unittest
from io import BytesIO

import frappe

from huf.tests.factories import make_user
from huf.tests.http import send

stricter_than_frappe = unittest.skipUnless("embedded" in frappe.__version__, "Frappe 15 allows this")
"""The embedded runtime also refuses this; on a bench there is nothing the app can do."""


class Client:
	"""Requests in the name of one user."""

	def __init__(self, *roles: str):
		self.user = make_user(*roles)
		self.headers = {"Accept": "application/json", "Authorization": f"token {give_api_key(self.user)}"}

	def send(self, path: str, method: str = "GET", **options):
		return send(path, method=method, headers={**self.headers, **options.pop("headers", {})}, **options)

	def upload(self, file_name: str, content: bytes, **form):
		file = (BytesIO(content), file_name)
		return self.send("/api/method/upload_file", "POST", data={"file": file, **form})


def give_api_key(user: str) -> str:
	"""`key:secret` of the user."""
	key, secret = frappe.generate_hash(length=15), frappe.generate_hash(length=15)
	document = frappe.get_doc("User", user)
	document.update({"api_key": key, "api_secret": secret})
	document.save()
	frappe.db.commit()
	return f"{key}:{secret}"
