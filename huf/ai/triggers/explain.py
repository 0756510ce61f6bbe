"""Explains, condition by condition, why a trigger fired or did not. Only reads."""

import json
from dataclasses import asdict, replace

import frappe

from huf.ai.core.trigger_types import ConditionResult, TriggerEventStatus
from huf.ai.runs import admission
from huf.ai.triggers.conditions import restrict_snapshot
from huf.ai.triggers.doc_events import build_document_event, evaluate_for_document
from huf.ai.triggers.registry import read_triggers

EVENT_FIELDS = (
	"name",
	"trigger",
	"agent",
	"status",
	"event",
	"event_key",
	"run",
	"reason",
	"checks",
	"initiating_user",
	"run_as",
	"reference_doctype",
	"reference_name",
	"caused_by_run",
	"depth",
	"creation",
)


def explain_event(row) -> dict:
	"""An Agent Trigger Event with its checks: [{text, ok, saw}]; `ok` is None if it was not evaluated."""
	return {**{key: row.get(key) for key in EVENT_FIELDS}, "checks": json.loads(row.checks or "[]")}


def explain_document(trigger_name: str, doc) -> dict:
	"""What a Doc Event trigger would do for a document now, and what it has done.

	Returns {would_fire, checks: [{text, ok, saw}], reason, prompt, events}. All fields count as changed,
	because nothing is being saved.
	"""
	trigger = read_triggers("t.name = %s", (trigger_name,))[0]
	source = build_document_event(doc, trigger.doc_event, "explained")
	source = replace(source, doc=restrict_snapshot(source.doc, doc.meta, frappe.session.user))
	trigger_event = evaluate_for_document(trigger, source, doc)
	runner = check_runner(trigger.agent, trigger_event.run_as)
	checks = [
		ConditionResult("The trigger is enabled", not trigger.disabled),
		ConditionResult(
			f"It watches {trigger.reference_doctype}", trigger.reference_doctype == doc.doctype, doc.doctype
		),
		runner,
		*trigger_event.checks,
	]
	rows = frappe.get_list(
		"Agent Trigger Event",
		filters={"trigger": trigger_name, "reference_doctype": doc.doctype, "reference_name": str(doc.name)},
		fields=[f"`{field}`" for field in EVENT_FIELDS],  # `trigger` is a reserved word of SQL
		order_by="creation desc",
		limit_page_length=10,
	)
	return {
		"would_fire": trigger_event.status is TriggerEventStatus.QUEUED and all(check.ok for check in checks),
		"checks": [asdict(check) for check in checks],
		"reason": trigger_event.reason or runner.saw or None,
		"prompt": trigger_event.prompt,
		"events": [explain_event(row) for row in rows],
	}


def check_runner(agent: str, run_as: str | None) -> ConditionResult:
	"""Whether a run could be opened as this user; an event's job checks it."""
	refusal = admission.find_admission_error(agent, run_as or "Guest")
	return ConditionResult(f"{run_as} may run {agent}", refusal is None, refusal or "")
