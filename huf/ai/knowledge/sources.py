"""What belongs to a Knowledge Source, and what each of it says now. Reads as the system: who may read what is asked at each search.

Writes nothing. Errors that a person can do something about are UsageError.
"""

import asyncio
from collections.abc import Iterator

import frappe

from huf.ai.core.errors import ToolError, UsageError
from huf.ai.core.files import get_file_name, read_file_content
from huf.ai.core.settings import get_settings
from huf.ai.core.text_decoding import strip_control_chars
from huf.ai.knowledge.chunking import Part, parts_of_markdown
from huf.ai.knowledge.reading import parts_of_html, read_file
from huf.ai.knowledge.store import SOURCE, Reference
from huf.ai.tools.fields import SECRET

TEXTS = ("Small Text", "Text", "Long Text", "Code")
FORMATTED = ("Text Editor", "HTML Editor")
MARKED = ("Markdown Editor",)
LONG = (*TEXTS, *FORMATTED, *MARKED)
SHORT = ("Data", "Select", "Link", "Dynamic Link", "Autocomplete", "Read Only", "Phone", "Date", "Datetime")
NUMBERS = ("Int", "Float", "Currency", "Percent", "Check", "Time", "Duration", "Rating", "Long Int")
MIN_FIELD_CHARS = 200
"""Characters from which a field's text stands by itself."""


def references_of(source) -> Iterator[Reference]:
	"""All that a Knowledge Source (the document) holds now."""
	if source.source_type == "Files":
		yield from files_of(SOURCE, [source.name])
	elif source.source_type == "URLs":
		yield from (Reference(url=url) for url in urls_of(source))
	elif not frappe.db.exists("DocType", source.reference_doctype):
		raise UsageError(f"There is no DocType {source.reference_doctype} any more.")
	else:
		names = document_names(source)
		yield from (Reference(source.reference_doctype, str(name)) for name in names)
		if source.with_attachments:
			yield from files_of(source.reference_doctype, names)


def files_of(doctype: str, names: list) -> Iterator[Reference]:
	for start in range(0, len(names), 500):
		filters = {
			"attached_to_doctype": doctype,
			"attached_to_name": ["in", names[start : start + 500]],
			"is_folder": 0,
		}
		found = frappe.get_all("File", filters=filters, pluck="name", order_by="creation asc, name asc")
		yield from (Reference("File", name) for name in found)


def urls_of(source) -> list[str]:
	return list(dict.fromkeys(filter(None, map(str.strip, (source.urls or "").splitlines()))))


def document_names(source, name: str | None = None) -> list:
	"""The documents of a source of a DocType; of one of them, whether it is among them."""
	filters = [[source.reference_doctype, *each] for each in filters_of(source)]
	if name:
		filters.append([source.reference_doctype, "name", "=", name])
	return frappe.get_all(source.reference_doctype, filters=filters, pluck="name", order_by="creation asc")


def filters_of(source) -> list[list]:
	"""As [field, operator, value] each."""
	given = frappe.parse_json(source.filters or "[]")
	if isinstance(given, dict):
		pairs = given.items()
		return [[field, *value] if isinstance(value, list) else [field, "=", value] for field, value in pairs]
	return given


# --- what an item says ---


def read_item(item) -> tuple[str | None, list[Part]]:
	"""(title, parts) of an item's row; the title of a document is no part of it: see `huf.ai.knowledge.access`."""
	if item.url:
		return read_url(item.url)
	doc = frappe.get_doc(item.reference_doctype, item.reference_name)
	if item.reference_doctype == "File":
		return doc.file_name, read_file(get_file_name(doc), read_file_content(doc))
	source = frappe.get_cached_doc(SOURCE, item.source)
	return None, list(parts_of_document(doc, fields_of(source)))


def read_url(url: str) -> tuple[str | None, list[Part]]:
	from huf.ai.tools import http, web

	try:
		page = asyncio.run(
			http.request(
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
	title, text = web.read_page(page["body"], page["content_type"])
	return title or url, parts_of_markdown(strip_control_chars(text))


def fields_of(source) -> list[str]:
	"""Fields whose texts are indexed, rows of a table as table.field."""
	chosen = list(filter(None, map(str.strip, (source.document_fields or "").splitlines())))
	return chosen or text_fields(source.reference_doctype)


def text_fields(doctype: str) -> list[str]:
	fields = []
	for df in frappe.get_meta(doctype).fields:
		if df.fieldtype == "Table":
			fields += [f"{df.fieldname}.{name}" for name in text_fields(df.options)]
		elif df.fieldtype in (*LONG, *SHORT) and not df.hidden:
			fields.append(df.fieldname)
	return fields


def all_fields(doctype: str) -> set[str]:
	"""Whatever of a DocType could be indexed."""
	meta, kinds = frappe.get_meta(doctype), (*LONG, *SHORT, *NUMBERS)
	own = {df.fieldname for df in meta.fields if df.fieldtype in kinds}
	tables = [df for df in meta.fields if df.fieldtype == "Table"]
	return own | {f"{table.fieldname}.{name}" for table in tables for name in all_fields(table.options)}


def parts_of_document(doc, fields: list[str]) -> Iterator[Part]:
	"""Long texts one by one, short ones together; never in one part what is for readers of another permission level."""
	short: dict[tuple, list[tuple[str, str]]] = {}
	for field in fields:
		df, table = field_of(doc.meta, field)
		if df is None or df.fieldtype == SECRET:
			continue
		for text in filter(None, texts_of(doc, df, table)):
			if df.fieldtype in LONG and len(text) > MIN_FIELD_CHARS:
				for part in read_text(df, text):
					heading = " › ".join(filter(None, (df.label or df.fieldname, part.heading)))
					yield Part(part.text, heading, start=part.start, fields=(field,))
			else:
				level = (df.permlevel, table.permlevel if table else 0)
				short.setdefault(level, []).append((field, f"{df.label or df.fieldname}: {text}"))
	for lines in short.values():
		yield Part(
			"\n".join(line for _, line in lines), fields=tuple(dict.fromkeys(field for field, _ in lines))
		)


def field_of(meta, field: str):
	"""(the field, the table that it stands in or None)."""
	name, _, child = field.partition(".")
	df = meta.get_field(name)
	if not child or df is None:
		return df, None
	return frappe.get_meta(df.options).get_field(child), df


def texts_of(doc, df, table) -> Iterator[str]:
	for row in doc.get(table.fieldname) or [] if table else [doc]:
		value = row.get(df.fieldname)
		if value not in (None, ""):
			text = strip_control_chars(str(value))
			yield (
				"\n\n".join(part.text for part in parts_of_html(text)) if df.fieldtype in FORMATTED else text
			)


def read_text(df, text: str) -> list[Part]:
	return parts_of_markdown(text) if df.fieldtype in (*MARKED, *FORMATTED) else [Part(text)]
