"""Nothing gets out while a change is only tried: jobs, mail, messages, sockets, programs, files, commits.

`closed` opens a savepoint and goes back to it at its end. What would have happened by itself later (jobs, messages, what waits
for the commit) is kept back and counted; what would happen at once (a connection, a program, a commit) is refused. The gate
counts for the context that closed it, and for no other thread or task. Never decides what is tried, and reads no documents.
"""

import os
import re
import shutil
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import frappe
from frappe import realtime
from frappe.utils import background_jobs

from huf.ai.core.errors import PreviewRefused
from huf.ai.dry_run.change_tracking import PASSES_ON, nearest, replaced

SAVE_POINT = "huf_preview"
ENDS_TRANSACTION = re.compile(
	r"\s*(commit|rollback(?!\s+to)|start\s|begin|alter|create|drop|truncate|rename|lock|unlock)\b",
	re.IGNORECASE,
)
CALLBACKS = ("before_commit", "after_commit", "before_rollback", "after_rollback")
REACHES_OUT = {
	**dict.fromkeys(("socket.sendto", "socket.sendmsg"), "uses the network"),
	**dict.fromkeys(("http.client.connect", "http.client.send", "urllib.Request"), "sends an HTTP request"),
	**dict.fromkeys(("smtplib.connect", "smtplib.send"), "sends mail by itself"),
	**dict.fromkeys(("imaplib.open", "imaplib.send", "poplib.connect", "ftplib.connect"), "uses the network"),
	**dict.fromkeys(("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"), "starts a program"),
	**dict.fromkeys(("os.fork", "os.forkpty", "_thread.start_joinable_thread"), "starts a process"),
}
CHANGES_FILES = ("os.remove", "os.rename", "os.rmdir", "os.truncate", "os.link", "os.symlink")
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


@dataclass
class Gate:
	"""What one trial kept back (by kind), what was refused it, and the files it made, which are taken away again."""

	kept: Counter = field(default_factory=Counter)
	refused: list[PreviewRefused] = field(default_factory=list)
	made: list[str] = field(default_factory=list)

	def refuse(self, what: str) -> None:
		"""Raise PreviewRefused, naming what was tried and by whom. Remembered, for code that swallows errors."""
		saving = frappe.flags.currently_saving
		subject = f"Saving {saving[-1][0]}" if saving else "The tool"
		self.refused.append(
			PreviewRefused(
				f"{subject} {what} (in {culprit()}), so it cannot be previewed. A person has to do it, or the tool must "
				"not need approval."
			)
		)
		raise self.refused[-1]

	def has_made(self, path: str) -> bool:
		"""Whether a file, or the folder that it is in, was not there before."""
		return any(path == made or path.startswith(made + os.sep) for made in self.made)

	def take_away(self) -> None:
		for path in reversed(self.made):
			if os.path.isdir(path) and not os.path.islink(path):
				shutil.rmtree(path)
			elif os.path.lexists(path):
				os.unlink(path)


_closed: ContextVar[Gate | None] = ContextVar("huf_gate", default=None)


def is_closed() -> bool:
	"""Whether what is done here is only tried."""
	return _closed.get() is not None


@contextmanager
def closed() -> Iterator[Gate]:
	"""Everything inside is undone at its end, and nothing of it gets out.

	Begin with nothing uncommitted. What was read stays locked until the caller ends the transaction. Raises PreviewRefused
	where something was refused, also if the code inside went on after it.
	"""
	install()
	gate, saving = Gate(), list(frappe.flags.currently_saving or ())
	with kept_transaction(frappe.local.db, gate):
		token = _closed.set(gate)
		try:
			yield gate
		finally:
			_closed.reset(token)
			gate.take_away()
			frappe.flags.currently_saving = saving
			if gate.refused:
				# Code may have swallowed it, or stumbled over it: either way it is the reason.
				raise gate.refused[0]


# --- the database ---


@contextmanager
def kept_transaction(db, gate: Gate) -> Iterator[None]:
	"""A savepoint that nothing inside can get past; callbacks for the commit are dropped, those that undo are run."""
	rollback, sql = db.rollback, db.sql
	db.savepoint(SAVE_POINT)
	callbacks = {name: type(getattr(db, name))() for name in CALLBACKS}
	with replaced(
		db,
		commit=lambda: refuse_end(db, gate, "commits by itself"),
		rollback=lambda *, save_point=None: roll_back_to(db, gate, rollback, save_point),
		sql=lambda query, *args, **kwargs: run_checked(gate, sql, query, *args, **kwargs),
		# Where Frappe keeps values it has read; what is read inside is forgotten.
		value_cache={},
		**callbacks,
	):
		try:
			yield
		finally:
			undo(rollback)
			callbacks["before_rollback"].run()
			callbacks["after_rollback"].run()
	db.release_savepoint(SAVE_POINT)


def undo(rollback: Callable) -> None:
	try:
		rollback(save_point=SAVE_POINT)
	except frappe.db.OperationalError as error:
		raise PreviewRefused(
			f"The savepoint of the preview is gone ({error}): what was tried ended the transaction by a statement of its own."
		) from error


def refuse_end(db, gate: Gate, what: str) -> None:
	"""Handlers of document events cannot commit on newer versions of Frappe: there it does nothing, so here too."""
	if not getattr(db, "_disable_transaction_control", 0):
		gate.refuse(what)


def roll_back_to(db, gate: Gate, rollback: Callable, save_point: str | None) -> None:
	if save_point and save_point != SAVE_POINT:
		rollback(save_point=save_point)
	else:
		refuse_end(db, gate, "rolls back by itself")


def run_checked(gate: Gate, sql: Callable, query, *args, **kwargs):
	if ENDS_TRANSACTION.match(str(query)):
		gate.refuse(f"runs a statement that ends the transaction: {str(query).strip()[:60]}")
	return sql(query, *args, **kwargs)


# --- the process ---


class KeptQueue:
	"""Stands in the place of a queue for what is only tried."""

	def enqueue_call(self, *args, **kwargs) -> None:
		pass


_lock = threading.Lock()
_installed = False


def install() -> None:
	"""Once in a process: look at what leaves it. Costs others a look at a context variable."""
	global _installed
	with _lock:
		if _installed:
			return
		wrap(background_jobs, "get_queue", lambda gate: keep(gate, "jobs", KeptQueue()))
		wrap(realtime, "emit_via_redis", lambda gate: keep(gate, "messages"))
		wrap(threading.Thread, "start", lambda gate: gate.refuse("starts a thread"))
		sys.addaudithook(audit)
		_installed = True


def wrap(owner: Any, name: str, instead: Callable[[Gate], Any]) -> None:
	original = getattr(owner, name)

	def gated(*args, **kwargs):
		gate = _closed.get()
		return original(*args, **kwargs) if gate is None else instead(gate)

	setattr(owner, name, gated)


def keep(gate: Gate, kind: str, answer: Any = None) -> Any:
	gate.kept[kind] += 1
	return answer


def audit(event: str, args: tuple) -> None:
	"""What Python itself tells of. Called for everything that happens in the process, so it looks away at once."""
	gate = _closed.get()
	if gate is None:
		return
	if event in REACHES_OUT:
		gate.refuse(REACHES_OUT[event])
	elif event == "socket.connect" and not is_cache(args[1]):
		gate.refuse(f"opens a connection to {args[1]}")
	elif event == "socket.bind" and args[1][1:2] != (0,):
		# Any port: libraries try so, at their import, whether there is IPv6.
		gate.refuse(f"listens at {args[1]}")
	elif event == "open":
		check_open(gate, *args)
	elif event == "os.mkdir":
		note_made(gate, full_path(args[0], args[-1]))
	elif event in CHANGES_FILES:
		check_change(gate, event, args)


def is_cache(address: Any) -> bool:
	"""Whether this is the site's cache, which may be asked at any time."""
	url = urlsplit(frappe.conf.redis_cache or "")
	if not isinstance(address, tuple):
		return bool(url.path) and address == url.path
	return bool(url.port) and address[1] == url.port and address[0] in ("127.0.0.1", "::1", url.hostname)


def check_open(gate: Gate, path: Any, mode: str | None, flags: int) -> None:
	"""A new file may be made, because it is taken away again; one that is there must not be written."""
	if not flags & WRITES or isinstance(path, int):
		return
	path = full_path(path)
	if path.startswith("/dev/") or path.endswith(".log") or "__pycache__" in path or gate.has_made(path):
		return
	if os.path.exists(path):
		gate.refuse(f"writes the file {path}")
	gate.made.append(path)


def note_made(gate: Gate, path: str) -> None:
	"""Python tells of a folder before it finds that it is there already."""
	if not os.path.lexists(path):
		gate.made.append(path)


def check_change(gate: Gate, event: str, args: tuple) -> None:
	path = full_path(args[0], args[-1] if event in ("os.remove", "os.rmdir") else -1)
	if event in ("os.link", "os.symlink"):
		return note_made(gate, full_path(args[1], args[-1]))
	if not gate.has_made(path):
		gate.refuse(f"changes the file {path}")
	if event != "os.rename":
		return
	target = full_path(args[1])
	if os.path.exists(target) and not gate.has_made(target):
		gate.refuse(f"writes the file {target}")
	gate.made.append(target)


def full_path(path: Any, folder: Any = -1) -> str:
	"""Absolute; `folder` is the descriptor a path is relative to, -1 for none."""
	path = os.fsdecode(path)
	if isinstance(folder, int) and folder >= 0 and not os.path.isabs(path):
		path = os.path.join(os.readlink(f"/proc/self/fd/{folder}"), path)
	return os.path.abspath(path)


def culprit() -> str:
	"""The function that tried something: the nearest that is neither Python's own, nor the database's, nor in here."""
	frame = nearest(
		lambda module: module.partition(".")[0] in sys.stdlib_module_names or module.startswith(PASSES_ON)
	)
	return f"{frame.f_globals.get('__name__', '?')}.{frame.f_code.co_name}"
