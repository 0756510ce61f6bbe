"""A report: a query, or a function of its module.  Running it with permissions is in desk/query_report.py."""

import re

import frappe
from frappe.model.document import Document

SELECT = re.compile(r"\s*(select|with|explain)\b", re.IGNORECASE)
SUPPORTED = ("Query Report", "Script Report")


class Report(Document):
	def validate(self):
		self.module = self.module or frappe.get_meta(self.ref_doctype).module
		if self.report_type not in SUPPORTED:
			frappe.throw(
				f"{self.report_type} is not part of embedded mode: use one of {', '.join(SUPPORTED)}"
			)
		if self.is_standard == "No" and "System Manager" not in frappe.get_roles():
			frappe.only_for("Report Manager", message=True)
		if self.report_type == "Script Report" and self.is_standard == "No":
			frappe.throw(
				"A Script Report without a module is not part of embedded mode: set is_standard to Yes"
			)

	def is_permitted(self) -> bool:
		"""Whether the user has one of the report's roles; a report without roles is open."""
		allowed = {row.role for row in self.roles}
		return not allowed or not allowed.isdisjoint(frappe.get_roles())

	def execute(self, filters: dict) -> list:
		"""The result of the module's `execute`, or [columns, rows] of the query."""
		return (
			self.execute_query(filters)
			if self.report_type == "Query Report"
			else self.execute_module(filters)
		)

	def execute_query(self, filters: dict) -> list:
		if not self.query:
			frappe.throw(frappe._("Must specify a Query to run"), title=frappe._("Report Document Error"))
		if not SELECT.match(self.query):
			frappe.throw(frappe._("Query must be of SELECT or read-only WITH type."), frappe.PermissionError)
		rows, columns = frappe.db.read(self.query, filters or None)
		return [columns, rows]

	def execute_module(self, filters: dict):
		folder = frappe.scrub(self.name)
		app, module = frappe.apps.get_module_app(self.module), frappe.scrub(self.module)
		return frappe.get_attr(f"{app}.{module}.report.{folder}.{folder}.execute")(frappe._dict(filters))
