"""Endpoints of the audit log and of outside contacts, for managers."""

import json

import frappe
from werkzeug.wrappers import Response

from huf.ai.core.errors import UsageError
from huf.ai.core.request_values import read_time
from huf.ai.queries.audit import MAX_ENTRIES, Entry, read_audit
from huf.ai.queries.contacts import list_destinations, read_contacts

MANAGERS = {"Huf Manager", "System Manager"}


@frappe.whitelist(methods=["GET"])
def export(since: str = "", until: str = "", limit: int = MAX_ENTRIES):
	"""Audit log entries after `since` up to `until` as JSON lines, oldest first; see `huf.ai.queries.audit`.

	At most 5,000; pass the last entry's `time` as `since` for more. Huf Managers see entries about agents,
	System Managers also logins, users, roles and shares.
	"""
	roles = check_request(limit)
	entries = read_audit(read_time(since), read_time(until), "System Manager" in roles, int(limit))
	return write_lines(entries)


@frappe.whitelist(methods=["GET"])
def contacts(since: str = "", until: str = "", agent: str = "", limit: int = MAX_ENTRIES):
	"""Hosts, mail domains and servers that runs contacted or were not allowed to contact, as JSON lines; see
	`huf.ai.queries.contacts`. `agent`: only its runs. Times and limit are those of `export`.
	"""
	check_request(limit)
	return write_lines(read_contacts(read_time(since), read_time(until), agent, int(limit)))


@frappe.whitelist(methods=["GET"])
def destinations(since: str = "", until: str = "", agent: str = "", limit: int = MAX_ENTRIES):
	"""The same, grouped by destination and agent, with the count and the first and last time."""
	check_request(limit)
	return write_lines(list_destinations(read_time(since), read_time(until), agent, int(limit)))


def check_request(limit: int) -> set[str]:
	"""The caller's roles. Raises PermissionError and UsageError."""
	roles = set(frappe.get_roles())
	if not roles & MANAGERS:
		raise frappe.PermissionError
	if not 1 <= int(limit) <= MAX_ENTRIES:
		raise UsageError(f"Choose a limit of 1 to {MAX_ENTRIES:,}.")
	return roles


def write_lines(entries: list[Entry]) -> Response:
	text = "".join(json.dumps(entry, ensure_ascii=False, default=str) + "\n" for entry in entries)
	return Response(text, mimetype="application/x-ndjson")
