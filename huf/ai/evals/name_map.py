"""Names that differ from dry run to dry run, and what they were the first time."""

import json
from collections.abc import Iterable
from functools import partial
from typing import Any

import frappe

from huf.ai.core.json_text import map_values
from huf.ai.dry_run.change_tracking import ChangeTracker

MIN_CHARS_TO_REPLACE_IN_TEXT = 8
"""Shorter names are replaced only where they stand alone or in JSON quotes: they could be part of a word."""


class NameMap:
	"""Translates names of documents and of rows of their tables between the current dry run and the first one
	in which they were made.

	`first_documents`: (DocType, name) in the order in which the documents were changed, the same in every dry
	run. `first_rows`: the rows' first names, in the order of `list_rows`, after 0, 1, 2 ... write calls.
	"""

	def __init__(
		self, changes: ChangeTracker, first_documents: list[tuple[str, str]], first_rows: list[list[str]]
	):
		self.changes, self.first_documents, self.first_rows = changes, first_documents, first_rows
		self.step = 0
		if not first_rows:
			first_rows.append(self.list_rows())

	def pairs(self) -> list[tuple[str, str]]:
		"""(current name, first name) of documents and rows whose names differ, after `step` write calls."""
		both = zip(list(self.changes.documents), self.first_documents, strict=False)
		documents = [(now[1], first[1]) for now, first in both if now[0] == first[0]]
		rows = zip(self.list_rows(), self.first_rows[self.step], strict=False)
		return [(now, first) for now, first in (*documents, *rows) if now != first]

	def list_rows(self) -> list[str]:
		"""Names of the rows of the documents changed so far."""
		return [
			str(row)
			for doctype, name in self.changes.documents
			for table in frappe.get_meta(doctype).get_table_fields()
			for row in frappe.get_all(
				table.options,
				{"parenttype": doctype, "parent": name, "parentfield": table.fieldname},
				pluck="name",
				order_by="idx asc",
			)
		]

	def all_documents(self) -> list[tuple[str, str]]:
		"""All documents changed so far, with their first names."""
		return [*self.first_documents, *list(self.changes.documents)[len(self.first_documents) :]]

	def to_current(self, value: Any) -> Any:
		return rename_all(value, [(first, current) for current, first in self.pairs()])


def rename_all(value: Any, pairs: Iterable[tuple[str, str]]) -> Any:
	"""Replace names in all texts of a JSON value."""
	for old, new in pairs:
		value = map_values(partial(replace_name, old, new), value)
	return value


def replace_name(old: str, new: str, value: Any) -> Any:
	if not isinstance(value, str):
		return value
	if len(old) >= MIN_CHARS_TO_REPLACE_IN_TEXT:
		return value.replace(old, new)
	return new if value == old else value.replace(json.dumps(old), json.dumps(new))
