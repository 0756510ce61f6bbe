__version__ = "0.1.0"


def emit(event, payload=None, key=None):
	"""Emit an app event: `huf.emit("payment_received", {"invoice": "INV-1", "amount": 120})`.

	After the commit of the current transaction it starts the agents whose App Event triggers name `event`; a
	rollback discards it. `payload` is a document, a dict or any JSON value. An event with a `key` that was
	already emitted is ignored. Returns the names of the Agent Trigger Events.
	"""
	from huf.ai.triggers.app_events import emit as emit_event

	return emit_event(event, payload, key)
