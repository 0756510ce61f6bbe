"""Records what a tool call changes, from the document events that Frappe raises anyway.

The previous state is the one that Frappe has loaded for its own checks, so recording runs no statement.
Writes past documents (`frappe.db.sql`, `frappe.db.set_value`) raise no event and are not seen.
"""

import base64
import json
import os
from threading import Lock
from typing import Any

import frappe
from frappe.core.doctype.file.file import File

from huf.ai.dry_run.change_tracking import is_log_entry
from huf.ai.dry_run.diff import find_action
from huf.ai.dry_run.isolation import is_dry_run, wrap_frappe
from huf.ai.undo.images import split_difference, take_image

MAX_FILE_BYTES = 4_000_000
"""A larger file that a call deletes cannot be restored."""
NOTED_EVENTS = ("after_insert", "after_delete", "on_change")
_lock = Lock()


class Capture:
	"""The documents that one call changed, each with its images before and after (None: no document)."""

	def __init__(self) -> None:
		self.images: dict[tuple[str, str], tuple[dict | None, dict | None]] = {}
		self.contents: dict[str, str] = {}

	def note(self, doc: Any, method: str) -> None:
		"""`method`: one of NOTED_EVENTS."""
		key = (doc.doctype, str(doc.name))
		known = self.images.get(key)
		if method == "after_insert":
			self.images[key] = (known[0] if known else None, take_image(doc))
		elif method == "after_delete":
			self.images[key] = (known[0] if known else take_image(doc), None)
		elif known or doc.get_doc_before_save():
			before = known[0] if known else take_image(doc.get_doc_before_save())
			self.images[key] = (before, take_image(doc))

	def note_file(self, file: Any) -> None:
		"""Keep the content of a File that is about to be deleted."""
		try:
			if os.path.getsize(file.get_full_path()) > MAX_FILE_BYTES:
				return
			content = file.get_content()
		except (OSError, frappe.ValidationError):
			return  # there is nothing to restore
		content = content.encode() if isinstance(content, str) else content
		self.contents[str(file.name)] = base64.b64encode(content).decode()

	def as_rows(self) -> list[dict]:
		"""Agent Change rows without their run and call, in the order of the changes."""
		rows: list[dict] = []
		for (doctype, name), (before, after) in self.images.items():
			action = find_action(before, after)
			if before and after:
				before, after = split_difference(before, after)
			if before or after:
				rows.append(
					{
						"position": len(rows),
						"reference_doctype": doctype,
						"reference_name": name,
						"action": action,
						"before": encode_image(before),
						"after": encode_image(after),
						"file_content": self.contents.get(name) if doctype == "File" else None,
					}
				)
		return rows


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
