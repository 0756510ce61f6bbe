"""What packs there are: those that apps ship, and those that this site has. Only looks."""

from collections.abc import Iterable

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.packs import removing
from huf.ai.packs.contents import message_files
from huf.ai.packs.shipped import load_pack, shipped_packs

FIELDS = ["name", "title", "version", "description", "app"]


def list_packs() -> list[dict]:
	"""[{name, title, description, version, installed, app, fault}] by name.

	`version` is that of the shipped pack (None: nobody ships it), `installed` that of the site's; `fault` what is wrong with it.
	"""
	here = {row.name: row for row in frappe.get_all("Agent Pack", fields=FIELDS, order_by="name asc")}
	found = {name: shipped_row(name, source) for name, source in shipped_packs().items()}
	for name, row in here.items():
		known = found.get(name) or {**row, "version": None, "fault": None}
		found[name] = {**known, "installed": row.version}
	return [found[name] for name in sorted(found)]


def shipped_row(name: str, source) -> dict:
	row = {"name": name, "title": name, "description": "", "version": None, "app": source.app}
	row |= {"installed": None, "fault": None}
	try:
		pack = load_pack(source)
	except UsageError as error:
		return {**row, "fault": str(error)}
	return {**row, "title": pack.title, "description": pack.description, "version": pack.version}


def describe_pack(name: str) -> dict:
	"""Its row, `brings`: [{doctype, names}] and `people`: {DocType: how many records people made with it}. Raises UsageError."""
	row = next((each for each in list_packs() if each["name"] == name), None)
	if row is None:
		raise UsageError(f"There is no pack {name!r}.")
	if not row["installed"]:
		return {**row, "brings": group(message_files(load_pack(shipped_packs()[name]))), "people": {}}
	rows = [each for each in frappe.get_doc("Agent Pack", name).records if each.made]
	people = removing.peoples_records(rows)
	brings = group((each.record_doctype, each.record_name) for each in rows)
	return {**row, "brings": brings, "people": {doctype: len(names) for doctype, names in people.items()}}


def group(pairs: Iterable[tuple[str, str]]) -> list[dict]:
	found: dict[str, list[str]] = {}
	for doctype, name in pairs:
		found.setdefault(doctype, []).append(name)
	return [{"doctype": doctype, "names": names} for doctype, names in found.items()]
