"""Functions the run under test calls besides Huf's own tools."""

import frappe

from huf.ai.tools.registry import tool


@tool()
def send_mail(to: str, subject: str):
	"""Mail by Frappe's queue: a row in the caller's transaction, so a write."""
	frappe.sendmail(recipients=[to], subject=subject, message=subject, delayed=True)
	return "queued"
