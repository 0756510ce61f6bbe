"""Computes what a trigger would have done in the last days, from documents and their history. Only reads.

It uses only what the session user may read. A document's history is reconstructed from its Version rows,
backwards from its current state; if the DocType does not track changes, only the last change of each document
is known.
"""

import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

import frappe
from frappe.utils import add_to_date, flt, get_datetime, now_datetime

from huf.ai.core.grouping import group_pairs
from huf.ai.core.trigger_types import TriggerType
from huf.ai.triggers.conditions import (
	Snapshot,
	evaluate_condition,
	list_hidden_fields,
	parse_with_rows,
	remove_fields,
)
from huf.ai.triggers.dispatch import is_system_manager, needs_run_as
from huf.ai.triggers.doc_events import DELETE_EVENTS
from huf.ai.triggers.moments import parse_moment, parse_moments
from huf.ai.triggers.schedules import build_plan

MAX_DOCUMENTS = 1000
MAX_VERSIONS = 10_000
MAX_TIMES = 50_000
MAX_SECONDS = 20
"""For all conditions of a backtest: a person waits for it, and it keeps a worker busy."""
MAX_EXAMPLES = 5
DELETED = "Deleted Document"
DRAFT, SUBMITTED, CANCELLED = 0, 1, 2
WRITTEN_NUMBER = re.compile(r"-?\d[\d.,'\s]*")
STORED_MOMENT = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}:\d\d:")
"""In other formats it is not known which number is the month."""
NUMBER_TYPES = {"Float", "Currency", "Percent", "Int", "Check", "Long Int", "Rating"}


@dataclass(frozen=True)
class PastChange:
	"""One past change of a document; `before` is None if it created the document. Also a due time, without
	values.
	"""

	at: datetime
	by: str
	after: dict
	before: dict | None = None

	def without(self, hidden: Mapping[str | None, set[str]]) -> "PastChange":
		"""The change without fields, which are given as for `remove_fields`."""
		before = self.before and remove_fields(self.before, hidden)
		return replace(self, after=remove_fields(self.after, hidden), before=before)

	def is_event(self, event: str) -> bool:
		"""Whether Frappe raised this document event for the change."""
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


def backtest_trigger(trigger, days: int = 30) -> dict:
	"""What a Doc Event or Schedule trigger would have done in the last `days`.

	`trigger` is an Agent Trigger, saved or not. Returns {summary, times, documents, looked_at, examples,
	notes}: `examples` are the latest ones, [{at, name?, by?}]; `notes` say what could not be known. A
	schedule also has `coming`.
	"""
	now = now_datetime()
	since = add_to_date(now, days=-days, as_datetime=True)
	if trigger.trigger_type == TriggerType.SCHEDULE.value:
		return backtest_schedule(trigger, since, now, days)
	return backtest_doc_events(trigger, since, days)


# --- schedules ---


def backtest_schedule(trigger, since: datetime, now: datetime, days: int) -> dict:
	plan = build_plan(trigger)
	due = list(islice(plan.between(since, now), MAX_TIMES))
	counter = BacktestCounter(trigger)
	for moment in due:
		if counter.is_late():
			break
		counter.check(PastChange(moment, trigger.run_as or "", {}), None)
	coming = [{"at": str(moment)} for moment in islice(plan.between(now, datetime.max), MAX_EXAMPLES)]
	notes = counter.notes()
	if len(due) == MAX_TIMES:
		notes.append(f"Only the first {MAX_TIMES} times were counted.")
	summary = f"In the last {days} days this would have fired {pluralize(counter.times, 'time')}."
	return {**counter.as_dict(summary, notes), "coming": coming}


# --- document events ---


def backtest_doc_events(trigger, since: datetime, days: int) -> dict:
	counter = BacktestCounter(trigger)
	notes: list[str] = []
	meta, reader = frappe.get_meta(trigger.reference_doctype), find_reader(trigger)
	users = {frappe.session.user, reader or frappe.session.user}
	hidden = [list_hidden_fields(meta, user) for user in users]
	for change, name in read_past_changes(trigger, since, notes, reader):
		if counter.is_late():
			break
		if change.is_event(trigger.doc_event):
			for fields in hidden:
				change = change.without(fields)
			counter.check(change, name)
	summary = (
		f"In the last {days} days this would have fired {pluralize(counter.times, 'time')} "
		f"on {pluralize(len(counter.names), 'document')}."
	)
	return counter.as_dict(summary, counter.notes() + notes)


def find_reader(trigger) -> str | None:
	"""Whose permissions limit what the trigger sees, as in `doc_events.evaluate_for_document`."""
	return None if is_system_manager(find_trigger_author(trigger)) else trigger.run_as


def find_trigger_author(trigger) -> str:
	"""An unsaved trigger is the session user's."""
	return trigger.modified_by or frappe.session.user


class BacktestCounter:
	"""Evaluates the trigger's condition for past changes and counts those that would have started a run."""

	def __init__(self, trigger):
		self.trigger = trigger
		self.times = self.looked_at = self.failed = self.without_user = 0
		self.names: set[str] = set()
		self.latest: list[dict] = []
		self.error = ""
		self.deadline = time.monotonic() + MAX_SECONDS

	def is_late(self) -> bool:
		return time.monotonic() > self.deadline

	def check(self, change: PastChange, name: str | None) -> None:
		self.looked_at += 1
		checks, error = evaluate_condition(
			self.trigger.condition, Snapshot(change.after, change.before), change.by, change.at
		)
		if error:
			self.failed, self.error = self.failed + 1, error
		elif all(check.ok for check in checks):
			self.count(change, name)

	def count(self, change: PastChange, name: str | None) -> None:
		if not self.trigger.run_as and needs_run_as(find_trigger_author(self.trigger), change.by):
			self.without_user += 1
			return
		self.times += 1
		if name is None:
			self.latest.append({"at": str(change.at)})
			return
		self.names.add(name)
		self.latest.append({"at": str(change.at), "name": name, "by": change.by})

	def notes(self) -> list[str]:
		notes = []
		if self.is_late():
			changes = pluralize(self.looked_at, "change")
			notes.append(f"Stopped after {MAX_SECONDS} seconds and {changes}. Choose fewer days.")
		if self.failed:
			times = pluralize(self.failed, "time")
			notes.append(f"The condition failed {times}. The last error: {self.error}")
		if self.without_user:
			changes = pluralize(self.without_user, "change")
			notes.append(
				f"Not counted: {changes} by users whose permissions no agent gets by default. "
				"Choose Run As to react to these too."
			)
		return notes

	def as_dict(self, summary: str, notes: list[str]) -> dict:
		self.latest.sort(key=lambda one: one["at"], reverse=True)
		return {
			"summary": summary,
			"times": self.times,
			"documents": len(self.names),
			"looked_at": self.looked_at,
			"examples": self.latest[:MAX_EXAMPLES],
			"notes": notes,
		}


def read_past_changes(
	trigger, since: datetime, notes: list[str], reader: str | None
) -> Iterator[tuple[PastChange, str]]:
	"""(change, document name) of a DocType's documents since a time, without those that `reader` may not
	read; adds gaps in the history to `notes`.
	"""
	doctype = trigger.reference_doctype
	if trigger.doc_event in DELETE_EVENTS:
		yield from list_deleted_documents(doctype, since, notes)
		return
	meta = frappe.get_meta(doctype)
	if meta.issingle:
		notes.append(f"{doctype} is a single record, whose past changes are not examined.")
		return
	names = frappe.get_list(
		doctype,
		filters=[["modified", ">=", since]],
		pluck="name",
		order_by="modified desc",
		limit_page_length=MAX_DOCUMENTS,
	)
	if len(names) == MAX_DOCUMENTS:
		notes.append(f"Only the {MAX_DOCUMENTS} documents changed last were examined.")
	tracked = meta.track_changes
	if not tracked:
		notes.append(f"{doctype} keeps no history: only the last change of each document is known.")
	versions = read_document_versions(doctype, names, since) if tracked else {}
	if sum(map(len, versions.values())) == MAX_VERSIONS:
		notes.append(f"Only the latest {MAX_VERSIONS} changes were examined.")
	unreadable = 0
	for name in names:
		doc = frappe.get_doc(doctype, name)
		if reader and not frappe.has_permission(doctype, "read", doc=doc, user=reader):
			unreadable += 1
			continue
		for change in walk_back(doc, versions.get(name, ()), since, tracked):
			yield change, str(name)
	if unreadable:
		notes.append(f"Not counted: {pluralize(unreadable, 'document')} that {reader} may not read.")


def read_document_versions(doctype: str, names: list, since: datetime) -> dict[str, list]:
	"""{document: its Version rows, newest first}. The caller has checked that the user may read the
	documents.
	"""
	rows = frappe.get_all(
		"Version",
		filters={"ref_doctype": doctype, "docname": ["in", names], "creation": [">=", since]},
		fields=["docname", "data", "creation", "owner"],
		order_by="creation desc",
		limit=MAX_VERSIONS,
	)
	return group_pairs((row.docname, row) for row in rows)


def walk_back(doc, versions, since: datetime, tracked: bool) -> Iterator[PastChange]:
	"""The changes of one document, newest first, each with the values before it."""
	state = doc.as_dict()
	created = get_datetime(doc.creation)
	decimal_sign = find_decimal_sign() if versions else ""
	for version in versions:
		data = json.loads(version.data or "{}")
		if "changed" in data:
			before = revert_version(state, data, doc.meta, decimal_sign)
			yield PastChange(version.creation, version.owner, state, before)
			state = before
	modified = get_datetime(doc.modified)
	if not tracked and modified - created > timedelta(seconds=1):
		yield PastChange(modified, doc.modified_by, state, state)
	if created >= since:
		yield PastChange(created, doc.owner, {**state, "docstatus": DRAFT})


def revert_version(state: Mapping[str, Any], data: Mapping[str, Any], meta, decimal_sign: str) -> dict:
	"""The values of a document before the change that a Version's data describes."""
	before = dict(state)
	for fieldname, old, _new in data.get("changed") or ():
		before[fieldname] = parse_version_value(old, meta.get_field(fieldname), decimal_sign)
	for fieldname, row in data.get("added") or ():
		before[fieldname] = [one for one in before.get(fieldname) or () if one.get("name") != row.get("name")]
	for fieldname, row in data.get("removed") or ():
		if table := meta.get_field(fieldname):
			parse_moments(row, frappe.get_meta(table.options))
		before[fieldname] = [*(before.get(fieldname) or ()), row]
	for fieldname, _place, name, changed in data.get("row_changed") or ():
		if not (table := meta.get_field(fieldname)):
			continue  # the DocType has lost it since
		rows = frappe.get_meta(table.options)
		old = {
			key: parse_version_value(value, rows.get_field(key), decimal_sign) for key, value, _new in changed
		}
		before[fieldname] = [
			{**one, **old} if one.get("name") == name else one for one in before.get(fieldname) or ()
		]
	return before


def parse_version_value(value: Any, field, decimal_sign: str) -> Any:
	"""A value from a Version, where numbers may be formatted as the user saw them."""
	if field and field.fieldtype == "Percent" and isinstance(value, str):
		return flt(value.rstrip("%"))  # Frappe writes these with a point everywhere
	if field and field.fieldtype in NUMBER_TYPES and isinstance(value, str):
		found = WRITTEN_NUMBER.search(value)
		signs = (
			sign for sign in (found[0] if found else "") if sign.isdigit() or sign in ("-", decimal_sign)
		)
		return flt("".join("." if sign == decimal_sign else sign for sign in signs))
	if field and isinstance(value, str) and STORED_MOMENT.match(value):
		return parse_moment(value, field.fieldtype)
	return value


def find_decimal_sign() -> str:
	"""The decimal sign in which the site writes numbers; "" if it writes none."""
	number_format = frappe.db.get_singles_dict("System Settings").get("number_format") or "#,###.##"
	signs = [sign for sign in number_format if sign != "#"]
	return signs[-1] if len(set(signs)) > 1 else ""


def list_deleted_documents(
	doctype: str, since: datetime, notes: list[str]
) -> Iterator[tuple[PastChange, str]]:
	"""Deleted documents, if the site stores them and the user may read them."""
	if not frappe.db.exists("DocType", DELETED):
		notes.append("This site does not store deleted documents, so past deletions are not known.")
		return
	if not frappe.has_permission(DELETED, "read"):
		notes.append("You may not read deleted documents, so past deletions are not known.")
		return
	rows = frappe.get_list(
		DELETED,
		filters=[["deleted_doctype", "=", doctype], ["creation", ">=", since]],
		fields=["deleted_name", "data", "creation", "owner"],
		order_by="creation desc",
		limit_page_length=MAX_DOCUMENTS,
	)
	for row in rows:
		values = parse_with_rows(json.loads(row.data or "{}"), frappe.get_meta(doctype))
		yield PastChange(row.creation, row.owner, values), row.deleted_name


def pluralize(number: int, noun: str) -> str:
	return f"{number} {noun}{'' if number == 1 else 's'}"
