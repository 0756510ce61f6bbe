"""Stores which records and conversations contain untrusted content, its origin, and who cleared it.

A renamed record keeps its row (`renames.py`). Nothing here commits.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

import frappe
from frappe.model.document import Document
from frappe.utils import now

from huf.ai.core.database_connections import let_statements_wait
from huf.ai.core.settings import find_cached
from huf.ai.core.stored_text import clip, digest
from huf.ai.storage.rows import insert_row, update_cached_row, update_row

UNTRUSTED = "Agent Untrusted Record"
MAX_NAMES = 500
OTHERS = "messages of others"
"""The origin of a conversation in which several users have written, or that was branched from another's."""
IS_OPEN = "coalesce(marked.cleared_by, '') = ''"
BY_OUTSIDER = f"((doc.owner = 'Guest' or author.user_type = 'Website User') and {IS_OPEN})"
"""SQL: a guest or a portal user owns `doc`, and nobody has trusted it."""


@let_statements_wait()
def mark_record(
	doctype: str, name: str, origins: Sequence[str], run: str | None, fields: Sequence[str] | None = None
) -> None:
	"""Record that fields of a document contain untrusted content (None: all fields). `run`: the run that
	wrote it.
	"""
	record = {"reference_doctype": doctype, "reference_name": name}
	known = frappe.db.get_value(
		UNTRUSTED,
		record,
		["name", "cleared_by", "origin", "fieldnames"],
		as_dict=True,
		order_by="creation asc",
	)
	if known and not known.cleared_by:
		origins = list(dict.fromkeys([*(known.origin or "").splitlines(), *origins]))
		fields = sorted({*known.fieldnames.split(), *fields}) if known.fieldnames and fields else None
	values = {
		"origin": clip("\n".join(origins), 1000),
		"fieldnames": " ".join(fields or ()) or None,
		"run": run,
		"cleared_by": None,
		"cleared_at": None,
	}
	if known:
		update_row(UNTRUSTED, known.name, values)
	else:
		insert_row(UNTRUSTED, {**record, **values}, name=digest(doctype, name, now()))


def find_marked(doctype: str, names: Iterable[str] | None, fields: Iterable[str] | None = None) -> str | None:
	"""The origin of untrusted content in one of these records; None if all are trusted. Without `names`: in
	any record; with `fields`: only in these.
	"""
	filters: dict = {"reference_doctype": doctype, "cleared_by": ["is", "not set"]}
	if names is not None:
		filters["reference_name"] = ["in", list(names)[:MAX_NAMES]]
	read, columns = set(fields or ()), ["reference_name", "origin", "fieldnames"]
	first = 0 if fields else 1
	for row in frappe.get_all(UNTRUSTED, filters, columns, order_by="creation asc", limit=first):
		if not (fields and row.fieldnames and read.isdisjoint(row.fieldnames.split())):
			return f"{doctype} {row.reference_name}: {row.origin}"
	return None


def read_origin(doctype: str, name: str) -> str | None:
	"""The origin of a record's untrusted content; None if it is trusted."""
	filters = {"reference_doctype": doctype, "reference_name": name, "cleared_by": ["is", "not set"]}
	return frappe.db.get_value(UNTRUSTED, filters, "origin", order_by="creation asc")


def list_untrusted(doctype: str, names: Iterable[str]) -> set[str]:
	"""Those of the documents that contain untrusted content or belong to a guest or portal user."""
	values = {"doctype": doctype, "names": tuple(names)}
	if not values["names"]:
		return set()
	found = frappe.db.sql(
		f"""select doc.name from `tab{doctype}` doc {join_outsiders()}
		where doc.name in %(names)s and ((marked.name is not null and {IS_OPEN}) or {BY_OUTSIDER})""",
		values,
	)
	return {name for (name,) in found}


def clear_record(doctype: str, name: str, user: str) -> bool:
	"""Trust a record from now on; False if it already was. The row records who did it, and when."""
	if not find_marked(doctype, [name]):
		if not (origin := find_outsider(doctype, [name])):
			return False
		mark_record(doctype, name, [origin], None)
	record = {"reference_doctype": doctype, "reference_name": name, "cleared_by": ["is", "not set"]}
	for row in frappe.get_all(UNTRUSTED, record, pluck="name", order_by="name asc"):
		update_row(UNTRUSTED, row, {"cleared_by": user, "cleared_at": now()})
	return True


def reopen_record(doctype: str, name: str, since: datetime) -> None:
	"""Take back the trust that somebody has put in a record after this time."""
	trusted = {"reference_doctype": doctype, "reference_name": name, "cleared_at": [">=", since]}
	if origin := frappe.db.get_value(UNTRUSTED, trusted, "origin", order_by="creation asc"):
		mark_record(doctype, name, origin.splitlines(), None)


def find_outsider(doctype: str, names: Iterable[str] | None) -> str | None:
	"""A label of the first of these documents that belongs to a guest or portal user, or None.

	Without `names`: any document.
	"""
	if frappe.get_meta(doctype).issingle or names == []:
		return None
	known = "" if names is None else "doc.name in %(names)s and"
	found = frappe.db.sql(
		f"select doc.name from `tab{doctype}` doc {join_outsiders()} where {known} {BY_OUTSIDER} limit 1",
		{"doctype": doctype, "names": tuple(names or ())[:MAX_NAMES]},
	)
	return f"{doctype} {found[0][0]}" if found else None


def join_outsiders() -> str:
	# Names may be numbers, which Postgres does not compare with texts.
	name = "cast(doc.name as varchar)" if frappe.db.db_type == "postgres" else "doc.name"
	return f"""left join `tabUser` author on author.name = doc.owner
		left join `tab{UNTRUSTED}` marked on marked.reference_doctype = %(doctype)s
			and marked.reference_name = {name}"""


def is_outsider(user: str) -> bool:
	"""Whether a user is a guest or a portal user."""
	return user == "Guest" or getattr(find_cached("User", user), "user_type", None) == "Website User"


def mark_outsider_change(doc: Document, user: str, fields: Sequence[str] | None) -> None:
	"""Record that a guest or a portal user has changed a document.

	Their own documents are untrusted without a row, unless a person has trusted one before this change.
	"""
	record = {"reference_doctype": doc.doctype, "reference_name": doc.name}
	if doc.owner != user or frappe.db.exists(UNTRUSTED, record):
		mark_record(doc.doctype, doc.name, [user], None, fields)


def mark_outsider_document(doc: Document) -> None:
	"""Record that a guest or a portal user owns a document about which a run begins.

	Without a row, the run would count as trusted once the document is deleted.
	"""
	record = {"reference_doctype": doc.doctype, "reference_name": doc.name}
	if is_outsider(doc.owner) and not frappe.db.exists(UNTRUSTED, record):
		mark_record(doc.doctype, doc.name, [doc.owner], None)


def mark_trigger_runs(trigger: str) -> None:
	"""Record that the runs that a trigger has started so far began with outside content."""
	row = {"reference_doctype": "Agent Trigger", "reference_name": trigger, "origin": "trigger"}
	insert_row(UNTRUSTED, row, name=digest("Agent Trigger", trigger, now()))


def mark_conversations(names: Iterable[str], origins: Sequence[str]) -> None:
	"""Record that conversations contain untrusted content that none of their recorded calls has read."""
	for name in filter(None, names) if origins else ():
		# Locked, because another transaction may add its origins to the same text.
		stored = frappe.db.get_value("Agent Conversation", name, "origin", for_update=True)
		known = (stored or "").splitlines()
		if {*origins} <= {*known}:
			continue
		text = clip("\n".join(dict.fromkeys([*known, *origins])), 1000)
		update_cached_row("Agent Conversation", name, {"origin": text})
