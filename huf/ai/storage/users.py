"""Reads and writes data about users: their own User records, which Frappe lets only System Managers write,
deputies, roles and sessions.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

import frappe
from frappe.sessions import delete_session
from frappe.utils import today

from huf.ai.core.database_connections import let_statements_wait
from huf.ai.core.stored_text import digest

ADDRESS = re.compile(r"""['"]session_ip['"]: ?['"]([0-9a-fA-F.:]{2,45})['"]""")
"""Finds the address in a session's data, which is JSON or, on a bench, the repr of a dict."""
OWN_FIELDS = ("first_name", "last_name", "language", "new_password")


def save_own_user(values: Mapping[str, Any]) -> None:
	"""Save fields of the session user's own record. Frappe's checks, such as the password policy, apply."""
	doc = frappe.get_doc("User", frappe.session.user)
	doc.update({name: value for name, value in values.items() if name in OWN_FIELDS})
	doc.save(ignore_permissions=True)


@let_statements_wait()
def delete_own_records(doc, method: str | None = None) -> None:
	"""Document event: delete with an account its settings and the facts kept for its user. A link of the
	settings would prevent the deletion.
	"""
	frappe.db.delete("Huf User Settings", {"user": doc.name})
	frappe.db.delete("Agent Memory", {"scope": "User", "user": doc.name})


def read_deputy(user: str) -> str | None:
	"""The deputy of a user who is away today, or None."""
	away = {"user": user, "away_until": [">=", today()]}
	return frappe.db.get_value("Huf User Settings", away, "deputy")


def read_named_deputy(user: str) -> str | None:
	"""The deputy that a user has named, whether the user is away or not."""
	return frappe.db.get_value("Huf User Settings", {"user": user}, "deputy")


def list_users_with_role(role: str) -> list[str]:
	"""Enabled users with a role."""
	having = {"role": role, "parenttype": "User"}
	names = frappe.get_all("Has Role", having, pluck="parent", order_by="creation asc")
	enabled = {"name": ["in", names], "enabled": 1}
	return frappe.get_all("User", enabled, pluck="name", order_by="creation asc") if names else []


def read_sessions(user: str, sid: str) -> list[dict]:
	"""A user's sessions, last used first: {id, last_used, address, is_current}. `sid`: the caller's."""
	# The embedded runtime stores a digest of the id.
	own = {sid, hashlib.sha256(sid.encode()).hexdigest()}
	return [
		{
			"id": name_session(each),
			"last_used": str(last_used),
			"address": read_session_address(data),
			"is_current": each in own,
		}
		for each, last_used, data in list_sessions(user)
	]


def has_open_session(user: str, sid: str) -> bool:
	"""Whether a user is enabled and a session is open; programs with an API key have none."""
	if not frappe.db.get_value("User", user, "enabled"):
		return False
	stored = (sid, hashlib.sha256(sid.encode()).hexdigest())
	open_sessions = frappe.db.sql("select 1 from `tabSessions` where sid in %s", (stored,))
	return sid == user or bool(open_sessions)


def end_session(user: str, name: str) -> bool:
	"""End the session that `read_sessions` lists as `name`. Returns whether it existed. Commits."""
	sid = next((each for each, *_rest in list_sessions(user) if name_session(each) == name), None)
	if sid:
		delete_session(sid=sid, user=user, reason="Ended by the user")
	return bool(sid)


def list_sessions(user: str) -> list:
	query = """select sid, lastupdate, sessiondata from `tabSessions`
		where `user` = %s order by lastupdate desc limit 100"""
	return frappe.db.sql(query, user)


def name_session(sid: str) -> str:
	"""An ID of a session that pages may see, because it cannot be used to sign in."""
	return digest(f"name of {sid}")


def read_session_address(sessiondata: str | None) -> str | None:
	found = ADDRESS.search(sessiondata or "")
	return found[1] if found else None
