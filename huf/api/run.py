"""REST about runs."""

import frappe

from huf.ai.records import journal


@frappe.whitelist(methods=["POST"])
def cancel(run: str):
	"""Ask a run to end. It does so at its next step, or while it waits for a model."""
	doc = frappe.get_doc("Agent Run", run)
	doc.check_permission("read")
	journal.request_cancel(doc.name)
