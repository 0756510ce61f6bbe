"""Authors of records that act with the rights of the user who saved them last, or are trusted like that user.

A save that only repeats what others have written must not give it the rights of the user who saves.
"""

from collections.abc import Iterable

import frappe

from huf.ai.storage.rows import update_cached_row
from huf.permissions import is_manager

AUTHORED = ("Agent Eval Case", "Agent Memory", "Agent Trigger")


def set_author(doctype: str, name: str, authors: Iterable[str]) -> None:
	"""Store the one of these users who has the fewest rights as the last editor. Does not commit."""
	if doctype in AUTHORED:
		update_cached_row(doctype, name, {"modified_by": min(authors, key=rank_rights)})


def rank_rights(user: str) -> tuple[bool, bool, int]:
	roles = frappe.get_roles(user)
	return "System Manager" in roles, is_manager(user), len(roles)
