"""Updates references to renamed documents that Frappe does not update: in the lists of packs, and in tables
that are written by SQL (see `rows.py`). Since version 16, Frappe caches which DocTypes a Dynamic Link refers
to, and misses such rows.
"""

import frappe

from huf.ai.core.database_connections import let_statements_wait
from huf.ai.core.types import OPEN_STATUSES
from huf.ai.storage.agent_changes import CHANGE, rename_cause
from huf.ai.storage.stops import SWITCH, rename_target

TABLES = ("Agent Untrusted Record", CHANGE, "Agent Draft", "Agent Run", "Agent Trigger Event")
PACK_RECORD = "Agent Pack Record"


@let_statements_wait()
def follow_rename(doc, method: str, old: str, new: str, merge: bool = False) -> None:
	"""Document event: after a rename. Does not commit."""
	where = "reference_doctype = %s and reference_name = %s"
	for table in TABLES:
		# Documents may be renamed before the site has been migrated to this version of the app.
		if frappe.db.table_exists(table):
			query = f"update `tab{table}` set reference_name = %s where {where}"
			frappe.db.sql(query, (str(new), doc.doctype, str(old)))
	if frappe.db.table_exists(CHANGE):
		rename_cause(doc.doctype, str(old), str(new))
	# A document that was merged into another is gone, and the other one is not the pack's.
	if not merge and frappe.db.table_exists(PACK_RECORD):
		row = {"record_doctype": doc.doctype, "record_name": str(old)}
		frappe.db.set_value(PACK_RECORD, row, "record_name", str(new), update_modified=False)
	if frappe.db.table_exists(SWITCH):
		rename_target(doc.doctype, str(old), str(new))
	if doc.doctype == "AI Model":
		# Runs that have not ended go on with it.
		open_runs = {"model": old, "status": ["in", OPEN_STATUSES]}
		frappe.db.set_value("Agent Run", open_runs, "model", new, update_modified=False)
