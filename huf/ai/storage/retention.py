"""Applies the retention settings to ended runs and route decisions: blanks old contents, deletes old rows.

Also deletes expired facts of agents.
"""

from collections.abc import Callable
from datetime import datetime

import frappe
from frappe.utils import add_to_date, getdate, now_datetime

from huf.ai.core.settings import get_settings
from huf.ai.core.types import ENDED_STATUSES
from huf.ai.storage import route_decisions
from huf.ai.storage.history import blank_summaries
from huf.ai.storage.message_files import delete_message_files
from huf.ai.storage.notifications import delete_notifications
from huf.ai.storage.rows import blank_fields, blank_rows, delete_rows, process_in_batches
from huf.ai.storage.untrusted_records import mark_conversations

SAVEPOINT = "huf_retention"
RUN_CONTENTS = (
	"prompt",
	"response",
	"error_message",
	"opening",
	"plan",
	"claims",
	"tool_calls_log",
	"client_fields",
)
SIGNS_OF_CONTENTS = ("opening", "prompt", "response")
"""A run with one of these is not blanked yet. Runs that another front end stored have no opening."""
CONTENTS = {
	"Agent LLM Call": ("response", "reasoning", "error_message"),
	"Agent Tool Call": ("arguments", "result", "error_message", "reason"),
	"Agent Message": ("content", "attachments", "attached_text"),
	"Agent Change": ("before", "after", "file_content"),
	"Agent Draft": ("arguments", "edited_arguments", "difference", "concern", "reason", "result"),
}
"""Fields to blank in the rows of a run. User, times, durations and costs stay."""


def is_blanked(run) -> bool:
	"""Whether the contents of an Agent Run have been deleted."""
	return run.status in ENDED_STATUSES and not any(run.get(field) for field in SIGNS_OF_CONTENTS)


def apply_retention(now: datetime | None = None) -> dict[str, int]:
	"""Apply Huf Settings and return {"blanked", "deleted"}. Scheduled daily; commits each batch."""
	now, settings = now or now_datetime(), get_settings()
	# Not "<": Frappe's lists take an empty date for the year 1.
	yesterday = add_to_date(getdate(now), days=-1)
	delete_rows("Agent Memory", {"expires_on": ["between", ["1900-01-01", yesterday]]})
	if settings.keep_contents_days:
		before = add_to_date(now, days=-settings.keep_contents_days, as_datetime=True)
		route_decisions.blank_decisions(before)
		blank_conversations(before)
	if settings.keep_runs_days:
		before = add_to_date(now, days=-settings.keep_runs_days, as_datetime=True)
		route_decisions.clear_decisions(before)
		delete_rows("Agent LLM Call", {"run": ["is", "not set"], "creation": ["<", before]})
	return {
		"blanked": sum(
			process_old_runs(now, settings.keep_contents_days, blank_runs, {field: ["is", "set"]})
			for field in SIGNS_OF_CONTENTS
		),
		"deleted": process_old_runs(now, settings.keep_runs_days, delete_runs, {}),
	}


def blank_conversations(before: datetime) -> None:
	"""Blank messages whose runs have been deleted, with summaries of them, and titles, which begin as the
	first prompt. Commits.
	"""
	orphaned: dict = {"run": ["is", "not set"], "creation": ["<", before]}
	blank_summaries("Agent Message", {**orphaned, "content": ["is", "set"]})
	delete_message_files(orphaned)
	for field in CONTENTS["Agent Message"]:
		blank_rows("Agent Message", {**orphaned, field: ["is", "set"]}, [field])
	unused = {"modified": ["<", before], "title": ["is", "set"]}
	blank_rows("Agent Conversation", unused, ["title"])


def process_old_runs(
	now: datetime, days: int, process: Callable[[list[str]], int | None], filters: dict
) -> int:
	"""Process ended runs older than `days` (0 means never) and return how many. Commits each batch."""
	if not days:
		return 0
	before = add_to_date(now, days=-days, as_datetime=True)
	old = {"status": ["in", ENDED_STATUSES], "creation": ["<", before], **filters}
	return process_in_batches("Agent Run", old, process)


def blank_runs(runs: list[str]) -> None:
	delete_notifications(runs)
	# Later answers may repeat what stands in the files.
	with_files = {"run": ["in", runs], "attachments": ["is", "set"]}
	holders = frappe.get_all(
		"Agent Message", with_files, pluck="conversation", distinct=True, order_by="conversation"
	)
	mark_conversations(holders, ["files"])
	blank_summaries("Agent Run", {"name": ["in", runs]})
	delete_message_files({"run": ["in", runs]})
	for doctype, fields in CONTENTS.items():
		blank_fields(doctype, {"run": ["in", runs]}, fields)
	blank_fields("Agent Run", {"name": ["in", runs]}, RUN_CONTENTS)


def delete_runs(runs: list[str]) -> int:
	"""Delete runs; one that a record of the site links to only loses its contents. Returns how many stay."""
	delete_notifications(runs)
	return sum(not delete_run(run) for run in runs)


def delete_run(run: str) -> bool:
	frappe.db.savepoint(SAVEPOINT)
	try:
		frappe.delete_doc("Agent Run", run, ignore_permissions=True, delete_permanently=True)
	except frappe.LinkExistsError:
		frappe.db.rollback(save_point=SAVEPOINT)
		frappe.clear_last_message()
		blank_runs([run])
		return False
	return True
