"""The door of app events: any app says that something happened, by `huf.emit`."""

from typing import Any

import frappe

from huf.ai.triggers.conditions import Snapshot
from huf.ai.triggers.dispatch import Happening, decide, fire
from huf.ai.triggers.registry import APP_EVENTS, get_watched


def emit(event: str, payload: Any = None, key: str | None = None) -> list[str]:
	"""See `huf.emit`."""
	triggers = get_watched().get(APP_EVENTS, {}).get(event)
	if not triggers:
		return []
	happening = happening_of(event, payload, key or frappe.generate_hash(length=20))
	return fire([decide(trigger, happening) for trigger in triggers])


def happening_of(event: str, payload: Any, key: str) -> Happening:
	"""A document or a dict is what conditions look at as `doc`."""
	doctype = name = None
	if hasattr(payload, "as_dict"):
		doctype, name, payload = payload.doctype, payload.name, payload.as_dict()
	return Happening(
		event=event,
		key=key,
		user=frappe.session.user,
		doc=Snapshot(payload if isinstance(payload, dict) else {}),
		payload=payload,
		reference_doctype=doctype,
		reference_name=name,
		caused_by=frappe.flags.huf_run,
	)
