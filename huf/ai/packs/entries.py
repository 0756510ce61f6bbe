"""Creates and updates one document of a pack on this site. Does not commit."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy

import frappe
from frappe.model.naming import NamingSeries
from frappe.utils import strip_html

from huf.ai.core.errors import UsageError
from huf.ai.core.yaml_lines import LineMapping
from huf.ai.packs.manifest import PackEntry
from huf.ai.packs.merging import (
	Digests,
	Merged,
	Parts,
	build_digests,
	compute_part_digest,
	merge_parts,
	split_document_parts,
)
from huf.ai.storage.untrusted_records import mark_record
from huf.ai.tools.schemas import TABLE_TYPES
from huf.permissions import MEMORY

FORMAT_FIELD = re.compile(r"\{(\w+)\}")
LINK_TYPES = ("Link", *TABLE_TYPES)
ROW_KEYS = ("name", "doctype", "idx", "parent", "parenttype", "parentfield")


def check_entries(pack_entries: Iterable[PackEntry], is_shipped: bool) -> None:
	"""Raise UsageError for unknown DocTypes, fields that a DocType lacks, settings of the site, and for what
	only a pack of an app may bring. Fields of DocTypes that do not exist yet are not checked.
	"""
	doctypes = [entry.values for entry in pack_entries if entry.doctype == "DocType"]
	added = {
		each["name"]: ["docstatus", *(row.get("fieldname") for row in each.get("fields") or ())]
		for each in doctypes
	}
	agents = {
		str(entry.values.get("agent_name")).casefold() for entry in pack_entries if entry.doctype == "Agent"
	}
	for entry in pack_entries:
		# As it is stored: databases find a name in any case.
		if frappe.db.get_value("DocType", entry.doctype, "name") == entry.doctype:
			check_entry_fields(entry, added)
			if not is_shipped:
				check_entry_rights(entry, agents)
		elif entry.doctype not in added:
			raise UsageError(f"{entry.place}: there is no DocType {entry.doctype}.")


def check_entry_rights(entry: PackEntry, agents: Collection[str]) -> None:
	"""Raise UsageError for an entry that could gain rights, take secrets or reach other agents. For packs
	that no app ships. `agents`: names of the pack's own agents, casefolded.
	"""
	if entry.doctype == MEMORY and str(entry.values.get("agent")).casefold() not in agents:
		raise UsageError(
			f"{entry.place}: agents of the site would read this fact. Name an agent of the pack."
		)
	rules = (entry.values.get("permissions") or ()) if entry.doctype == "DocType" else ()
	if any(str(rule.get("role")).strip().casefold() == "guest" for rule in rules):
		raise UsageError(
			f"{entry.place}: it grants rights to Guest, that is to everybody on the internet. Leave them "
			"out, and grant them on the site."
		)
	if entry.doctype not in ("Role", "DocType") and is_reserved(entry.doctype):
		raise UsageError(
			f"{entry.place}: only System Managers create records of {entry.doctype}, so only a pack of an "
			"app may contain them."
		)
	if entry.doctype == "AI Provider" and entry.values.get("api_base"):
		raise UsageError(
			f"{entry.place}: keys are sent to the address of an AI Provider. Leave api_base out, and enter "
			"it on the site."
		)
	for name in sorted(list_secret_fields(entry.doctype)):
		if entry.values.get(name):
			raise UsageError(f"{entry.place}: {name} is a secret. Leave it out, and enter it on the site.")
	run_as = entry.values.get("run_as") if entry.doctype in ("Agent Trigger", "Agent Mailbox") else None
	if run_as and "System Manager" in frappe.get_roles(str(run_as)):
		raise UsageError(
			f"{entry.place}: {run_as} is a System Manager. Leave run_as out, and choose Run As on the site."
		)


def is_reserved(doctype: str) -> bool:
	"""Whether records of an app's DocType, such as users, are created by nobody but System Managers."""
	meta = frappe.get_meta(doctype)
	creators = {rule.role for rule in meta.permissions if rule.create and not rule.permlevel}
	return not meta.custom and creators <= {"System Manager", "Administrator"}


def check_entry_fields(entry: PackEntry, added: Mapping[str, Collection[str]]) -> None:
	"""`added`: by DocType of this pack, the fields that it gets, and `docstatus`: it may be submittable."""
	if is_site_settings(entry.doctype):
		raise UsageError(
			f"{entry.place}: {entry.doctype} are settings of the site, which no pack may change."
		)
	check_entry_names(
		entry, entry.values, entry.doctype, [*get_builtin_keys(entry), *added.get(entry.doctype, ())]
	)
	# Rows of an exported DocType have fields of other versions of Frappe.
	tables = frappe.get_meta(entry.doctype).get_table_fields() if entry.doctype != "DocType" else ()
	for table in tables:
		rows = entry.values.get(table.fieldname)
		for row in rows if isinstance(rows, list) else ():
			if isinstance(row, Mapping):
				check_entry_names(entry, row, table.options, [*ROW_KEYS, *added.get(table.options, ())])


def check_entry_names(entry: PackEntry, values: Mapping, doctype: str, keys: Collection[str]) -> None:
	"""Raise UsageError for a name that is neither a field of the DocType nor one of these keys."""
	meta = frappe.get_meta(doctype)
	for name in values:
		if name not in keys and not meta.has_field(name):
			line = values.lines.get(name) if isinstance(values, LineMapping) else None
			place = re.sub(r"\d+$", str(line), entry.place) if line else entry.place
			raise UsageError(f"{place}: {doctype} has no field {name!r}.")


def is_site_settings(doctype: str) -> bool:
	"""Whether it is a Single of an app."""
	meta = frappe.get_meta(doctype)
	return bool(meta.issingle and not meta.custom)


def get_builtin_keys(entry: PackEntry) -> tuple[str, ...]:
	"""Keys that are not fields; those of an exported DocType are fields on a bench only."""
	more = ("actions", "links", "states") if entry.doctype == "DocType" else ()
	return ("name", "doctype", *more)


def get_entry_name(entry: PackEntry) -> str | None:
	"""The name that the document has or will get; None if it depends on the site (series, hash)."""
	if "name" in entry.values:
		return entry.values["name"]
	rule = frappe.get_meta(entry.doctype).autoname or ""
	kind, _, what = rule.partition(":")
	if kind == "field":
		return entry.values.get(what)
	names = FORMAT_FIELD.findall(what) if kind == "format" else ()
	if names and all(entry.values.get(each) for each in names):
		return FORMAT_FIELD.sub(lambda found: str(entry.values[found[1]]), what)
	return None


def get_entry_key(entry: PackEntry) -> str:
	"""Identifies the entry within its pack: its name, else a digest of its values."""
	return get_entry_name(entry) or compute_part_digest(entry.values)


def links_ahead(entry: PackEntry, pack_entries: Iterable[PackEntry]) -> bool:
	"""Whether it links to a document of the pack that is created later: some link to each other."""
	missing = {(doctype, name) for doctype, name in list_links(entry) if not frappe.db.exists(doctype, name)}
	doctypes = {doctype for doctype, _name in missing}
	return any(
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


def insert_entry(entry: PackEntry):
	"""Insert and return the document.

	Raises UsageError that names the entry's place if the site refuses it.
	"""
	# Frappe modifies the rows that it receives.
	values = deepcopy({"doctype": entry.doctype, **entry.values, **(entry.initial_values or {})})
	with naming_entry(entry):
		doc = frappe.get_doc(values)
		doc.flags.ignore_links = entry.links_ahead
		if doc.doctype == "Agent Trigger" and doc.lacks_user():
			doc.disabled = 1
		if doc.doctype == "DocType" and doc.is_submittable:
			# Frappe adds this field, Frappe 15 also to a DocType that has it.
			doc.set("fields", [field for field in doc.fields if field.fieldname != "amended_from"])
		given = entry.values.get("name") if entry.doctype != "DocType" else None
		with linking_ahead(entry):
			doc = doc.insert(set_name=given)
		if given:
			count_in_series(doc)
	if entry.untrusted:
		mark_record(doc.doctype, doc.name, [entry.untrusted], None)
	return doc


def count_in_series(doc) -> None:
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
	return split_document_parts(
		entry.doctype, {k: v for k, v in entry.values.items() if k not in ("name", "doctype")}
	)


def read_stored_parts(doctype: str, name: str, parts: Iterable[str]) -> Parts:
	"""The stored values of these parts, without passwords."""
	doc = frappe.get_doc(doctype, name)
	fields = dict.fromkeys(part.partition("[")[0] for part in parts)
	secret = list_secret_fields(doctype)
	values = {each: to_plain_rows(doc.get(each)) for each in fields if each not in secret}
	return split_document_parts(doctype, values)


def list_secret_fields(doctype: str) -> set[str]:
	return {df.fieldname for df in frappe.get_meta(doctype).fields if df.fieldtype == "Password"}


def to_plain_rows(value):
	return [row.as_dict() for row in value] if isinstance(value, list) else value


def build_first_digests(entry: PackEntry, name: str) -> Digests:
	given = split_entry(entry)
	return build_digests({}, given, read_stored_parts(entry.doctype, name, given))


def update_entry(entry: PackEntry, name: str, kept: Digests) -> tuple[Merged, Digests]:
	"""Write what the pack has changed since `kept` was computed; people's edits stay. Saves only if something
	differs.

	Returns the merge and the digests to store.
	"""
	# Stored secrets are the site's: nothing tells who has set them.
	secret = list_secret_fields(entry.doctype)
	given = {part: value for part, value in split_entry(entry).items() if part not in secret}
	kept = {part: each for part, each in kept.items() if part not in secret}
	is_new = not set(given) <= set(kept)
	changed = list_versioned_parts(entry.doctype, name) if is_new else set()
	if entry.doctype == "Agent Trigger":
		changed |= {"disabled"}  # a trigger that is on here stays on, though exports now turn it off
	merged = merge_parts(kept, given, read_stored_parts(entry.doctype, name, [*given, *kept]), changed)
	if merged.changes:
		with naming_entry(entry):
			doc = frappe.get_doc(entry.doctype, name)
			doc.flags.ignore_links = entry.links_ahead
			write_parts(doc, deepcopy(merged.changes))
			with linking_ahead(entry):
				doc.save(ignore_version=True)  # versions are for changes made by people
		if entry.untrusted:
			mark_record(entry.doctype, name, [entry.untrusted], None)
	stored = read_stored_parts(entry.doctype, name, given)
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


def write_parts(doc, changes: Parts) -> None:
	for part, value in changes.items():
		table, is_row, _ = part.partition("[")
		if is_row:
			write_row_part(doc, table, part, value)
		else:
			doc.set(table, value)


def write_row_part(doc, table: str, part: str, value: dict | None) -> None:
	"""Change, append or (`value` None) remove the row of a part."""
	row = next(
		(
			row
			for row in doc.get(table)
			if part in split_document_parts(doc.doctype, {table: [row.as_dict()]})
		),
		None,
	)
	if value is None:
		if row:
			doc.remove(row)
	elif row:
		row.update(value)
	else:
		doc.append(table, value)


def is_edited(doctype: str, name: str, kept: Digests) -> bool:
	"""Whether a person has changed the installed document."""
	return bool(merge_parts(kept, {}, read_stored_parts(doctype, name, kept)).edited)
