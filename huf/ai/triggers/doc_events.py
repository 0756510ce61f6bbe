"""The door of document events: every save passes here, and a few set off agents.

`run_hooked_agents` runs inside the transaction of the save. It writes at most rows of its own there and never commits; an
agent runs in a worker, after the commit.
"""

import json

import frappe
from frappe.utils import get_datetime

from huf.ai.core.trigger_types import TriggerEvent
from huf.ai.core.types import RunResult
from huf.ai.dry_run.change_tracking import note_event
from huf.ai.triggers.conditions import Snapshot, changes, readable_values, snapshot
from huf.ai.triggers.dispatch import Happening, decide, fire
from huf.ai.triggers.registry import APP_EVENTS, forget_watched, get_watched

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
"""What a trigger can watch, which is what Frappe really calls after a change; and how a prompt says it."""

LAST = ("on_trash", "after_delete")
UNWATCHED = frozenset(
	(
		*(
			"Agent Conversation",
			"Agent Message",
			"Agent Run",
			"Agent LLM Call",
			"Agent Tool Call",
			"Agent Draft",
			"Agent Trigger",
		),
		*(
			"Agent Trigger Event",
			"Huf Settings",
			"DocType",
			"Version",
			"Error Log",
			"Activity Log",
			"Access Log",
		),
		*(
			"Route History",
			"View Log",
			"Notification Log",
			"Scheduled Job Log",
			"Scheduled Job Type",
			"RQ Job",
		),
		*(
			"Deleted Document",
			"Custom Field",
			"Property Setter",
			"Email Queue",
			"DocShare",
			"Session Default",
		),
	)
)
"""What Huf and Frappe write by the way: watching it would set off agents by their own traces."""

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
	"""Triggers of a document event, each with what is needed of its agent; see `huf.ai.triggers.registry.FIELDS`."""
	watched = {doctype: events for doctype, events in get_watched().items() if doctype != APP_EVENTS}
	return [trigger for events in watched.values() for trigger in events.get(event, ())]


def clear_doc_event_agents_cache(doc=None, method: str | None = None, *_args) -> None:
	"""A trigger or an agent was saved, renamed or deleted: the map of what is watched is to be read anew."""
	forget_watched()


def run_hooked_agents(doc, method: str) -> None:
	"""Called by Frappe for every document and event; costs no query where no trigger watches the DocType."""
	if note_event(doc) or doc.doctype in UNWATCHED:
		return
	flags, modified = doc.flags, doc.modified
	seen = flags.get("huf_watched")
	if seen is None or seen[0] != modified:
		# A save has several events, on_change last: the map is looked up for the first.
		seen = flags["huf_watched"] = (modified, get_watched().get(doc.doctype))
	if method == "on_change":
		flags["huf_watched"] = None
	if seen[1] and (triggers := seen[1].get(method)):
		fire_triggers(doc, method, triggers)


def fire_triggers(doc, method: str, triggers: list) -> list[str]:
	"""Have triggers look at an event of a document, and write down what comes of it."""
	flags = frappe.flags
	if flags.in_install or flags.in_migrate or flags.in_patch:
		return []
	return fire(decide_all(doc, method, triggers))


def decide_all(doc, method: str, triggers: list) -> list[TriggerEvent]:
	happening = happening_of(doc, method)
	return [decide(trigger, happening) for trigger in triggers]


def happening_of(doc, method: str, key: str | None = None) -> Happening:
	seen = snapshot(doc)
	return Happening(
		event=method,
		key=key or key_of(doc, method),
		user=frappe.session.user,
		doc=seen,
		reference_doctype=doc.doctype,
		reference_name=str(doc.name),
		caused_by=frappe.flags.huf_run,
		names=names_of(doc, method, seen),
		default_prompt=DEFAULT_PROMPT,
	)


def key_of(doc, method: str) -> str:
	"""The time of the change and its event: with the document, they make the change one of its kind."""
	return f"{get_datetime(doc.modified):%Y-%m-%d %H:%M:%S.%f} {method}"


def names_of(doc, method: str, seen: Snapshot) -> dict:
	"""What a prompt may name besides the document."""
	changed = [
		f"{field}: {shortened(before)} → {shortened(after)}"
		for field, before, after in changes(seen, doc.meta)
	]
	values = ""
	if method in LAST:
		values = json.dumps(readable_values(seen, doc.meta), indent=1, ensure_ascii=False, default=str)
	return {
		"doctype": doc.doctype,
		"what": EVENTS.get(method, method),
		"changes": changed[:MAX_CHANGES],
		"values": values,
	}


def shortened(value) -> str:
	text = "(empty)" if value in (None, "") else str(value)
	return text if len(text) <= MAX_VALUE_CHARS else text[: MAX_VALUE_CHARS - 1] + "…"


def run_agent_for_doc(trigger_event: str) -> RunResult | None:
	"""Run the agent for an event that was written down, once: the outermost function of its job.

	`trigger_event` is the name of an Agent Trigger Event. An event that has its run is left alone.
	"""
	# Every save on the site loads this module. What runs agents is for workers to load.
	from huf.ai.triggers.runs import carry_out_event

	return carry_out_event(trigger_event)
