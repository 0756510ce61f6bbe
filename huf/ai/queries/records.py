"""Describes DocTypes and reads their records for the pages' forms and lists, with the user's permissions.

Read-only.
"""

from collections.abc import Callable, Container
from functools import partial

import frappe
from frappe import _
from frappe.utils import strip_html

from huf.ai.core.documents import get_permitted
from huf.ai.core.errors import UsageError
from huf.ai.core.stored_text import clip_line
from huf.ai.storage.untrusted_records import find_outsider, read_origin
from huf.ai.tools.schemas import FIELDTYPES_NOT_OFFERED, TABLE_TYPES

FIELD_PROPERTIES = (
	"fieldname",
	"fieldtype",
	"label",
	"options",
	"default",
	"description",
	"precision",
	"fetch_from",
	"depends_on",
	"mandatory_depends_on",
	"read_only_depends_on",
	"link_filters",
	"reqd",
	"read_only",
	"hidden",
	"non_negative",
	"set_only_once",
	"collapsible",
	"in_list_view",
)
TRANSLATED_PROPERTIES = ("label", "description")
LANGUAGES = ("en", "de", "es", "cs")
RIGHTS = ("write", "create", "delete")
RECORD_RIGHTS = ("write", "delete")
SUBMIT_RIGHTS = ("submit", "cancel")
SEARCHABLE_TYPES = ("Data", "Small Text", "Text", "Link", "Select", "Text Editor", "Read Only")
UNLISTED_TYPES = {*FIELDTYPES_NOT_OFFERED, *TABLE_TYPES, "Code", "JSON", "Long Text"}
DEFAULT_COLUMNS = 3
"""Columns of a list if the DocType selects none."""
MAX_COLUMNS = 6
MAX_CARD_CHARS = 120
MAX_SHORTENED_CHARS = 5_000


def describe_doctype(doctype: str, language: str | None = None) -> dict:
	"""A DocType as a form, translated into one of LANGUAGES (None: the user's language).

	{name, label, title_field, is_single, is_submittable, is_named, fields, tables: {DocType: fields},
	columns, can}

	`fields` has only those that the user may read; those they may not write are read_only. Raises
	PermissionError.
	"""
	meta = frappe.get_meta(doctype)
	frappe.has_permission(doctype, "read", throw=True)
	translate = get_translator(language)
	fields = describe_form_fields(meta, meta, translate)
	return {
		"name": meta.name,
		"label": translate(meta.name),
		"title_field": meta.title_field or None,
		"is_single": bool(meta.issingle),
		"is_submittable": bool(meta.is_submittable),
		"is_named": (meta.autoname or "").lower() == "prompt",
		"fields": fields,
		"tables": {
			df.options: describe_form_fields(frappe.get_meta(df.options), meta, translate)
			for df in meta.get_table_fields()
		},
		"columns": choose_columns(meta, [field["fieldname"] for field in fields]),
		"can": {right: has_right(doctype, right) for right in RIGHTS},
	}


def get_translator(language: str | None) -> Callable[[str], str]:
	return partial(_, lang=language if language in LANGUAGES else None)


def describe_form_fields(meta, parent, translate: Callable[[str], str]) -> list[dict]:
	"""Fields of a form or of a child row; `parent` is the DocType whose permission levels count."""
	readable, writable = ({0, *parent.get_permlevel_access(right)} for right in ("read", "write"))
	return [
		{
			**{key: df.get(key) for key in FIELD_PROPERTIES if df.get(key)},
			**{key: translate(df.get(key)) for key in TRANSLATED_PROPERTIES if df.get(key)},
			**translate_choices(df, translate),
			**({} if df.permlevel in writable else {"read_only": 1}),
			# A document keeps its name, and Frappe puts it back into this field when it is saved.
			**({"set_only_once": 1} if meta.autoname == f"field:{df.fieldname}" else {}),
		}
		for df in meta.fields
		if df.permlevel in readable
	]


def translate_choices(df, translate: Callable[[str], str]) -> dict:
	"""{labels: {choice: label}} of a Select, if any label differs from its choice."""
	choices = (df.options or "").split("\n") if df.fieldtype == "Select" else ()
	labels = {choice: translate(choice) for choice in choices if choice}
	return {"labels": labels} if any(choice != label for choice, label in labels.items()) else {}


def has_right(doctype: str, right: str, doc=None) -> bool:
	return bool(frappe.has_permission(doctype, right, doc=doc))


def choose_columns(meta, readable: list[str]) -> list[str]:
	"""Names of the columns of a list view, besides the title."""
	candidates = set(readable) - {meta.title_field}
	fields = [
		df
		for df in meta.fields
		if df.fieldname in candidates and df.fieldtype not in UNLISTED_TYPES and not df.hidden
	]
	listed = [df for df in fields if df.in_list_view] or fields[:DEFAULT_COLUMNS]
	return [df.fieldname for df in listed[:MAX_COLUMNS]]


def list_records(
	doctype: str, text: str = "", filters: dict | list | None = None, start: int = 0, limit: int = 50
):
	"""Records that the user may read, last modified first: {name, modified, docstatus, title, columns}."""
	meta = frappe.get_meta(doctype)
	described = describe_doctype(doctype)
	columns, readable = described["columns"], {field["fieldname"] for field in described["fields"]}
	if meta.issingle:
		raise UsageError(f"{doctype} has one record, which is not listed. Open it by its name.")
	title = [meta.title_field] if meta.title_field in readable else []
	try:
		return frappe.get_list(
			doctype,
			filters=filters or {},
			or_filters=[[doctype, name, "like", f"%{text}%"] for name in list_search_fields(meta, readable)]
			if text
			else None,
			fields=[
				f"`{name}`" for name in dict.fromkeys(["name", "modified", "docstatus", *title, *columns])
			],
			order_by="modified desc",
			limit_start=start,
			limit_page_length=limit,
		)
	except (frappe.PermissionError, frappe.ValidationError):
		raise
	except Exception as error:  # the boundary around filters: databases differ in their errors
		if not filters:
			raise
		raise UsageError(_("These filters do not fit {0}.").format(_(doctype))) from error


def list_search_fields(meta, readable: Container[str]) -> list[str]:
	named = [name.strip() for name in (meta.search_fields or "").split(",")]
	listed = [df.fieldname for df in meta.fields if df.in_list_view]
	wanted = {meta.title_field, *named, *listed}
	return [
		"name",
		*(
			df.fieldname
			for df in meta.fields
			if df.fieldname in wanted and df.fieldname in readable and df.fieldtype in SEARCHABLE_TYPES
		),
	]


def read_record(doctype: str, name: str) -> dict:
	"""{doc, can, files, untrusted} of a record. Passwords are masked. Raises PermissionError.

	`untrusted`: where outside content in it came from, until somebody trusts it; else None.
	"""
	doc = load_readable(doctype, name)
	files = frappe.get_all(
		"File",
		filters={"attached_to_doctype": doctype, "attached_to_name": name},
		fields=["name", "file_name", "file_url", "file_size", "is_private"],
		order_by="creation asc",
	)
	rights = RECORD_RIGHTS + (SUBMIT_RIGHTS if doc.meta.is_submittable else ())
	return {
		"doc": doc.as_dict(),
		"can": {right: has_right(doctype, right, doc) for right in rights},
		"files": files,
		"untrusted": read_origin(doctype, doc.name) or find_outsider(doctype, [doc.name]),
	}


def load_readable(doctype: str, name: str):
	"""A record with the fields that the user may read. Raises PermissionError, DoesNotExistError."""
	frappe.get_meta(doctype)  # get_doc raises ImportError for a DocType that is gone
	doc = get_permitted(doctype, name)
	doc.apply_fieldlevel_read_permissions()
	return doc


def read_card(doctype: str, name: str, language: str | None = None) -> dict:
	"""{doctype, title, fields: [{label, value}]} of a record, `doctype` and labels translated: the columns of
	its list that have a value. Raises PermissionError.
	"""
	doc = load_readable(doctype, name)
	meta = describe_doctype(doctype, language)
	labels = {field["fieldname"]: field.get("label") or field["fieldname"] for field in meta["fields"]}
	values = {field: doc.get(field) for field in meta["columns"] if field in labels}
	return {
		"doctype": meta["label"],
		"title": shorten_field(doc.get(meta["title_field"]) if meta["title_field"] else None) or name,
		"fields": [
			{"label": labels[field], "value": shorten_field(value)}
			for field, value in values.items()
			if value not in (None, "")
		],
	}


def shorten_field(value) -> str:
	"""A value as one short line of plain text."""
	# Frappe's strip_html takes the square of the text's length where brackets do not end.
	return clip_line(strip_html(str(value or "")[:MAX_SHORTENED_CHARS]), MAX_CARD_CHARS)


def list_used_doctypes(language: str | None = None) -> list[dict]:
	"""DocTypes that tools use, custom DocTypes of the site, and the facts of agents: [{name, label}]."""
	named = frappe.get_all(
		"Agent Tool Function",
		filters={"reference_doctype": ["is", "set"]},
		pluck="reference_doctype",
		order_by="reference_doctype asc",
	)
	own = frappe.get_all("DocType", filters={"custom": 1, "istable": 0}, pluck="name", order_by="name asc")
	names = sorted({*named, *own, "Agent Memory"})
	names = [name for name in names if frappe.db.exists("DocType", name) and has_right(name, "read")]
	return [{"name": name, "label": get_translator(language)(name)} for name in names]
