"""Sign-ins, failed sign-ins and sign-outs."""

import sqlite3
import sys

import frappe
from frappe.model.document import Document

KEEP_DAYS = 90
MAX_NAMES = 10_000
"""Limit for the names in one statement: SQLite limits its variables."""


class ActivityLog(Document):
	def before_insert(self):
		self.full_name = frappe.db.get_value("User", self.user, "full_name")
		self.communication_date = frappe.utils.now()
		self.ip_address = frappe.local.request_ip


def clear_old_logs(days: int = KEEP_DAYS):
	"""Delete old rows of logs, and old mails that were sent. Unsent mails stay, to be sent or looked into."""
	oldest = frappe.utils.get_datetime_str(frappe.utils.add_to_date(frappe.utils.now_datetime(), days=-days))
	for doctype in ("Activity Log", "Error Log"):
		frappe.db.delete(doctype, {"modified": ["<", oldest]})
	sent = {"modified": ["<", oldest], "status": "Sent"}
	mails = frappe.get_all("Email Queue", sent, pluck="name", order_by="name asc")
	for start in range(0, len(mails), MAX_NAMES):
		names = ["in", mails[start : start + MAX_NAMES]]
		frappe.db.delete("Email Queue Recipient", {"parent": names})
		frappe.db.delete("Email Queue", {"name": names})


def add_authentication_log(subject: str, user: str, operation: str = "Login", status: str = "Success"):
	"""Write a row and commit. A full or locked database does not keep anybody from signing in or out."""
	values = {"user": user, "subject": subject, "operation": operation, "status": status}
	try:
		with frappe.db.without_waiting():
			frappe.get_doc({"doctype": "Activity Log", **values}).insert(
				ignore_permissions=True, ignore_links=True
			)
			frappe.db.commit()
	except (frappe.QueryTimeoutError, sqlite3.Error) as error:
		frappe.db.rollback()
		print(f"A row of the Activity Log was not written: {error}", file=sys.stderr)
