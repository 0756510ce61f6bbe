"""What a write would change, as the server would change it: done inside a savepoint, read, and undone.

`preview` shows it, `apply` does it if it still is what was shown. Both are synchronous, act as the user in session, and leave
the transaction to their caller, who has nothing else uncommitted. What a preview holds back is `gate`'s to say.
"""

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import frappe
from frappe.utils import get_datetime, now_datetime

from huf.ai.core.canonical_json import to_canonical_json
from huf.ai.core.errors import ToolError
from huf.ai.dry_run import isolation
from huf.ai.dry_run.change_tracking import Touched, noting
from huf.ai.dry_run.diff import compare, read_state
from huf.ai.storage.rows import digest
from huf.ai.tools.fields import readable_fields

Key = tuple[str, str]
"""DocType and name of a document."""

GIVEN_NAMES = ("field:", "prompt")
"""Rules of naming by which a new document has the same name the next time."""
LONG_NAME = 8
"""Characters from which on a new name is looked for inside other texts as well."""
CHANGES_ACCESS = {"User", "Role", "User Permission", "DocShare", "Property Setter", "Role Profile"}
"""What Frappe remembers of these is forgotten after a preview: it may have been read inside."""


@dataclass(frozen=True)
class Preview:
	"""A difference as the user in session may see it.

	`changes`: as `difference.py` tells them, with `provisional` where a name, or the value of a field, is another the next
	time, and `hidden`: how many fields the user may not see. `tables`: DocTypes written to in a way that cannot be shown.
	`kept`: how many jobs, messages and mails it would send off. `digest` names the changes and the tables, seen or not.
	`against`: the documents that were there, each with the time of its last change.
	"""

	changes: tuple[dict, ...]
	digest: str
	against: tuple[tuple[str, str, str], ...] = ()
	tables: tuple[str, ...] = ()
	kept: Mapping[str, int] = field(default_factory=dict)

	def as_dict(self) -> dict:
		return {"changes": list(self.changes), "tables": list(self.tables), "kept": dict(self.kept)}


class Differs(Exception):
	"""What would be done is not what was shown: `preview` is what it is now. Nothing has been changed."""

	def __init__(self, preview: Preview):
		super().__init__("What would be changed is not what was approved.")
		self.preview = preview


@dataclass(frozen=True)
class Trial:
	"""What came of doing something: documents before and after, and between which times it was done."""

	before: Mapping[Key, dict | None]
	after: Mapping[Key, dict | None]
	tables: tuple[str, ...]
	kept: Mapping[str, int]
	began: datetime.datetime
	ended: datetime.datetime

	def changes(self) -> list[dict]:
		"""All of them, in the order in which the documents were touched."""
		pairs = ((key, compare(*key, self.before.get(key), after)) for key, after in self.after.items())
		return [mark_provisional(change, self) for _, change in pairs if change]


def preview(work: Callable[[], Any]) -> Preview:
	"""What `work` would change. Raises what it raises, and PreviewRefused where it cannot be undone."""
	return shown(try_out(work))


def apply(work: Callable[[], Any], approved: str) -> Any:
	"""Do it and give its result, if it changes what the digest `approved` stands for. Does not commit.

	Raises Differs with nothing changed; ToolError where doing it was not what trying it had been a moment before: then the
	caller rolls back.
	"""
	trial = try_out(work)
	if digest_of(trial) != approved:
		raise Differs(shown(trial))
	began = now_datetime()
	with noting(is_trial=False) as touched:
		result = work()
	# The rows of the trial are locked: what they were before is what they were before this.
	done = Trial(trial.before, read_all(touched), tables_of(touched), trial.kept, began, now_datetime())
	if digest_of(done) != approved:
		raise ToolError(
			"What was changed is not the same each time it is done, so it was taken back. It cannot be approved beforehand."
		)
	return result


def try_out(work: Callable[[], Any]) -> Trial:
	"""Do it, read what came of it, undo it, and read what had been there."""
	began = now_datetime()
	with isolation.closed() as closed, noting(is_trial=True) as touched:
		work()
		after, tables = read_all(touched), tables_of(touched)
	ended = now_datetime()
	forget_caches(after)
	before = {key: read_state(*key) for key in after}
	kept = {**closed.kept, "mails": touched.traces["Email Queue"]}
	return Trial(before, after, tables, {kind: count for kind, count in kept.items() if count}, began, ended)


def read_all(touched: Touched) -> dict[Key, dict | None]:
	return {key: read_state(*key) for key in list(touched.documents)}


def tables_of(touched: Touched) -> tuple[str, ...]:
	"""DocTypes whose rows were written by statements of their own, and are not those of the documents touched."""
	known = {doctype for doctype, _ in touched.documents}
	known |= {df.options for doctype in known for df in frappe.get_meta(doctype).get_table_fields()}
	return (*touched.beyond, *(table for table in touched.tables if table not in {*known, *touched.beyond}))


def forget_caches(keys: Mapping[Key, Any]) -> None:
	"""What was cached of documents inside may be what has been undone."""
	for doctype, name in keys:
		frappe.clear_document_cache(doctype, name)
	if any(doctype in CHANGES_ACCESS for doctype, _ in keys):
		frappe.clear_cache()


# --- what is not the same the next time ---


def mark_provisional(change: dict, trial: Trial) -> dict:
	"""Mark a new document's name, and times of day that are those of the doing."""
	if change["action"] == "create":
		rule = (frappe.get_meta(change["doctype"]).autoname or "").lower()
		change["provisional"] = not rule.startswith(GIVEN_NAMES)
	for doctype, fields in [
		(change["doctype"], change["fields"]),
		*((row["doctype"], row["fields"]) for row in change["rows"]),
	]:
		meta = frappe.get_meta(doctype)
		for each in fields:
			df = meta.get_field(each["fieldname"])
			if df and is_moment(each["after"], df.fieldtype, trial):
				each["provisional"] = True
	return change


def is_moment(value: Any, fieldtype: str, trial: Trial) -> bool:
	"""Whether a value is the time at which it was written."""
	if not value or fieldtype not in ("Datetime", "Time"):
		return False
	second = datetime.timedelta(seconds=1)
	day = trial.ended.date()
	moment = get_datetime(f"{day} {value}" if fieldtype == "Time" else value)
	return trial.began - second <= moment <= trial.ended + second


def digest_of(trial: Trial) -> str:
	"""A name of all that changes, equal for equal changes, whatever new names and times of day they have."""
	changes = trial.changes()
	new = new_names(changes)
	steady = [steady_change(change, new) for change in changes]
	text = to_canonical_json([steady, sorted(trial.tables)])
	for name, stand_in in new.items():
		if len(name) >= LONG_NAME:
			text = text.replace(name, stand_in)
	return digest(text)


def new_names(changes: list[dict]) -> dict[str, str]:
	"""Names that are provisional, each with what stands for it: of documents, and of rows that are added."""
	new = {}
	for number, change in enumerate(changes):
		if change.get("provisional"):
			new[change["name"]] = f"new document {number}"
		for row in change["rows"]:
			if row["action"] == "add":
				new[row["row"]] = f"new row {number}.{row['fieldname']}.{row['idx']}"
	return new


def steady_change(change: dict, new: Mapping[str, str]) -> dict:
	return {
		**change,
		"name": new.get(change["name"], change["name"]),
		"fields": [steady_field(each, new) for each in change["fields"]],
		"rows": [
			{
				**row,
				"row": new.get(row["row"], row["row"]),
				"fields": [steady_field(f, new) for f in row["fields"]],
			}
			for row in change["rows"]
		],
	}


def steady_field(each: dict, new: Mapping[str, str]) -> list:
	after = "now" if each.get("provisional") else each["after"]
	return [each["fieldname"], each["before"], new.get(after, after) if isinstance(after, str) else after]


# --- what is shown ---


def shown(trial: Trial) -> Preview:
	"""As the user in session may see it."""
	return Preview(
		tuple(visible_change(change, trial) for change in trial.changes()),
		digest_of(trial),
		tuple((*key, state["modified"]) for key, state in trial.before.items() if state),
		trial.tables,
		trial.kept,
	)


def visible_change(change: dict, trial: Trial) -> dict:
	key = change["doctype"], change["name"]
	if not may_read(*key, trial.before.get(key)):
		every = len(change["fields"]) + len(change["rows"])
		return {**change, "name": None, "fields": [], "rows": [], "hidden": every}
	fields = visible_fields(change["doctype"], change["fields"])
	rows = [row for row in change["rows"] if row["fieldname"] in readable_fields(change["doctype"])]
	rows = [
		{**row, "fields": visible_fields(row["doctype"], row["fields"], parent=change["doctype"])}
		for row in rows
	]
	return {**change, "fields": fields, "rows": rows, "hidden": len(change["fields"]) - len(fields)}


def may_read(doctype: str, name: str, before: Mapping | None) -> bool:
	"""A new document is gone by now: whoever may read its DocType may see it."""
	if before is None:
		return bool(frappe.has_permission(doctype, "read"))
	return bool(frappe.has_permission(doctype, "read", doc=name))


def visible_fields(doctype: str, fields: list[dict], parent: str | None = None) -> list[dict]:
	"""Without those above the user's permission level; secrets are masked where they are read."""
	meta = frappe.get_meta(doctype)
	levels = set(frappe.get_meta(parent or doctype).get_permlevel_access("read")) | {0}
	return [
		each
		for each in fields
		if not (df := meta.get_field(each["fieldname"])) or not df.permlevel or df.permlevel in levels
	]
