"""Removes a pack: what it created, and what people created with it only if they confirm that.

All documents are deleted in one transaction, then the DocTypes with their tables, which no transaction
covers. After an interruption in between, the removal can be repeated.
"""

import json
from dataclasses import dataclass, field

import frappe
from frappe.utils import strip_html

from huf.ai.core.errors import UsageError
from huf.ai.core.session import acting_as
from huf.ai.packs import entries
from huf.ai.packs.contents import INSTALL_ORDER, RECORDS, TOOL
from huf.ai.packs.entry_checks import is_site_settings
from huf.ai.packs.locking import changing_packs
from huf.ai.packs.renaming import Names, find_renamed, get_document_key
from huf.ai.storage.rows import insert_row

PACK = "Agent Pack"
SAVEPOINT = "huf_pack_deletion"
SHARED = ("Role", "AI Provider", "AI Model")
"""Kept if something else links to them."""
SATELLITES = (
	("Custom Field", "dt"),
	("Property Setter", "doc_type"),
	("Custom DocPerm", "parent"),
	("DocShare", "share_doctype"),
	("User Permission", "allow"),
	("User Permission", "applicable_for"),
	("Version", "ref_doctype"),
	("Comment", "reference_doctype"),
	("Agent Untrusted Record", "reference_doctype"),
)
"""DocTypes whose rows belong to a DocType, with the field that names it; deleted with it."""
DEPENDENTS = {
	"Agent Trigger": "reference_doctype",
	"Agent Tool Function": "reference_doctype",
	"Knowledge Source": "reference_doctype",
	"Server Script": "reference_doctype",
	"Report": "ref_doctype",
	"Notification": "document_type",
	"Workflow": "document_type",
	"DocField": "options",
	"Custom Field": "options",
	"MCP Server Offer": "offer",
}
"""DocTypes whose rows may depend on a DocType, with the field that names it; they block its removal."""
ROWS_OF = {"DocField": "DocType", "MCP Server Offer": "MCP Server"}
"""DocTypes of DEPENDENTS whose rows are parts of another document."""
DELETED_LAST = ("DocType", "Role")
CONVERSATION = "Agent Conversation"


class UserRecordsLeft(UsageError):
	"""People created records with a pack, which are removed only if that is confirmed."""


@dataclass(frozen=True)
class RemovalReport:
	"""The documents that were removed, and those that stay, each with the reason."""

	removed: list[str] = field(default_factory=list)
	left: list[str] = field(default_factory=list)

	@property
	def lines(self) -> list[str]:
		return [*(f"Removed: {each}" for each in self.removed), *(f"Stays: {each}" for each in self.left)]


def remove_pack(name: str, with_records: bool = False) -> RemovalReport:
	"""Remove an installed pack. Commits. The audit log names the session user.

	Raises UserRecordsLeft if people created records with it and `with_records` is False, UsageError if
	something else depends on it.
	"""
	with changing_packs():
		return remove_installed(name, with_records, frappe.session.user)


def remove_installed(name: str, with_records: bool, user: str) -> RemovalReport:
	check_installed(name)
	with acting_as("Administrator"):
		doc = frappe.get_doc(PACK, name)
		transfer_shared_records(doc)
		made = [row for row in reversed(doc.records) if row.made]
		# What an update created is listed last, whatever needs it.
		rows = sorted(made, key=lambda row: -INSTALL_ORDER.get(row.record_doctype, RECORDS))
		check_needed([(PACK, name), *map(get_document_key, rows)])
		renamed = find_renamed(doc.records)
		people = find_user_records(rows, renamed)
		if people and not with_records:
			raise UserRecordsLeft(
				f"People made records with this pack: {format_counts(people)}. "
				"Confirm if these are to be deleted too."
			)
		report = RemovalReport([format_counts(people)] if people else [])
		delete_pack_documents(rows, people, renamed, report)
		doctypes = [row.record_name for row in rows if row.record_doctype == "DocType"]
		report.removed.extend(f"DocType {name}" for name in doctypes if frappe.db.exists("DocType", name))
		drop_doctypes(doctypes)
		for row in rows:
			if row.record_doctype == "Role":
				delete_row(row, set(), renamed, report)
		frappe.delete_doc(PACK, name, force=True, delete_permanently=True)
		insert_row("Deleted Document", {"deleted_doctype": PACK, "deleted_name": name}, user)
		frappe.db.commit()
		frappe.clear_cache()
	return report


def check_installed(name: str) -> None:
	if not frappe.db.exists(PACK, name):
		raise UsageError(f"The pack {name!r} is not installed.")


def undo_install(name: str, user: str) -> None:
	"""Clean up after a failed installation by `user`: remove what was created outside its transaction."""
	if frappe.db.exists(PACK, name):
		remove_installed(name, with_records=True, user=user)


def undo_update(known) -> None:
	"""Clean up after a failed update; `known` is the Agent Pack as it was before. Commits.

	Creating a table commits: then the new version and what had been created until then are stored.
	"""
	doc, seen = frappe.get_doc(PACK, known.name), {row.name for row in known.records}
	for row in [row for row in reversed(doc.records) if row.name not in seen]:
		if row.made and row.record_doctype == "DocType":
			drop_doctypes([row.record_name])
		elif row.made and frappe.db.exists(*get_document_key(row)):
			delete_record(*get_document_key(row))
		doc.remove(row)
	doc.update(
		{field: known.get(field) for field in ("title", "version", "description", "folder", "tools_module")}
	)
	doc.save()
	frappe.db.commit()


def transfer_shared_records(doc) -> None:
	"""Documents that another pack contains too become that pack's."""
	others = frappe.get_all(
		"Agent Pack Record",
		{"parent": ["!=", doc.name], "made": 0},
		["name", "record_doctype", "record_name"],
		order_by="creation asc",
	)
	needed = {get_document_key(row): row.name for row in others}
	for row in doc.records:
		if row.made and (other := needed.get(get_document_key(row))):
			frappe.db.set_value("Agent Pack Record", other, {"made": 1, "digests": row.digests})
			row.made = 0


def check_needed(own: list[tuple[str, str]]) -> None:
	"""Raise UsageError if anything else depends on one of these DocTypes, or offers the pack among them."""
	wanted = [name for doctype, name in own if doctype in ("DocType", PACK)]
	needing = []
	for each, column in DEPENDENTS.items():
		if wanted and frappe.db.exists("DocType", each):
			kind, key = (ROWS_OF[each], "parent") if each in ROWS_OF else (each, "name")
			found = frappe.get_all(each, {column: ["in", wanted]}, order_by="name asc", pluck=key)
			needing += [(kind, name) for name in found]
	if others := sorted({f"{doctype} {name}" for doctype, name in needing if (doctype, name) not in own}):
		raise UsageError(
			f"These need it or its DocTypes, and are not the pack's: {', '.join(others)}. "
			"Change or delete them first."
		)


def find_user_records(rows: list, renamed: Names) -> dict[str, list[str]]:
	"""{DocType: names} of records that people created or changed in its DocTypes, and conversations with its
	agents. `renamed`: documents of the pack with their names here.
	"""
	found = {}
	own = {get_document_key(row): row for row in rows}
	# An interrupted removal has deleted some of the DocTypes, or a person has.
	doctypes = [name for kind, name in own if kind == "DocType" and frappe.db.exists(kind, name)]
	for doctype in doctypes:
		meta = frappe.get_meta(doctype)
		if not (meta.istable or meta.issingle or meta.is_virtual):
			names = frappe.get_all(doctype, pluck="name", order_by="creation desc")
			found[doctype] = [name for name in names if is_user_record(own.get((doctype, name)), renamed)]
	agents = [name for kind, name in own if kind == "Agent"]
	if agents:
		found[CONVERSATION] = frappe.get_all(
			CONVERSATION, {"agent": ["in", agents]}, pluck="name", order_by="creation desc"
		)
	return {doctype: names for doctype, names in found.items() if names}


def is_user_record(row, renamed: Names) -> bool:
	"""Whether people made or changed it. The site's settings, which packs could once contain, are theirs."""
	if row is None or is_site_settings(row.record_doctype):
		return True
	kept = json.loads(row.digests or "{}")
	return entries.is_edited(*get_document_key(row), kept, renamed)


def format_counts(people: dict[str, list[str]]) -> str:
	return ", ".join(f"{len(names)} {doctype}" for doctype, names in people.items())


def delete_pack_documents(
	rows: list, people: dict[str, list[str]], renamed: Names, report: RemovalReport
) -> None:
	"""Delete all documents but DocTypes and roles in one transaction.

	After a UsageError nothing is deleted.
	"""
	own = {row.record_name for row in rows if row.record_doctype == "DocType"}
	if tools := [row.record_name for row in rows if row.record_doctype == TOOL]:
		# A tool and the agent that it calls need each other.
		frappe.db.set_value(TOOL, {"name": ["in", tools]}, "agent", None)
	try:
		for doctype, names in people.items():
			for name in names:
				delete_record(doctype, name, force=True)
		for row in rows:
			if row.record_doctype not in DELETED_LAST:
				delete_row(row, own, renamed, report)
	except frappe.LinkExistsError as error:
		frappe.db.rollback()
		# Of what can be disabled, Frappe says only that; its first error names the link.
		first = error.__context__ if isinstance(error.__context__, frappe.LinkExistsError) else error
		reason = strip_html(str(first)).strip()
		raise UsageError(f"Something that is not the pack's needs it: {reason}") from None


def delete_row(row, doctypes: set[str], renamed: Names, report: RemovalReport) -> None:
	doctype, name = row.record_doctype, row.record_name
	# The table of a DocType that a person deleted still has its records.
	if not frappe.db.exists("DocType", doctype) or not frappe.db.exists(doctype, name):
		return
	if doctype in SHARED:
		gone, why = delete_shared(doctype, name), "is in use"
	elif gone := not is_foreign(row, doctypes, renamed):
		delete_record(doctype, name, force=doctype in doctypes)
	else:
		why = "was changed here"
	if gone:
		report.removed.append(f"{doctype} {name}")
	else:
		report.left.append(f"{doctype} {name} {why}.")


def is_foreign(row, doctypes: set[str], renamed: Names) -> bool:
	"""Whether it is a sample record in another app's DocType that people have changed."""
	return row.record_doctype not in (*doctypes, *INSTALL_ORDER) and is_user_record(row, renamed)


def delete_unless_used(row) -> bool:
	"""Delete a document that an update no longer has; returns whether it was deleted."""
	if row.record_doctype != "DocType":
		return delete_shared(*get_document_key(row))
	try:
		check_needed([get_document_key(row)])
	except UsageError:
		return False
	drop_doctypes([row.record_name])
	return True


def delete_shared(doctype: str, name: str) -> bool:
	"""Delete it unless something links to it or a provider was set up; returns whether it was deleted."""
	doc = frappe.get_doc(doctype, name)
	if doctype == "AI Provider" and doc.modified != doc.creation:
		return False
	messages = len(frappe.local.message_log)
	frappe.db.savepoint(SAVEPOINT)
	if doctype == "Role":
		frappe.db.delete("Has Role", {"role": name, "parenttype": "User"})
	try:
		delete_record(doctype, name)
	except frappe.LinkExistsError:
		frappe.db.rollback(save_point=SAVEPOINT)
		del frappe.local.message_log[messages:]
		return False
	return True


def delete_record(doctype: str, name: str, force: bool = False) -> None:
	"""Delete a document (after cancelling it) with its attachments, or a DocType with its table."""
	if doctype == "DocType":
		return drop_doctypes([name])
	doc = frappe.get_doc(doctype, name)
	if doc.docstatus == 1:
		doc.cancel()
	frappe.delete_doc(doctype, name, force=force, delete_permanently=True)


def drop_doctypes(names: list[str]) -> None:
	"""Delete DocTypes with what Frappe keeps for them, and their tables, which Frappe would leave.

	The table of a DocType that a person deleted stays, because it may have records of that person. Links from
	elsewhere cannot stop this: dropping the first table commits.
	"""
	for name in names:
		if not frappe.db.exists("DocType", name):
			continue
		for beside, column in SATELLITES:
			if frappe.db.exists("DocType", beside):
				frappe.db.delete(beside, {column: name})
		frappe.delete_doc("DocType", name, force=True, delete_permanently=True)
		frappe.db.sql_ddl(f"drop table if exists `tab{name}`")
