"""Where tools are at work: a thread that can be left behind, and has no database any more from then on."""

from collections.abc import Callable
from contextvars import Context
from typing import Any

import frappe

from huf.ai.concurrency.driver import Work
from huf.ai.core.errors import ToolError


def in_tool_thread(function: Callable[[], Any]) -> Work:
	session, flags = frappe.local.session.copy(), frappe.local.flags.copy()

	def leave(context: Context) -> None:
		leave_connection(context)
		# The call has the same objects, and may be acting as somebody else.
		frappe.local.session, frappe.local.flags = session, flags

	return Work(function, leave)


def leave_connection(context: Context) -> None:
	"""Take the database away from code that does not end: what it wrote is undone, what it will write fails."""
	# Which need not be this context's: what the call has called may have been left behind before.
	left = context.run(lambda: frappe.local.db)
	frappe.connect(set_admin_as_user=False)
	left.sql = left.commit = left.connect = refuse
	left.close()


def refuse(*args, **kwargs):
	raise ToolError("This call was abandoned; it can change nothing any more.")
