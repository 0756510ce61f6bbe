"""A pack taken away again: what it made, and nothing else. What people made with it is named, and goes only if they say so.

Documents go in one transaction; then the DocTypes and their tables, which no transaction holds. Broken off in between, it can be
done again.
"""

import json
from collections.abc import Iterable

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.packs import entries
from huf.ai.packs.contents import PLACES
from huf.ai.runs.admission import acting_as

PACK = "Agent Pack"
SHARED = ("Role", "AI Provider", "AI Model")
"""May be in use elsewhere by now: they stay where something links to them."""
BELONGS = {
	**{
		"Custom Field": "dt",
		"Property Setter": "doc_type",
		"Custom DocPerm": "parent",
		"DocShare": "share_doctype",
	},
	**{"User Permission": "allow", "Version": "ref_doctype", "Comment": "reference_doctype"},
}
"""What Frappe keeps beside a DocType, with the field that names it."""
NEEDS = {
	**dict.fromkeys(("Agent Trigger", "Agent Tool Function", "Server Script"), "reference_doctype"),
	**{"Report": "ref_doctype", "Notification": "document_type", "Workflow": "document_type"},
	**dict.fromkeys(("DocField", "Custom Field"), "options"),
}
"""What may need a DocType, with the field that names it."""
LAST = ("DocType", "Role")
TALKS = "Agent Conversation"


def remove(name: str, with_records: bool = False) -> list[str]:
	"""Remove an installed pack; gives a line a thing that is gone or stays. Commits.

	Raises UsageError where people made records with it and `with_records` is not said, or something else needs it.
	"""
	check_installed(name)
	with acting_as("Administrator"):
		doc = frappe.get_doc(PACK, name)
		hand_over(doc)
		rows = [row for row in reversed(doc.records) if row.made]
		check_needed(rows)
		people = peoples_records(rows)
		if people and not with_records:
			raise UsageError(
				f"People made records with this pack: {told(people)}. Say so if these are to go with it."
			)
		lines = delete_all(rows, people)
		drop_doctypes([row.record_name for row in rows if row.record_doctype == "DocType"])
		lines += [line for row in rows if row.record_doctype == "Role" for line in delete_row(row, set())]
		frappe.delete_doc(PACK, name, delete_permanently=True)
		frappe.db.commit()
		frappe.clear_cache()
	return [f"Removed: {told(people)}", *lines] if people else lines


def check_installed(name: str) -> None:
	if not frappe.db.exists(PACK, name):
		raise UsageError(f"The pack {name!r} is not installed.")


def take_back(name: str) -> None:
	"""After an installation that broke off: what outlived its transaction."""
	if frappe.db.exists(PACK, name):
		remove(name, with_records=True)


def hand_over(doc) -> None:
	"""What another pack needs as well is that pack's from now on."""
	others = frappe.get_all(
		"Agent Pack Record",
		{"parent": ["!=", doc.name], "made": 0},
		["name", "record_doctype", "record_name"],
		order_by="creation asc",
	)
	needed = {(row.record_doctype, row.record_name): row.name for row in others}
	for row in doc.records:
		if row.made and (other := needed.get((row.record_doctype, row.record_name))):
			frappe.db.set_value("Agent Pack Record", other, {"made": 1, "digests": row.digests})
			row.made = 0


def check_needed(rows: list) -> None:
	"""Raises UsageError where something that is not the pack's needs its DocTypes."""
	own = {(row.record_doctype, row.record_name) for row in rows}
	doctypes = [name for doctype, name in own if doctype == "DocType"]
	if not doctypes:
		return
	needing = []
	for each, field in NEEDS.items():
		if frappe.db.exists("DocType", each):
			found = frappe.get_all(each, {field: ["in", doctypes]}, order_by="name asc", pluck="name")
			needing += [
				("DocType", parent_of(name)) if each == "DocField" else (each, name) for name in found
			]
	if others := sorted({f"{doctype} {name}" for doctype, name in needing if (doctype, name) not in own}):
		raise UsageError(
			f"These need its DocTypes, and are not the pack's: {', '.join(others)}. Delete them first."
		)


def parent_of(field: str) -> str:
	return frappe.db.get_value("DocField", field, "parent")


def peoples_records(rows: list) -> dict[str, list[str]]:
	"""{DocType: names} of what people made or changed in the pack's DocTypes, and of what they said to its agents."""
	found = {}
	own = {(row.record_doctype, row.record_name): row for row in rows}
	for doctype in [name for kind, name in own if kind == "DocType"]:
		meta = frappe.get_meta(doctype)
		if not (meta.istable or meta.issingle):
			names = frappe.get_all(doctype, pluck="name", order_by="creation desc")
			found[doctype] = [name for name in names if is_peoples(own.get((doctype, name)))]
	agents = [name for kind, name in own if kind == "Agent"]
	if agents:
		found[TALKS] = frappe.get_all(
			TALKS, {"agent": ["in", agents]}, pluck="name", order_by="creation desc"
		)
	return {doctype: names for doctype, names in found.items() if names}


def is_peoples(row) -> bool:
	return row is None or entries.is_edited(
		row.record_doctype, row.record_name, json.loads(row.digests or "{}")
	)


def told(people: dict[str, list[str]]) -> str:
	return ", ".join(f"{len(names)} {doctype}" for doctype, names in people.items())


def delete_all(rows: list, people: dict[str, list[str]]) -> list[str]:
	"""All documents but DocTypes and roles, in one transaction. Raises UsageError with nothing deleted."""
	lines, own = [], {row.record_name for row in rows if row.record_doctype == "DocType"}
	try:
		for doctype, names in people.items():
			for name in names:
				delete_record(doctype, name, force=True)
		for row in rows:
			if row.record_doctype not in LAST:
				lines += delete_row(row, own)
	except frappe.LinkExistsError as error:
		frappe.db.rollback()
		raise UsageError(f"Something that is not the pack's needs it: {error}") from None
	return lines


def delete_row(row, doctypes: set[str]) -> Iterable[str]:
	doctype, name = row.record_doctype, row.record_name
	if not frappe.db.exists(doctype, name):
		return
	if doctype in SHARED:
		gone, why = delete_shared(doctype, name), "is in use"
	elif gone := not is_foreign(row, doctypes):
		delete_record(doctype, name, force=doctype in doctypes)
	else:
		why = "was changed here"
	yield f"Removed: {doctype} {name}" if gone else f"Stays: {doctype} {name} {why}."


def is_foreign(row, doctypes: set[str]) -> bool:
	"""A sample in a DocType that is not the pack's, and that a person has made theirs."""
	return row.record_doctype not in (*doctypes, *PLACES) and is_peoples(row)


def delete_shared(doctype: str, name: str) -> bool:
	"""Whether it could be deleted: nothing links to it, and nobody has given a provider a key."""
	doc = frappe.get_doc(doctype, name)
	if doctype == "AI Provider" and doc.modified != doc.creation:
		return False
	if doctype == "Role":
		frappe.db.delete("Has Role", {"role": name, "parenttype": "User"})
	try:
		delete_record(doctype, name)
	except frappe.LinkExistsError:
		return False
	return True


def delete_record(doctype: str, name: str, force: bool = False) -> None:
	"""With its attachments, a DocType with its table. A submitted document is cancelled before."""
	if doctype == "DocType":
		return drop_doctypes([name])
	doc = frappe.get_doc(doctype, name)
	if doc.docstatus == 1:
		doc.cancel()
	frappe.delete_doc(doctype, name, force=force, delete_permanently=True)


def drop_doctypes(names: list[str]) -> None:
	"""The definitions, what Frappe keeps beside them, and the tables, which deleting a DocType leaves behind."""
	for name in names:
		if not frappe.db.exists("DocType", name):
			continue
		for beside, field in BELONGS.items():
			if frappe.db.exists("DocType", beside):
				frappe.db.delete(beside, {field: name})
		frappe.delete_doc("DocType", name, delete_permanently=True)
		frappe.db.sql_ddl(f"drop table if exists `tab{name}`")
