"""Dispatches app events: any app reports that something happened with `huf.emit`."""

from typing import Any

import frappe
from frappe.model.document import Document

from huf.ai.triggers.conditions import Snapshot, take_snapshot
from huf.ai.triggers.dispatch import SourceEvent, dispatch_events, evaluate_trigger
from huf.ai.triggers.doc_events import evaluate_for_document
from huf.ai.triggers.registry import APP_EVENTS, get_watched_triggers


def emit(event: str, payload: Any = None, key: str | None = None) -> list[str]:
	"""See `huf.emit`."""
	triggers = get_watched_triggers().get(APP_EVENTS, {}).get(event)
	if not triggers:
		return []
	source = build_app_event(event, payload, str(key or frappe.generate_hash(length=20)))
	if isinstance(payload, Document):
		return dispatch_events([evaluate_for_document(trigger, source, payload) for trigger in triggers])
	return dispatch_events([evaluate_trigger(trigger, source) for trigger in triggers])


def build_app_event(event: str, payload: Any, key: str) -> SourceEvent:
	"""The event with its payload; a document or a dict is what conditions read as `doc`."""
	doctype = name = None
	if isinstance(payload, Document):
		doctype, name, doc = payload.doctype, payload.name, take_snapshot(payload)
		payload = doc.as_dict()
	else:
		doc = Snapshot(payload if isinstance(payload, dict) else {})
	return SourceEvent(
		event=event,
		key=key,
		user=frappe.session.user,
		doc=doc,
		payload=payload,
		reference_doctype=doctype,
		reference_name=name,
		caused_by=frappe.flags.huf_run,
	)
