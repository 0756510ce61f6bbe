"""Tracks which documents a piece of code changes, so that its changes can be read afterwards.

It learns of them from document events (`triggers/doc_events.py`), from direct writes through `frappe.db`, and
from the tables of other statements. A tracker belongs to its context: other threads and tasks are not
tracked.
"""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import frappe

BOOKKEEPING_DOCTYPES = frozenset(
	[
		"Version",
		"Error Log",
		"Activity Log",
		"Access Log",
		"Route History",
		"View Log",
		"Notification Log",
		"Deleted Document",
		"Email Queue",
		"Email Queue Recipient",
		"Scheduled Job Log",
		# ERPNext 15 adds a row for each invoice and payment submitted in Germany; it contains the time.
		"Transaction Log",
		"Sessions",
		"Series",
		"Singles",
		"DefaultValue",
		"Agent Run",
		"Agent LLM Call",
		"Agent Tool Call",
		"Agent Message",
		"Agent Conversation",
		"Agent Trigger Event",
		"Agent Draft",
		"Agent Change",
		"Agent Stop",
		"Agent Stop Switch",
		"Agent Budget",
		"Agent Untrusted Record",
		"Knowledge Item",
		"Knowledge Chunk",
	]
)
"""Logs and bookkeeping of Huf and Frappe: neither shown in a preview nor compared."""

WRITES_TABLE = re.compile(
	r"\s*(?:insert\s+(?:ignore\s+)?into|replace\s+into|update|delete\s+from)\s+(?:[`\"]tab([^`\"]+)|tab(\w+))",
	re.IGNORECASE,
)
MAX_ROWS = 200
INTERMEDIARY_MODULES = (
	"huf.ai.dry_run.change_tracking",
	"huf.ai.dry_run.isolation",
	"frappe.database",
	"frappe.query_builder",
	"pypika",
)
"""Modules that write on behalf of their caller."""


@dataclass
class ChangeTracker:
	"""Changed documents in order, the number of queued mails, and DocTypes whose tables were written to.

	`is_dry_run`: all of it will be rolled back, so no trigger may see it. `earlier`: documents that were
	being saved before; after a failed save Frappe leaves them in its list. `own`: the DocType that the code
	is about, tracked even if it is one of BOOKKEEPING_DOCTYPES.
	"""

	is_dry_run: bool
	earlier: frozenset[tuple[str, str]] = frozenset()
	own: str | None = None
	documents: dict[tuple[str, str], None] = field(default_factory=dict)
	mails: int = 0
	tables: dict[str, None] = field(default_factory=dict)
	beyond: dict[str, None] = field(default_factory=dict)
	"""DocTypes with further changed rows that are not tracked one by one."""
	is_recorded: bool = False
	"""Whether the statement that runs now belongs to a call that is recorded already."""

	def is_log(self, doctype: str) -> bool:
		return doctype in BOOKKEEPING_DOCTYPES and doctype != self.own

	def record(self, doctype: str, name: Any) -> None:
		if name is None or self.is_log(doctype):
			return
		# What is being saved comes before what its controller changes, although its event comes later.
		saving = (key for key in frappe.flags.currently_saving if key not in self.earlier)
		for key in [*saving, (doctype, name)]:
			if key[1] is not None and not self.is_log(key[0]):
				self.documents.setdefault((key[0], str(key[1])))

	def recorded(self, write: Callable, record: Callable) -> Callable:
		"""A method of `frappe.db` that calls `record`, which has the same parameters, before it writes."""

		def call(*args: Any, **kwargs: Any) -> Any:
			record(*args, **kwargs)
			before, self.is_recorded = self.is_recorded, True
			try:
				return write(*args, **kwargs)
			finally:
				self.is_recorded = before

		return call

	def record_set_value(self, dt: str, dn: Any = None, *_args: Any, **_kwargs: Any) -> None:
		"""`dn` is a name or filters. Child rows count as their document."""
		if self.is_log(dt):
			return
		meta = frappe.get_meta(dt)
		if meta.issingle or dn is None:
			return self.record(dt, dt)
		fields = ["parenttype", "parent"] if meta.istable else ["name"]
		found = frappe.db.get_values(dt, dn, fields, order_by="name asc", limit=MAX_ROWS + 1)
		if len(found) > MAX_ROWS:
			self.beyond[dt] = None
		for row in found[:MAX_ROWS]:
			self.record(*row) if meta.istable else self.record(dt, row[0])

	def record_set_single_value(self, doctype: str, *_args: Any, **_kwargs: Any) -> None:
		self.record(doctype, doctype)

	def record_sql(self, query: Any, *_args: Any, **_kwargs: Any) -> None:
		if table := WRITES_TABLE.match(str(query)):
			self.record_table(table[1] or table[2])

	def record_bulk_insert(self, table: Any, *_args: Any, run: bool = True, **_kwargs: Any) -> None:
		"""Controllers of Frappe name some tables by its query builder; without `run` nothing is written."""
		if run:
			named = isinstance(table, str)
			self.record_table(table if named else table.get_table_name().removeprefix("tab"))

	def record_delete(self, table: Any, filters: Any = None, *args: Any, **kwargs: Any) -> None:
		"""Frappe deletes comments, shares and to-dos with each document, also where there are none."""
		# Bookkeeping tables, such as that of Singles, may have no names to ask for.
		is_asked = isinstance(table, str) and isinstance(filters, dict) and not table.startswith("__")
		if not is_asked or self.is_log(table) or frappe.db.exists(table, filters):
			self.record_bulk_insert(table, *args, **kwargs)

	def record_table(self, doctype: str) -> None:
		"""Record a statement that writes rows. Documents use such statements too, but are recorded by their
		events.
		"""
		# Tables without a DocType, such as that of passwords, begin with two underscores.
		if self.is_log(doctype) or doctype.startswith("__") or self.is_recorded:
			return
		self.tables[doctype] = None
		if not is_by_document():
			self.beyond[doctype] = None


def is_by_document() -> bool:
	"""Whether Frappe's own document code issued the statement."""
	frame: FrameType | None = sys._getframe(1)
	while frame and frame.f_globals.get("__name__", "").startswith(INTERMEDIARY_MODULES):
		frame = frame.f_back
	return frame is not None and frame.f_globals.get("__name__", "").startswith("frappe.model")


_tracker: ContextVar[ChangeTracker | None] = ContextVar("huf_change_tracker", default=None)


def record_event(doc: Any, method: str) -> bool:
	"""Record a document event. True in a dry run: nothing else may come of the event."""
	tracker = _tracker.get()
	if tracker is None:
		return False
	if doc.doctype == tracker.own or not is_log_entry(doc):
		tracker.record(doc.doctype, doc.name)
	if doc.doctype == "Email Queue" and method == "after_insert":
		tracker.mails += 1
	return tracker.is_dry_run


def record_rename(doc: Any, method: str, old: str, new: str, *_merge: bool) -> None:
	"""Document event: a rename counts as a deletion and a creation."""
	if tracker := _tracker.get():
		tracker.record(doc.doctype, old)
		tracker.record(doc.doctype, new)


def is_log_entry(doc: Any) -> bool:
	"""Whether Frappe wrote the document as a side effect, as for attachments, shares and deletions."""
	return doc.doctype in BOOKKEEPING_DOCTYPES or doc.doctype == "Comment" and doc.comment_type != "Comment"


@contextmanager
def tracking(is_dry_run: bool, own: str | None = None) -> Iterator[ChangeTracker]:
	"""Track what this context changes; `own` as in `ChangeTracker`."""
	tracker = ChangeTracker(is_dry_run, frozenset(frappe.flags.currently_saving), own)
	db = frappe.local.db
	token = _tracker.set(tracker)
	try:
		with replaced_attributes(
			db,
			set_value=tracker.recorded(db.set_value, tracker.record_set_value),
			set_single_value=tracker.recorded(db.set_single_value, tracker.record_set_single_value),
			sql=tracker.recorded(db.sql, tracker.record_sql),
			delete=tracker.recorded(db.delete, tracker.record_delete),
			bulk_insert=tracker.recorded(db.bulk_insert, tracker.record_bulk_insert),
		):
			yield tracker
	finally:
		_tracker.reset(token)


@contextmanager
def replaced_attributes(target: Any, **attributes) -> Iterator[None]:
	"""Replace attributes of an object inside the block."""
	own = {name: vars(target)[name] for name in attributes if name in vars(target)}
	vars(target).update(attributes)
	try:
		yield
	finally:
		for name in attributes:
			vars(target).pop(name, None)
		vars(target).update(own)
