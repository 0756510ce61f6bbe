"""Which documents are touched while something is done, so that what it changed can be read.

Told by the events of documents (see `agent_hooks.py`), by direct writes of `frappe.db`, and by the tables that other statements
write. It belongs to a context: what other threads and tasks do is not noted. Reads and changes no documents.
"""

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import frappe

TRACES = frozenset(
	(
		*(
			"Version",
			"Error Log",
			"Activity Log",
			"Access Log",
			"Route History",
			"View Log",
			"Notification Log",
		),
		*(
			"Deleted Document",
			"Email Queue",
			"Email Queue Recipient",
			"Scheduled Job Log",
			"Sessions",
			"Series",
		),
		*("Singles", "DefaultValue", "Agent Run", "Agent LLM Call", "Agent Tool Call", "Agent Message"),
		*("Agent Conversation", "Agent Trigger Event", "Agent Draft", "Agent Budget"),
		*("Knowledge Item", "Knowledge Chunk"),
	)
)
"""What Huf and Frappe write by the way: nobody's change, so it is neither shown nor compared."""

WRITES_TABLE = re.compile(
	r"\s*(?:insert\s+(?:ignore\s+)?into|replace\s+into|update|delete\s+from)\s+[`\"]?tab([^`\"]+)[`\"]",
	re.IGNORECASE,
)
MAX_ROWS = 200
PASSES_ON = (
	"huf.ai.dry_run.change_tracking",
	"huf.ai.dry_run.isolation",
	"frappe.database",
	"frappe.query_builder",
	"pypika",
)
"""Modules through which others write."""


@dataclass
class Touched:
	"""Documents in the order they were touched, traces by DocType, and DocTypes whose tables were written to.

	`is_trial`: all of it will be undone, so no trigger may look at it. `earlier`: what was being saved before; Frappe keeps
	it in its list for good where that failed.
	"""

	is_trial: bool
	earlier: tuple[tuple[str, str], ...] = ()
	documents: dict[tuple[str, str], None] = field(default_factory=dict)
	traces: Counter = field(default_factory=Counter)
	tables: dict[str, None] = field(default_factory=dict)
	beyond: dict[str, None] = field(default_factory=dict)
	"""DocTypes of which rows were written that are not noted one by one, beside those that are."""
	is_noted: bool = False

	def note(self, doctype: str, name: Any) -> None:
		if doctype in TRACES:
			self.traces[doctype] += 1
		elif name is not None:
			# What is being saved comes before what its controller changes, although its event comes later.
			saving = (key for key in frappe.flags.currently_saving if key not in self.earlier)
			for key in [*saving, (doctype, name)]:
				if key[1] is not None and key[0] not in TRACES:
					self.documents.setdefault((key[0], str(key[1])))

	def note_rows(self, doctype: str, rows: Any) -> None:
		"""Rows of `frappe.db.set_value`: a name, or filters; those of a child table count as their document's."""
		if doctype in TRACES:
			return
		meta = frappe.get_meta(doctype)
		if meta.issingle or rows is None:
			return self.note(doctype, doctype)
		fields = ["parenttype", "parent"] if meta.istable else ["name"]
		found = frappe.db.get_values(doctype, rows, fields, order_by="name asc", limit=MAX_ROWS + 1)
		if len(found) > MAX_ROWS:
			self.beyond[doctype] = None
		for row in found[:MAX_ROWS]:
			self.note(*row) if meta.istable else self.note(doctype, row[0])

	def note_statement(self, query: Any) -> None:
		if table := WRITES_TABLE.match(str(query)):
			self.note_table(table[1])

	def note_table(self, doctype: str) -> None:
		"""Rows are written by a statement. Documents write theirs so as well, and those are noted by themselves."""
		# Tables of no DocType, such as that of passwords, have two underscores in front.
		if doctype in TRACES or doctype.startswith("__") or self.is_noted:
			return
		self.tables[doctype] = None
		if not is_by_document():
			self.beyond[doctype] = None


def is_by_document() -> bool:
	"""Whether what writes now is Frappe's own handling of documents."""
	return module_of(nearest(lambda module: module.startswith(PASSES_ON))).startswith("frappe.model")


def nearest(passed: Callable[[str], bool]) -> FrameType:
	"""The call nearest to here that is in none of the modules that are passed over; the outermost where all are."""
	frame = sys._getframe(1)
	while frame.f_back and passed(module_of(frame)):
		frame = frame.f_back
	return frame


def module_of(frame: FrameType) -> str:
	return frame.f_globals.get("__name__", "")


_touched: ContextVar[Touched | None] = ContextVar("huf_touched", default=None)


def note_event(doc) -> bool:
	"""Called for every event of every document. True: it is only tried, and nothing else may come of it."""
	touched = _touched.get()
	if touched is None:
		return False
	touched.note(doc.doctype, doc.name)
	return touched.is_trial


def is_trial() -> bool:
	"""Whether what is done now will be undone."""
	touched = _touched.get()
	return touched is not None and touched.is_trial


@contextmanager
def noting(is_trial: bool) -> Iterator[Touched]:
	"""Note what this context touches."""
	touched, db = Touched(is_trial, tuple(frappe.flags.currently_saving)), frappe.local.db

	def noted(method: str, note: Callable) -> Callable:
		write = getattr(db, method)

		def call(*args, **kwargs):
			note(*args, **kwargs)
			before, touched.is_noted = touched.is_noted, True
			try:
				return write(*args, **kwargs)
			finally:
				touched.is_noted = before

		return call

	token = _touched.set(touched)
	try:
		with replaced(
			db,
			set_value=noted("set_value", lambda dt, dn=None, *args, **kwargs: touched.note_rows(dt, dn)),
			set_single_value=noted(
				"set_single_value", lambda doctype, *args, **kwargs: touched.note(doctype, doctype)
			),
			sql=noted("sql", lambda query, *args, **kwargs: touched.note_statement(query)),
			**{
				method: noted(method, lambda doctype, *args, **kwargs: touched.note_table(doctype))
				for method in ("delete", "bulk_insert")
			},
		):
			yield touched
	finally:
		_touched.reset(token)


@contextmanager
def replaced(target: Any, **attributes) -> Iterator[None]:
	"""Give an object other attributes for a while."""
	own = {name: vars(target)[name] for name in attributes if name in vars(target)}
	vars(target).update(attributes)
	try:
		yield
	finally:
		for name in attributes:
			vars(target).pop(name, None)
		vars(target).update(own)
