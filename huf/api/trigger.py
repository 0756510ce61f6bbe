"""Endpoints about triggers, for people who configure them and for buttons that fire them."""

import frappe

from huf.ai.core.documents import get_permitted
from huf.ai.core.errors import UsageError
from huf.ai.core.field_values import check_field_values
from huf.ai.core.request_values import clamp_count, clamp_start, parse_request_json, read_json_object
from huf.ai.storage.users import list_users_with_role
from huf.ai.triggers import explain as explaining
from huf.ai.triggers import manual
from huf.ai.triggers.backtest import backtest_trigger

TRIGGER, EVENT = "Agent Trigger", "Agent Trigger Event"
LIST_FIELDS = [
	"name",
	"agent",
	"trigger_type",
	"disabled",
	"run_as",
	"reference_doctype",
	"doc_event",
	"condition",
	"cron",
	"scheduled_interval",
	"interval_count",
	"catch_up",
	"next_execution",
	"webhook_slug",
	"event_name",
	"last_execution",
	"last_error",
	"modified",
]
MAX_BACKTEST_DAYS = 365


@frappe.whitelist(methods=["GET"])
def propose_run_as():
	"""The proposed Run As of a trigger: the first Huf Manager other than Administrator, else
	Administrator.
	"""
	frappe.has_permission(TRIGGER, "create", throw=True)
	managers = list_users_with_role("Huf Manager")
	return next((user for user in managers if user != "Administrator"), "Administrator")


@frappe.whitelist(methods=["GET"])
def get_triggers(agent: str | None = None, start: int = 0, limit: int = 50):
	"""Triggers by name: [{name, agent, trigger_type, ..., next_execution, last_execution, last_error,
	last_event}].

	`last_event` is {status, creation, reason, run} of the latest Agent Trigger Event, or None.
	"""
	rows = frappe.get_list(
		TRIGGER,
		filters={"agent": agent} if agent else {},
		fields=[f"`{field}`" for field in LIST_FIELDS],
		order_by="trigger_name asc",
		limit_start=clamp_start(start),
		limit_page_length=clamp_count(limit, 100),
	)
	for row in rows:
		row.last_event = frappe.db.get_value(
			EVENT,
			{"trigger": row.name},
			["status", "creation", "reason", "run"],
			as_dict=True,
			order_by="creation desc",
		)
	return rows


@frappe.whitelist(methods=["GET"])
def get_events(trigger: str, status: str | None = None, start: int = 0, limit: int = 20):
	"""A trigger's events, fired or skipped, newest first, each with its conditions; see `explain`."""
	get_permitted(TRIGGER, trigger)
	rows = frappe.get_list(
		EVENT,
		filters={"trigger": trigger, **({"status": status} if status else {})},
		fields=[f"`{field}`" for field in explaining.EVENT_FIELDS],
		order_by="creation desc",
		limit_start=clamp_start(start),
		limit_page_length=clamp_count(limit, 100),
	)
	return [explaining.explain_event(row) for row in rows]


@frappe.whitelist(methods=["GET"])
def explain(trigger: str | None = None, document: str | None = None, event: str | None = None):
	"""Explain why an event fired or not, or whether a trigger would fire for a document in its current state.

	With `event`, an Agent Trigger Event: its row with `checks`: [{text, ok, saw}]. With `trigger` and
	`document`: {would_fire, checks, reason, prompt, events}.
	"""
	if event:
		row = get_permitted(EVENT, event)
		return explaining.explain_event(row)
	doc = get_permitted(TRIGGER, trigger)
	if doc.trigger_type != "Doc Event":
		raise UsageError(
			"Only Doc Event triggers can be explained for a document. Pass an event of it instead."
		)
	return explaining.explain_document(doc.name, manual.choose_document(doc, document))


@frappe.whitelist(methods=["POST"])
def backtest(trigger: str | None = None, values: dict | str | None = None, days: int = 30):
	"""When a trigger, or unsaved `values` of one, would have fired in the past: see
	`huf.ai.triggers.backtest.backtest_trigger`.
	"""
	doc = get_permitted(TRIGGER, trigger) if trigger else unsaved(read_json_object(values or {}, "values"))
	if doc.trigger_type not in ("Doc Event", "Schedule"):
		raise UsageError("Only Doc Event and Schedule triggers can be backtested.")
	return backtest_trigger(doc, clamp_count(days, MAX_BACKTEST_DAYS))


@frappe.whitelist(methods=["POST"])
def set_enabled(trigger: str, enabled: bool):
	"""Enable or disable a trigger. Returns {name, disabled, next_execution}."""
	doc = get_permitted(TRIGGER, trigger, "write")
	doc.disabled = int(not enabled)
	doc.save()
	return {"name": doc.name, "disabled": doc.disabled, "next_execution": doc.next_execution}


@frappe.whitelist(methods=["POST"])
def fire(
	trigger: str,
	payload: dict | list | str | None = None,
	document: str | None = None,
	key: str | None = None,
):
	"""Fire a trigger manually as the session user. Repeated requests with the same `key` fire it once.

	Args:
		payload: available to the prompt; JSON text is parsed.
		document: for a Doc Event trigger, a document of its DocType.

	Returns {name, status, run, reason, prompt} of the Agent Trigger Event. Its run starts after the response.
	"""
	return manual.read_event(manual.dispatch_manually(trigger, parse_payload(payload), document, key))


def parse_payload(payload):
	if not isinstance(payload, str):
		return payload
	try:
		return parse_request_json(payload)
	except ValueError:
		return payload


def unsaved(values: dict):
	"""An unsaved trigger, validated as far as a backtest needs it."""
	frappe.has_permission(TRIGGER, "create", throw=True)
	links = ("reference_doctype", "run_as")
	if not all(isinstance(values.get(name), str | None) for name in links):
		raise UsageError("values must be an object with the fields of a trigger.")
	doc = frappe.get_doc({**values, "doctype": TRIGGER})
	check_field_values(doc)
	doc.check_needs()
	doc.check_doctype()
	doc.check_plan()
	doc.check_texts()
	return doc
