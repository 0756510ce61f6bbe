"""How long runs keep their contents, and are kept at all. Deletes and blanks what is older; never a run that goes on."""

from datetime import datetime

import frappe
from frappe.utils import add_to_date, now_datetime

from huf.ai.core.settings import get_settings
from huf.ai.storage import route_decisions
from huf.ai.storage.history import blank_summaries
from huf.ai.storage.message_files import delete_run_files

BATCH = 500
ENDED = ("Success", "Stopped", "Failed", "Cancelled")
CONTENTS = {
	"Agent LLM Call": ("response", "error_message"),
	"Agent Tool Call": ("arguments", "result", "error_message"),
	"Agent Message": ("content", "attachments", "attached_text"),
	"Agent Draft": ("arguments", "edited_arguments", "difference", "reason", "result"),
}
"""What is blanked of the rows that belong to a run; who, when, how long and how much stays."""


def apply_retention(now: datetime | None = None) -> dict[str, int]:
	"""Do what Huf Settings say: {"blanked", "deleted"}. Called every day; commits after each batch."""
	now, settings = now or now_datetime(), get_settings()
	if settings.keep_contents_days:
		route_decisions.blank_decisions(add_to_date(now, days=-settings.keep_contents_days, as_datetime=True))
	if settings.keep_runs_days:
		route_decisions.clear_decisions(add_to_date(now, days=-settings.keep_runs_days, as_datetime=True))
	return {
		"blanked": sweep(now, settings.keep_contents_days, blank_runs, {"opening": ["is", "set"]}),
		"deleted": sweep(now, settings.keep_runs_days, delete_runs, {}),
	}


def sweep(now: datetime, days: int, act, more: dict) -> int:
	"""Act on ended runs older than so many days (0: never), a batch at a time."""
	done = 0
	old = {"status": ["in", ENDED], "creation": ["<", add_to_date(now, days=-days, as_datetime=True)], **more}
	while days and (
		runs := frappe.get_all("Agent Run", old, pluck="name", order_by="creation asc", limit=BATCH)
	):
		act(runs)
		frappe.db.commit()
		done += len(runs)
	return done


def blank_runs(runs: list[str]) -> None:
	blank_summaries(runs)
	delete_run_files(runs)
	for doctype, fields in CONTENTS.items():
		frappe.db.set_value(doctype, {"run": ["in", runs]}, dict.fromkeys(fields), update_modified=False)
	gone = dict.fromkeys(("prompt", "response", "error_message", "opening", "plan"))
	frappe.db.set_value("Agent Run", {"name": ["in", runs]}, gone, update_modified=False)


def delete_runs(runs: list[str]) -> None:
	for run in runs:
		frappe.delete_doc("Agent Run", run, ignore_permissions=True, delete_permanently=True)
