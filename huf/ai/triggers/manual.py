"""Dispatches a trigger for a person who presses its button, or tests it."""

from dataclasses import replace
from typing import Any

import frappe
from frappe import _

from huf.ai.core.documents import get_permitted
from huf.ai.core.errors import UsageError
from huf.ai.core.trigger_types import TriggerEvent, TriggerEventStatus, TriggerType
from huf.ai.core.types import AgentRequest
from huf.ai.runs import admission
from huf.ai.storage import trigger_events
from huf.ai.storage.untrusted_records import mark_outsider_document
from huf.ai.triggers.conditions import Snapshot
from huf.ai.triggers.dispatch import SourceEvent, dispatch_events, evaluate_trigger
from huf.ai.triggers.doc_events import build_document_event, evaluate_for_document
from huf.ai.triggers.registry import read_triggers

MANUAL = "manual"


def dispatch_manually(
	name: str, payload: Any = None, document: str | None = None, key: str | None = None
) -> str:
	"""Dispatch a trigger as the session user and return the name of the Agent Trigger Event.

	A Doc Event trigger runs for `document`, or for the newest one. A `key` that the same user repeats starts
	no second run. Raises PermissionError, TooManyRuns, or UsageError for what the person has to change first.
	"""
	trigger = get_usable_trigger(name)
	key = f"manual: {frappe.session.user} {key or frappe.generate_hash(length=20)}"
	if trigger.trigger_type == TriggerType.DOC_EVENT.value:
		doc = choose_document(trigger, document)
		source = replace(build_document_event(doc, trigger.doc_event, key), is_manual=True)
		evaluated = evaluate_for_document(trigger, source, doc)
		mark_outsider_document(doc)
	else:
		values = payload if isinstance(payload, dict) else {}
		source = SourceEvent(MANUAL, key, frappe.session.user, Snapshot(values), payload, is_manual=True)
		evaluated = evaluate_trigger(trigger, source)
	if evaluated.status is TriggerEventStatus.QUEUED:
		count_press(evaluated)
	(event,) = dispatch_events([evaluated])
	return event


def count_press(evaluated: TriggerEvent) -> None:
	"""Count the run of a new event against the limit per hour of the person who starts it."""
	if not trigger_events.read_trigger_event(trigger_events.trigger_event_name(evaluated)):
		request = AgentRequest(evaluated.agent, "", frappe.session.user)
		admission.count_run(request, frappe.get_cached_doc("Agent", evaluated.agent))


def get_usable_trigger(name: str):
	"""The trigger, if the session user may start it; raises PermissionError otherwise.

	Who may change a trigger may start it. Who may use its agent may also press the button of an enabled
	Manual trigger, unless that acts as another user.
	"""
	found = read_triggers("t.name = %s", (name,))
	if not found:
		raise frappe.PermissionError(f"There is no trigger {name!r} that you may start.")
	trigger, user = found[0], frappe.session.user
	if frappe.has_permission("Agent Trigger", "write", doc=name, user=user):
		return trigger
	is_button = trigger.trigger_type == TriggerType.MANUAL.value and not trigger.disabled
	if not is_button or (trigger.run_as and trigger.run_as != user):
		raise frappe.PermissionError(f"There is no trigger {name!r} that you may start.")
	admission.admit(trigger.agent, user)
	return trigger


def choose_document(trigger, name: str | None):
	"""The document of that name, or without one the newest that the user may read. Raises UsageError."""
	if not name and frappe.get_meta(trigger.reference_doctype).issingle:
		name = trigger.reference_doctype
	if not name:
		newest = frappe.get_list(
			trigger.reference_doctype, pluck="name", order_by="modified desc", limit_page_length=1
		)
		name = newest[0] if newest else None
	if not name or not frappe.db.exists(trigger.reference_doctype, name):
		text = _("There is no such document ({0}). Choose an existing one.")
		raise UsageError(text.format(_(trigger.reference_doctype)))
	return get_permitted(trigger.reference_doctype, name)


def read_event(name: str) -> dict:
	"""The result of a dispatched event for the person who started it: {name, status, run, reason, prompt}.

	Commits, because only a new transaction is sure to see the row of the same press at the same moment.
	"""
	frappe.db.commit()
	row = trigger_events.read_trigger_event(name)
	return {key: row.get(key) for key in ("name", "status", "run", "reason", "prompt")}
