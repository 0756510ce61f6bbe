"""Tries a tool as the person it is meant for, with their permissions; nothing of it stays.

A write that can be run dry is previewed. Any other write and every external call is only shown, but a GET or POST tool
can be sent on request.
"""

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import frappe

from huf.ai.concurrency.event_loops import run_coroutine
from huf.ai.concurrency.tool_threads import run_in_thread
from huf.ai.core.errors import UsageError
from huf.ai.core.types import CallRequest, CallStatus, Effect
from huf.ai.dry_run.preview import preview
from huf.ai.loop.tool_calls import perform, prepare_one
from huf.ai.providers.turns import loop_tool
from huf.ai.runs.admission import acting_as

if TYPE_CHECKING:
	from huf.ai.agents.function_tool import EffectTool

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
		run = tool.start if send else runner_for(tool, seen)
		request = CallRequest("check", name, json.dumps(arguments))
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


def runner_for(tool: "EffectTool", seen: list[dict]) -> Run:
	"""What takes the place of the tool's own `run`; a difference or a request is appended to `seen`."""
	if tool.effect is Effect.READ:
		return tool.start

	async def preview_changes(arguments: dict) -> Any:
		results: list = []
		changed = await run_in_thread(lambda: preview(lambda: results.append(tool.work(arguments))))
		seen.append(changed.as_dict())
		return results[0]

	async def show_request(arguments: dict) -> str:
		seen.append({"request": tool.describe(arguments)})
		return ""

	return preview_changes if tool.can_dry_run else show_request
