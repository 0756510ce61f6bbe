"""Reports, run with the permissions of the user in session."""

import json

import frappe
from frappe import _, permissions
from frappe.utils.data import cint

RESULT_PARTS = ("columns", "result", "message", "chart", "report_summary", "skip_total_row")
NUMBERS = ("Int", "Float", "Currency", "Percent")


def run(report_name: str, filters=None, user=None, ignore_prepared_report=False, are_default_filters=True):
	"""{columns: [{fieldname, label, fieldtype, ...}], result: [{fieldname: value}], message, chart, ...}

	Raises PermissionError unless the user has the report's roles and the right `report` on its DocType.
	"""
	report = get_report_doc(report_name)
	filters = json.loads(filters) if isinstance(filters, str) else filters
	parts = [*(report.execute(filters or {}) or ()), *([None] * len(RESULT_PARTS))]
	found = dict(zip(RESULT_PARTS, parts, strict=False))
	columns = [column_as_dict(column) for column in found["columns"] or ()]
	rows = permitted_rows(report.ref_doctype, columns, rows_as_dicts(found["result"] or [], columns))
	add_total = bool(report.add_total_row and rows and not found["skip_total_row"])
	if add_total:
		rows = [*rows, total_row(rows, columns)]
	return {
		**found,
		"columns": columns,
		"result": rows,
		"skip_total_row": found["skip_total_row"] or 0,
		"add_total_row": add_total,
		"status": None,
		"execution_time": 0,
	}


def get_report_doc(report_name: str):
	"""The report, if the user may run it.  Raises DoesNotExistError, PermissionError, ValidationError."""
	report = frappe.get_doc("Report", report_name)
	if not report.is_permitted():
		frappe.throw(_("You don't have access to Report: {0}").format(_(report.name)), frappe.PermissionError)
	if not frappe.has_permission(report.ref_doctype, "report"):
		message = _("You don't have permission to get a report on: {0}").format(_(report.ref_doctype))
		frappe.throw(message, frappe.PermissionError)
	if report.disabled:
		frappe.throw(_("Report {0} is disabled").format(_(report_name)))
	return report


def column_as_dict(column) -> dict:
	"""A column from a dict, or from text such as "Label:Link/User:120"."""
	if not isinstance(column, str):
		column = dict(column)
		column.setdefault("fieldname", frappe.scrub(column.get("label") or ""))
		column.setdefault("fieldtype", "Data")
		return column
	label, kind, width = [*column.split(":"), "", ""][:3]
	kind, _slash, options = kind.partition("/")
	described = {"label": label, "fieldname": frappe.scrub(label), "fieldtype": kind or "Data"}
	described.update({"options": options} if options else {}, **({"width": cint(width)} if width else {}))
	return described


def rows_as_dicts(rows, columns) -> list:
	names = [column["fieldname"] for column in columns]
	return [dict(zip(names, row, strict=False)) if isinstance(row, (list, tuple)) else row for row in rows]


def permitted_rows(doctype: str, columns, rows) -> list:
	"""The rows whose linked documents are all permitted by User Permissions."""
	confined = permissions.get_user_permissions()
	links = [
		(column["fieldname"], permissions.get_allowed_docs_for_doctype(confined[column["options"]], doctype))
		for column in columns
		if column["fieldtype"] == "Link" and column.get("options") in confined
	]
	return [row for row in rows if all(is_allowed(row.get(name), allowed) for name, allowed in links)]


def is_allowed(value, allowed) -> bool:
	return not allowed or not value or value in allowed


def total_row(rows, columns) -> dict:
	"""Sums of the number columns; the first column says "Total"."""
	total = {}
	for column in columns:
		name = column["fieldname"]
		is_number = column["fieldtype"] in NUMBERS
		total[name] = sum(row.get(name) or 0 for row in rows) if is_number else ""
	if columns and not total[columns[0]["fieldname"]]:
		total[columns[0]["fieldname"]] = _("Total")
	return total
