"""Where tools are at work: a thread that can be left behind, and has no database any more from then on."""

from collections.abc import Callable
from typing import Any

import frappe

from huf.ai.drivers import Work
from huf.ai.errors import ToolError


def in_tool_thread(function: Callable[[], Any]) -> Work:
	return Work(function, leave_connection)


def leave_connection() -> None:
	"""Take the database away from code that does not end: what it wrote is undone, what it will write fails."""
	left = frappe.local.db
	frappe.connect(set_admin_as_user=False)
	left.sql = left.commit = left.connect = refuse
	left.close()


def refuse(*args, **kwargs):
	raise ToolError("This call was abandoned; it can change nothing any more.")
