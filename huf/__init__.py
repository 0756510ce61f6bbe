__version__ = "0.1.0"


def emit(event, payload=None, key=None):
	"""Tell Huf that something happened: `huf.emit("payment_received", {"invoice": "INV-1", "amount": 120})`.

	Sets off the agents whose App Event triggers wait for `event`, after the commit of the running
	transaction; a rollback takes it back. `payload` is a document, a dict, or anything JSON can hold. What is
	said again with the same `key` is not done again. Returns the names of the Agent Trigger Events.
	"""
	from huf.ai.triggers.app_events import emit as emit_event

	return emit_event(event, payload, key)
