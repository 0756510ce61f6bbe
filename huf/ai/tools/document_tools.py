"""Reads and changes documents for tools. Every function checks the user's permissions.

`fields.py` decides which fields they may see. All act as `frappe.session.user`, return plain JSON values, and
raise ToolError (or Frappe's own PermissionError, ValidationError ...) with words the model can act on. None
commits, none ignores permissions.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import frappe

from huf.ai.core.errors import ToolError
from huf.ai.core.request_values import clamp_start
from huf.ai.tools.fields import (
	check_fields,
	check_writable,
	complete_tables,
	list_default_fields,
	list_readable_fields,
	list_summary_fields,
	rename_rows,
	to_visible_dict,
)
from huf.ai.tools.filters import check_options, clean_filters, clean_order, has_tables
from huf.ai.tools.reads import record_reads
from huf.ai.tools.totals import get_totals
from huf.ai.tools.workflows import check_workflow_allows, first_state, move_to_state, take_state

MAX_ROWS = 500
MAX_SUMMARY_CHARS = 200
"""Longest value of a field in a summary."""


def get_document(doctype: str, name: str) -> dict:
	"""The document as the user may see it: no secrets, no fields above their permission level."""
	return to_visible_dict(get_permitted_document(doctype, name, "read"))


def get_documents(doctype: str, names: Iterable[str]) -> list[dict]:
	"""Like `get_document`, for several names. Raises the first error."""
	return [get_document(doctype, name) for name in names]


def get_list(
	doctype: str,
	filters: Any = None,
	fields: Sequence[str] | None = None,
	order_by: str | None = None,
	limit: int = 20,
	start: int = 0,
	group_by: Sequence[str] | None = None,
	sum: Sequence[str] | None = None,
) -> dict:
	"""Rows the user may see: {doctype, rows, count, more}. `more` says that rows were left out.

	With `group_by` or `sum`, the rows are totals (`get_totals`).
	"""
	refuse_single(doctype)
	limit, start = max(1, min(int(limit), MAX_ROWS)), clamp_start(start)
	if group_by is not None or sum:
		return get_totals(doctype, filters, group_by or (), sum or (), order_by, limit, start)
	allowed = list_readable_fields(doctype)
	fields = list(dict.fromkeys(["name", *(fields or list_default_fields(doctype, allowed))]))
	check_fields(doctype, fields, allowed)
	conditions = clean_filters(doctype, filters, allowed)
	order, direction = clean_order(doctype, order_by, allowed)
	rows = frappe.get_list(
		doctype,
		filters=conditions,
		# Frappe 15 orders by a column of two joined tables only if it is selected.
		fields=list(dict.fromkeys([*fields, order])),
		order_by=f"{order} {direction}",
		distinct=has_tables(conditions),
		limit_start=start,
		limit_page_length=limit + 1,
	)
	if not rows:
		check_options(doctype, conditions)
	record_reads(doctype, [row.name for row in rows], fields)
	visible = [{field: row.get(field) for field in fields} for row in rows[:limit]]
	return {"doctype": doctype, "rows": visible, "count": len(visible), "more": len(rows) > limit}


def refuse_single(doctype: str) -> None:
	"""A new document would replace the only one with default values, and there is no table to list."""
	if frappe.get_meta(doctype).issingle:
		raise ToolError(f"{doctype} has only one document, named {doctype!r}. Get or update that one.")


def get_summaries(doctype: str, filters: Any = None, limit: int = 20, start: int = 0) -> dict:
	"""Rows as from `get_list`, with key fields only; long texts are cut and empty fields left out."""
	fields = list_summary_fields(doctype, list_readable_fields(doctype))
	found = get_list(doctype, filters, fields, None, limit, start)
	rows = [
		{key: truncate_value(value) for key, value in row.items() if value is not None}
		for row in found["rows"]
	]
	return {**found, "rows": rows}


def truncate_value(value: Any) -> Any:
	long = isinstance(value, str) and len(value) > MAX_SUMMARY_CHARS
	return f"{value[:MAX_SUMMARY_CHARS]}…" if long else value


def get_value(doctype: str, fieldname: str | list[str], name: str | None = None, filters: Any = None) -> dict:
	"""{doctype, name, and the fields asked for} of one document, found by name or as the first that fits the
	filters.
	"""
	fields = [fieldname] if isinstance(fieldname, str) else list(fieldname)
	if not name and not filters:
		raise ToolError("Give the document's name, or filters to find it by.")
	found = get_list(doctype, {"name": name} if name else filters, fields, limit=1)["rows"]
	if not found:
		raise ToolError(f"No {doctype} that you may see fits {name or filters!r}.")
	return {"doctype": doctype, **found[0]}


def create_document(doctype: str, values: Mapping[str, Any]) -> dict:
	"""Insert a document; return what was stored."""
	refuse_single(doctype)
	check_writable(doctype, values, new=True)
	doc = frappe.get_doc({**rename_rows(doctype, values), "doctype": doctype})
	# Without a role for to-dos, one may create those that one assigns or is to do.
	if doctype == "ToDo" and not doc.assigned_by and not frappe.has_permission(doctype, "create", doc=doc):
		doc.assigned_by = frappe.session.user
	doc.insert()
	return to_visible_dict(doc)


def create_documents(doctype: str, documents: Iterable[Mapping[str, Any]]) -> list[dict]:
	"""Like `create_document`, for several. Raises the first error."""
	return [create_document(doctype, values) for values in documents]


def update_document(doctype: str, name: str, values: Mapping[str, Any]) -> dict:
	"""Change fields of a document and save it; return what was stored.

	A new workflow state is reached by the workflow's action, which may submit or cancel the document.
	"""
	check_writable(doctype, values)
	doc = get_permitted_document(doctype, name, "write")
	state, values = take_state(doc, values)
	if values or not state:
		doc.update(complete_tables(doc, values))
		doc.save()
	return to_visible_dict(move_to_state(doc, state) if state else doc)


def update_documents(doctype: str, documents: Iterable[Mapping[str, Any]]) -> list[dict]:
	"""Like `update_document`, for several of the form {name, values}."""
	return [update_document(doctype, each["name"], each["values"]) for each in documents]


def set_value(doctype: str, name: str, fieldname: str, value: Any) -> dict:
	"""Change one field; returns what `update_document` returns."""
	return update_document(doctype, name, {fieldname: value})


def delete_document(doctype: str, name: str) -> dict:
	"""{doctype, name, deleted}. Raises ToolError if the user may not read it, PermissionError if they may
	not delete it, or LinkExistsError.
	"""
	get_permitted_document(doctype, name, "delete").delete()
	return {"doctype": doctype, "name": name, "deleted": True}


def delete_documents(doctype: str, names: Iterable[str]) -> list[dict]:
	return [delete_document(doctype, name) for name in names]


def submit_document(doctype: str, name: str) -> dict:
	"""The submitted document as the user sees it. Raises ToolError if it is not a draft or a workflow forbids
	it.
	"""
	doc = get_submittable_document(doctype, name, "submit")
	check_workflow_allows(doc, "submit")
	if doc.docstatus != 0:
		raise ToolError(f"{doctype} {name} is not a draft, so it cannot be submitted.")
	doc.submit()
	return to_visible_dict(doc)


def cancel_document(doctype: str, name: str) -> dict:
	"""The cancelled document as the user sees it. Raises ToolError if it is not submitted or a workflow
	forbids it.
	"""
	doc = get_submittable_document(doctype, name, "cancel")
	check_workflow_allows(doc, "cancel")
	if doc.docstatus != 1:
		raise ToolError(f"{doctype} {name} is not submitted, so it cannot be cancelled.")
	doc.cancel()
	return to_visible_dict(doc)


def amend_document(doctype: str, name: str, values: Mapping[str, Any]) -> dict:
	"""Insert a draft that amends a cancelled document: its values, with these changed."""
	check_writable(doctype, values)
	doc = get_submittable_document(doctype, name, "amend")
	if doc.docstatus != 2:
		raise ToolError(f"{doctype} {name} is not cancelled, so it cannot be amended. Cancel it first.")
	if frappe.db.exists(doctype, {"amended_from": name}):
		raise ToolError(f"{doctype} {name} has been amended already.")
	amendment = frappe.copy_doc(doc)
	values = rename_rows(doctype, values)
	amendment.update({**values, "amended_from": name, "docstatus": 0, **first_state(doctype)})
	amendment.insert()
	return to_visible_dict(amendment)


def get_amended_document(doctype: str, name: str) -> dict:
	"""The newest amendment of a cancelled document, following amendments of amendments."""
	if not frappe.get_meta(doctype).has_field("amended_from"):
		raise ToolError(f"{doctype} is a DocType whose documents are never amended.")
	doc = get_permitted_document(doctype, name, "read")
	# `get_list` leaves out amendments that the user may not read.
	while newer := frappe.get_list(
		doctype,
		filters={"amended_from": doc.name},
		pluck="name",
		order_by="creation desc",
		limit_page_length=1,
	):
		doc = get_permitted_document(doctype, newer[0], "read")
	if doc.name == name:
		raise ToolError(f"{doctype} {name} has not been amended.")
	return to_visible_dict(doc)


def attach_file_to_document(
	doctype: str,
	name: str,
	file_name: str | None = None,
	content: str | None = None,
	file_url: str | None = None,
) -> dict:
	"""Attach a private file to a document, from text or from a file of the site."""
	get_permitted_document(doctype, name, "write")
	values = {"doctype": "File", "attached_to_doctype": doctype, "attached_to_name": name, "is_private": 1}
	if file_url:
		source = get_readable_file(file_url)
		values |= {"file_name": file_name or source.file_name, "file_url": source.file_url}
		values["is_private"] = source.is_private
	elif content is not None and file_name:
		values |= {"file_name": file_name, "content": content}
	else:
		raise ToolError("Give file_name and content, or the file_url of a file on this site.")
	doc = frappe.get_doc(values).insert()
	return {
		"name": doc.name,
		"file_name": doc.file_name,
		"file_url": doc.file_url,
		"attached_to": f"{doctype} {name}",
	}


def get_report_result(report: str, filters: Mapping[str, Any] | None = None) -> dict:
	"""Columns and rows of a report the user may run: {doctype, name, columns, rows, count, more}.

	Raises ToolError for a report that Frappe prepares in a job and has not prepared.
	"""
	from frappe.desk.query_report import run

	result = run(report, filters=dict(filters or {}))
	if result.get("prepared_report") and not result.get("doc"):
		raise ToolError(
			f"The report {report} is made in advance, and has not been made with these filters. "
			"A person can generate it on its page on Desk; then call this again with the same filters."
		)
	rows = result.get("result") or []
	record_reads(frappe.db.get_value("Report", report, "ref_doctype"), [None])
	columns = [
		column if isinstance(column, str) else column.get("fieldname") or column.get("label")
		for column in result.get("columns") or []
	]
	return {
		"doctype": "Report",
		"name": report,
		"columns": columns,
		"rows": rows[:MAX_ROWS],
		"count": len(rows[:MAX_ROWS]),
		"more": len(rows) > MAX_ROWS,
	}


def get_readable_file(file_url: str):
	"""The File record behind a URL of this site that the user may read. Raises ToolError."""
	for name in frappe.get_all("File", filters={"file_url": file_url}, pluck="name", order_by="creation asc"):
		# Several records may share the URL; permission on any one of them is enough.
		doc = frappe.get_doc("File", name)
		if doc.has_permission("read"):
			return doc
	raise ToolError(f"There is no file {file_url!r} on this site that you may read.")


def get_permitted_document(doctype: str, name: str, ptype: str):
	"""A document on which the user has `ptype`. A document they may not read raises the same error as a
	missing one.
	"""
	doc = frappe.get_doc(doctype, name) if frappe.db.exists(doctype, name) else None
	if not doc or not doc.has_permission("read"):
		raise ToolError(f"There is no {doctype} {name!r} that you may read. Look it up first.")
	doc.check_permission(ptype)
	record_reads(doctype, [doc.name])
	return doc


def get_submittable_document(doctype: str, name: str, ptype: str):
	if not frappe.get_meta(doctype).is_submittable:
		raise ToolError(f"{doctype} is a DocType whose documents are not submitted or cancelled.")
	return get_permitted_document(doctype, name, ptype)
