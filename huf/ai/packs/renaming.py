"""Follows documents of a pack that people have renamed here, in the links of the pack's other documents, and
in the field that names them.
"""

import re
from collections.abc import Iterable, Mapping

import frappe

from huf.ai.packs.merging import PART_DIGEST
from huf.ai.tools.schemas import TABLE_TYPES

FORMAT_FIELD = re.compile(r"\{(\w+)\}")

Names = Mapping[tuple[str, str], str]
"""{(DocType, name): the name to put in its place}."""


def get_document_key(row) -> tuple[str, str]:
	"""(DocType, name here) of the document of a row of an Agent Pack."""
	return row.record_doctype, row.record_name


def find_renamed(rows: Iterable) -> dict[tuple[str, str], str]:
	"""{(DocType, name in the pack): name here}, of the rows of an Agent Pack."""
	# What the site names, the pack knows by a digest, and nothing in the pack links to it.
	return {
		(row.record_doctype, row.entry): row.record_name
		for row in rows
		if row.record_name != row.entry and not PART_DIGEST.fullmatch(row.entry)
	}


def reverse_names(names: Names) -> Names:
	return {(doctype, new): old for (doctype, old), new in names.items()}


def rename_links(doctype: str, values: Mapping, names: Names) -> dict:
	"""Fields and rows of a document, with the names that `names` has replaced: its own and those of links."""
	if not names:
		return dict(values)
	meta = frappe.get_meta(doctype)
	fields = {df.fieldname: df for df in meta.fields}
	rule, _, naming_field = (meta.autoname or "").partition(":")
	found = dict(values)
	for key, value in values.items():
		df = fields.get(key)
		if rule == "field" and key == naming_field and isinstance(value, str):
			found[key] = names.get((doctype, value), value)
		elif df and df.fieldtype == "Link" and isinstance(value, str):
			found[key] = names.get((df.options, value), value)
		elif df and df.fieldtype in TABLE_TYPES and isinstance(value, list):
			found[key] = [rename_links(df.options, row, names) for row in value]
	return found


def list_naming_fields(autoname: str) -> list[str]:
	"""The fields that a DocType's documents are named by."""
	kind, _, what = autoname.partition(":")
	return [what] if kind == "field" else FORMAT_FIELD.findall(what) if kind == "format" else []
