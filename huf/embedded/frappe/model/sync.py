"""Syncs DocTypes of apps from their JSON files to the database and its tables."""

import hashlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import frappe
from frappe.database.schema import create_internal_tables, sync_table
from frappe.model import core_doctypes
from frappe.utils.data import now

HASH_COLUMN = "migration_hash"


def bootstrap():
	"""Create the tables that describe all others."""
	create_internal_tables(frappe.db)
	for doctype in core_doctypes:
		sync_table(frappe.get_meta(doctype))


def sync_app(app: str) -> list[str]:
	"""Import each DocType of an app whose file has changed, and return the names."""
	imported = [import_doctype(file) for file in definition_files(app, "doctype")]
	frappe.db.commit()
	return [name for name in imported if name]


def init_singles():
	"""Store the defaults of each Single that was never saved."""
	for name in frappe.get_all("DocType", filters={"issingle": 1}, pluck="name", order_by="name asc"):
		if not frappe.db.get_singles_dict(name):
			document = frappe.new_doc(name)
			document.flags.update(ignore_mandatory=True, ignore_validate=True)
			document.save()


def definition_files(app: str, kind: str) -> Iterator[Path]:
	"""The JSON files of an app's definitions of a kind, such as `doctype`."""
	for module in frappe.get_module_list(app):
		folder = Path(frappe.get_app_path(app, frappe.scrub(module), kind))
		for entry in sorted(folder.iterdir()) if folder.is_dir() else ():
			file = entry / f"{entry.name}.json"
			if file.is_file():
				yield file


def sync_reports(app: str):
	"""Import the reports of an app, with their roles."""
	for file in definition_files(app, "report"):
		with naming_file(file):
			import_report(json.loads(file.read_text(encoding="utf-8")))


def import_report(values: dict):
	frappe.delete_doc("Report", values["name"], force=True, ignore_permissions=True)
	frappe.get_doc(values).insert(ignore_permissions=True, ignore_links=True)


@contextmanager
def naming_file(file: Path):
	"""Print the file that an error in the block comes from."""
	try:
		yield
	except Exception:  # re-raised: whatever is wrong with the file
		print(f"{file} cannot be imported:", file=sys.stderr)
		raise


def import_doctype(file: Path) -> str | None:
	"""Replace the DocType's rows by the file's; None if the file has not changed."""
	text = file.read_text(encoding="utf-8")
	with naming_file(file):
		return import_definition(json.loads(text), text)


def import_definition(definition: dict, text: str) -> str | None:
	digest = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
	name = definition["name"]
	if frappe.db.get_value("DocType", name, HASH_COLUMN) == digest:
		return None
	# Before the rows, which say that it is done: a migration that is interrupted begins here again.
	sync_table(frappe.get_meta(definition))
	write_definition({**definition, HASH_COLUMN: digest, "custom": 0})
	return name


def write_definition(definition: dict):
	name = definition["name"]
	for doctype, parentfield, entries in (
		("DocType", None, [definition]),
		("DocField", "fields", definition.get("fields", ())),
		("DocPerm", "permissions", definition.get("permissions", ())),
	):
		key = "parent" if parentfield else "name"
		frappe.db.execute(f"DELETE FROM `tab{doctype}` WHERE {key} = ?", (name,))
		columns = [column for column in frappe.get_meta(doctype).valid_columns if column != "docstatus"]
		values = [
			stored_entry(doctype, name, parentfield, index, entry) for index, entry in enumerate(entries, 1)
		]
		frappe.db.bulk_insert(doctype, columns, [[row.get(column) for column in columns] for row in values])


def stored_entry(doctype: str, parent: str, parentfield: str | None, index: int, entry: dict) -> dict:
	"""The row of a DocType, or of one of its fields or permission rules, with the defaults filled in."""
	defaults = {
		field.fieldname: 0 if field.fieldtype in ("Check", "Int") else None
		for field in frappe.get_meta(doctype).fields
	}
	stamp = dict(owner="Administrator", modified_by="Administrator", creation=now(), modified=now())
	row = {
		**defaults,
		**stamp,
		**{key: value for key, value in entry.items() if not isinstance(value, list)},
		"idx": 0,
	}
	if parentfield:
		row.update(
			name=frappe.generate_hash(length=10),
			parent=parent,
			parenttype="DocType",
			parentfield=parentfield,
			idx=index,
		)
	return row
