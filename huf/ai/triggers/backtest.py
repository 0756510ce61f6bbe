"""What a trigger would have done in the last days, from the documents there are and their history. Only reads.

What is looked at is what the person asking may read. A document's history is its Version rows, walked back from what it is
now; where a DocType keeps none, only its last change is known.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

import frappe
from frappe.utils import add_to_date, flt, get_datetime, now_datetime

from huf.ai.core.trigger_types import TriggerType
from huf.ai.triggers.conditions import Snapshot, check_condition
from huf.ai.triggers.dispatch import NOBODY
from huf.ai.triggers.doc_events import LAST
from huf.ai.triggers.schedules import plan_of

MAX_DOCUMENTS = 1000
MAX_VERSIONS = 10_000
MAX_TIMES = 50_000
EXAMPLES = 5
DELETED = "Deleted Document"
DRAFT, SUBMITTED, CANCELLED = 0, 1, 2
NUMBERS = {"Float", "Currency", "Percent", "Int", "Check", "Long Int", "Rating"}


@dataclass(frozen=True)
class Moment:
	"""One past change of a document. `before` is None for its first."""

	at: datetime
	by: str
	after: dict
	before: dict | None = None

	def is_event(self, event: str) -> bool:
		"""Whether Frappe called this event at the change."""
		was = int((self.before or {}).get("docstatus") or DRAFT)
		now = int(self.after.get("docstatus") or DRAFT)
		return {
			"after_insert": self.before is None,
			"on_update": was == DRAFT,
			"on_change": True,
			"on_submit": self.before is not None and (was, now) == (DRAFT, SUBMITTED),
			"on_update_after_submit": (was, now) == (SUBMITTED, SUBMITTED),
			"on_cancel": (was, now) == (SUBMITTED, CANCELLED),
		}.get(event, True)


def backtest(trigger, days: int = 30, now: datetime | None = None) -> dict:
	"""What a Doc Event or Schedule trigger would have done: {summary, times, documents, looked_at, examples, notes}.

	`trigger` is an Agent Trigger, saved or not. `examples` are the latest five: {at, name?, by?}. `notes` say what could
	not be known.
	"""
	now = now or now_datetime()
	since = add_to_date(now, days=-days, as_datetime=True)
	if trigger.trigger_type == TriggerType.SCHEDULE.value:
		return test_schedule(trigger, since, now, days)
	return test_events(trigger, since, now, days)


# --- schedules ---


def test_schedule(trigger, since: datetime, now: datetime, days: int) -> dict:
	plan = plan_of(trigger)
	due = list(islice(plan.between(since, now), MAX_TIMES))
	found = Found(trigger)
	for moment in due:
		found.look(Moment(moment, trigger.run_as or "", {}), None)
	coming = [{"at": str(moment)} for moment in islice(plan.between(now, datetime.max), EXAMPLES)]
	notes = found.notes() + (
		[f"Only the first {MAX_TIMES} times were counted."] if len(due) == MAX_TIMES else []
	)
	summary = f"In the last {days} days this would have fired {counted(found.times, 'time')}."
	return {**found.as_dict(summary, notes), "coming": coming}


# --- document events ---


def test_events(trigger, since: datetime, now: datetime, days: int) -> dict:
	found, notes = Found(trigger), []
	for moment, name in moments_of(trigger, since, notes):
		if moment.is_event(trigger.doc_event):
			found.look(moment, name)
	summary = (
		f"In the last {days} days this would have fired {counted(found.times, 'time')} "
		f"on {counted(len(found.names), 'document')}."
	)
	return found.as_dict(summary, found.notes() + notes)


class Found:
	"""Counts what a trigger would have fired for."""

	def __init__(self, trigger):
		self.trigger = trigger
		self.times = self.looked_at = self.failed = self.nobodys = 0
		self.names: set[str] = set()
		self.latest: list[dict] = []
		self.error = ""

	def look(self, moment: Moment, name: str | None) -> None:
		self.looked_at += 1
		checks, error = check_condition(
			self.trigger.condition, Snapshot(moment.after, moment.before), moment.by, moment.at
		)
		if error:
			self.failed, self.error = self.failed + 1, error
		elif all(check.ok for check in checks):
			self.count(moment, name)

	def count(self, moment: Moment, name: str | None) -> None:
		if moment.by in NOBODY and not self.trigger.run_as:
			self.nobodys += 1
			return
		self.times += 1
		if name is None:
			self.latest.append({"at": str(moment.at)})
			return
		self.names.add(name)
		self.latest.append({"at": str(moment.at), "name": name, "by": moment.by})

	def notes(self) -> list[str]:
		notes = []
		if self.failed:
			notes.append(
				f"The condition failed {counted(self.failed, 'time')}, the last time so: {self.error}"
			)
		if self.nobodys:
			notes.append(
				f"Not counted: {counted(self.nobodys, 'change')} by Administrator, for which it fires only with Run As."
			)
		return notes

	def as_dict(self, summary: str, notes: list[str]) -> dict:
		self.latest.sort(key=lambda one: one["at"], reverse=True)
		return {
			"summary": summary,
			"times": self.times,
			"documents": len(self.names),
			"looked_at": self.looked_at,
			"examples": self.latest[:EXAMPLES],
			"notes": notes,
		}


def moments_of(trigger, since: datetime, notes: list[str]) -> Iterator[tuple[Moment, str]]:
	"""The changes of a DocType's documents since a time, with the documents' names; adds to `notes`."""
	doctype = trigger.reference_doctype
	if trigger.doc_event in LAST:
		yield from deletions(doctype, since, notes)
		return
	names = frappe.get_list(
		doctype,
		filters=[["modified", ">=", since]],
		pluck="name",
		order_by="modified desc",
		limit_page_length=MAX_DOCUMENTS,
	)
	if len(names) == MAX_DOCUMENTS:
		notes.append(f"Only the {MAX_DOCUMENTS} documents changed last were looked at.")
	tracked = frappe.get_meta(doctype).track_changes
	if not tracked:
		notes.append(f"{doctype} keeps no history: only the last change of each document is known.")
	versions = read_versions(doctype, names, since) if tracked else {}
	for name in names:
		doc = frappe.get_doc(doctype, name)
		for moment in walk_back(doc, versions.get(name, ()), since, tracked):
			yield moment, str(name)


def read_versions(doctype: str, names: list, since: datetime) -> dict[str, list]:
	"""{document: its Version rows, newest first}. The documents are ones that the person may read."""
	rows = frappe.get_all(
		"Version",
		filters={"ref_doctype": doctype, "docname": ["in", names], "creation": [">=", since]},
		fields=["docname", "data", "creation", "owner"],
		order_by="creation desc",
		limit=MAX_VERSIONS,
	)
	found: dict[str, list] = {}
	for row in rows:
		found.setdefault(row.docname, []).append(row)
	return found


def walk_back(doc, versions, since: datetime, tracked: bool) -> Iterator[Moment]:
	"""The changes of one document, newest first, each with what it was before."""
	state = doc.as_dict()
	created = get_datetime(doc.creation)
	for version in versions:
		data = json.loads(version.data or "{}")
		if "changed" in data:
			before = undo(state, data, doc.meta)
			yield Moment(version.creation, version.owner, state, before)
			state = before
	modified = get_datetime(doc.modified)
	if not tracked and modified - created > timedelta(seconds=1):
		yield Moment(modified, doc.modified_by, state, state)
	if created >= since:
		yield Moment(created, doc.owner, {**state, "docstatus": DRAFT})


def undo(state: Mapping[str, Any], data: Mapping[str, Any], meta) -> dict:
	"""What a document was before the change that a Version tells."""
	before = dict(state)
	for fieldname, old, _new in data.get("changed") or ():
		before[fieldname] = typed(old, meta.get_field(fieldname))
	for fieldname, row in data.get("added") or ():
		before[fieldname] = [one for one in before.get(fieldname) or () if one.get("name") != row.get("name")]
	for fieldname, row in data.get("removed") or ():
		before[fieldname] = [*(before.get(fieldname) or ()), row]
	for fieldname, _place, name, changed in data.get("row_changed") or ():
		old = {key: value for key, value, _new in changed}
		before[fieldname] = [
			{**one, **old} if one.get("name") == name else one for one in before.get(fieldname) or ()
		]
	return before


def typed(value: Any, field) -> Any:
	"""A value from a Version, where numbers may stand as they were shown."""
	if field and field.fieldtype in NUMBERS and isinstance(value, str):
		return flt("".join(sign for sign in value if sign.isdigit() or sign in ".-"))
	return value


def deletions(doctype: str, since: datetime, notes: list[str]) -> Iterator[tuple[Moment, str]]:
	"""What was deleted, where the site keeps it and the person may see it."""
	if not frappe.db.exists("DocType", DELETED):
		notes.append("This site keeps no deleted documents, so it is not known what it would have fired for.")
		return
	rows = frappe.get_list(
		DELETED,
		filters=[["deleted_doctype", "=", doctype], ["creation", ">=", since]],
		fields=["deleted_name", "data", "creation", "owner"],
		order_by="creation desc",
		limit_page_length=MAX_DOCUMENTS,
	)
	for row in rows:
		yield Moment(row.creation, row.owner, json.loads(row.data or "{}")), row.deleted_name


def counted(number: int, noun: str) -> str:
	return f"{number} {noun}{'' if number == 1 else 's'}"
