"""Previews what a write would change: makes it inside a savepoint, reads the difference, and rolls back.

`apply_approved` makes the change only if it is still the previewed one, so that a person commits what they
saw. Both functions act as the session user and leave the transaction to the caller, who must have nothing
else uncommitted. `isolation.py` contains the side effects.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import frappe
from frappe.utils import now_datetime, strip_html

from huf.ai.core.errors import ToolError
from huf.ai.core.stored_text import clip_line
from huf.ai.dry_run.change_tracking import ChangeTracker, tracking
from huf.ai.dry_run.diff import read_document_state
from huf.ai.dry_run.digest import DryRunResult, Key, compute_digest, find_differences
from huf.ai.dry_run.isolation import isolated
from huf.ai.tools.fields import list_readable_fields

MAX_TITLE_CHARS = 80
UNSTABLE = (
	"The change differs each time it runs ({0}), so it was rolled back and cannot be approved. "
	"Do it without an agent."
)
ACCESS_DOCTYPES = {"User", "Role", "User Permission", "DocShare", "Property Setter", "Role Profile"}
"""DocTypes that decide on access: after a preview that writes one, Frappe's caches may hold what was rolled
back.
"""


@dataclass(frozen=True)
class Preview:
	"""A difference as the session's user may see it."""

	changes: tuple[dict, ...]
	"""As `diff.py` describes them, with the `title` of an existing document. `provisional` marks a name or a
	value that will differ when the write is applied; `hidden` counts the fields that the user may not see.
	"""
	digest: str
	"""Identifies all changes, tables and the number of mails, visible to the user or not."""
	against: tuple[tuple[str, str, str], ...] = ()
	"""(DocType, name, modified) of the documents that existed before."""
	tables: tuple[str, ...] = ()
	"""DocTypes with writes that cannot be shown row by row."""
	suppressed: Mapping[str, int] = field(default_factory=dict)
	"""Number of suppressed jobs, messages and mails, by kind."""
	unfiltered: tuple[dict, ...] = ()
	"""The changes with what the user may not see, for rules about them. Secrets are masked here too."""

	def as_dict(self) -> dict:
		return {"changes": list(self.changes), "tables": list(self.tables), "kept": dict(self.suppressed)}


class PreviewChanged(Exception):
	"""The write would make another change than the approved one; `preview` is its current change.

	Nothing was changed.
	"""

	def __init__(self, preview: Preview):
		super().__init__("The change is no longer the one that was approved. Look at it again.")
		self.preview = preview


def preview_changes(work: Callable[[], Any], own: str | None = None) -> Preview:
	"""What `work` would change; `own`: the DocType that it is about, shown even if it is a log. Raises what
	`work` raises, and PreviewRefused for an effect that cannot be rolled back.
	"""
	return to_preview(run_dry(work, own))


def apply_approved(work: Callable[[], Any], approved: str | None, own: str | None = None) -> Any:
	"""Run `work` and return its result, if its change still has the digest `approved` (None: it has
	none). Does not commit.

	Raises PreviewChanged, with nothing changed, if it would change something else. Raises ToolError if two
	runs of this moment differ, of which the second may be the real one; the caller then rolls back.
	"""
	outcome = run_dry(work, own)
	now = compute_digest(outcome)
	if now != approved:
		again = run_dry(work, own)
		if compute_digest(again) != now:
			raise ToolError(UNSTABLE.format(find_differences(outcome, again)))
		raise PreviewChanged(to_preview(outcome))
	began = now_datetime()
	with tracking(is_dry_run=False, own=own) as tracker:
		result = work()
	# The dry run still locks its rows, so its `before` is also the state before this write.
	done = DryRunResult(
		outcome.before,
		read_states(tracker),
		find_untracked_tables(tracker),
		outcome.suppressed,
		began,
		now_datetime(),
		outcome.after.keys(),
	)
	if compute_digest(done) != approved:
		raise ToolError(UNSTABLE.format(find_differences(outcome, done)))
	return result


def run_dry(work: Callable[[], Any], own: str | None) -> DryRunResult:
	"""Run `work` dry. If it creates documents whose names should be stable, run it again and compare them:
	code may fill in random names, as ERPNext does for batches.
	"""
	outcome = run_dry_once(work, own)
	if any(change["action"] == "create" and not change["provisional"] for change in outcome.changes()):
		return replace(outcome, repeated=run_dry_once(work, own).after.keys())
	return outcome


def run_dry_once(work: Callable[[], Any], own: str | None) -> DryRunResult:
	"""Run `work`, read the documents that it changed, roll it back, and read them again."""
	began = now_datetime()
	with isolated() as dry_run, tracking(is_dry_run=True, own=own) as tracker:
		work()
		after, tables = read_states(tracker), find_untracked_tables(tracker)
	ended = now_datetime()
	clear_caches(after)
	before = {key: read_document_state(*key) for key in after}
	suppressed = {**dry_run.suppressed, "mails": tracker.mails}
	counted = {kind: count for kind, count in suppressed.items() if count}
	return DryRunResult(before, after, tables, counted, began, ended)


def read_states(tracker: ChangeTracker) -> dict[Key, dict | None]:
	"""The current values of all changed documents; None for those that do not exist."""
	return {key: read_document_state(*key) for key in list(tracker.documents)}


def find_untracked_tables(tracker: ChangeTracker) -> tuple[str, ...]:
	"""DocTypes with writes by SQL statements that belong to no tracked document."""
	known = {doctype for doctype, _ in tracker.documents}
	known |= {df.options for doctype in known for df in frappe.get_meta(doctype).get_table_fields()}
	return (*tracker.beyond, *(table for table in tracker.tables if table not in {*known, *tracker.beyond}))


def clear_caches(keys: Mapping[Key, Any]) -> None:
	"""Clear caches that may hold values that were rolled back."""
	for doctype, name in keys:
		frappe.clear_document_cache(doctype, name)
	if any(doctype in ACCESS_DOCTYPES for doctype, _ in keys):
		frappe.clear_cache()


def to_preview(outcome: DryRunResult) -> Preview:
	"""The result as the session's user may see it."""
	changes = outcome.changes()
	return Preview(
		tuple(to_visible_change(change, outcome) for change in changes),
		compute_digest(outcome),
		tuple((*key, state["modified"]) for key, state in outcome.before.items() if state),
		outcome.tables,
		outcome.suppressed,
		tuple(changes),
	)


def to_visible_change(change: dict, outcome: DryRunResult) -> dict:
	key = change["doctype"], change["name"]
	if not may_read_changed(*key, outcome.before.get(key)):
		every = len(change["fields"]) + len(change["rows"])
		return {**change, "name": None, "fields": [], "rows": [], "hidden": every}
	fields = filter_visible_fields(change["doctype"], change["fields"])
	readable = list_readable_fields(change["doctype"])
	visible_rows = [row for row in change["rows"] if row["fieldname"] in readable]
	rows = [
		{**row, "fields": filter_visible_fields(row["doctype"], row["fields"], parent=change["doctype"])}
		for row in visible_rows
	]
	hidden = len(change["fields"]) - len(fields) + len(change["rows"]) - len(visible_rows)
	hidden += sum(len(row["fields"]) for row in visible_rows) - sum(len(row["fields"]) for row in rows)
	title = find_title(change["doctype"], outcome.before.get(key), readable)
	named = {"title": title} if title else {}
	return {**change, **named, "fields": fields, "rows": rows, "hidden": hidden}


def find_title(doctype: str, before: Mapping | None, readable: Collection[str]) -> str | None:
	"""The title that an existing document had; people do not know it by a random name."""
	field = frappe.get_meta(doctype).title_field
	value = before["fields"].get(field) if before and field in readable else None
	return clip_line(strip_html(str(value)), MAX_TITLE_CHARS) if value else None


def may_read_changed(doctype: str, name: str, before: Mapping | None) -> bool:
	"""A new document is already rolled back, so the permission on its DocType decides."""
	if before is None:
		return bool(frappe.has_permission(doctype, "read"))
	return bool(frappe.has_permission(doctype, "read", doc=name))


def filter_visible_fields(doctype: str, fields: list[dict], parent: str | None = None) -> list[dict]:
	"""The fields of the user's permission levels; secrets were masked when they were read."""
	meta = frappe.get_meta(doctype)
	levels = set(frappe.get_meta(parent or doctype).get_permlevel_access("read")) | {0}
	return [
		each
		for each in fields
		if not (df := meta.get_field(each["fieldname"])) or not df.permlevel or df.permlevel in levels
	]
