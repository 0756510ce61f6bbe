"""A pack brought to this site, or up to a newer version of itself. A person's edits stay; nothing is made twice.

Made in the order in which things need one another: roles, DocTypes, records, tools, models, agents, rules, triggers, evals. What
was there before is left as it is, and is not the pack's. Where it fails, what it made is taken back.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.packs import entries, removing
from huf.ai.packs.contents import all_entries
from huf.ai.packs.manifest import Entry, Pack
from huf.ai.packs.shipped import Source, load_pack
from huf.ai.runs.admission import acting_as

PACK = "Agent Pack"


@dataclass
class Report:
	"""What came of it: lines of text, each about one document."""

	pack: str
	version: str
	made: list[str] = field(default_factory=list)
	changed: list[str] = field(default_factory=list)
	kept: list[str] = field(default_factory=list)
	left: list[str] = field(default_factory=list)
	removed: list[str] = field(default_factory=list)

	def as_dict(self) -> dict:
		return vars(self)


def install(source: Source) -> Report:
	"""Install a pack, or update it. Commits. Raises UsageError with nothing left of what it made."""
	pack, done = load_pack(source), False
	with acting_as("Administrator"):
		is_new = not frappe.db.exists(PACK, pack.name)
		doc = open_record(pack, source)
		try:
			report = bring(pack, source, doc)
			frappe.db.commit()
			done = True
		finally:
			if not done:
				frappe.db.rollback()
				if is_new:
					removing.take_back(pack.name)
		frappe.clear_cache()
		return report


def bring(pack: Pack, source: Source, doc) -> Report:
	report, kept = Report(pack.name, pack.version), {(r.record_doctype, r.entry): r for r in doc.records}
	made = {(row.record_doctype, row.record_name) for row in doc.records if row.made}
	wanted = all_entries(pack, source, made)
	for entry in wanted:
		entries.check_entry(entry)
	seen = set()
	for entry in wanted:
		key = entry.doctype, entries.key_of(entry)
		if key in seen:
			raise UsageError(f"{entry.place}: {entry.doctype} {key[1]} is there twice.")
		seen.add(key)
		bring_entry(entry, kept.get(key), doc, report)
	for key in [key for key in reversed(kept) if key not in seen]:
		drop(kept[key], doc, report)
	doc.save()
	return report


def open_record(pack: Pack, source: Source):
	"""The pack's record, which is there before anything it lists."""
	known = frappe.db.exists(PACK, pack.name)
	doc = frappe.get_doc(PACK, pack.name) if known else frappe.get_doc({"doctype": PACK})
	if known and doc.app != source.app:
		raise UsageError(
			f"There is a pack {pack.name} already, from {doc.app or 'a folder'}. Remove it first."
		)
	about = {"title": pack.title, "version": pack.version, "description": pack.description}
	module = source.tools_module if pack.has_tools else None
	doc.update({"pack_name": pack.name, **about, "app": source.app, "tools_module": module})
	doc.save() if known else doc.insert()
	return doc


def bring_entry(entry: Entry, row, doc, report: Report) -> None:
	told = f"{entry.doctype} {entries.key_of(entry)}"
	if row is None:
		return bring_new(entry, doc, report)
	if not row.made:
		return
	if not frappe.db.exists(entry.doctype, row.record_name):
		report.kept.append(f"{entry.doctype} {row.record_name}: it was deleted, and stays so.")
		return
	merged, digests = entries.bring_up(entry, row.record_name, json.loads(row.digests or "{}"))
	row.digests = json.dumps(digests)
	if merged.changes:
		report.changed.append(told)
	if merged.edited:
		report.kept.append(f"{told}: {', '.join(merged.edited)} was changed here, and stays.")


def bring_new(entry: Entry, doc, report: Report) -> None:
	name = entries.name_of(entry)
	row = {"record_doctype": entry.doctype, "record_name": name, "entry": entries.key_of(entry)}
	if name and frappe.db.exists(entry.doctype, name):
		if entry.doctype == "DocType":
			raise UsageError(f"{entry.place}: there is a DocType {name} already, which is not of this pack.")
		doc.append("records", {**row, "made": 0})
		report.left.append(f"{entry.doctype} {name}: it was there before.")
		return
	row = doc.append("records", {**row, "made": 1})
	if entry.doctype == "DocType":
		# Its table is made outside of the transaction: the record must know of it before.
		doc.save()
	row.record_name = entries.make(entry).name
	row.digests = json.dumps(entries.first_digests(entry, row.record_name))
	report.made.append(f"{entry.doctype} {row.record_name}")


def drop(row, doc, report: Report) -> None:
	"""What the pack no longer brings goes, unless a person has changed it: then it is theirs."""
	told = f"{row.record_doctype} {row.record_name}"
	if row.made and frappe.db.exists(row.record_doctype, row.record_name):
		if removing.is_peoples(row) or removing.peoples_records([row]):
			report.kept.append(f"{told}: the pack has it no more, but it was changed here, and stays.")
		else:
			removing.delete_record(row.record_doctype, row.record_name)
			report.removed.append(told)
	doc.remove(row)


def tell(report: Report) -> Iterable[str]:
	"""Lines for a person."""
	words = {"made": "New", "changed": "Changed", "removed": "Removed", "left": "Left alone", "kept": "Kept"}
	for key, word in words.items():
		for line in getattr(report, key):
			yield f"{word}: {line}"
	if not (report.made or report.changed or report.removed):
		yield f"{report.pack} {report.version} is as it was: nothing to change."
