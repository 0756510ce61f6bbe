"""Tests a tool with the permissions of the user it is meant for; nothing it writes is kept.

A write tool that supports dry runs is previewed. Of other writes and external calls only the request is
displayed, but GET and POST tools can be sent on request.
"""

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import frappe
from frappe import _

from huf.ai.core.errors import UsageError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.session import acting_as
from huf.ai.core.tool_threads import run_in_thread
from huf.ai.core.types import CallRequest, CallStatus, Effect
from huf.ai.dry_run.diff import translate_labels
from huf.ai.dry_run.preview import preview_changes
from huf.ai.loop.tool_calls import perform, prepare_one
from huf.ai.providers.sdk_agent import to_loop_tool
from huf.ai.runs.approvals import request_proposal
from huf.ai.storage.rows import log_unexpected_error
from huf.ai.tools.types import HTTP_TYPES

if TYPE_CHECKING:
	from huf.ai.agents.function_tool import EffectTool


def try_tool(name: str, user: str, arguments: dict, send: bool = False) -> dict:
	"""Call a tool once: {ok, text, duration_ms, difference, was_sent}; `text` is what a model would read.

	`difference` is {changes, tables, kept} or {request}, as in a draft; None for read tools. Raises
	PermissionError if the session user may not act as `user`, UsageError if the tool cannot be tested.
	"""
	from huf.ai.agents.tool_factory import create_tool

	check_may_act_as(user)
	row = frappe.get_doc("Agent Tool Function", name)
	if send and row.types not in HTTP_TYPES:
		raise UsageError(
			_("Only GET and POST tools can be sent from here. Give this one to an agent to use it.")
		)
	differences: list[dict] = []
	with acting_as(user):
		tool = create_tool(row)
		callable_tool = to_loop_tool(tool)
		if tool.effect is not Effect.READ and not send:
			callable_tool = replace(callable_tool, run=create_dry_runner(tool, differences))
		request = CallRequest("check", name, json.dumps(arguments))
		call = prepare_one(request, 0, {name: callable_tool})
		tool_result = run_coroutine(perform(call))
		frappe.db.rollback()
	log_unexpected_error(name, tool_result.traceback)
	return {
		"ok": tool_result.status is CallStatus.SUCCESS,
		"text": tool_result.text,
		"duration_ms": tool_result.duration_ms,
		"difference": translate_labels(differences[0]) if differences else None,
		"was_sent": send,
	}


def check_may_act_as(user: str) -> None:
	me = frappe.session.user
	if "System Manager" not in frappe.get_roles(me):
		raise frappe.PermissionError(_("Only a System Manager can try tools as somebody."))
	if user == "Administrator" and me != "Administrator":
		raise frappe.PermissionError(_("Nobody but Administrator acts as Administrator."))
	if not frappe.db.get_value("User", user, "enabled"):
		raise UsageError(_("There is no user {0} who can sign in.").format(user))


Runner = Callable[[dict], Awaitable[Any]]


def create_dry_runner(tool: "EffectTool", differences: list[dict]) -> Runner:
	"""A replacement for the tool's own `run`; it appends a difference or a request to `differences`."""

	async def run_dry(arguments: dict) -> Any:
		results: list = []
		changed = await run_in_thread(
			lambda: preview_changes(lambda: results.append(tool.work(arguments)), tool.reference_doctype)
		)
		differences.append(changed.as_dict())
		return results[0]

	async def show_request(arguments: dict) -> str:
		differences.append(request_proposal(tool, arguments).preview)
		return ""

	return run_dry if tool.can_dry_run else show_request
