"""The digest that identifies what a write changes: equal for equal changes, whatever their names and times.

A person approves a change by its digest, and the change that is committed must have the same one.
"""

import datetime
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import frappe
from frappe.utils import get_datetime

from huf.ai.core.json_text import to_canonical_json
from huf.ai.core.stored_text import digest
from huf.ai.dry_run.diff import compare_states
from huf.ai.tools.workflows import find_workflow

Key = tuple[str, str]
"""DocType and name of a document."""

STABLE_NAMING_RULES = ("field:", "prompt")
"""Naming rules by which a new document gets the same name every time, unless code fills in a random one."""
MIN_REPLACED_NAME_CHARS = 8
"""Provisional names of at least this length are replaced inside other texts as well."""


@dataclass(frozen=True)
class DryRunResult:
	"""The changed documents before and after a write, and the time span of the write."""

	before: Mapping[Key, dict | None]
	after: Mapping[Key, dict | None]
	tables: tuple[str, ...]
	suppressed: Mapping[str, int]
	began: datetime.datetime
	ended: datetime.datetime
	repeated: Collection[Key] | None = None
	"""The documents that another run of the same write changed, if there was one."""

	def changes(self) -> list[dict]:
		"""All changes, in the order in which the documents were tracked."""
		changes = (compare_states(*key, self.before.get(key), after) for key, after in self.after.items())
		return [mark_provisional(change, self) for change in changes if change]


def mark_provisional(change: dict, outcome: DryRunResult) -> dict:
	"""Mark a new document's generated name, and values that are the time of the write."""
	if change["action"] == "create":
		key = change["doctype"], change["name"]
		rule = (frappe.get_meta(change["doctype"]).autoname or "").lower()
		is_random = outcome.repeated is not None and key not in outcome.repeated
		change["provisional"] = is_random or not rule.startswith(STABLE_NAMING_RULES)
	for doctype, fields in [
		(change["doctype"], change["fields"]),
		*((row["doctype"], row["fields"]) for row in change["rows"]),
	]:
		meta = frappe.get_meta(doctype)
		for each in fields:
			df = meta.get_field(each["fieldname"])
			if df and is_time_of_write(each["after"], df.fieldtype, outcome):
				each["provisional"] = True
	return change


def is_time_of_write(value: Any, fieldtype: str, outcome: DryRunResult) -> bool:
	"""Whether a value was read from the clock during the write, perhaps without fractions of a second.

	The posting time of an invoice created a moment earlier, which its ledger entries copy, was not.
	"""
	if not value or fieldtype not in ("Datetime", "Time"):
		return False
	day = outcome.ended.date()
	moment = get_datetime(f"{day} {value}" if fieldtype == "Time" else value)
	began = outcome.began if moment.microsecond else outcome.began.replace(microsecond=0)
	return began <= moment <= outcome.ended


def compute_digest(outcome: DryRunResult) -> str:
	"""Equal for equal changes, whatever provisional names and times they contain."""
	return digest(to_comparable_text(outcome))


def find_differences(one: DryRunResult, other: DryRunResult) -> str:
	"""The DocTypes whose changes differ, so that a person can find the code that makes them."""
	first, second = (json.loads(to_comparable_text(each))[0] for each in (one, other))
	differing = [each["doctype"] for each in first if each not in second]
	differing += [each["doctype"] for each in second if each not in first]
	return ", ".join(dict.fromkeys(differing)) or "tables or mails"


def to_comparable_text(outcome: DryRunResult) -> str:
	"""JSON of all changes, the documents that they submit, the tables and the number of mails."""
	changes = outcome.changes()
	new = find_provisional_names(changes)
	comparable = [to_comparable_change(each, new) | describe_whole(each, outcome) for each in changes]
	mails = [outcome.suppressed["mails"]] if "mails" in outcome.suppressed else []
	text = to_canonical_json([comparable, sorted(outcome.tables), *mails])
	for name, stand_in in new.items():
		if len(name) >= MIN_REPLACED_NAME_CHARS:
			text = text.replace(name, stand_in)
	return text


def describe_whole(change: dict, outcome: DryRunResult) -> dict:
	"""{whole: the document before} where it is submitted, cancelled or moved in its workflow: an approval
	concerns all of it.
	"""
	workflow = find_workflow(change["doctype"])
	decides = {"docstatus", workflow and workflow.workflow_state_field}
	before = outcome.before.get((change["doctype"], change["name"]))
	if not before or decides.isdisjoint(each["fieldname"] for each in change["fields"]):
		return {}
	return {"whole": [before["fields"], before["tables"]]}


def find_provisional_names(changes: list[dict]) -> dict[str, str]:
	"""Provisional names of documents and of added rows, each with a stand-in that is stable."""
	new = {}
	for number, change in enumerate(changes):
		if change.get("provisional"):
			new[change["name"]] = f"new document {number}"
		for row in change["rows"]:
			if row["action"] == "add":
				new[row["row"]] = f"new row {number}.{row['fieldname']}.{row['idx']}"
	return new


def to_comparable_change(change: dict, new: Mapping[str, str]) -> dict:
	return {
		**change,
		"name": new.get(change["name"], change["name"]),
		"fields": [to_comparable_field(each, new) for each in change["fields"]],
		"rows": [
			{
				**row,
				"row": new.get(row["row"], row["row"]),
				"fields": [to_comparable_field(f, new) for f in row["fields"]],
			}
			for row in change["rows"]
		],
	}


def to_comparable_field(each: dict, new: Mapping[str, str]) -> list:
	after = "now" if each.get("provisional") else each["after"]
	return [each["fieldname"], each["before"], new.get(after, after) if isinstance(after, str) else after]
