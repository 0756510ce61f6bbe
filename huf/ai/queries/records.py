"""DocTypes as forms: what a page has to know of one to list, show and change its records. Reads as the user; never writes."""

from collections.abc import Callable
from functools import partial

import frappe
from frappe import _

from huf.ai.tools.types import LAYOUT_FIELDS

SHOWN = (
	*("fieldname", "fieldtype", "label", "options", "default", "description", "precision", "fetch_from"),
	*("depends_on", "mandatory_depends_on", "read_only_depends_on", "link_filters"),
	*("reqd", "read_only", "hidden", "non_negative", "set_only_once", "collapsible", "in_list_view"),
)
TRANSLATED = ("label", "description")
LANGUAGES = ("en", "de", "es", "cs")
RIGHTS = ("write", "create", "delete")
RIGHTS_TO_ONE, RIGHTS_TO_SUBMITTABLE = ("write", "delete"), ("submit", "cancel")
SEARCHED = ("Data", "Small Text", "Text", "Link", "Select", "Text Editor", "Read Only")
NOT_LISTED = {*LAYOUT_FIELDS, "Table", "Code", "JSON", "Long Text"}
MIN_COLUMNS, MAX_COLUMNS = 3, 6
"""Columns of a list: where the DocType names none, and at most."""


def describe_doctype(doctype: str, language: str | None = None) -> dict:
	"""A DocType in one of the LANGUAGES; in the user's if left out.

	{name, label, title_field, is_single, is_submittable, is_named, fields, tables: {DocType: fields}, columns, can}.

	Of `fields` those that the user may read; what they may not write is read_only. Raises PermissionError.
	"""
	meta = frappe.get_meta(doctype)
	frappe.has_permission(doctype, "read", throw=True)
	in_words = words_in(language)
	fields = describe_fields(meta, meta, in_words)
	return {
		"name": meta.name,
		"label": in_words(meta.name),
		"title_field": meta.title_field or None,
		"is_single": bool(meta.issingle),
		"is_submittable": bool(meta.is_submittable),
		"is_named": (meta.autoname or "").lower() == "prompt",
		"fields": fields,
		"tables": {
			df.options: describe_fields(frappe.get_meta(df.options), meta, in_words)
			for df in meta.get_table_fields()
		},
		"columns": columns_of(meta, [field["fieldname"] for field in fields]),
		"can": {right: may(doctype, right) for right in RIGHTS},
	}


def words_in(language: str | None) -> Callable[[str], str]:
	return partial(_, lang=language if language in LANGUAGES else None)


def describe_fields(meta, parent, in_words: Callable[[str], str]) -> list[dict]:
	"""Fields of a form, or of a row of `parent`'s."""
	readable, writable = ({0, *parent.get_permlevel_access(right)} for right in ("read", "write"))
	return [
		{
			**{key: df.get(key) for key in SHOWN if df.get(key)},
			**{key: in_words(df.get(key)) for key in TRANSLATED if df.get(key)},
			**labels_of(df, in_words),
			**({} if df.permlevel in writable else {"read_only": 1}),
		}
		for df in meta.fields
		if df.permlevel in readable
	]


def labels_of(df, in_words: Callable[[str], str]) -> dict:
	"""{labels: {choice: what it is called}} of a Select, where one of them is another word."""
	choices = (df.options or "").split("\n") if df.fieldtype == "Select" else ()
	labels = {choice: in_words(choice) for choice in choices if choice}
	return {"labels": labels} if any(choice != label for choice, label in labels.items()) else {}


def may(doctype: str, right: str, doc=None) -> bool:
	return bool(frappe.has_permission(doctype, right, doc=doc))


def columns_of(meta, readable: list[str]) -> list[str]:
	"""What a list shows beside a record's title."""
	fields = [
		df
		for df in meta.fields
		if df.fieldname in readable and df.fieldtype not in NOT_LISTED and not df.hidden
	]
	fields = [df for df in fields if df.fieldname != meta.title_field]
	named = [df.fieldname for df in fields if df.in_list_view] or [df.fieldname for df in fields][
		:MIN_COLUMNS
	]
	return named[:MAX_COLUMNS]


def list_records(doctype: str, text: str = "", filters: dict | None = None, start: int = 0, limit: int = 50):
	"""Records that the user may read, the last changed first: {name, modified, docstatus, title, and the columns}."""
	meta = frappe.get_meta(doctype)
	columns = describe_doctype(doctype)["columns"]
	title = [meta.title_field] if meta.title_field else []
	return frappe.get_list(
		doctype,
		filters=filters or {},
		or_filters=[[doctype, name, "like", f"%{text}%"] for name in searched(meta)] if text else None,
		fields=[f"`{name}`" for name in dict.fromkeys(["name", "modified", "docstatus", *title, *columns])],
		order_by="modified desc",
		limit_start=start,
		limit_page_length=limit,
	)


def searched(meta) -> list[str]:
	named = [name.strip() for name in (meta.search_fields or "").split(",")]
	listed = [df.fieldname for df in meta.fields if df.in_list_view]
	wanted = {meta.title_field, *named, *listed}
	return [
		"name",
		*(df.fieldname for df in meta.fields if df.fieldname in wanted and df.fieldtype in SEARCHED),
	]


def read_record(doctype: str, name: str) -> dict:
	"""{doc, can, files}. Secrets are not in it: a stored password is a row of stars."""
	doc = frappe.get_doc(doctype, name)
	doc.check_permission("read")
	doc.apply_fieldlevel_read_permissions()
	files = frappe.get_all(
		"File",
		filters={"attached_to_doctype": doctype, "attached_to_name": name},
		fields=["name", "file_name", "file_url", "file_size", "is_private"],
		order_by="creation asc",
	)
	rights = RIGHTS_TO_ONE + (RIGHTS_TO_SUBMITTABLE if doc.meta.is_submittable else ())
	return {
		"doc": doc.as_dict(),
		"can": {right: may(doctype, right, doc) for right in rights},
		"files": files,
	}


def worked_with(language: str | None = None) -> list[dict]:
	"""DocTypes that people come here for: those that tools work with, and the site's own: [{name, label}]."""
	named = frappe.get_all(
		"Agent Tool Function",
		filters={"reference_doctype": ["is", "set"]},
		pluck="reference_doctype",
		order_by="reference_doctype asc",
	)
	own = frappe.get_all("DocType", filters={"custom": 1, "istable": 0}, pluck="name", order_by="name asc")
	names = sorted({*named, *own})
	names = [name for name in names if frappe.db.exists("DocType", name) and may(name, "read")]
	return [{"name": name, "label": words_in(language)(name)} for name in names]
