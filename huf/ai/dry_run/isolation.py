"""Contains a dry run: its writes are rolled back, effects that Frappe defers are dropped,
and immediate effects are refused.

Contained are Frappe's own effects: documents, jobs, realtime messages, mail (a queued document), new Files.
Code of a document's controller that talks to the network or the file system by itself is not: only Huf's
document tools, and tools that declare to change nothing but documents, are run dry (docs/guardrails.md).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import frappe
from frappe import realtime
from frappe.core.doctype.file.file import File
from frappe.utils import background_jobs

from huf.ai.core.errors import PreviewRefused
from huf.ai.dry_run.change_tracking import replaced_attributes

SAVEPOINT = "huf_dry_run"
ENDS_TRANSACTION = re.compile(
	r"\s*(commit|rollback(?!\s+to)|start\s|begin|alter|create|drop|truncate|rename|lock|unlock)\b",
	re.IGNORECASE,
)
CALLBACKS = ("before_commit", "after_commit", "before_rollback", "after_rollback")


@dataclass
class DryRun:
	"""Effects that a dry run suppressed, counted by kind (jobs, messages), and calls that were refused."""

	suppressed: Counter[str] = field(default_factory=Counter)
	refused: list[PreviewRefused] = field(default_factory=list)

	def suppress(self, kind: str) -> None:
		self.suppressed[kind] += 1

	def refuse(self, what: str) -> None:
		"""Raise PreviewRefused. It is remembered as well, for code that swallows errors."""
		saving = frappe.flags.currently_saving
		subject = f"Saving {saving[-1][0]}" if saving else "The tool"
		error = PreviewRefused(f"{subject} {what}, so its change cannot be previewed. {ADVICE}")
		self.refused.append(error)
		raise error


ADVICE = "Do it without an agent, or let the tool run without approval."
_current: ContextVar[DryRun | None] = ContextVar("huf_dry_run", default=None)


def forget_refusal(error: PreviewRefused) -> None:
	"""Continue after a refusal. The caller has rolled back to a savepoint before it."""
	if dry_run := _current.get():
		dry_run.refused.remove(error)


def is_dry_run() -> bool:
	"""Whether what happens here will be rolled back."""
	return _current.get() is not None


@contextmanager
def isolated() -> Iterator[DryRun]:
	"""Roll back everything inside at its end, without outside effects.

	Begin with nothing uncommitted. What was read stays locked until the caller ends the transaction. Raises
	PreviewRefused where something was refused, also if the code inside went on after it.
	"""
	wrap_frappe()
	dry_run, saving = DryRun(), list(frappe.flags.currently_saving or ())
	with rolled_back(frappe.local.db, dry_run):
		token = _current.set(dry_run)
		try:
			yield dry_run
		finally:
			_current.reset(token)
			frappe.flags.currently_saving = saving
			if dry_run.refused:
				# The code inside may have caught it, or failed because of it with another error.
				raise dry_run.refused[0]


@contextmanager
def rolled_back(db: Any, dry_run: DryRun) -> Iterator[None]:
	"""A savepoint that code inside the block cannot release. Callbacks for a commit are dropped; those for a
	rollback run.
	"""
	rollback, sql = db.rollback, db.sql

	def refuse_end(what: str) -> None:
		# Newer Frappe ignores commits of document events; so does a dry run there.
		if not getattr(db, "_disable_transaction_control", 0):
			dry_run.refuse(what)

	def roll_back_to(*, save_point: str | None = None) -> None:
		if save_point and save_point != SAVEPOINT:
			rollback(save_point=save_point)
		else:
			refuse_end("rolls back by itself")

	def run_checked(query: Any, *args: Any, **kwargs: Any) -> Any:
		if ENDS_TRANSACTION.match(str(query)):
			dry_run.refuse(f"runs a statement that ends the transaction: {str(query).strip()[:60]}")
		return sql(query, *args, **kwargs)

	callbacks = {name: type(getattr(db, name))() for name in CALLBACKS}
	db.savepoint(SAVEPOINT)
	with replaced_attributes(
		db,
		commit=lambda: refuse_end("commits by itself"),
		rollback=roll_back_to,
		sql=run_checked,
		# Values that Frappe has read are cached there; those read inside must be forgotten.
		value_cache=empty_like(getattr(db, "value_cache", {})),
		**callbacks,
	):
		try:
			yield
		finally:
			roll_back(rollback)
			callbacks["before_rollback"].run()
			callbacks["after_rollback"].run()
	db.release_savepoint(SAVEPOINT)


def empty_like(cache: dict) -> dict:
	"""Frappe 16 nests defaultdicts, Frappe 15 has a plain dict."""
	factory = getattr(cache, "default_factory", None)
	return type(cache)(factory) if factory else {}


def roll_back(rollback: Callable) -> None:
	try:
		rollback(save_point=SAVEPOINT)
	except frappe.db.OperationalError as error:
		raise PreviewRefused(
			f"The dry run's savepoint is gone ({error}): a statement inside ended the transaction. {ADVICE}"
		) from error


class NoQueue:
	"""Stands in for a queue and drops its jobs."""

	count = 0

	def enqueue_call(self, *args: Any, **kwargs: Any) -> None:
		pass


def drop_job(dry_run: DryRun) -> NoQueue:
	dry_run.suppress("jobs")
	return NoQueue()


WRAPPED_FUNCTIONS: tuple[tuple[Any, str, Callable[[DryRun], Any]], ...] = (
	(background_jobs, "get_queue", drop_job),
	(realtime, "emit_via_redis", lambda dry_run: dry_run.suppress("messages")),
	# The row comes back by the rollback; its bytes must still be there.
	(File, "delete_file_data_content", lambda dry_run: None),
)
"""The last functions of Frappe that an effect passes before it leaves: wrapped once per process, they act in
dry runs only.
"""
_lock = Lock()


def wrap_frappe() -> None:
	with _lock:
		for owner, name, replacement in WRAPPED_FUNCTIONS:
			if not hasattr(getattr(owner, name), "huf_original"):
				wrap_function(owner, name, replacement)


def wrap_function(owner: Any, name: str, replacement: Callable[[DryRun], Any]) -> None:
	original = getattr(owner, name)

	def call(*args: Any, **kwargs: Any) -> Any:
		dry_run = _current.get()
		return original(*args, **kwargs) if dry_run is None else replacement(dry_run)

	call.huf_original = original  # type: ignore[attr-defined]
	setattr(owner, name, call)
