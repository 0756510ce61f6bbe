"""Authors of records that act, or are trusted, like the user who saved them last.

A save that only repeats what others have written must not lend them the rights of who makes it.
"""

from collections.abc import Iterable

import frappe

from huf.ai.storage.rows import update_cached_row
from huf.permissions import is_manager

AUTHORED = ("Agent Eval Case", "Agent Memory", "Agent Trigger")


def name_author(doctype: str, name: str, authors: Iterable[str]) -> None:
	"""Make the one of these users who may do least the last editor of such a record. Does not commit."""
	if doctype in AUTHORED:
		update_cached_row(doctype, name, {"modified_by": min(authors, key=rank_rights)})


def rank_rights(user: str) -> tuple[bool, bool, int]:
	roles = frappe.get_roles(user)
	return "System Manager" in roles, is_manager(user), len(roles)
