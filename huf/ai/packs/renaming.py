"""Follows documents of a pack that people have renamed here, in the links of the pack's other documents."""

from collections.abc import Iterable, Mapping

import frappe

from huf.ai.tools.schemas import TABLE_TYPES

Names = Mapping[tuple[str, str], str]
"""{(DocType, name): the name to put in its place}."""


def find_renamed(rows: Iterable) -> Names:
	"""{(DocType, name in the pack): name here}, of the rows of an Agent Pack."""
	return {(row.record_doctype, row.entry): row.record_name for row in rows if row.record_name != row.entry}


def reverse_names(names: Names) -> Names:
	return {(doctype, new): old for (doctype, old), new in names.items()}


def rename_links(doctype: str, values: Mapping, names: Names) -> dict:
	"""Fields and rows of a document, with the links that `names` has replaced."""
	fields = {df.fieldname: df for df in frappe.get_meta(doctype).fields} if names else {}
	found = dict(values)
	for key, value in values.items():
		df = fields.get(key)
		if df and df.fieldtype == "Link" and isinstance(value, str):
			found[key] = names.get((df.options, value), value)
		elif df and df.fieldtype in TABLE_TYPES and isinstance(value, list):
			found[key] = [rename_links(df.options, row, names) for row in value]
	return found
