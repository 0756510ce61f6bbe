"""A tool tried by hand as the person it is meant for: with their permissions, and nothing of it stays.

What writes is done, shown and undone. What reaches outside is shown; only a plain HTTP request is sent, where that is asked for.
"""

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import frappe

from huf.ai.concurrency.event_loops import run_coroutine
from huf.ai.concurrency.tool_threads import run_in_thread
from huf.ai.core.errors import UsageError
from huf.ai.core.types import CallRequest, CallStatus, Effect
from huf.ai.dry_run.preview import preview
from huf.ai.loop.tool_calls import perform, prepare_one
from huf.ai.providers.turns import loop_tool
from huf.ai.runs.admission import acting_as

SENDABLE = ("GET", "POST")


def try_tool(name: str, user: str, arguments: dict, send: bool = False) -> dict:
	"""{ok, text, duration_ms, difference, was_sent} of one call; `text` is what a model would read of it.

	`difference` is {changes, tables, kept} or {request}, as a draft has it; None of what only reads. Raises PermissionError for
	whom `user` may not be, UsageError where nothing can be tried.
	"""
	from huf.ai.agents.tool_factory import create_tool

	check_person(user)
	row = frappe.get_doc("Agent Tool Function", name)
	if send and row.types not in SENDABLE:
		raise UsageError(
			"Only GET and POST tools can be sent from here. Give this one to an agent to use it."
		)
	seen: list[dict] = []
	with acting_as(user):
		tool = create_tool(row)
		run = TRIALS[tool.effect](tool, seen) if not send else tool.start
		request = CallRequest("trial", name, json.dumps(arguments))
		call = prepare_one(request, 0, {name: replace(loop_tool(tool), run=run)})
		tool_result = run_coroutine(perform(call))
		frappe.db.rollback()
	return {
		"ok": tool_result.status is CallStatus.SUCCESS,
		"text": tool_result.text,
		"duration_ms": tool_result.duration_ms,
		"difference": seen[0] if seen else None,
		"was_sent": send,
	}


def check_person(user: str) -> None:
	me = frappe.session.user
	if "System Manager" not in frappe.get_roles(me):
		raise frappe.PermissionError("Only a System Manager can try tools as somebody.")
	if user == "Administrator" and me != "Administrator":
		raise frappe.PermissionError("Nobody but Administrator acts as Administrator.")
	if not frappe.db.get_value("User", user, "enabled"):
		raise UsageError(f"There is no user {user!r} who can sign in.")


Run = Callable[[dict], Awaitable[Any]]


def reader(tool, seen: list[dict]) -> Run:
	return tool.start


def writer(tool, seen: list[dict]) -> Run:
	"""Does it inside a preview, and keeps both what it gave and what it would have changed."""

	async def run(arguments: dict) -> Any:
		results = []
		changed = await run_in_thread(lambda: preview(lambda: results.append(tool.work(arguments))))
		seen.append(changed.as_dict())
		return results[0]

	return run


def shower(tool, seen: list[dict]) -> Run:
	async def run(arguments: dict) -> str:
		seen.append({"request": tool.describe(arguments)})
		return ""

	return run


TRIALS = {Effect.READ: reader, Effect.WRITE: writer, Effect.EXTERNAL: shower}
