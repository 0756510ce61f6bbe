"""Refuses what would run on the site or in a browser, in packs that no app ships."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import frappe

from huf.ai.core.documents import FRAMEWORK_MODULES
from huf.ai.packs.manifest import PackEntry
from huf.ai.tools.schemas import TABLE_TYPES

HARMLESS = {"Address", "Contact", "Event", "Note", "Role", "ToDo"}
CODE_TYPES = {"Code", "HTML Editor"}
MARKUP = re.compile(r"<[a-zA-Z/!]")
SCRIPT = re.compile(r"\s*(?:eval|fn|javascript)\s*:", re.IGNORECASE)


def check_active_content(entry: PackEntry, is_own: bool) -> None:
	"""Raise UsageError for a definition or a record that brings code. `is_own`: its DocType is the pack's."""
	if entry.doctype == "DocType":
		check_definition_texts(entry)
	elif not is_own:
		check_record_of_app(entry)


def check_definition_texts(entry: PackEntry) -> None:
	"""Frappe evaluates conditions of fields, and shows labels and descriptions as HTML."""
	if entry.values.get("actions"):
		raise entry.fault("its actions run code of the site. Leave actions out.")
	for text in list_strings(entry.values):
		if MARKUP.search(text) or SCRIPT.match(text):
			raise entry.fault(
				f"{text[:80]!r} would run in the browser of each of its readers. Leave it "
				"out: only a pack of an app may contain conditions with eval: and HTML."
			)


def list_strings(value: Any) -> Iterator[str]:
	if isinstance(value, str):
		yield value
	elif isinstance(value, Mapping):
		for each in value.values():
			yield from list_strings(each)
	elif isinstance(value, list | tuple):
		for each in value:
			yield from list_strings(each)


def check_record_of_app(entry: PackEntry) -> None:
	meta = frappe.get_meta(entry.doctype)
	if meta.custom or meta.module == "Huf":
		return
	if meta.module in FRAMEWORK_MODULES and meta.name not in HARMLESS:
		raise entry.fault(
			f"records of {entry.doctype} may run code or change the site, so only a pack of "
			"an app may contain them."
		)
	for df in meta.fields:
		if df.fieldtype in CODE_TYPES and entry.values.get(df.fieldname):
			raise entry.fault(
				f"{df.fieldname} is code, which only a pack of an app may contain. Leave it out."
			)
		rows = entry.values.get(df.fieldname) if df.fieldtype in TABLE_TYPES else None
		for row in rows or ():
			check_record_of_app(PackEntry(df.options, row, entry.place))
