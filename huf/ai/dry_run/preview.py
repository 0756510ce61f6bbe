"""Previews what a write would change: makes it inside a savepoint, reads the difference, and rolls back.

`apply_approved` makes the change only if it still is the one that was previewed, so that a person commits
what they saw. Both functions act as the session user and leave the transaction to the caller, who must have
nothing else uncommitted. `isolation.py` contains the side effects.
"""

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import frappe
from frappe.utils import get_datetime, now_datetime

from huf.ai.core.canonical_json import to_canonical_json
from huf.ai.core.errors import ToolError
from huf.ai.dry_run.change_tracking import ChangeTracker, tracking
from huf.ai.dry_run.diff import compare_states, read_document_state
from huf.ai.dry_run.isolation import isolated
from huf.ai.storage.rows import digest
from huf.ai.tools.fields import list_readable_fields

Key = tuple[str, str]
"""DocType and name of a document."""

STABLE_NAMING_RULES = ("field:", "prompt")
"""Rules of naming by which a new document has the same name the next time."""
MIN_REPLACED_NAME_CHARS = 8
"""Characters from which on a new name is looked for inside other texts as well."""
ACCESS_DOCTYPES = {"User", "Role", "User Permission", "DocShare", "Property Setter", "Role Profile"}
"""What Frappe remembers of these is forgotten after a preview: it may have been read inside."""


@dataclass(frozen=True)
class Preview:
	"""A difference as the user in session may see it.

	`changes`: as `diff.py` describes them, with `provisional` where a name, or the value of a field, is
	another the next time, and `hidden`: how many fields the user may not see. `tables`: DocTypes written to
	in a way that cannot be shown. `kept`: how many jobs, messages and mails it would send off. `digest` names
	the changes and the tables, seen or not. `against`: the documents that were there, each with the time of
	its last change.
	"""

	changes: tuple[dict, ...]
	digest: str
	against: tuple[tuple[str, str, str], ...] = ()
	tables: tuple[str, ...] = ()
	kept: Mapping[str, int] = field(default_factory=dict)

	def as_dict(self) -> dict:
		return {"changes": list(self.changes), "tables": list(self.tables), "kept": dict(self.kept)}


class PreviewChanged(Exception):
	"""What would be done is not what was shown: `preview` is what it is now. Nothing has been changed."""

	def __init__(self, preview: Preview):
		super().__init__("What would be changed is not what was approved.")
		self.preview = preview


@dataclass(frozen=True)
class DryRunResult:
	"""What came of doing something: documents before and after, and between which times it was done."""

	before: Mapping[Key, dict | None]
	after: Mapping[Key, dict | None]
	tables: tuple[str, ...]
	kept: Mapping[str, int]
	began: datetime.datetime
	ended: datetime.datetime

	def changes(self) -> list[dict]:
		"""All of them, in the order in which the documents were tracker."""
		pairs = (
			(key, compare_states(*key, self.before.get(key), after)) for key, after in self.after.items()
		)
		return [mark_provisional(change, self) for _, change in pairs if change]


def preview_changes(work: Callable[[], Any]) -> Preview:
	"""What `work` would change. Raises what it raises, and PreviewRefused where it cannot be undone."""
	return to_preview(run_dry(work))


def apply_approved(work: Callable[[], Any], approved: str) -> Any:
	"""Do it and give its result, if it changes what the digest `approved` stands for. Does not commit.

	Raises PreviewChanged with nothing changed; ToolError where doing it was not what trying it had been a
	moment before: then the caller rolls back.
	"""
	outcome = run_dry(work)
	if compute_digest(outcome) != approved:
		raise PreviewChanged(to_preview(outcome))
	began = now_datetime()
	with tracking(is_dry_run=False) as tracker:
		result = work()
	# The rows of the attempt are locked: what they were before is what they were before this.
	done = DryRunResult(
		outcome.before,
		read_states(tracker),
		find_untracked_tables(tracker),
		outcome.kept,
		began,
		now_datetime(),
	)
	if compute_digest(done) != approved:
		raise ToolError(
			"What was changed is not the same each time it is done, so it was taken back. It cannot be approved beforehand."
		)
	return result


def run_dry(work: Callable[[], Any]) -> DryRunResult:
	"""Do it, read what came of it, undo it, and read what had been there."""
	began = now_datetime()
	with isolated() as dry_run, tracking(is_dry_run=True) as tracker:
		work()
		after, tables = read_states(tracker), find_untracked_tables(tracker)
	ended = now_datetime()
	clear_caches(after)
	before = {key: read_document_state(*key) for key in after}
	suppressed = {**dry_run.suppressed, "mails": tracker.traces["Email Queue"]}
	counted = {kind: count for kind, count in suppressed.items() if count}
	return DryRunResult(before, after, tables, counted, began, ended)


def read_states(tracker: ChangeTracker) -> dict[Key, dict | None]:
	return {key: read_document_state(*key) for key in list(tracker.documents)}


def find_untracked_tables(tracker: ChangeTracker) -> tuple[str, ...]:
	"""DocTypes whose rows were written by statements of their own, and are not those of the documents
	tracker.
	"""
	known = {doctype for doctype, _ in tracker.documents}
	known |= {df.options for doctype in known for df in frappe.get_meta(doctype).get_table_fields()}
	return (*tracker.beyond, *(table for table in tracker.tables if table not in {*known, *tracker.beyond}))


def clear_caches(keys: Mapping[Key, Any]) -> None:
	"""What was cached of documents inside may be what has been undone."""
	for doctype, name in keys:
		frappe.clear_document_cache(doctype, name)
	if any(doctype in ACCESS_DOCTYPES for doctype, _ in keys):
		frappe.clear_cache()


# --- what is not the same the next time ---


def mark_provisional(change: dict, outcome: DryRunResult) -> dict:
	"""Mark a new document's name, and times of day that are those of the doing."""
	if change["action"] == "create":
		rule = (frappe.get_meta(change["doctype"]).autoname or "").lower()
		change["provisional"] = not rule.startswith(STABLE_NAMING_RULES)
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
	"""Whether a value is the time at which it was written."""
	if not value or fieldtype not in ("Datetime", "Time"):
		return False
	second = datetime.timedelta(seconds=1)
	day = outcome.ended.date()
	moment = get_datetime(f"{day} {value}" if fieldtype == "Time" else value)
	return outcome.began - second <= moment <= outcome.ended + second


def compute_digest(outcome: DryRunResult) -> str:
	"""A name of all that changes, equal for equal changes, whatever new names and times of day they have."""
	changes = outcome.changes()
	new = find_provisional_names(changes)
	comparable = [to_comparable_change(change, new) for change in changes]
	text = to_canonical_json([comparable, sorted(outcome.tables)])
	for name, stand_in in new.items():
		if len(name) >= MIN_REPLACED_NAME_CHARS:
			text = text.replace(name, stand_in)
	return digest(text)


def find_provisional_names(changes: list[dict]) -> dict[str, str]:
	"""Names that are provisional, each with what stands for it: of documents, and of rows that are added."""
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


# --- what is shown ---


def to_preview(outcome: DryRunResult) -> Preview:
	"""As the user in session may see it."""
	return Preview(
		tuple(to_visible_change(change, outcome) for change in outcome.changes()),
		compute_digest(outcome),
		tuple((*key, state["modified"]) for key, state in outcome.before.items() if state),
		outcome.tables,
		outcome.kept,
	)


def to_visible_change(change: dict, outcome: DryRunResult) -> dict:
	key = change["doctype"], change["name"]
	if not may_read(*key, outcome.before.get(key)):
		every = len(change["fields"]) + len(change["rows"])
		return {**change, "name": None, "fields": [], "rows": [], "hidden": every}
	fields = filter_visible_fields(change["doctype"], change["fields"])
	rows = [row for row in change["rows"] if row["fieldname"] in list_readable_fields(change["doctype"])]
	rows = [
		{**row, "fields": filter_visible_fields(row["doctype"], row["fields"], parent=change["doctype"])}
		for row in rows
	]
	return {**change, "fields": fields, "rows": rows, "hidden": len(change["fields"]) - len(fields)}


def may_read(doctype: str, name: str, before: Mapping | None) -> bool:
	"""A new document is gone by now: whoever may read its DocType may see it."""
	if before is None:
		return bool(frappe.has_permission(doctype, "read"))
	return bool(frappe.has_permission(doctype, "read", doc=name))


def filter_visible_fields(doctype: str, fields: list[dict], parent: str | None = None) -> list[dict]:
	"""Without those above the user's permission level; secrets are masked where they are read."""
	meta = frappe.get_meta(doctype)
	levels = set(frappe.get_meta(parent or doctype).get_permlevel_access("read")) | {0}
	return [
		each
		for each in fields
		if not (df := meta.get_field(each["fieldname"])) or not df.permlevel or df.permlevel in levels
	]
