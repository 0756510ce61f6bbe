"""Lists the items of a Knowledge Source and reads their current text. Read-only.

It reads with the permissions of the system; each search checks the user's. Errors a person can fix are
UsageError.
"""

from collections.abc import Iterator

import frappe

from huf.ai.core.errors import ToolError, UsageError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.field_values import split_lines
from huf.ai.core.files import get_full_file_name, read_file_content
from huf.ai.core.settings import get_settings
from huf.ai.core.text_decoding import strip_control_chars
from huf.ai.knowledge.chunking import Part, split_markdown
from huf.ai.knowledge.reader_process import read_file, split_html
from huf.ai.knowledge.store import SOURCE, Reference
from huf.ai.storage.rows import in_batches
from huf.ai.tools.fields import is_secret

PLAIN_TEXT_TYPES = ("Small Text", "Text", "Long Text", "Code")
HTML_TYPES = ("Text Editor", "HTML Editor")
MARKDOWN_TYPES = ("Markdown Editor",)
LONG_TEXT_TYPES = (*PLAIN_TEXT_TYPES, *HTML_TYPES, *MARKDOWN_TYPES)
SHORT_TEXT_TYPES = (
	"Data",
	"Select",
	"Link",
	"Dynamic Link",
	"Autocomplete",
	"Read Only",
	"Phone",
	"Date",
	"Datetime",
)
NUMBER_TYPES = ("Int", "Float", "Currency", "Percent", "Check", "Time", "Duration", "Rating", "Long Int")
MIN_FIELD_CHARS = 200
"""Longer field values become separate parts."""


def list_references(source) -> Iterator[Reference]:
	"""Everything that a Knowledge Source (the document) covers now."""
	if source.source_type == "Files":
		yield from list_files(SOURCE, [source.name])
	elif source.source_type == "URLs":
		yield from (Reference(url=url) for url in parse_urls(source))
	elif not frappe.db.exists("DocType", source.reference_doctype):
		raise UsageError(f"The DocType {source.reference_doctype} no longer exists.")
	else:
		names = list_document_names(source)
		yield from (Reference(source.reference_doctype, str(name)) for name in names)
		if source.with_attachments:
			yield from list_files(source.reference_doctype, names)


def list_files(doctype: str, names: list) -> Iterator[Reference]:
	for some in in_batches(names):
		filters = {"attached_to_doctype": doctype, "attached_to_name": ["in", some], "is_folder": 0}
		found = frappe.get_all("File", filters=filters, pluck="name", order_by="creation asc, name asc")
		yield from (Reference("File", name) for name in found)


def parse_urls(source) -> list[str]:
	"""The URLs of a source, which has one per line, without duplicates."""
	return list(dict.fromkeys(split_lines(source.urls)))


def list_document_names(source, name: str | None = None) -> list:
	"""Names of the documents that a source's filters select; with `name`, only that one if it is selected.

	Raises UsageError for filters that the database refuses, such as those on a field that was deleted.
	"""
	filters = [[source.reference_doctype, *each] for each in parse_filters(source)]
	if name:
		filters.append([source.reference_doctype, "name", "=", name])
	try:
		return frappe.get_all(
			source.reference_doctype, filters=filters, pluck="name", order_by="creation asc"
		)
	except Exception as error:  # the boundary around filters: databases differ in their errors
		raise UsageError(
			f"The documents of {source.name} cannot be listed. If its filters are right, try again. {error}"
		) from error


def parse_filters(source) -> list[list]:
	"""The source's filters as [field, operator, value] lists."""
	given = frappe.parse_json(source.filters or "[]")
	if isinstance(given, dict):
		pairs = given.items()
		return [[field, *value] if isinstance(value, list) else [field, "=", value] for field, value in pairs]
	# Lists of the Desk begin with the DocType and end with whether the filter is hidden.
	doctype = source.reference_doctype
	return [each[1:4] if len(each) > 3 and each[0] == doctype else each for each in given]


# --- text of an item ---


def read_item_parts(item) -> tuple[str | None, list[Part]]:
	"""(title, parts) of an item's row. Documents get no title: not every reader may see that field."""
	if item.url:
		return read_url(item.url)
	doc = frappe.get_doc(item.reference_doctype, item.reference_name)
	if item.reference_doctype == "File":
		return doc.file_name, read_file(get_full_file_name(doc), read_file_content(doc))
	source = frappe.get_cached_doc(SOURCE, item.source)
	return None, list(split_document(doc, get_indexed_fields(source)))


def read_url(url: str) -> tuple[str | None, list[Part]]:
	from huf.ai.tools import http, web

	try:
		page = run_coroutine(
			http.send_request(
				"GET",
				url,
				headers=web.HEADERS,
				timeout=get_settings().tool_timeout,
				before_each=web.check_robots,
			)
		)
	except ToolError as error:
		raise UsageError(str(error)) from None
	if page["status"] >= 400 or page["body"] is None:
		reason = f"status {page['status']}" if page["status"] >= 400 else f"type {page['content_type']}"
		raise UsageError(f"{url} could not be read: {reason}.")
	title, text, _ = web.read_page(page["body"], page["content_type"])
	return title or url, split_markdown(strip_control_chars(text))


def get_indexed_fields(source) -> list[str]:
	"""Names of the fields whose texts are indexed; those of a child table as table.field."""
	return split_lines(source.document_fields) or list_text_fields(source.reference_doctype)


def list_text_fields(doctype: str) -> list[str]:
	fields = []
	for df in frappe.get_meta(doctype).fields:
		if df.fieldtype == "Table":
			fields += [f"{df.fieldname}.{name}" for name in list_text_fields(df.options)]
		elif df.fieldtype in (*LONG_TEXT_TYPES, *SHORT_TEXT_TYPES) and not df.hidden:
			fields.append(df.fieldname)
	return fields


def list_indexable_fields(doctype: str) -> set[str]:
	"""Names of all fields of a DocType that can be indexed."""
	meta, kinds = frappe.get_meta(doctype), (*LONG_TEXT_TYPES, *SHORT_TEXT_TYPES, *NUMBER_TYPES)
	own = {df.fieldname for df in meta.fields if df.fieldtype in kinds}
	tables = [df for df in meta.fields if df.fieldtype == "Table"]
	return own | {
		f"{table.fieldname}.{name}" for table in tables for name in list_indexable_fields(table.options)
	}


def split_document(doc, fields: list[str]) -> Iterator[Part]:
	"""Split a document into parts: long texts one by one, short ones together.

	No part mixes fields of different permission levels.
	"""
	short: dict[tuple, list[tuple[str, str]]] = {}
	for field in fields:
		df, table = find_source_field(doc.meta, field)
		if df is None or is_secret(df):
			continue
		for text in filter(None, read_field_texts(doc, df, table)):
			if df.fieldtype in LONG_TEXT_TYPES and len(text) > MIN_FIELD_CHARS:
				for part in split_field_text(df, text):
					heading = " › ".join(filter(None, (df.label or df.fieldname, part.heading)))
					yield Part(part.text, heading, start=part.start, fields=(field,))
			else:
				level = (df.permlevel, table.permlevel if table else 0)
				short.setdefault(level, []).append((field, f"{df.label or df.fieldname}: {text}"))
	for lines in short.values():
		yield Part(
			"\n".join(line for _, line in lines), fields=tuple(dict.fromkeys(field for field, _ in lines))
		)


def find_source_field(meta, field: str):
	"""(field, its child table or None) of `field` or `table.field`."""
	name, _, child = field.partition(".")
	df = meta.get_field(name)
	if not child or df is None:
		return df, None
	return frappe.get_meta(df.options).get_field(child), df


def read_field_texts(doc, df, table) -> Iterator[str]:
	for row in doc.get(table.fieldname) or [] if table else [doc]:
		value = row.get(df.fieldname)
		if value not in (None, ""):
			text = strip_control_chars(str(value))
			yield (
				"\n\n".join(part.text for part in split_html(text)) if df.fieldtype in HTML_TYPES else text
			)


def split_field_text(df, text: str) -> list[Part]:
	return split_markdown(text) if df.fieldtype in (*MARKDOWN_TYPES, *HTML_TYPES) else [Part(text)]
