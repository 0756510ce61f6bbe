"""Creates and updates one document of a pack on this site. Does not commit."""

import json
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace

import frappe
from frappe.model.naming import NamingSeries
from frappe.utils import strip_html

from huf.ai.core.errors import UsageError
from huf.ai.packs.entry_checks import ROW_KEYS, list_secret_fields
from huf.ai.packs.manifest import PackEntry
from huf.ai.packs.merging import (
	Digests,
	Merged,
	Parts,
	build_digests,
	compute_part_digest,
	is_equal_part,
	merge_parts,
	split_document_parts,
)
from huf.ai.packs.renaming import FORMAT_FIELD, Names, list_naming_fields, rename_links, reverse_names
from huf.ai.storage.authors import set_author
from huf.ai.storage.untrusted_records import mark_record
from huf.ai.tools.schemas import TABLE_TYPES

NO_NAMES: Names = {}
LINK_TYPES = ("Link", *TABLE_TYPES)


def get_entry_name(entry: PackEntry) -> str | None:
	"""The name that the document has or will get; None if it depends on the site (series, hash)."""
	if name := entry.values.get("name"):
		return str(name)
	rule = frappe.get_meta(entry.doctype).autoname or ""
	names = list_naming_fields(rule)
	if not (names and all(entry.values.get(each) for each in names)):
		return None
	if rule.startswith("field:"):
		return str(entry.values[names[0]])
	return FORMAT_FIELD.sub(lambda found: str(entry.values[found[1]]), rule.removeprefix("format:"))


def get_entry_key(entry: PackEntry) -> str:
	"""Identifies the entry within its pack: its name, else a digest of its values."""
	return str(get_entry_name(entry) or compute_part_digest(entry.values))


def clean_rows(entry: PackEntry, gone: Collection[tuple[str, str]]) -> PackEntry:
	"""The entry with rows that are new ones of its document, whatever document and name they claim; without
	rows, such as an agent's tool, that link to documents which are `gone`: (DocType, name).
	"""
	values = dict(entry.values)
	# What has no name is known by its values.
	gone = gone if get_entry_name(entry) else ()
	for table in frappe.get_meta(entry.doctype).get_table_fields():
		if not (rows := values.get(table.fieldname)):
			continue
		links = {df.fieldname: df.options for df in frappe.get_meta(table.options).get_link_fields()}
		values[table.fieldname] = [
			{key: value for key, value in row.items() if key not in ROW_KEYS}
			for row in rows
			if not any((options, row.get(field)) in gone for field, options in links.items())
		]
	return replace(entry, values=values)


def list_missing_links(entry: PackEntry, gone: Collection[tuple[str, str]]) -> list[str]:
	"""What the document links to and is `gone`, as texts."""
	links = list_links(entry) if gone and entry.doctype != "DocType" else ()
	return [f"{doctype} {name}" for doctype, name in links if (doctype, name) in gone]


def links_ahead(entry: PackEntry, pack_entries: Iterable[PackEntry], renamed: Names = NO_NAMES) -> bool:
	"""Whether it links to a document of the pack that is created later: some link to each other."""
	links = {link for link in list_links(entry) if link not in renamed}
	missing = {(doctype, name) for doctype, name in links if not frappe.db.exists(doctype, name)}
	doctypes = {doctype for doctype, _name in missing}
	return bool(missing) and any(
		(each.doctype, get_entry_name(each)) in missing for each in pack_entries if each.doctype in doctypes
	)


def list_links(entry: PackEntry) -> Iterator[tuple[str, str]]:
	"""(DocType, name) of what it links to."""
	doc = frappe.get_doc(deepcopy({"doctype": entry.doctype, **entry.values}))
	if entry.doctype == "DocType":
		yield from (("DocType", row.options) for row in doc.fields if row.fieldtype in LINK_TYPES)
		return
	for each in (doc, *doc.get_all_children()):
		for df in each.meta.get_link_fields():
			if isinstance(name := each.get(df.fieldname), str) and name:
				yield df.options, name


def insert_entry(entry: PackEntry, renamed: Names = NO_NAMES):
	"""Insert and return the document. `renamed`: documents with their names here.

	Raises UsageError that names the entry's place if the site refuses it.
	"""
	# Frappe modifies the rows that it receives.
	linked = rename_links(entry.doctype, entry.values, renamed)
	values = deepcopy({"doctype": entry.doctype, **linked, **(entry.initial_values or {})})
	with naming_entry(entry):
		doc = frappe.get_doc(values)
		doc.flags.ignore_links = entry.links_ahead
		turn_off_without_user(entry, doc)
		if doc.doctype == "DocType" and doc.is_submittable:
			# Frappe adds this field, Frappe 15 also to a DocType that has it.
			doc.set("fields", [field for field in doc.fields if field.fieldname != "amended_from"])
		given = entry.values.get("name") if entry.doctype != "DocType" else None
		with linking_ahead(entry):
			doc = doc.insert(set_name=given)
		if given:
			advance_naming_series(doc)
	if entry.untrusted:
		mark_record(doc.doctype, doc.name, [entry.untrusted], None)
	return doc


def turn_off_without_user(entry: PackEntry, doc) -> None:
	"""Turn off a trigger that acts as a user whom nobody here has chosen, unless it did so before."""
	if doc.doctype != "Agent Trigger":
		return
	stored = doc.name and frappe.db.exists(doc.doctype, doc.name)
	is_known = stored and frappe.get_doc(doc.doctype, doc.name).acts_as_anybody()
	if doc.lacks_user() or (doc.acts_as_anybody() and not entry.is_shipped and not is_known):
		doc.disabled = 1


def advance_naming_series(doc) -> None:
	"""Advance the DocType's series past an installed document's name, which no new document could take."""
	rule = doc.meta.autoname or ""
	key = doc.naming_series if rule == "naming_series:" else rule
	if not key or ":" in key or (key == rule and "#" not in key):
		return
	series = NamingSeries(key)
	prefix = series.get_prefix()
	number = doc.name.removeprefix(prefix)
	if doc.name.startswith(prefix) and number.isdecimal() and int(number) > series.get_current_value():
		series.update_counter(int(number))


@contextmanager
def linking_ahead(entry: PackEntry) -> Iterator[None]:
	"""Let a DocType link to one that is created later, as those of fixtures may."""
	before = frappe.flags.in_fixtures
	frappe.flags.in_fixtures = before or (entry.links_ahead and entry.doctype == "DocType")
	try:
		yield
	finally:
		frappe.flags.in_fixtures = before


@contextmanager
def naming_entry(entry: PackEntry) -> Iterator[None]:
	"""Turn validation errors, and those of values that do not fit, into a UsageError that names the entry's
	place.
	"""
	refused = frappe.ValidationError, frappe.DoesNotExistError, frappe.NameError
	try:
		yield
	except (frappe.DuplicateEntryError, frappe.UniqueValidationError) as error:
		# Their arguments are the DocType, the name and the database's error.
		name = next(iter(error.args[1:]), "the record")
		reason = f"{name} or one of its unique values exists already."
		raise UsageError(f"{entry.place} ({entry.doctype}): {reason}") from error
	except (*refused, frappe.db.DataError, frappe.db.OperationalError) as error:
		raise UsageError(f"{entry.place} ({entry.doctype}): {strip_html(str(error))}") from error
	except (AttributeError, KeyError, TypeError, ValueError) as error:
		raise UsageError(f"{entry.place} ({entry.doctype}): a value does not fit: {error}") from error


def split_entry(entry: PackEntry) -> Parts:
	values = {k: v for k, v in entry.values.items() if k not in ("name", "doctype")}
	for table in frappe.get_meta(entry.doctype).get_table_fields():
		if secret := values.get(table.fieldname) and list_secret_fields(table.options):
			values[table.fieldname] = [
				{key: each for key, each in row.items() if key not in secret}
				for row in values[table.fieldname]
			]
	return split_document_parts(entry.doctype, values)


def read_stored_parts(doctype: str, name: str, parts: Iterable[str], renamed: Names) -> Parts:
	"""The stored values of these parts, without passwords and with the pack's names."""
	doc = frappe.get_doc(doctype, name)
	fields = dict.fromkeys(part.partition("[")[0] for part in parts)
	secret = list_secret_fields(doctype)
	values = {each: to_plain_rows(doc.get(each)) for each in fields if each not in secret}
	return split_document_parts(doctype, rename_links(doctype, values, reverse_names(renamed)))


def to_plain_rows(value):
	return [row.as_dict() for row in value] if isinstance(value, list) else value


def build_first_digests(entry: PackEntry, name: str, renamed: Names = NO_NAMES) -> Digests:
	given = split_entry(entry)
	return build_digests({}, given, read_stored_parts(entry.doctype, name, given, renamed))


def update_entry(
	entry: PackEntry, name: str, kept: Digests, renamed: Names = NO_NAMES
) -> tuple[Merged, Digests]:
	"""Write what the pack has changed since `kept` was computed; people's edits stay. Saves only if something
	differs. `renamed`: documents with their names here.

	Returns the merge and the digests to store, both with the pack's names.
	"""
	# Stored secrets are the site's: nothing tells who has set them.
	secret = list_secret_fields(entry.doctype)
	given = {part: value for part, value in split_entry(entry).items() if part not in secret}
	kept = {part: each for part, each in kept.items() if part not in secret}
	is_new = not set(given) <= set(kept)
	changed = list_versioned_parts(entry.doctype, name) if is_new else set()
	if entry.doctype == "Agent Trigger":
		changed |= {"disabled"}  # a trigger that is on here stays on, though exports now turn it off
	stored = read_stored_parts(entry.doctype, name, [*given, *kept], renamed)
	merged = merge_parts(kept, given, stored, changed)
	if merged.changes:
		with naming_entry(entry):
			doc = frappe.get_doc(entry.doctype, name)
			doc.flags.ignore_links = entry.links_ahead
			write_parts(doc, deepcopy(merged.changes), renamed)
			turn_off_without_user(entry, doc)
			with linking_ahead(entry):
				author = doc.modified_by
				doc.save(ignore_version=True)  # versions are for changes made by people
				set_author(doc.doctype, name, (author, doc.modified_by))
		if entry.untrusted:
			mark_record(entry.doctype, name, [entry.untrusted], None)
	stored = read_stored_parts(entry.doctype, name, given, renamed)
	return merged, build_digests(kept, given, stored, merged.edited)


def list_versioned_parts(doctype: str, name: str) -> set[str]:
	"""The parts that a document's history shows as changed: fields, tables, and rows that people added."""
	history = {"ref_doctype": doctype, "docname": name}
	rows = frappe.get_all("Version", filters=history, pluck="data", order_by="creation asc")
	found: set[str] = set()
	for data in (json.loads(each or "{}") for each in rows):
		for kind in ("changed", "row_changed", "removed"):
			found |= {change[0] for change in data.get(kind) or ()}
		for table, row in data.get("added") or ():
			found |= split_document_parts(doctype, {table: [row]}).keys()
	return found


def write_parts(doc, changes: Parts, renamed: Names) -> None:
	for part, value in changes.items():
		table, is_row, _ = part.partition("[")
		if is_row:
			write_row_part(doc, table, part, value, renamed)
		elif doc.meta.get_field(table).fieldtype in TABLE_TYPES:
			write_table(doc, table, rename_links(doc.doctype, {table: value or []}, renamed)[table])
		else:
			doc.update(rename_links(doc.doctype, {table: value}, renamed))


def write_row_part(doc, table: str, part: str, value: dict | None, renamed: Names) -> None:
	"""Change, append or (`value` None) remove the row of a part."""
	names = reverse_names(renamed)

	def list_parts(row) -> Parts:
		given = rename_links(doc.doctype, {table: [row.as_dict()]}, names)
		return split_document_parts(doc.doctype, given)

	row = next((row for row in doc.get(table) if part in list_parts(row)), None)
	if value is None:
		if row:
			doc.remove(row)
		return
	[value] = rename_links(doc.doctype, {table: [value]}, renamed)[table]
	if row:
		row.update(value)
	else:
		doc.append(table, value)


def write_table(doc, table: str, rows: list[dict]) -> None:
	"""Replace the rows. An existing one stays, with the secret that was entered in it."""
	there = [row.as_dict() for row in doc.get(table)]
	doc.set(table, [])
	for row in rows:
		same = next((each for each in there if is_equal_part([row], [each])), None)
		if same:
			there.remove(same)
		doc.append(table, {**same, "idx": None} if same else row)


def is_edited(doctype: str, name: str, kept: Digests, renamed: Names = NO_NAMES) -> bool:
	"""Whether a person has changed the installed document, other than by renaming documents of the pack."""
	stored = read_stored_parts(doctype, name, kept, renamed)
	return bool(merge_parts(kept, {}, stored).edited)
