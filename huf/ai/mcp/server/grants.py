"""OAuth tokens with which programs act as a user, and the MCP Grant records that they depend on.

A token is sealed with the site's key, contains its own claims, and is not stored. Deleting its grant revokes
it. Codes and refresh tokens can be used once: a second use means that they were copied, and deletes the
grant.
"""

import secrets
from typing import Any

import frappe

from huf.ai.core import sealed_tokens
from huf.ai.core.sealed_tokens import unseal
from huf.ai.core.settings import find_cached
from huf.ai.core.stored_text import digest
from huf.ai.storage.rows import insert_row, update_row
from huf.ai.storage.shared_values import share_value

GRANT = "MCP Grant"
CODE, ACCESS, REFRESH, CLIENT, REQUEST = "code", "access", "refresh", "client", "request"
LIFETIME_S = {CODE: 60, ACCESS: 3600, REFRESH: 30 * 24 * 3600, REQUEST: 900}
"""By kind of token; client registrations do not expire."""


def seal_grant(kind: str, **claims: Any) -> str:
	return sealed_tokens.seal(kind, LIFETIME_S.get(kind), **claims)


def insert_grant(code: str, user: str, client: str, client_name: str, resource: str) -> str | None:
	"""Create the grant of a code with this ID. None if the code was used before, which also deletes its
	grant. Commits.
	"""
	# A row that exists stays as it is, so of concurrent requests only one finds its own mark in it. A deleted
	# grant does not come back: the cache remembers the code until it has expired.
	name, mark = digest(code), -1 - secrets.randbelow(2**31 - 1)
	used = f"mcp_used_code:{name}"
	is_used = frappe.cache.get_value(used, expires=True)
	share_value(used, 1, LIFETIME_S[CODE])
	row = {"client": digest(client), "client_name": client_name[:140], "user": user, "resource": resource}
	insert_row(GRANT, {**row, "renewals": mark}, owner=user, name=name)
	is_new = not is_used and frappe.db.get_value(GRANT, name, "renewals", for_update=True) == mark
	if is_new:
		update_row(GRANT, name, {"renewals": 0})
	else:
		delete_grant(name)
	frappe.db.commit()
	return name if is_new else None


def find_grant(claims: dict, client: str | None = None):
	"""The grant of a token, if its user is enabled. `client`: the client that must hold it."""
	fields = ["name", "user", "client", "resource", "renewals"]
	row = frappe.db.get_value(GRANT, claims["grant"], fields, as_dict=True)
	user = row and find_cached("User", row.user)
	if not user or not user.enabled or (client and row.client != digest(client)):
		return None
	return row


def renew_grant(row, number: int) -> bool:
	"""Use up refresh token `number`; one that was used before deletes the grant. Commits."""
	is_first = frappe.db.get_value(GRANT, row.name, "renewals", for_update=True) == number
	if is_first:
		update_row(GRANT, row.name, {"renewals": number + 1})
	else:
		delete_grant(row.name)
	frappe.db.commit()
	return is_first


def delete_grant(name: str) -> None:
	frappe.db.delete(GRANT, {"name": name})


def find_token_user(token: str, resource: str) -> str | None:
	"""The user of an access token that was issued for this URL or a parent of it."""
	claims = unseal(ACCESS, token)
	row = claims and find_grant(claims)
	if not row or not f"{resource}/".startswith(f"{row.resource}/"):
		return None
	return row.user
