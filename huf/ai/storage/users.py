"""Saves what users may change of their own User record, which Frappe lets only System Managers write."""

from collections.abc import Mapping
from typing import Any

import frappe
from frappe.utils import today

OWN_FIELDS = ("first_name", "last_name", "language", "new_password")


def save_own_user(values: Mapping[str, Any]) -> None:
	"""Save fields of the session user's own record; Frappe's checks, such as the password policy, apply."""
	doc = frappe.get_doc("User", frappe.session.user)
	doc.update({name: value for name, value in values.items() if name in OWN_FIELDS})
	doc.save(ignore_permissions=True)


def read_deputy(user: str) -> str | None:
	"""Who answers for a user who is away today."""
	away = {"user": user, "away_until": [">=", today()]}
	return frappe.db.get_value("Huf User Settings", away, "deputy")
