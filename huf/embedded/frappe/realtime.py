"""Events for browsers.  In the process of the Socket.IO server (huf/embedded/realtime_server.py) they are
handed to it.

Other processes put them into jobs.db, where the server looks a few times a second.  Nothing is kept for
browsers that are away.
"""

from collections.abc import Callable

import frappe
from frappe.utils import jobs_db

emitters: dict[str, Callable[[str, str, str], None]] = {}
"""By site: a function that sends (event, message as JSON, room), if the server runs in this process."""


def publish_realtime(
	event: str | None = None,
	message: dict | None = None,
	room: str | None = None,
	user: str | None = None,
	doctype: str | None = None,
	docname: str | None = None,
	task_id: str | None = None,
	after_commit: bool = False,
):
	"""Send `event` to a room or the listeners of a task, a user or a document; by default to all Desk users.

	With `after_commit` it is sent once the transaction is committed, equal events only once, and not after a
	rollback.
	"""
	message = {} if message is None else message
	if task_id and isinstance(message, dict):
		message.setdefault("task_id", task_id)
	event = event or ("task_progress" if task_id else "global")
	room = room or _room_of(event, message, user, doctype, docname, task_id)
	# serialized now, so that later changes by the caller have no effect
	args = (event, frappe.as_json(message, indent=None), room)
	if not after_commit or task_id:
		return emit_via_redis(*args)
	if not frappe.local.realtime_log:
		frappe.db.after_commit.add(_flush)
		frappe.db.after_rollback.add(_clear)
	if args not in frappe.local.realtime_log:
		frappe.local.realtime_log.append(args)


def _room_of(event, message, user, doctype, docname, task_id) -> str:
	if event == "list_update":
		return f"doctype:{doctype or message.get('doctype')}"
	if task_id:
		return f"task_progress:{task_id}"
	if user or event == "msgprint":
		return f"user:{user or frappe.session.user}"
	if doctype and docname:
		return f"doc:{doctype}/{docname}"
	return "all"


def _flush():
	for args in frappe.local.realtime_log:
		emit_via_redis(*args)
	_clear()


def _clear():
	frappe.local.realtime_log = []


def emit_via_redis(event: str, message: str, room: str):
	"""Send through the server in this process, or jobs.db. The name is real Frappe's."""
	if emit := emitters.get(frappe.local.site):
		return emit(event, message, room)
	query = "INSERT INTO outbox (event, message, room) VALUES (?, ?, ?)"
	jobs_db.connect().execute(query, (event, message, room))


def may_subscribe(doctype: str, name: str | None = None) -> bool:
	"""Whether the user may read the document, or the DocType if no name is given."""
	if not isinstance(doctype, str) or not isinstance(name, str | None):
		return False  # filters would find documents by fields that the user may not read
	if not frappe.db.exists("DocType", doctype):
		return False
	if name and not frappe.db.exists(doctype, name):
		return False
	return bool(frappe.has_permission(doctype, "read", doc=name or None))
