"""Deletes the facts of agents (Agent Memory) that are kept for a record, with the record."""

import frappe

from huf.ai.core.database_connections import let_statements_wait

MEMORY = "Agent Memory"


@let_statements_wait()
def delete_facts_about(doc, method: str | None = None) -> None:
	"""Document event: after a deletion. Another record may get the same name. Does not commit."""
	# Documents may be deleted before the site has been migrated to this version of the app.
	if frappe.db.table_exists(MEMORY):
		about = {"reference_doctype": doc.doctype, "reference_name": str(doc.name)}
		frappe.db.delete(MEMORY, {"scope": "Record", **about})
