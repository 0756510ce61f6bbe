"""Brings documents to the state they should have again, with Frappe's own methods, checks and events.

All acts as the session user and leaves the transaction to the caller.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import frappe
from frappe import _
from frappe.utils import strip_html

from huf.ai.core.errors import PreviewRefused
from huf.ai.dry_run.isolation import ADVICE, forget_refusal
from huf.ai.storage.authors import set_author
from huf.ai.storage.untrusted_records import reopen_record
from huf.ai.undo.capture import read_stored_image, to_key
from huf.ai.undo.images import differing, pick, without_place

SAVEPOINT = "huf_undo"
DRAFT, SUBMITTED, CANCELLED = 0, 1, 2
NOT_RESTORED = "Comments, to-dos, shares and facts of agents that were deleted with it do not come back."
OBSTACLES = (
	frappe.ValidationError,
	frappe.PermissionError,
	frappe.DoesNotExistError,
	frappe.DuplicateEntryError,
	PreviewRefused,
)


@dataclass(frozen=True)
class Target:
	"""A document with its present image and the one it should have; None: no document.

	`cause`: DocType/name of the document whose submission or cancellation changed this one. `authors`: who
	had saved it before the changes that are undone. `since`: when the first of these was made.
	"""

	doctype: str
	name: str
	current: Mapping | None
	wanted: Mapping | None
	file_content: str | None = None
	cause: str | None = None
	authors: tuple[str, ...] = ()
	since: datetime | None = None

	@property
	def key(self) -> str:
		return to_key(self.doctype, self.name)

	@property
	def action(self) -> str | None:
		"""create, delete, update, cancel or amend; None if nothing needs to change."""
		if self.current is None:
			return None if self.wanted is None else "create"
		now = self.current["docstatus"]
		if self.wanted is None:
			return "cancel" if now == SUBMITTED else "delete"
		wanted = self.wanted["docstatus"]
		if now == wanted:
			return "update" if differing(self.current, self.wanted) else None
		return "cancel" if now == SUBMITTED else "amend" if now == CANCELLED else "submit"


@dataclass
class Restored:
	"""What was done to one document. `name` is the new one of an amended document."""

	doctype: str
	name: str
	action: str
	left: list[str] = field(default_factory=list)
	"""Fields that have another value than wanted: the user may not write them, or Frappe computes them."""
	note: str | None = None


@dataclass(frozen=True)
class Problem:
	"""A document that cannot be restored, and why."""

	doctype: str
	name: str
	error: str


def restore_all(targets: Sequence[Target]) -> tuple[list[Restored], list[Problem]]:
	"""Restore documents in an order that their links allow; what cannot be restored stays as it is.

	What a document's submission did to others is left to its cancellation, unless that is refused.
	"""
	by_key = {each.key: each for each in targets}

	def count_causes(target: Target) -> int:
		return 1 + count_causes(by_key[target.cause]) if target.cause in by_key else 0

	waiting, restored, done = sorted(by_key, key=lambda key: count_causes(by_key[key])), [], set()
	while waiting:
		problems, postponed = [], []
		for key in waiting:
			target = by_key[key]
			result = None if target.cause in done else try_restore(target)
			if isinstance(result, Problem):
				postponed.append(key)
				problems.append(result)
				continue
			done.add(key)
			if result:
				restored.append(result)
		if len(postponed) == len(waiting):
			return restored, problems
		waiting = postponed
	return restored, []


def try_restore(target: Target) -> Restored | Problem:
	"""Restore one document inside a savepoint."""
	capture, messages = frappe.flags.huf_changes, len(frappe.local.message_log)
	noted = dict(capture.images) if capture else {}
	saving = list(frappe.flags.currently_saving or ())
	frappe.db.savepoint(SAVEPOINT)
	try:
		author = frappe.db.get_value(target.doctype, target.name, "modified_by") or frappe.session.user
		if target.since:
			# Who trusted the record has not seen what it contained before.
			reopen_record(target.doctype, target.name, target.since)
		restored = restore(target)
		set_author(target.doctype, restored.name, (*target.authors, author, frappe.session.user))
		return restored
	except OBSTACLES as error:
		frappe.db.rollback(save_point=SAVEPOINT)
		if isinstance(error, PreviewRefused):
			forget_refusal(error)
		frappe.clear_document_cache(target.doctype, target.name)
		frappe.flags.currently_saving = saving
		if capture:
			capture.images = noted
		return Problem(target.doctype, target.name, describe_obstacle(error, target))
	finally:
		del frappe.local.message_log[messages:]


def describe_obstacle(error: Exception, target: Target) -> str:
	if isinstance(error, frappe.PermissionError):
		return _("You may not do this with this document.")
	if isinstance(error, frappe.DuplicateEntryError):
		return _("Its name is taken.")
	if isinstance(error, PreviewRefused):
		return str(error).replace(ADVICE, _("Restore it yourself."))
	return strip_html(str(error)) or type(error).__name__


def restore(target: Target) -> Restored:
	action = target.action
	if action == "create":
		return create_again(target)
	doc = frappe.get_doc(target.doctype, target.name, for_update=True)
	if action == "delete":
		doc.delete()
		return Restored(target.doctype, target.name, action)
	if action == "cancel":
		doc.cancel()
		is_wanted = target.wanted is not None and target.wanted.get("docstatus") == 2
		note = None if is_wanted else _("It stays as a cancelled document.")
		return Restored(target.doctype, target.name, action, note=note)
	if action == "amend":
		return amend(target, doc)
	if action == "submit":
		frappe.throw(_("It is a draft again; submit it yourself."))
	set_values(doc, target)
	doc.save()
	set_origin(target, target.name)
	left = find_left(target, target.name)
	if left and read_stored_image(target.doctype, target.name) == target.current:
		labels = ", ".join(_(doc.meta.get_label(name) or name) for name in left)
		frappe.throw(_("You may not write these fields, or they are computed: {0}").format(labels))
	return Restored(target.doctype, target.name, "update", left)


def create_again(target: Target) -> Restored:
	wanted = target.wanted or {}
	if wanted["docstatus"] == CANCELLED:
		frappe.throw(_("It was a cancelled document, and these cannot be created again."))
	values = {**wanted["fields"], **to_rows(wanted, with_names=True), **read_deleted_file(target)}
	doc = frappe.get_doc({"doctype": target.doctype, **values})
	doc.insert(set_name=target.name, set_child_names=False)
	advance_series(str(doc.name))
	set_origin(target, doc.name)
	left = find_left(target, doc.name)
	if left:
		# Defaults filled empty fields; saving again empties them.
		doc = frappe.get_doc(target.doctype, doc.name)
		set_values(doc, target)
		doc.save()
		left = find_left(target, doc.name)
	note = None if target.doctype == "File" else _(NOT_RESTORED)
	return Restored(target.doctype, doc.name, "create", left, note)


def advance_series(name: str) -> None:
	"""Keep a naming series from assigning this name again: Frappe takes the last number back on deletion."""
	prefixes = [name[:end] for end in range(len(name.rstrip("0123456789")), len(name))]
	found = "select name from `tabSeries` where name in %s order by length(name) desc limit 1"
	for prefix in frappe.db.sql(found, (prefixes,), pluck=True) if prefixes else ():
		number = int(name.removeprefix(prefix))
		advance = "update `tabSeries` set current = %s where name = %s and current < %s"
		frappe.db.sql(advance, (number, prefix, number))


def set_origin(target: Target, name: str) -> None:
	"""Restore who created the document and when; Frappe names the user who creates it again."""
	wanted = pick(target.wanted or {}, ["owner", "creation"])
	if wanted != pick(target.current or {}, ["owner", "creation"]):
		frappe.db.set_value(target.doctype, name, wanted, update_modified=False)
		if capture := frappe.flags.huf_changes:
			capture.amend((target.doctype, str(name)), wanted)


def read_deleted_file(target: Target) -> dict:
	"""The content of a File that was deleted with it."""
	if target.doctype != "File" or not target.file_content:
		return {}
	return {"content": base64.b64decode(target.file_content), "file_url": None}


def amend(target: Target, doc) -> Restored:
	"""A copy of a cancelled document with the wanted values; submitted if the document was."""
	wanted = target.wanted or {}
	if not doc.meta.has_field("amended_from"):
		frappe.throw(_("It was cancelled, and a {0} cannot be amended.").format(target.doctype))
	last = find_last_amendment(target)
	copied = {df.fieldname for df in doc.meta.fields if not df.no_copy}
	values = {name: value for name, value in wanted["fields"].items() if name in copied}
	amended = frappe.get_doc(
		{"doctype": target.doctype, **values, **to_rows(wanted, False), "amended_from": last}
	)
	amended.insert()
	if wanted["docstatus"] == SUBMITTED:
		amended.submit()
	return Restored(target.doctype, amended.name, "amend", note=_("It amends {0}.").format(last))


def find_last_amendment(target: Target) -> str:
	"""The cancelled document, or its last amendment if that is cancelled too, such as by this undo."""
	last, state = target.name, CANCELLED
	while state == CANCELLED:
		found = frappe.db.get_value(target.doctype, {"amended_from": last}, ["name", "docstatus"])
		if not found:
			return last
		last, state = found
	return frappe.throw(_("It has been amended already, as {0}.").format(last))


def set_values(doc, target: Target) -> None:
	"""Set the fields and rows in which the document differs from the wanted state."""
	wanted = target.wanted or {}
	present = read_stored_image(target.doctype, target.name) or wanted
	for name in differing(present["fields"], wanted["fields"]):
		doc.set(name, wanted["fields"][name])
	for table in differing(present["rows"], wanted["rows"]):
		set_rows(doc, table, wanted["rows"][table])


def set_rows(doc, table: str, wanted: Mapping[str, Mapping]) -> None:
	existing = {str(row.name): row for row in doc.get(table)}
	doc.set(table, [])
	for name, values in in_order(wanted):
		if name in existing:
			row = doc.append(table, existing[name])
			row.update(values)
		else:
			row = doc.append(table, dict(values))
			row.name = name
		row.idx = len(doc.get(table))


def to_rows(image: Mapping, with_names: bool) -> dict[str, list[dict]]:
	return {
		table: [{**values, **({"name": name} if with_names else {})} for name, values in in_order(rows)]
		for table, rows in image["rows"].items()
	}


def in_order(rows: Mapping[str, Mapping]) -> list[tuple[str, Mapping]]:
	return sorted(rows.items(), key=lambda each: each[1]["idx"] or 0)


def find_left(target: Target, name: str) -> list[str]:
	"""The fields and tables in which the stored document differs from the wanted state."""
	present = read_stored_image(target.doctype, name)
	wanted = target.wanted
	if present is None or wanted is None:
		return []
	tables = [
		table
		for table in differing(present["rows"], wanted["rows"])
		if without_places(present["rows"].get(table, {})) != without_places(wanted["rows"].get(table, {}))
	]
	return [*differing(present["fields"], wanted["fields"]), *tables]


def without_places(rows: Mapping[str, Mapping]) -> list:
	"""Rows in their order, without the numbers of their places."""
	return [(name, without_place(row)) for name, row in in_order(rows)]
