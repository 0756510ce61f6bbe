"""Installs or updates a pack: people's edits are preserved, and a failed installation is undone.

Documents are created in the order of their dependencies (`INSTALL_ORDER`). Documents that existed before are
left alone and do not become the pack's.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

import frappe
from frappe.utils import now_datetime

from huf.ai.core.documents import get_or_new
from huf.ai.core.errors import UsageError
from huf.ai.core.session import acting_as
from huf.ai.packs import entries, removing
from huf.ai.packs.contents import list_entries
from huf.ai.packs.entry_checks import check_entries
from huf.ai.packs.locking import changing_packs
from huf.ai.packs.manifest import Pack, PackEntry
from huf.ai.packs.missing_secrets import list_missing_secrets
from huf.ai.packs.removing import PACK
from huf.ai.packs.renaming import Names, find_renamed, get_document_key
from huf.ai.packs.shipped import PackSource, load_pack


@dataclass
class InstallReport:
	"""What an installation did; each line of text is about one document."""

	pack: str
	version: str
	made: list[str] = field(default_factory=list)
	changed: list[str] = field(default_factory=list)
	kept: list[str] = field(default_factory=list)
	left: list[str] = field(default_factory=list)
	removed: list[str] = field(default_factory=list)
	to_enter: list[str] = field(default_factory=list)

	def as_dict(self) -> dict:
		return vars(self)


def install_pack(source: PackSource, has_moved: bool = False) -> InstallReport:
	"""Install a pack or update it. Commits. After a UsageError nothing that it created is left.

	The one exception: an update that fails may have added or changed fields of DocTypes of the pack.
	`has_moved`: update the pack even if it was imported from another folder.
	"""
	pack, done, user = load_pack(source), False, frappe.session.user
	with changing_packs(), acting_as("Administrator"):
		known = frappe.get_doc(PACK, pack.name) if frappe.db.exists(PACK, pack.name) else None
		doc = open_record(pack, source, has_moved)
		if not known:
			# The audit log names who installed it.
			doc.db_set("owner", user, update_modified=False)
		try:
			began = now_datetime()
			report = install_entries(pack, source, doc)
			sign_triggers(doc, began, user)
			frappe.db.commit()
			done = True
		finally:
			if not done:
				frappe.db.rollback()
				removing.undo_update(known) if known else removing.undo_install(pack.name, user)
		frappe.clear_cache()
		return report


def sign_triggers(doc, since: datetime, user: str) -> None:
	"""Make the installing user the last editor of the new triggers.

	The installation saves them as Administrator, which would allow them what only a System Manager's triggers
	may do.
	"""
	names = [row.record_name for row in doc.records if row.record_doctype == "Agent Trigger" and row.made]
	saved = {"name": ["in", [*names, ""]], "modified": [">=", since], "modified_by": "Administrator"}
	frappe.db.set_value("Agent Trigger", saved, "modified_by", user, update_modified=False)


def install_entries(pack: Pack, source: PackSource, doc) -> InstallReport:
	report = InstallReport(pack.name, pack.version)
	rows = {fold_entry_key(row.record_doctype, row.entry): row for row in doc.records}
	made = {get_document_key(row) for row in doc.records if row.made}
	pack_entries = list_entries(pack, source, made)
	check_entries(pack_entries, is_shipped=bool(source.app))
	renamed, seen = find_renamed_entries(pack_entries, rows), set()
	gone = find_deleted(doc.records)
	for entry in pack_entries:
		if ("DocType", entry.doctype) in gone:
			seen |= {key for key in rows if key[0] == entry.doctype}
			continue
		with entries.naming_entry(entry):
			entry = entries.clean_rows(entry, gone)
			key = fold_entry_key(entry.doctype, entries.get_entry_key(entry))
			is_known = key in seen
			missing = entries.list_missing_links(entry, gone)
			links_ahead = entries.links_ahead(entry, pack_entries, renamed)
			entry = replace(entry, links_ahead=links_ahead, is_shipped=bool(source.app))
		if is_known:
			raise entry.fault(f"{entry.doctype} {entries.get_entry_key(entry)} appears twice.")
		seen.add(key)
		if missing and key not in rows:
			name = entries.get_entry_key(entry)
			report.kept.append(f"{entry.doctype} {name}: it needs {missing[0]}, which was deleted here.")
		else:
			install_entry(entry, rows.get(key), doc, report, renamed)
	drop_entries([rows[key] for key in reversed(rows) if key not in seen], doc, report, renamed)
	doc.save()
	report.to_enter += list_missing_secrets(doc.records)
	return report


def find_renamed_entries(pack_entries: Iterable[PackEntry], rows: Mapping) -> Names:
	"""Documents that people have renamed, under the names that the pack had for them and has now."""
	names = find_renamed(rows.values())
	for entry in pack_entries:
		if frappe.db.exists("DocType", entry.doctype):
			key = entries.get_entry_key(entry)
			row = rows.get(fold_entry_key(entry.doctype, key))
			if row and (entry.doctype, row.entry) in names:
				names[entry.doctype, key] = row.record_name
	return names


def find_deleted(rows: Iterable) -> set[tuple[str, str]]:
	"""(DocType, name in the pack) of documents that the pack has created and people have deleted."""
	gone = (row for row in rows if row.made and not frappe.db.exists(*get_document_key(row)))
	return {(row.record_doctype, row.entry) for row in gone}


def fold_entry_key(doctype: str, key: str) -> tuple[str, str]:
	"""Databases find a name in any case."""
	return doctype, key.casefold()


def open_record(pack: Pack, source: PackSource, has_moved: bool):
	"""Save the Agent Pack record, which must exist before the documents it lists."""
	doc = get_or_new(PACK, pack.name)
	known = bool(doc.name)
	if known and doc.app != source.app:
		raise UsageError(
			f"There is a pack {pack.name} already, from {doc.app or 'a folder'}. Remove it first."
		)
	folder = None if source.app else str(source.folder.resolve())
	if known and doc.folder and doc.folder != folder and not has_moved:
		raise UsageError(
			f"There is a pack {pack.name} already, imported from {doc.folder}. If this is the same pack in "
			"another folder, update it with --moved; otherwise remove the other one, or rename this one."
		)
	about = {"title": pack.title, "version": pack.version, "description": pack.description}
	module = source.tools_module if pack.has_tools else None
	doc.update({"pack_name": pack.name, **about, "app": source.app, "folder": folder, "tools_module": module})
	return doc.save()


def install_entry(entry: PackEntry, row, doc, report: InstallReport, renamed: Names) -> None:
	if row is None:
		return create_entry(entry, doc, report, renamed)
	label = f"{entry.doctype} {row.record_name}"
	if not row.made:
		return
	if not frappe.db.exists(entry.doctype, row.record_name):
		report.kept.append(f"{entry.doctype} {row.record_name}: it was deleted, and stays so.")
		return
	kept = json.loads(row.digests or "{}")
	merged, digests = entries.update_entry(entry, row.record_name, kept, renamed)
	row.digests = json.dumps(digests)
	if merged.changes:
		report.changed.append(f"{label}{describe_turned_off(entry, row.record_name)}")
	if merged.edited:
		what = ", ".join(merged.edited[:-1]) + " and " if merged.edited[1:] else ""
		verbs = ("were", "are") if what else ("was", "is")
		report.kept.append(f"{label}: {what}{merged.edited[-1]} {verbs[0]} changed here and {verbs[1]} kept.")


def create_entry(entry: PackEntry, doc, report: InstallReport, renamed: Names) -> None:
	name = entries.get_entry_name(entry)
	row = {"record_doctype": entry.doctype, "record_name": name, "entry": entries.get_entry_key(entry)}
	if name and frappe.db.exists(entry.doctype, name):
		if entry.doctype == "DocType" and not has_same_fields(entry, name):
			raise entry.fault(
				f"there is a DocType {name} already, which is not of this pack and does not "
				"have its fields. Rename one of them."
			)
		doc.append("records", {**row, "made": 0})
		report.left.append(f"{entry.doctype} {name}: it was there before.")
		return
	row = doc.append("records", {**row, "made": 1})
	if entry.doctype == "DocType":
		# The table is created outside the transaction, so the record must list it first.
		with entries.naming_entry(entry):
			doc.save()
	made = entries.insert_entry(entry, renamed)
	row.record_name = made.name
	row.digests = json.dumps(entries.build_first_digests(entry, row.record_name, renamed))
	report.made.append(f"{entry.doctype} {row.record_name}{describe_turned_off(entry, row.record_name)}")


def describe_turned_off(entry: PackEntry, name: str) -> str:
	doc = frappe.get_doc(entry.doctype, name) if entry.doctype == "Agent Trigger" else None
	is_off = doc and doc.disabled and (doc.lacks_user() or doc.acts_as_anybody())
	return ", turned off until you choose its Run As" if is_off and not entry.values.get("disabled") else ""


def has_same_fields(entry: PackEntry, name: str) -> bool:
	"""Whether a DocType that was made on the site has all fields of the pack's, so that it can be used."""
	known = {df.fieldname: df.fieldtype for df in frappe.get_meta(name).fields}
	fields = entry.values.get("fields") or ()
	wanted = {each.get("fieldname"): each.get("fieldtype") or "Data" for each in fields}
	return bool(frappe.db.get_value("DocType", name, "custom")) and wanted.items() <= known.items()


def drop_entries(rows: list, doc, report: InstallReport, renamed: Names) -> None:
	"""Delete documents that the pack no longer contains, unless people have changed them or use them. Those
	that need each other need more than one attempt.
	"""
	while rows:
		used = [row for row in rows if not drop_entry(row, doc, report, renamed)]
		if len(used) == len(rows):
			break
		rows = used
	for row in rows:
		label = f"{row.record_doctype} {row.record_name}"
		report.kept.append(f"{label}: the pack no longer has it, but it is in use and is kept.")
		doc.remove(row)


def drop_entry(row, doc, report: InstallReport, renamed: Names) -> bool:
	"""False if the document stays because something uses it."""
	label = f"{row.record_doctype} {row.record_name}"
	if row.made and frappe.db.exists(*get_document_key(row)):
		if removing.is_user_record(row, renamed) or removing.find_user_records([row], renamed):
			report.kept.append(f"{label}: the pack no longer has it, but it was changed here and is kept.")
		elif not removing.delete_unless_used(row):
			return False
		else:
			report.removed.append(label)
	doc.remove(row)
	return True


def format_report(report: InstallReport) -> Iterable[str]:
	"""The report as lines for people."""
	words = {
		"made": "New",
		"changed": "Changed",
		"removed": "Removed",
		"left": "Left alone",
		"kept": "Kept",
		"to_enter": "To enter here",
	}
	for key, word in words.items():
		for line in getattr(report, key):
			yield f"{word}: {line}"
	if not (report.made or report.changed or report.removed):
		yield f"{report.pack} {report.version} is as it was: nothing to change."
