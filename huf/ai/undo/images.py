"""Images of documents: stored values as JSON, and the part of two images that differs.

An image is {"docstatus", "owner", "creation", "fields": {fieldname: value}, "rows": {table field: {row name:
{"idx", fieldname: value ...}}}}. A difference has the same keys, but only what differs; a row that is missing
on one side is None there. Credentials are in no image.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import frappe
from frappe.utils import flt, get_datetime, getdate

from huf.ai.core.json_text import to_canonical_json
from huf.ai.tools.fields import list_data_fields

TABLE_FIELDTYPES = ("Table", "Table MultiSelect")
DECIMALS = 9
"""Decimal places of numbers in MariaDB."""
TREE_FIELDS = ("lft", "rgt", "old_parent")
"""Frappe computes the positions in a tree."""


def take_image(doc: Any) -> dict:
	"""The image of a document object, whether its values come from the database or from a caller."""
	return {
		"docstatus": int(doc.docstatus or 0),
		"owner": doc.owner,
		"creation": str(doc.creation or ""),
		"fields": read_fields(doc),
		"rows": {
			df.fieldname: {
				str(row.name): {"idx": row.idx, **read_fields(row)} for row in doc.get(df.fieldname) or ()
			}
			for df in doc.meta.get_table_fields()
		},
	}


def read_stored_image(doctype: str, name: str, lock: bool = False) -> dict | None:
	"""The stored document's image; None if there is none."""
	if not frappe.db.exists(doctype, name):
		return None
	return take_image(frappe.get_doc(doctype, name, for_update=lock))


def read_fields(doc: Any) -> dict[str, Any]:
	stored = set(doc.meta.get_valid_columns()).difference(TREE_FIELDS)
	readable = stored.intersection(list_data_fields(doc.doctype))
	return {
		df.fieldname: to_plain_value(doc.get(df.fieldname), df.fieldtype)
		for df in doc.meta.fields
		if df.fieldname in readable and df.fieldtype not in TABLE_FIELDTYPES
	}


def to_plain_value(value: Any, fieldtype: str) -> Any:
	"""The value in one form per field type, so that what was given and what was stored are equal."""
	if fieldtype in ("Int", "Check", "Float", "Currency", "Percent", "Rating", "Duration"):
		return int(flt(value)) if fieldtype in ("Int", "Check") else round(flt(value), DECIMALS)
	if value is None or value == "":
		return None
	try:
		return to_text_value(value, fieldtype)
	except ValueError:  # a Date or JSON field that holds something else
		return str(value)


def to_text_value(value: Any, fieldtype: str) -> str:
	if fieldtype == "Date":
		return str(getdate(value))
	if fieldtype == "Datetime":
		return f"{get_datetime(value):%Y-%m-%d %H:%M:%S.%f}"
	if fieldtype == "Time":
		return f"{get_datetime(f'2000-01-01 {value}'):%H:%M:%S.%f}"
	if fieldtype == "JSON":
		return to_canonical_json(json.loads(value) if isinstance(value, str) else value)
	return str(value)


def split_difference(before: Mapping, after: Mapping) -> tuple[dict, dict]:
	"""What differs between two images of a document: (before, after); both empty if nothing does."""
	left, right = {}, {}
	if before["docstatus"] != after["docstatus"]:
		left["docstatus"], right["docstatus"] = before["docstatus"], after["docstatus"]
	fields = differing(before["fields"], after["fields"])
	if fields:
		left["fields"], right["fields"] = (pick(side["fields"], fields) for side in (before, after))
	for table in dict.fromkeys([*before["rows"], *after["rows"]]):
		was, now = before["rows"].get(table, {}), after["rows"].get(table, {})
		for name in differing(was, now):
			rows = split_row(was.get(name), now.get(name))
			left.setdefault("rows", {}).setdefault(table, {})[name] = rows[0]
			right.setdefault("rows", {}).setdefault(table, {})[name] = rows[1]
	return left, right


def split_row(was: Mapping | None, now: Mapping | None) -> tuple[Mapping | None, Mapping | None]:
	if was is None or now is None:
		return was, now
	fields = differing(was, now)
	return pick(was, fields), pick(now, fields)


def differing(before: Mapping, after: Mapping) -> list[str]:
	"""The fields whose values differ, in the order of `before`."""
	keys = dict.fromkeys([*before, *after])
	return [key for key in keys if before.get(key) != after.get(key)]


def pick(values: Mapping, keys: Iterable[str]) -> dict:
	"""The values under these keys; None for those that are missing."""
	return {key: values.get(key) for key in keys}
