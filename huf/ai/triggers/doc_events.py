"""Dispatches document events: Frappe calls `run_hooked_agents` for every save on the site.

It runs inside the transaction of the save. It writes at most Agent Trigger Event rows and never commits; the
agent runs in a worker, after the commit.
"""

import json
from dataclasses import replace

import frappe
from frappe.utils import get_datetime

from huf.ai.core.settings import is_installing
from huf.ai.core.stored_text import clip
from huf.ai.core.trigger_types import TriggerEvent
from huf.ai.core.types import RunResult
from huf.ai.dry_run.change_tracking import record_event
from huf.ai.storage.untrusted_records import mark_outsider_document
from huf.ai.tools.tainted_writes import MARKED_EVENTS, mark_saved
from huf.ai.triggers.conditions import (
	Snapshot,
	loggable_values,
	read_field_changes,
	restrict_snapshot,
	take_snapshot,
)
from huf.ai.triggers.dispatch import SourceEvent, dispatch_events, evaluate_trigger, is_system_manager
from huf.ai.triggers.registry import APP_EVENTS, get_watched_triggers, invalidate_watched_triggers
from huf.ai.undo.capture import note_change

EVENTS = {
	"after_insert": "created",
	"on_update": "saved",
	"on_change": "changed",
	"on_submit": "submitted",
	"on_update_after_submit": "changed, after it was submitted,",
	"on_cancel": "cancelled",
	"on_trash": "deleted",
	"after_delete": "deleted",
}
"""The document events that a trigger can watch, each with its verb in the prompt."""
DELETE_EVENTS = ("on_trash", "after_delete")
UNWATCHED = frozenset(
	(
		"Access Log",
		"Activity Log",
		"Agent Budget",
		"Agent Change",
		"Agent Conversation",
		"Agent Draft",
		"Agent Eval Run",
		"Agent LLM Call",
		"Agent Mail",
		"Agent Mail Event",
		"Agent Message",
		"Agent Route Decision",
		"Agent Run",
		"Agent Stop",
		"Agent Stop Switch",
		"Agent Tool Call",
		"Agent Trigger",
		"Agent Trigger Event",
		"Agent Untrusted Record",
		"Custom Field",
		"Deleted Document",
		"DocShare",
		"DocType",
		"Email Queue",
		"Error Log",
		"Huf Settings",
		"Knowledge Chunk",
		"Knowledge Item",
		"MCP Grant",
		"Notification Log",
		"Property Setter",
		"RQ Job",
		"Route History",
		"Scheduled Job Log",
		"Scheduled Job Type",
		"Session Default",
		"Version",
		"View Log",
	)
)
"""DocTypes that Huf and Frappe write as a side effect: an agent that watched one would start itself, or
never, because Huf writes many of its tables without document events.
"""

MAX_CHANGES = 30
MAX_VALUE_CHARS = 300
DEFAULT_PROMPT = """{{ user }} {{ what }} the {{ doctype }} {{ doc.name }} (event {{ event }}).
{% if changes %}
Changed fields:
{% for change in changes %}- {{ change }}
{% endfor %}{% endif %}{% if values %}
Its last values:
{{ values }}
{% endif %}
Do what your instructions ask of you in this case.{% if not values %} Read the document first.{% endif %}"""


def get_doc_event_agents(event: str) -> list:
	"""The enabled triggers of a document event, each with fields of its agent; see `registry.FIELDS`."""
	watched = {doctype: events for doctype, events in get_watched_triggers().items() if doctype != APP_EVENTS}
	return [trigger for events in watched.values() for trigger in events.get(event, ())]


def clear_doc_event_agents_cache(doc=None, method: str | None = None, *_args) -> None:
	"""Called by Frappe when a trigger or an agent is saved, renamed or deleted."""
	invalidate_watched_triggers()


def run_hooked_agents(doc, method: str) -> None:
	"""Called by Frappe for every document and event; runs no query if no trigger watches the DocType."""
	if is_installing() or record_event(doc, method):
		return
	note_change(doc, method)
	if doc.doctype in UNWATCHED:
		return
	if method in MARKED_EVENTS:
		mark_saved(doc, method)
	flags, modified = doc.flags, doc.modified
	cached = flags.get("huf_watched")
	if cached is None or cached[0] != modified:
		# One save raises several events, on_change last; only the first looks the triggers up.
		cached = flags["huf_watched"] = (modified, get_watched_triggers().get(doc.doctype))
	if method == "on_change":
		flags["huf_watched"] = None
	if cached[1] and (triggers := cached[1].get(method)):
		mark_outsider_document(doc)
		dispatch_events(evaluate_triggers(doc, method, triggers))


def evaluate_triggers(doc, method: str, triggers: list) -> list[TriggerEvent]:
	source = build_document_event(doc, method)
	return [evaluate_for_document(trigger, source, doc) for trigger in triggers]


def evaluate_for_document(trigger, source: SourceEvent, doc) -> TriggerEvent:
	"""Evaluate a trigger for what the user of its run may read of the document; for all of it if a System
	Manager saved the trigger.
	"""
	if is_system_manager(trigger.modified_by):
		return evaluate_trigger(trigger, source)
	reader = trigger.run_as or source.user
	# Apps save documents for users who may not read them.
	is_readable = frappe.has_permission(doc.doctype, "read", doc=doc, user=reader)
	visible = restrict_snapshot(source.doc, doc.meta, reader)
	payload = visible.as_dict() if source.payload and is_readable else None
	return evaluate_trigger(trigger, replace(source, doc=visible, payload=payload, is_readable=is_readable))


def build_document_event(doc, method: str, key: str | None = None) -> SourceEvent:
	"""The event of a document; `key` defaults to the time of the change and the method."""
	snapshot = take_snapshot(doc)
	return SourceEvent(
		event=method,
		key=key or f"{get_datetime(doc.modified):%Y-%m-%d %H:%M:%S.%f} {method}",
		user=frappe.session.user,
		doc=snapshot,
		reference_doctype=doc.doctype,
		reference_name=str(doc.name),
		caused_by=frappe.flags.huf_run,
		undone=frappe.flags.huf_undone_triggers or (),
		names=build_prompt_variables(doc, method, snapshot),
		default_prompt=DEFAULT_PROMPT,
	)


def build_prompt_variables(doc, method: str, snapshot: Snapshot) -> dict:
	"""Variables of the prompt besides the document: {doctype, what, changes, values}."""
	changed = [
		f"{field}: {describe_change_value(before)} → {describe_change_value(after)}"
		for field, before, after in read_field_changes(snapshot, doc.meta)
	]
	values = ""
	if method in DELETE_EVENTS:
		values = json.dumps(loggable_values(snapshot, doc.meta), indent=1, ensure_ascii=False, default=str)
	return {
		"doctype": doc.doctype,
		"what": EVENTS.get(method, method),
		"changes": changed[:MAX_CHANGES],
		"values": values,
	}


def describe_change_value(value) -> str:
	return clip("(empty)" if value in (None, "") else str(value), MAX_VALUE_CHARS)


def run_agent_for_doc(trigger_event: str) -> RunResult | None:
	"""Job: run the agent for an Agent Trigger Event, given by name, once. None if the event already has a
	run.
	"""
	# Every save on the site imports this module; only workers need what runs agents.
	from huf.ai.triggers.runs import run_event

	return run_event(trigger_event)
