"""Checks the documents of a pack before any of them is created."""

import math
import re
from collections.abc import Collection, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.core.yaml_lines import SURROGATE, LineMapping
from huf.ai.knowledge.store import SOURCE
from huf.ai.packs.active_content import check_active_content
from huf.ai.packs.contents import INSTALL_ORDER
from huf.ai.packs.manifest import PackEntry
from huf.ai.packs.renaming import list_naming_fields
from huf.ai.tools.schemas import TABLE_TYPES
from huf.permissions import MEMORY

CHECK_TEXTS = ("", "0", "1")
ROW_KEYS = ("name", "doctype", "idx", "parent", "parenttype", "parentfield")
HIDDEN_CHARS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Control characters, line breaks, and characters that reverse the text around them."""


class PackSchema:
	"""Fields of DocTypes. `own`: the pack's DocTypes by name; the site may lack them, or some of their
	fields.
	"""

	def __init__(self, own: Mapping[str, Mapping[str, Any]]):
		self.own = own
		self._fields: dict[str, list] = {}

	def list_fields(self, doctype: str) -> list:
		"""The fields of a DocType on the site and in the pack."""
		name = str(doctype)
		if name not in self._fields:
			here = frappe.get_meta(name).fields if has_doctype(name) else ()
			rows = self.own.get(name, {}).get("fields") or ()
			given = (build_field(row) for row in rows if isinstance(row.get("fieldname"), str))
			self._fields[name] = [*here, *given]
		return self._fields[name]

	def get_autoname(self, doctype: str) -> str:
		given = self.own[doctype].get("autoname") if doctype in self.own else None
		return str(given or (has_doctype(doctype) and frappe.get_meta(doctype).autoname) or "")


def build_field(row: Mapping[str, Any]) -> SimpleNamespace:
	return SimpleNamespace(**{key: row.get(key) for key in ("fieldname", "fieldtype", "options")})


def check_entries(pack_entries: Collection[PackEntry], is_shipped: bool) -> None:
	"""Raise UsageError for unknown DocTypes, fields that a DocType lacks, names with hidden characters,
	settings of the site, and for what only a pack of an app may bring.
	"""
	own = {entry.values["name"]: entry.values for entry in pack_entries if entry.doctype == "DocType"}
	schema = PackSchema(own)
	agents = {
		str(entry.values.get("agent_name")).casefold() for entry in pack_entries if entry.doctype == "Agent"
	}
	sources = {
		str(entry.values.get("source_name")).casefold() for entry in pack_entries if entry.doctype == SOURCE
	}
	for entry in pack_entries:
		if not has_doctype(entry.doctype) and entry.doctype not in schema.own:
			raise entry.fault(f"there is no DocType {entry.doctype}.")
		check_entry_fields(entry, schema)
		check_name_chars(entry, schema)
		check_knowledge(entry, sources)
		if not is_shipped:
			check_entry_rights(entry, agents, schema)
			check_active_content(entry, entry.doctype in schema.own)


def has_doctype(name: str) -> bool:
	"""Whether the site has it under exactly this name: databases find a name in any case."""
	return frappe.db.get_value("DocType", name, "name") == name


def check_name_chars(entry: PackEntry, schema: PackSchema) -> None:
	"""Raise UsageError for a name that lists and logs would show as another one. Not for sample records, into
	whose names people may have pasted anything.
	"""
	if entry.doctype not in (*INSTALL_ORDER, SOURCE):
		return
	for key in ("name", *list_naming_fields(schema.get_autoname(entry.doctype))):
		value = entry.values.get(key)
		if isinstance(value, str) and (found := HIDDEN_CHARS.search(value)):
			raise UsageError(
				f"{find_place(entry, entry.values, key)}: {key} has a line break or an invisible character "
				f"(U+{ord(found[0]):04X}). Leave it out."
			)


def check_knowledge(entry: PackEntry, sources: Collection[str]) -> None:
	"""Raise UsageError for a new agent's Knowledge Source that neither the site has nor the pack. `sources`:
	those of the pack, casefolded.
	"""
	is_new = entry.doctype == "Agent" and not frappe.db.exists("Agent", str(entry.values.get("agent_name")))
	for name in [str(row.get("source")) for row in (entry.values.get("knowledge") or ()) if is_new]:
		if name.casefold() not in sources and not frappe.db.exists(SOURCE, name):
			raise entry.fault(
				f"there is no Knowledge Source {name} for the agent "
				f"{entry.values.get('agent_name')}. Make it on this site first."
			)


def check_entry_rights(entry: PackEntry, agents: Collection[str], schema: PackSchema) -> None:
	"""Raise UsageError for an entry that could gain rights, take secrets or reach other agents. For packs
	that no app ships. `agents`: names of the pack's own agents, casefolded.
	"""
	if entry.doctype == MEMORY and str(entry.values.get("agent")).casefold() not in agents:
		raise entry.fault("agents of the site would read this fact. Name an agent of the pack.")
	rules = (entry.values.get("permissions") or ()) if entry.doctype == "DocType" else ()
	if any(str(rule.get("role")).strip().casefold() == "guest" for rule in rules):
		raise entry.fault(
			"it grants rights to Guest, that is to everybody on the internet. Leave them "
			"out, and grant them on the site."
		)
	if entry.doctype not in ("Role", "DocType") and is_reserved(entry.doctype):
		raise entry.fault(
			f"only System Managers create records of {entry.doctype}, so only a pack of an "
			"app may contain them."
		)
	if entry.doctype == "AI Provider" and entry.values.get("api_base"):
		raise entry.fault(
			"keys are sent to the address of an AI Provider. Leave api_base out, and enter it on the site."
		)
	if entry.doctype == SOURCE:
		check_source(entry, schema)
	for doctype, values in (entry.doctype, entry.values), *list_table_rows(entry, schema):
		for name in sorted(df.fieldname for df in schema.list_fields(doctype) if df.fieldtype == "Password"):
			if values.get(name):
				raise entry.fault(f"{name} is a secret. Leave it out, and enter it on the site.")
	run_as = entry.values.get("run_as") if entry.doctype in ("Agent Trigger", "Agent Mailbox") else None
	if run_as and "System Manager" in frappe.get_roles(str(run_as)):
		raise entry.fault(f"{run_as} is a System Manager. Leave run_as out, and choose Run As on the site.")


def check_source(entry: PackEntry, schema: PackSchema) -> None:
	"""Raise UsageError for a Knowledge Source that shows agents documents which are not of the pack, or sends
	texts to the provider of an embedding model.
	"""
	doctype = entry.values.get("reference_doctype")
	if doctype and str(doctype) not in schema.own:
		raise entry.fault(
			f"the pack's agents would read {doctype}, which is not a DocType of the pack. "
			"Leave the Knowledge Source out, and make it on the site."
		)
	if entry.values.get("embedding_model"):
		raise entry.fault(
			"the provider of an embedding model receives all texts. Leave embedding_model "
			"out, and choose it on the site."
		)


def is_reserved(doctype: str) -> bool:
	"""Whether records of an app's DocType, such as users, are created by nobody but System Managers."""
	if not has_doctype(doctype):
		return False
	meta = frappe.get_meta(doctype)
	creators = {rule.role for rule in meta.permissions if rule.create and not rule.permlevel}
	return not meta.custom and creators <= {"System Manager", "Administrator"}


def check_entry_fields(entry: PackEntry, schema: PackSchema) -> None:
	if has_doctype(entry.doctype) and is_site_settings(entry.doctype):
		raise entry.fault(f"{entry.doctype} are settings of the site, which no pack may change.")
	check_entry_names(entry, entry.values, entry.doctype, get_builtin_keys(entry, schema), schema)
	# Rows of an exported DocType have fields of other versions of Frappe.
	for doctype, row in list_table_rows(entry, schema) if entry.doctype != "DocType" else ():
		check_entry_names(entry, row, doctype, ROW_KEYS, schema)


def list_table_rows(entry: PackEntry, schema: PackSchema) -> Iterator[tuple[str, Mapping]]:
	"""(DocType, row) of its tables. Raises UsageError for a table that is not a list of mappings."""
	for table in schema.list_fields(entry.doctype):
		if table.fieldtype not in TABLE_TYPES:
			continue
		rows = entry.values.get(table.fieldname) or ()
		if not isinstance(rows, list | tuple) or not all(isinstance(row, Mapping) for row in rows):
			example = next((df.fieldname for df in schema.list_fields(table.options)), "field")
			raise entry.fault(f"{table.fieldname} must be a list of mappings, such as [{{{example}: ...}}].")
		yield from ((table.options, row) for row in rows)


def check_entry_names(
	entry: PackEntry, values: Mapping, doctype: str, keys: Collection[str], schema: PackSchema
) -> None:
	"""Raise UsageError for a name that is neither a field of the DocType nor one of these keys, for a value
	that no field can have, and for a text in a field of the type Check.
	"""
	fields = {df.fieldname: df for df in schema.list_fields(doctype)}
	for name in values:
		place, df = find_place(entry, values, name), fields.get(name)
		if name not in keys and not df:
			raise UsageError(f"{place}: {doctype} has no field {name!r}.")
		if df or name in ("name", "docstatus"):
			check_value(place, name, values[name], df)
		# A database stores "yes" as 0, which could turn off an approval that the pack requires.
		is_text = isinstance(values[name], str) and values[name] not in CHECK_TEXTS
		if df and df.fieldtype == "Check" and is_text:
			raise UsageError(f"{place}: {name} must be true or false, without quotes.")


def check_value(place: str, name: str, value: Any, df: Any) -> None:
	is_table = df and df.fieldtype in TABLE_TYPES
	is_value = value is None or isinstance(value, str | int | float) or (df and df.fieldtype == "JSON")
	if not (is_table or is_value):
		raise UsageError(f"{place}: {name} must be text or a number.")
	if isinstance(value, float) and not math.isfinite(value):
		raise UsageError(f"{place}: {name} must be a number.")
	if isinstance(value, str) and SURROGATE.search(value):
		raise UsageError(f"{place}: {name} has half of a character.")
	if name == "docstatus" and value not in (0, 1):
		raise UsageError(f"{place}: docstatus must be 0 or 1.")


def find_place(entry: PackEntry, values: Mapping, key: str) -> str:
	"""The entry's place, with the line of this key if it is known."""
	line = values.lines.get(key) if isinstance(values, LineMapping) else None
	return re.sub(r"\d+$", str(line), entry.place) if line else entry.place


def is_site_settings(doctype: str) -> bool:
	"""Whether it is a Single of an app."""
	meta = frappe.get_meta(doctype)
	return bool(meta.issingle and not meta.custom)


def get_builtin_keys(entry: PackEntry, schema: PackSchema) -> tuple[str, ...]:
	"""Keys that are not listed as fields; those of an exported DocType are fields on a bench only."""
	if entry.doctype == "DocType":
		return ("name", "actions", "links", "states")
	if not (definition := schema.own.get(entry.doctype)):
		return ("name",)
	submitting = ("docstatus", "amended_from")
	tree = ("lft", "rgt", "is_group", "old_parent", f"parent_{frappe.scrub(entry.doctype)}")
	return ("name", *submitting, *(tree if definition.get("is_tree") else ()))


def list_secret_fields(doctype: str) -> set[str]:
	return {df.fieldname for df in frappe.get_meta(doctype).fields if df.fieldtype == "Password"}
