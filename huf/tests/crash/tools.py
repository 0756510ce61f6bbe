"""A custom function that the run under test calls as a tool."""

import frappe

from huf.ai.tools.registry import tool


@tool()
def send_mail(to: str, subject: str):
	"""Queue a mail: a row in the caller's transaction, so a write."""
	frappe.sendmail(recipients=[to], subject=subject, message=subject, delayed=True)
	return "queued"
