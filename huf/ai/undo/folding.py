"""Takes recorded changes back from a document's present image, newest first.

What others changed since stays and becomes a conflict, unless a person decides to restore it. Pure: images
in, an image and conflicts out (see `images.py`).
"""

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from huf.ai.undo.images import split_values, without_place

KEEP, RESTORE = "keep", "restore"
Decide = Callable[[tuple[str, ...]], str]
"""Returns KEEP or RESTORE for the path of a conflict."""


@dataclass(frozen=True)
class Change:
	"""A recorded change of one document; `before` and `after` as in `images.split_difference`, or None."""

	before: Mapping | None
	after: Mapping | None


@dataclass(frozen=True)
class Conflict:
	"""A value that has changed since the run; kept by default.

	`path`: () for the whole document, (fieldname,), (table, row) or (table, row, fieldname). `restored` would
	be put back, `written` was left by the run, `current` is there now. A missing document or row is None.
	`by`: who has changed it, if that is not the document's last editor.
	"""

	path: tuple[str, ...]
	restored: Any
	written: Any
	current: Any
	can_restore: bool = True
	by: str | None = None


def revert_changes(
	current: Mapping | None, changes: Iterable[Change], decide: Decide
) -> tuple[dict | None, tuple[Conflict, ...]]:
	"""Take back `changes`, newest first: (the image that the document should have again, None: it should not
	exist; the conflicts).
	"""
	folding = Folding(decide)
	state: dict | None = copy.deepcopy(dict(current)) if current is not None else None
	for change in changes:
		state = folding.take_back(state, change)
	return state, tuple(folding.conflicts.values())


class Folding:
	"""The conflicts met so far while one document's changes are taken back."""

	def __init__(self, decide: Decide):
		self.decide = decide
		self.conflicts: dict[tuple[str, ...], Conflict] = {}
		self.edited: set[tuple[str, ...]] = set()
		"""Values changed by others after the last undone change."""

	def is_restored(
		self, path: tuple[str, ...], restored: Any, written: Any, current: Any, can_restore: bool = True
	) -> bool:
		"""Report a conflict; True if a person decided to restore."""
		newer = self.conflicts.get(path)
		written = newer.written if newer else written
		self.conflicts[path] = Conflict(path, restored, written, current, can_restore)
		return can_restore and self.decide(path) == RESTORE

	def take_back(self, state: dict | None, change: Change) -> dict | None:
		if change.before is None:
			return self.revert_creation(state, change.after or {})
		if change.after is None:
			return self.revert_deletion(state, change.before)
		if state is None:
			self.is_restored(
				(), drop_empty_values(change.before), drop_empty_values(change.after), None, can_restore=False
			)
			return None
		self.revert_update(state, change.before, change.after)
		return state

	def revert_creation(self, state: dict | None, after: Mapping) -> dict | None:
		if state is None:
			return None
		written, current = describe_difference(after, state)
		# Another creation: somebody deleted it and made another document of that name.
		is_other = after["creation"] != state["creation"]
		if is_other:
			written, current = drop_empty_values(after), drop_empty_values(state)
		if (is_other or written != current) and not self.is_restored((), None, written, current):
			return state
		return None

	def revert_deletion(self, state: dict | None, before: Mapping) -> dict:
		if state is None:
			return copy.deepcopy(dict(before))
		# Somebody made a document of that name again.
		self.is_restored((), drop_empty_values(before), None, drop_empty_values(state), can_restore=False)
		return state

	def revert_update(self, state: dict, before: Mapping, after: Mapping) -> None:
		if "docstatus" in after:
			self.revert_value(state, "docstatus", ("docstatus",), before["docstatus"], after["docstatus"])
		for name, written in after.get("fields", {}).items():
			self.revert_value(state["fields"], name, (name,), before["fields"].get(name), written)
		for table, rows in after.get("rows", {}).items():
			there = state["rows"].setdefault(table, {})
			for name, written in rows.items():
				self.revert_row(there, (table, name), before["rows"][table].get(name), written)

	def revert_value(
		self, values: dict, name: str, path: tuple[str, ...], restored: Any, written: Any
	) -> None:
		current = values.get(name)
		if current != written:
			self.edited.add(path)
		if current == restored:
			return
		# An edited value may equal what an older change wrote, and still is the editor's.
		if path not in self.edited or self.is_restored(path, restored, written, current):
			values[name] = restored
			self.edited.discard(path)

	def revert_row(
		self, rows: dict, path: tuple[str, ...], before: Mapping | None, after: Mapping | None
	) -> None:
		name = path[-1]
		current = rows.get(name)
		if before is None:
			if current is not None and (
				without_place(current) == without_place(after or {})
				or self.is_restored(path, None, after, current)
			):
				del rows[name]
		elif after is None:
			if current is None:
				rows[name] = dict(before)
			elif without_place(current) != without_place(before):
				self.is_restored(path, before, None, current, can_restore=False)
		elif current is None:
			self.is_restored(path, before, after, None, can_restore=False)
		else:
			for field_name, written in after.items():
				if field_name == "idx":
					# The place moves with the rows around it.
					current["idx"] = before["idx"] if current["idx"] == written else current["idx"]
				else:
					self.revert_value(
						current, field_name, (*path, field_name), before.get(field_name), written
					)


def drop_empty_values(image: Mapping) -> dict:
	"""The meaningful values of an image."""
	return {name: value for name, value in image.get("fields", {}).items() if value not in (None, "", 0)}


def describe_difference(written: Mapping, current: Mapping) -> tuple[dict, dict]:
	"""The fields, tables and state in which two images of a document differ: as they were, as they are."""
	left = {**written["fields"], **strip_rows(written), "docstatus": written["docstatus"]}
	right = {**current["fields"], **strip_rows(current), "docstatus": current["docstatus"]}
	return split_values(left, right)


def strip_rows(image: Mapping) -> dict:
	return {
		table: {name: without_place(row) for name, row in rows.items()}
		for table, rows in image["rows"].items()
	}
