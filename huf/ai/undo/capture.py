"""Records what a tool call changes, from the document events that Frappe raises anyway.

The previous state is the one that Frappe has loaded for its own checks, so recording runs no statement,
unless several objects of one document were saved.
Writes past documents (`frappe.db.sql`, `frappe.db.set_value`) raise no event and are not seen.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any

import frappe
from frappe.core.doctype.file.file import File
from frappe.utils import flt, get_datetime, getdate

from huf.ai.core.json_text import to_canonical_json
from huf.ai.dry_run.change_tracking import is_log_entry
from huf.ai.dry_run.diff import find_action
from huf.ai.dry_run.isolation import is_dry_run, wrap_frappe
from huf.ai.storage.authors import AUTHORED
from huf.ai.tools.fields import list_data_fields
from huf.ai.tools.schemas import TABLE_TYPES
from huf.ai.undo.images import split_difference

MAX_FILE_BYTES = 4_000_000
"""A larger file that a call deletes cannot be restored."""
NOTED_EVENTS = ("after_insert", "after_delete", "on_change")
DECIMALS = 9
"""Decimal places of numbers in MariaDB."""
TREE_FIELDS = ("lft", "rgt", "old_parent")
"""Frappe computes the positions in a tree."""
_lock = Lock()


Key = tuple[str, str]
"""DocType and name."""


@dataclass(frozen=True)
class Noted:
	"""A changed document's images before and after (None: no document).

	`since` and `author`: when the state before was saved, and by whom. `cause`: the document that was being
	saved. `doc`: the object that was saved last; `is_shared` if another one was saved too, because neither
	has all of the values.
	"""

	before: dict | None
	after: dict | None
	since: str
	author: str
	cause: Key | None
	doc: Any
	is_shared: bool = False

	@property
	def changes_status(self) -> bool:
		"""Whether it was submitted or cancelled."""
		return self.after is not None and self.after["docstatus"] != (self.before or {}).get("docstatus", 0)

	def follow(self, doc: Any, after: dict | None, method: str, earlier: Any) -> "Noted":
		"""The same after a further event. `earlier`: the object's state before it."""
		noted = replace(self, after=after, doc=doc, is_shared=self.is_shared or self.doc is not doc)
		if method == "after_insert" and self.after is not None:
			# Its controller has saved the new document before this event.
			return replace(noted, before=None)
		if method == "on_change" and self.before and earlier and stamp(earlier) < self.since:
			# Its controller has saved another object of it, which was loaded in the middle of this save.
			state = {"before": take_image(earlier), "since": stamp(earlier), "author": earlier.modified_by}
			return replace(noted, **state)
		return noted


class Capture:
	"""The documents that one call changed.

	`origins`: of the untrusted content that its run had read before, found with the first document.
	`earlier`: documents that were being saved before; after a failed save Frappe leaves them in its list.
	"""

	def __init__(self) -> None:
		self.origins: dict[str, tuple[str, ...]] = {}
		self.images: dict[Key, Noted] = {}
		self.contents: dict[str, str] = {}
		self.earlier = frozenset(list_saving())

	def note(self, doc: Any, method: str) -> None:
		"""`method`: one of NOTED_EVENTS."""
		key = doc.doctype, str(doc.name)
		earlier = {"after_insert": None, "after_delete": doc}.get(method, doc.get_doc_before_save())
		after = None if method == "after_delete" else take_image(doc)
		if known := self.images.get(key):
			self.images[key] = known.follow(doc, after, method, earlier)
		elif earlier or method != "on_change":
			before = take_image(earlier) if earlier else None
			author = earlier.modified_by if earlier else ""
			self.images[key] = Noted(before, after, stamp(earlier), author, self.find_cause(key), doc)

	def find_cause(self, key: Key) -> Key | None:
		"""The document that is being saved while this one changes; None outside a save."""
		saving = list_saving()
		around = saving[: saving.index(key)] if key in saving else saving
		return next((each for each in reversed(around) if each not in self.earlier), None)

	def amend(self, key: Key, values: Mapping[str, Any]) -> None:
		"""Take note of values of a document's image that were written without an event."""
		known = self.images.get(key)
		if known and known.after is not None:
			self.images[key] = replace(known, after={**known.after, **values})

	def note_file(self, file: Any) -> None:
		"""Keep the content of a File that is about to be deleted."""
		try:
			path = Path(file.get_full_path())
			if path.stat().st_size > MAX_FILE_BYTES:
				return
			# Frappe's `get_content` decodes whatever may be text, and leaves out a byte order mark.
			content = path.read_bytes()
		except (OSError, frappe.ValidationError):
			return  # there is nothing to restore
		self.contents[str(file.name)] = base64.b64encode(content).decode()

	def as_rows(self) -> list[dict]:
		"""Agent Change rows without their run and call, in the order of the changes."""
		rows: list[dict] = []
		for (doctype, name), noted in self.images.items():
			before, after = noted.before, noted.after
			if after and noted.is_shared:
				after = read_stored_image(doctype, name)
			action = find_action(before, after)
			if before and after:
				before, after = split_difference(before, after)
			if before or after:
				if before is not None and doctype in AUTHORED:
					before = {**before, "modified_by": noted.author}
				rows.append(
					{
						"position": len(rows),
						"reference_doctype": doctype,
						"reference_name": name,
						"action": action,
						"cause": self.describe_cause(noted),
						"before": encode_image(before),
						"after": encode_image(after),
						"file_content": self.contents.get(name) if doctype == "File" else None,
					}
				)
		return rows

	def describe_cause(self, noted: Noted) -> str | None:
		"""DocType/name of the document whose submission or cancellation changed a submitted document."""
		if not noted.cause or not noted.after or not noted.after["docstatus"]:
			return None
		cause = self.images.get(noted.cause)
		return to_key(*noted.cause) if cause and cause.changes_status else None


def to_key(*parts: str) -> str:
	"""The key of a document (DocType, name) or of a value in it (with its path)."""
	return "/".join(parts)


def list_saving() -> list[Key]:
	"""The documents that are being saved, each by the controller of the one before.

	Frappe lists new ones without a name, and leaves them in its list.
	"""
	return [(doctype, str(name)) for doctype, name in frappe.flags.currently_saving or () if name]


def stamp(doc: Any) -> str:
	"""The time at which a document was saved, as text that sorts by time; "" if it is not stored."""
	return str(get_datetime(doc.modified)) if doc and doc.modified else ""


def encode_image(image: dict | None) -> str | None:
	return None if image is None else json.dumps(image, ensure_ascii=False)


class CallChanges:
	"""The `ChangeRecorder` of runs: one capture per call, in `frappe.flags`, which a tool's thread shares."""

	def begin(self) -> None:
		wrap_file_deletion()
		frappe.flags.huf_changes = Capture()

	def end(self) -> list[dict]:
		capture, frappe.flags.huf_changes = frappe.flags.huf_changes, None
		return capture.as_rows() if capture else []


def note_change(doc: Any, method: str) -> None:
	"""Take note of a document event. Costs an attribute look-up outside tool calls."""
	capture = frappe.flags.huf_changes
	if capture is not None and method in NOTED_EVENTS and not is_log_entry(doc):
		capture.note(doc, method)


def wrap_file_deletion() -> None:
	"""Note the content of a File before its controller deletes it; hooks of the document come later."""
	if hasattr(File.delete_file_data_content, "huf_noted"):
		return
	wrap_frappe()
	with _lock:
		original = File.delete_file_data_content
		if hasattr(original, "huf_noted"):
			return

		def delete_noted(file: Any, *args: Any, **kwargs: Any) -> Any:
			capture = frappe.flags.huf_changes
			if capture is not None and not is_dry_run():
				capture.note_file(file)
			return original(file, *args, **kwargs)

		# A dry run looks for the first of these marks before it wraps the method.
		delete_noted.huf_original = delete_noted.huf_noted = original  # type: ignore[attr-defined]
		File.delete_file_data_content = delete_noted


def take_image(doc: Any) -> dict:
	"""The image of a document object, whether its values come from the database or from a caller."""
	return {
		"docstatus": int(doc.docstatus or 0),
		"owner": doc.owner,
		"creation": str(get_datetime(doc.creation)) if doc.creation else "",
		"fields": read_fields(doc),
		"rows": {
			df.fieldname: {
				str(row.name): {"idx": row.idx, **read_fields(row)} for row in doc.get(df.fieldname) or ()
			}
			for df in doc.meta.get_table_fields()
		},
	}


def read_stored_image(doctype: str, name: str, lock: bool = False) -> dict | None:
	"""The stored document's image; None if there is none."""
	if not frappe.db.exists(doctype, name):
		return None
	return take_image(frappe.get_doc(doctype, name, for_update=lock))


def read_fields(doc: Any) -> dict[str, Any]:
	stored = set(doc.meta.get_valid_columns()).difference(TREE_FIELDS)
	readable = stored.intersection(list_data_fields(doc.doctype))
	return {
		df.fieldname: to_plain_value(doc.get(df.fieldname), df.fieldtype)
		for df in doc.meta.fields
		if df.fieldname in readable and df.fieldtype not in TABLE_TYPES
	}


def to_plain_value(value: Any, fieldtype: str) -> Any:
	"""The value in one form per field type, so that what was given and what was stored are equal."""
	if fieldtype in ("Int", "Check", "Float", "Currency", "Percent", "Rating", "Duration"):
		return int(flt(value)) if fieldtype in ("Int", "Check") else round(flt(value), DECIMALS)
	if value is None or value == "":
		return None
	try:
		return to_text_value(value, fieldtype)
	except ValueError:  # a Date or JSON field that holds something else
		return str(value)


def to_text_value(value: Any, fieldtype: str) -> str:
	if fieldtype == "Date":
		return str(getdate(value))
	if fieldtype == "Datetime":
		return f"{get_datetime(value):%Y-%m-%d %H:%M:%S.%f}"
	if fieldtype == "Time":
		return f"{get_datetime(f'2000-01-01 {value}'):%H:%M:%S.%f}"
	if fieldtype == "JSON":
		return to_canonical_json(json.loads(value) if isinstance(value, str) else value)
	return str(value)
