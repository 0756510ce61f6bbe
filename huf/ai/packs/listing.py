"""Lists the packs that apps ship and those that are installed. Read-only."""

from collections.abc import Iterable

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.core.grouping import group_pairs
from huf.ai.packs import removing
from huf.ai.packs.contents import preview_contents
from huf.ai.packs.renaming import find_renamed, get_document_key
from huf.ai.packs.shipped import find_shipped_packs, load_pack

FIELDS = ["name", "title", "version", "description", "app"]


def list_packs() -> list[dict]:
	"""[{name, title, description, version, installed, app, fault}], sorted by name.

	`version` is the shipped version (None: not shipped), `installed` the installed one, `fault` why it cannot
	be read.
	"""
	here = {row.name: row for row in frappe.get_all("Agent Pack", fields=FIELDS, order_by="name asc")}
	found = {name: describe_shipped_pack(name, source) for name, source in find_shipped_packs().items()}
	for name, row in here.items():
		known = found.get(name) or {**row, "version": None, "fault": None}
		found[name] = {**known, "installed": row.version}
	return [found[name] for name in sorted(found)]


def describe_shipped_pack(name: str, source) -> dict:
	row = {"name": name, "title": name, "description": "", "version": None, "app": source.app}
	row |= {"installed": None, "fault": None}
	try:
		pack = load_pack(source)
	except UsageError as error:
		return {**row, "fault": str(error)}
	return {**row, "title": pack.title, "description": pack.description, "version": pack.version}


def describe_pack(name: str) -> dict:
	"""A row of `list_packs` with `brings`: [{doctype, names}] and `people`: {DocType: number of records}.

	`people` counts what people created with the pack. Raises UsageError for an unknown pack.
	"""
	row = next((each for each in list_packs() if each["name"] == name), None)
	if row is None:
		raise UsageError(f"There is no pack {name!r}.")
	if not row["installed"]:
		return {
			**row,
			"brings": group_by_doctype(preview_contents(load_pack(find_shipped_packs()[name]))),
			"people": {},
		}
	records = frappe.get_doc("Agent Pack", name).records
	rows = [each for each in records if each.made]
	people = removing.find_user_records(rows, find_renamed(records))
	brings = group_by_doctype(map(get_document_key, rows))
	return {**row, "brings": brings, "people": {doctype: len(names) for doctype, names in people.items()}}


def group_by_doctype(pairs: Iterable[tuple[str, str]]) -> list[dict]:
	return [{"doctype": doctype, "names": names} for doctype, names in group_pairs(pairs).items()]
