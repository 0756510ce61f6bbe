"""Endpoints of the stop switch. Huf Users see active stops; Huf Managers stop and release."""

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.runs import stopping
from huf.ai.storage.stops import describe_stop, read_stops


@frappe.whitelist(methods=["GET"])
def get_stops():
	"""The active stops: [{name, scope, target, reason, stopped_by, stopped_at, text}]; none for users who may
	not read stops.
	"""
	if not frappe.has_permission("Agent Stop"):
		return []
	return [{**stop, "text": describe_stop(stop)} for stop in read_stops()]


@frappe.whitelist(methods=["POST"])
def stop(scope: str = "", target: str | None = None, reason: str | None = None, **others):
	"""Stop a scope: All, or an Agent, Tool, Provider, User or Trigger. Returns {stop, running}."""
	# Frappe would leave out a misspelt argument, and another scope than the intended one would be stopped.
	if unknown := sorted(others.keys() - {"cmd"}):
		raise UsageError(f"Unknown arguments: {', '.join(unknown)}. Pass scope, target and reason.")
	return stopping.stop(scope, target, reason)


@frappe.whitelist(methods=["POST"])
def release(stop: str):
	"""Release a stop. Returns the runs that are resumed."""
	return stopping.release(stop)
