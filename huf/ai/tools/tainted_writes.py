"""Marks documents that contain untrusted content, as they are saved."""

from datetime import timedelta

import frappe
from frappe.utils import get_datetime, now_datetime

from huf.ai.storage.untrusted_records import (
	find_outsider,
	is_outsider,
	mark_outsider_change,
	mark_record,
	read_origin,
)
from huf.ai.tools.taint import find_origins

MARKED_EVENTS = ("after_insert", "on_change")
MAILED_WITHIN = timedelta(minutes=1)


def mark_saved(doc, method: str) -> None:
	"""Mark a document at one of MARKED_EVENTS, if its content is untrusted."""
	if method == "on_change":
		mark_written(doc)
	elif doc.get("amended_from"):
		mark_amended(doc)
	elif doc.doctype == "Communication":
		mark_mailed(doc)


def mark_written(doc) -> None:
	"""Mark what a run writes after it has read untrusted content, and what outsiders change."""
	run, user = frappe.flags.huf_run, frappe.session.user
	if run and (origins := find_writer_origins(run)):
		mark_record(doc.doctype, doc.name, origins, run, list_changed_fields(doc))
	elif not run and is_outsider(user):
		mark_outsider_change(doc, user, list_changed_fields(doc))


def find_writer_origins(run: str) -> tuple[str, ...]:
	"""`find_origins`, once for all documents that a call writes: it may write hundreds."""
	capture = frappe.flags.huf_changes
	known = capture.origins if capture else {}
	if run not in known:
		known[run] = find_origins(run)
	return known[run]


def list_changed_fields(doc) -> list[str] | None:
	"""The fields that a save has changed; None: any, as in a new document."""
	if not (before := doc.get_doc_before_save()):
		return None
	return [df.fieldname for df in doc.meta.fields if before.get(df.fieldname) != doc.get(df.fieldname)]


def mark_amended(doc) -> None:
	"""An amended document has the contents of the cancelled one."""
	doctype, cancelled = doc.doctype, doc.amended_from
	if origin := read_origin(doctype, cancelled) or find_outsider(doctype, [cancelled]):
		mark_record(doc.doctype, doc.name, origin.splitlines(), None)


def mark_mailed(communication) -> None:
	"""Mark the document that a mail to an Email Account has made; Frappe inserts both at once."""
	doctype, name = communication.reference_doctype, communication.reference_name
	if communication.sent_or_received != "Received" or not (doctype and name):
		return
	made = frappe.db.get_value(doctype, name, "creation")
	if made and now_datetime() - get_datetime(made) < MAILED_WITHIN:
		mark_record(doctype, name, ["mail"], None)
