"""Describes faults of the disk and the database for the person who can repair them."""

import errno
import sqlite3

from frappe.exceptions import QueryTimeoutError

BUSY = (503, "The database is busy: something else is writing to it. Try again in a moment.")
FULL = (507, "The disk is full. Free some space, then try again.")
READ_ONLY = (503, "The site's files cannot be written. Make its folder and files writable for this user.")
NOT_A_FOLDER = (500, "A file is where this folder should be. Choose another path.")
OUTDATED = (500, "The site's tables are older than the installed code. Update them with `huf migrate`.")
FAILING = (503, "The disk cannot be read or written. Free some space if it is full, or check the disk.")
DAMAGED = (
	500,
	"A database file is damaged. If `huf doctor` names jobs.db, delete that file; otherwise restore the "
	"site's folder from a backup.",
)

OF_SYSTEM = {
	**dict.fromkeys((errno.ENOSPC, errno.EDQUOT), FULL),
	**dict.fromkeys((errno.EROFS, errno.EACCES, errno.EPERM), READ_ONLY),
	**dict.fromkeys((errno.ENOTDIR, errno.EEXIST), NOT_A_FOLDER),
}
OF_DATABASE = (
	("locked", BUSY),
	("disk is full", FULL),
	("readonly", READ_ONLY),
	("unable to open", READ_ONLY),
	("not a database", DAMAGED),
	("malformed", DAMAGED),
	("disk I/O error", FAILING),
	("has no column named", OUTDATED),
)


def describe_fault(error: BaseException) -> tuple[int, str] | None:
	"""(HTTP status, sentence) if storage is at fault, else None."""
	if isinstance(error, QueryTimeoutError):
		return BUSY
	if isinstance(error, sqlite3.Error):
		return next((fault for words, fault in OF_DATABASE if words in str(error)), None)
	return OF_SYSTEM.get(error.errno) if isinstance(error, OSError) else None
