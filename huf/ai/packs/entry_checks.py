"""Checks the documents of a pack before any of them is created."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.core.yaml_lines import LineMapping
from huf.ai.packs.manifest import PackEntry
from huf.permissions import MEMORY

CHECK_TEXTS = ("", "0", "1")
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
	for doctype, values in (entry.doctype, entry.values), *list_table_rows(entry):
		for name in sorted(list_secret_fields(doctype)):
			if values.get(name):
				raise UsageError(
					f"{entry.place}: {name} is a secret. Leave it out, and enter it on the site."
				)
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
	for doctype, row in list_table_rows(entry) if entry.doctype != "DocType" else ():
		check_entry_names(entry, row, doctype, [*ROW_KEYS, *added.get(doctype, ())])


def list_table_rows(entry: PackEntry) -> Iterator[tuple[str, Mapping]]:
	"""(DocType, row) of its tables. Raises UsageError for a table that is not a list of mappings."""
	for table in frappe.get_meta(entry.doctype).get_table_fields():
		rows = entry.values.get(table.fieldname) or ()
		if not isinstance(rows, list | tuple) or not all(isinstance(row, Mapping) for row in rows):
			example = frappe.get_meta(table.options).fields[0].fieldname
			raise UsageError(
				f"{entry.place}: {table.fieldname} must be a list of mappings, such as [{{{example}: ...}}]."
			)
		yield from ((table.options, row) for row in rows)


def check_entry_names(entry: PackEntry, values: Mapping, doctype: str, keys: Collection[str]) -> None:
	"""Raise UsageError for a name that is neither a field of the DocType nor one of these keys, and for a
	text in a field of the type Check.
	"""
	meta = frappe.get_meta(doctype)
	for name in values:
		line = values.lines.get(name) if isinstance(values, LineMapping) else None
		place = re.sub(r"\d+$", str(line), entry.place) if line else entry.place
		df = meta.get_field(name)
		if name not in keys and not df:
			raise UsageError(f"{place}: {doctype} has no field {name!r}.")
		# A database stores "yes" as 0, which could turn off an approval that the pack requires.
		is_text = isinstance(values[name], str) and values[name] not in CHECK_TEXTS
		if df and df.fieldtype == "Check" and is_text:
			raise UsageError(f"{place}: {name} must be true or false, without quotes.")


def is_site_settings(doctype: str) -> bool:
	"""Whether it is a Single of an app."""
	meta = frappe.get_meta(doctype)
	return bool(meta.issingle and not meta.custom)


def get_builtin_keys(entry: PackEntry) -> tuple[str, ...]:
	"""Keys that are not fields; those of an exported DocType are fields on a bench only."""
	more = ("actions", "links", "states") if entry.doctype == "DocType" else ()
	return ("name", "doctype", *more)


def list_secret_fields(doctype: str) -> set[str]:
	return {df.fieldname for df in frappe.get_meta(doctype).fields if df.fieldtype == "Password"}
