"""Durability of commits: which of them survive a power failure, as `durability` in site_config.json says.

A commit is written to SQLite's log at once, but stays in the operating system's memory until the log is
synced. Commits that wait at the same time share one sync.
"""

import os
import threading

import frappe

LEVELS = ("process", "effects", "machine", "step")
"""process: no commit is synced. effects: those before an external call. machine: every commit; those that
wait at the same time share a sync. step: every commit separately, before other connections see it.
"""
DEFAULT = "effects"


def read_level() -> str:
	conf = getattr(frappe.local, "conf", None) or {}
	level = conf.get("durability") or DEFAULT
	if level not in LEVELS:
		raise ValueError(f"durability in site_config.json is {level!r}. Use one of: {', '.join(LEVELS)}.")
	return level


def is_synced(level: str, has_written: bool) -> bool:
	"""Whether this commit must wait for a shared sync. With `step`, SQLite syncs every commit itself."""
	if level == "effects":
		return bool(frappe.flags.huf_effect_follows)
	return level == "machine" and has_written


class LogSync:
	"""Syncs the log of one file for the threads of this process."""

	def __init__(self, path: str):
		self.log = f"{path}-wal"
		self.turn = threading.Condition()
		self.asked = self.done = 0
		self.is_syncing = False
		self.inode: int | None = None

	def wait(self) -> None:
		"""Return once everything committed so far is on disk. Raises OSError."""
		with self.turn:
			self.asked += 1
			mine = self.asked
			while self.done < mine and self.is_syncing:
				self.turn.wait()
			if self.done >= mine:
				return
			self.is_syncing, until = True, self.asked
		try:
			self.sync()
		except BaseException:  # re-raised: others that wait for this sync must not wait forever
			self.end(self.done)
			raise
		self.end(until)

	def sync(self) -> None:
		inode = sync_log_file(self.log)
		if inode not in (None, self.inode):
			# The folder must be synced too, for the name of a new log to be on disk.
			sync_file(os.path.dirname(self.log) or ".")
			self.inode = inode

	def end(self, done: int) -> None:
		with self.turn:
			self.is_syncing, self.done = False, done
			self.turn.notify_all()


def sync_log_file(path: str) -> int | None:
	"""Sync a log and return its inode; None if there is no log: everything is in the database file."""
	try:
		return sync_file(path)
	except FileNotFoundError:
		return None


def sync_file(path: str) -> int:
	descriptor = os.open(path, os.O_RDONLY)
	try:
		getattr(os, "fdatasync", os.fsync)(descriptor)
		return os.fstat(descriptor).st_ino
	finally:
		os.close(descriptor)


_syncs: dict[str, LogSync] = {}


def sync_log(path: str) -> None:
	_syncs.setdefault(path, LogSync(path)).wait()


def forget() -> None:
	"""Reset after a fork: the child has no thread that would end its parent's syncs."""
	_syncs.clear()


if hasattr(os, "register_at_fork"):
	os.register_at_fork(after_in_child=forget)
