"""Base class of generated operations by several users: their sign-in, and the changes of an operation."""

import json
from abc import ABC, abstractmethod
from typing import Any
from urllib.parse import urlencode

import frappe

from huf.tests.http import send
from huf.tests.security.clients import give_api_key

READS = ("list", "count", "get", "may")
"""First words of the names of operations that change nothing."""


class PeopleReplay(ABC):
	"""Executes operations of several users; `run` returns the answer and restores changed documents."""

	def __init__(self, users: dict[str, str]) -> None:
		self.users = users
		self.headers = {
			person: {"Authorization": f"token {give_api_key(user)}"} for person, user in self.users.items()
		}
		self.headers["guest"] = {}
		self.fill()
		self.before = self.describe_all()

	@abstractmethod
	def fill(self) -> None:
		"""Restore the initial documents and commit."""

	@abstractmethod
	def describe_all(self) -> dict[str, dict]:
		"""The content of each document, by name."""

	@abstractmethod
	def describe(self, doc: dict) -> dict:
		"""The content of a document."""

	def run(self, operation: dict) -> Any:
		rest = {key: value for key, value in operation.items() if key != "do"}
		try:
			answer = getattr(self, operation["do"])(**rest)
		except Exception as error:
			answer = {"error": type(error).__name__}
		finally:
			frappe.set_user("Administrator")
			frappe.db.rollback()
			frappe.local.message_log = []
		if operation["do"].partition("_")[0] not in READS:
			answer = [answer, self.read_changes()]
			self.fill()
		return json.loads(self.without_users(frappe.as_json(answer)))

	def without_users(self, text: str) -> str:
		for person, user in self.users.items():
			text = text.replace(user, f"@{person}")
		return text

	def read_changes(self) -> list:
		"""Changes since the beginning: [[name, content] of new and changed documents, deleted names]."""
		now = self.describe_all()
		changed = [[name, now[name]] for name in sorted(now) if now[name] != self.before.get(name)]
		return [changed, sorted(set(self.before) - set(now))]

	def send(self, person: str, path: str, method: str = "GET", **options):
		headers = {"Accept": "application/json", **self.headers[person]}
		response = send(path, method=method, headers=headers, **options)
		body = response.get_json(silent=True) or {}
		data = body.get("data", body.get("message"))
		error = body.get("exc_type") or [each.get("type") for each in body.get("errors") or []]
		if isinstance(data, dict) and "doctype" in data and data["doctype"] != "File":
			data = self.describe(data)
		return [response.status_code, data, error]


def encode(query: dict) -> str:
	return urlencode(
		{key: value if isinstance(value, str) else json.dumps(value) for key, value in query.items()}
	)
