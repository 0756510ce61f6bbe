"""The door of buttons: a person fires a trigger, to have its work done now or to see what it would do."""

from typing import Any

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.core.trigger_types import TriggerType
from huf.ai.runs import admission
from huf.ai.storage import trigger_events
from huf.ai.triggers.conditions import Snapshot
from huf.ai.triggers.dispatch import Happening, decide, fire
from huf.ai.triggers.doc_events import happening_of as happening_of_doc
from huf.ai.triggers.registry import read_triggers

MANUAL = "manual"


def fire_by_hand(name: str, payload: Any = None, document: str | None = None, key: str | None = None) -> str:
	"""Fire a trigger as the person in session; gives the name of the Agent Trigger Event.

	A Doc Event trigger needs the name of a document. Pressed twice with one `key`, it fires once. Raises PermissionError,
	or UsageError for what the person has to change first.
	"""
	trigger = usable_trigger(name)
	key = f"by hand: {key or frappe.generate_hash(length=20)}"
	if trigger.trigger_type == TriggerType.DOC_EVENT.value:
		happening = happening_of_doc(chosen_document(trigger, document), trigger.doc_event, key)
	else:
		values = payload if isinstance(payload, dict) else {}
		happening = Happening(MANUAL, key, frappe.session.user, Snapshot(values), payload)
	(event,) = fire([decide(trigger, happening)])
	return event


def usable_trigger(name: str):
	"""The trigger, if this person may fire it.

	Whoever may use its agent may press the button of a Manual trigger. Others are fired by hand by those who may change
	them; so are those that act as somebody else.
	"""
	found = read_triggers("t.name = %s", (name,))
	if not found:
		raise frappe.PermissionError(f"There is no trigger {name!r} that you may fire.")
	trigger, user = found[0], frappe.session.user
	if frappe.has_permission("Agent Trigger", "write", doc=name, user=user):
		return trigger
	is_button = trigger.trigger_type == TriggerType.MANUAL.value and not trigger.disabled
	if not is_button or (trigger.run_as and trigger.run_as != user):
		raise frappe.PermissionError(f"There is no trigger {name!r} that you may fire.")
	admission.admit(trigger.agent, user)
	return trigger


def chosen_document(trigger, name: str | None):
	"""The document to fire for, or the newest that the person may read."""
	if not name:
		newest = frappe.get_list(
			trigger.reference_doctype, pluck="name", order_by="modified desc", limit_page_length=1
		)
		name = newest[0] if newest else None
	if not name or not frappe.db.exists(trigger.reference_doctype, name):
		raise UsageError(f"There is no {trigger.reference_doctype} to fire it for. Name one that is there.")
	doc = frappe.get_doc(trigger.reference_doctype, name)
	doc.check_permission("read")
	return doc


def read_event(name: str) -> dict:
	"""What came of an event, for the one who fired it."""
	row = trigger_events.read_trigger_event(name)
	return {key: row.get(key) for key in ("name", "status", "run", "reason", "prompt")}
