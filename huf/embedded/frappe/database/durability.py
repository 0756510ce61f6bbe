"""Which commits outlive the machine and not only the process: `durability` in site_config.json.

A commit is in SQLite's log at once, but in the operating system's memory until the log is synced. Commits
that wait for that together share one sync.
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
	"""Whether a commit waits for a sync; with `step` SQLite has done it."""
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
		"""Return once everything committed until now is on the disk. Raises OSError."""
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
		except BaseException:  # re-raised: the others who wait for this sync must not wait for ever
			self.end(self.done)
			raise
		self.end(until)

	def sync(self) -> None:
		inode = sync_log_file(self.log)
		if inode not in (None, self.inode):
			# The name of a new log is on the disk with its folder.
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
	"""A forked process has no thread that would end its parent's syncs."""
	_syncs.clear()


if hasattr(os, "register_at_fork"):
	os.register_at_fork(after_in_child=forget)
