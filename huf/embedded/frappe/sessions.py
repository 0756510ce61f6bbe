"""Sessions: a random id in a cookie, its data in the table `Sessions`.

The table stores a digest of the ID, so that a copy of the database opens no session. Only a login starts a
session, with a new ID; IDs from outside are looked up, never adopted.
"""

import hashlib
import json
import secrets

import frappe

DEFAULT_EXPIRY = "240:00:00"
TOUCH_SECONDS = 600
_extending: set[str] = set()
"""Sessions that a thread of this process is extending."""


def get_expiry_in_seconds() -> int:
	"""Lifetime of an unused session: `session_expiry` of the site's configuration,
	"hours:minutes:seconds".
	"""
	hours, minutes, seconds = (*(frappe.conf.session_expiry or DEFAULT_EXPIRY).split(":"), 0, 0)[:3]
	return int(hours) * 3600 + int(minutes) * 60 + int(seconds)


def digest(sid: str) -> str:
	return hashlib.sha256(sid.encode()).hexdigest()


def _threshold() -> str:
	return frappe.utils.get_datetime_str(
		frappe.utils.add_to_date(frappe.utils.now_datetime(), seconds=-get_expiry_in_seconds())
	)


def guest_session():
	return frappe._dict(user="Guest", sid="Guest", data=frappe._dict(user="Guest"))


def start_session(user: str, full_name: str, user_type: str):
	"""Start a session for `user`. Commits, because the response contains its ID."""
	sid = secrets.token_hex(32)
	data = frappe._dict(
		user=user,
		full_name=full_name,
		user_type=user_type,
		session_ip=frappe.local.request_ip,
		last_updated=frappe.utils.now(),
	)
	if frappe.conf.csrf_from_first_write != 0:
		data.csrf_token = new_csrf_token()
	frappe.db.sql("DELETE FROM `tabSessions` WHERE lastupdate < %s", _threshold())
	frappe.db.sql(
		"INSERT INTO `tabSessions` (sid, user, sessiondata, lastupdate) VALUES (%s, %s, %s, %s)",
		(digest(sid), user, json.dumps(data), data.last_updated),
	)
	seen = {"last_login": data.last_updated, "last_ip": data.session_ip, "last_active": data.last_updated}
	frappe.db.set_value("User", user, seen, update_modified=False)
	frappe.db.commit()
	return frappe._dict(user=user, sid=sid, data=data)


def find_session(sid: str):
	"""The session as `_dict(user, sid, data)`, Guest's for "Guest"; None if it is unknown, expired or
	disabled.
	"""
	if sid == "Guest":
		return guest_session()
	rows = frappe.db.sql(
		"SELECT user, sessiondata FROM `tabSessions` WHERE sid = %s AND lastupdate > %s",
		(digest(sid), _threshold()),
	)
	if not rows or not frappe.db.get_value("User", rows[0][0], "enabled"):
		return None
	user, data = rows[0]
	return frappe._dict(user=user, sid=sid, data=frappe._dict(json.loads(data)))


def touch():
	"""Extend the current session. Writes at most once in TOUCH_SECONDS, and skips the write if the database
	is locked.
	"""
	session = frappe.session
	if session.user == "Guest" or not _is_old(session.data.last_updated):
		return
	# Concurrent requests all find their session old; only the first to finish extends it.
	if session.sid in _extending or not _is_old(_read_last_update(session.sid)):
		return
	_extending.add(session.sid)
	try:
		with frappe.db.without_waiting():
			_save()
	except (frappe.QueryTimeoutError, frappe.db.OperationalError):
		frappe.db.rollback()
	finally:
		_extending.discard(session.sid)


def _read_last_update(sid: str) -> str | None:
	rows = frappe.db.sql("SELECT lastupdate FROM `tabSessions` WHERE sid = %s", digest(sid))
	return rows[0][0] if rows else None


def _is_old(updated: str | None) -> bool:
	return bool(updated) and frappe.utils.time_diff_in_seconds(frappe.utils.now(), updated) > TOUCH_SECONDS


def _save():
	session = frappe.session
	session.data.last_updated = frappe.utils.now()
	frappe.db.sql(
		"UPDATE `tabSessions` SET sessiondata = %s, lastupdate = %s WHERE sid = %s",
		(json.dumps(session.data), session.data.last_updated, digest(session.sid)),
	)
	seen = {"last_active": session.data.last_updated}
	frappe.db.set_value("User", session.user, seen, update_modified=False)
	frappe.db.commit()


def delete_session(sid: str, user: str | None = None, reason: str = "Session Expired"):
	"""End a session, given its ID or the digest in the table."""
	frappe.db.sql("DELETE FROM `tabSessions` WHERE sid IN (%s, %s)", (digest(sid), sid))
	frappe.db.commit()


def clear_sessions(user: str | None = None, keep_current: bool = False, force: bool = False):
	"""Log `user` out everywhere, except here with `keep_current`.  The caller commits."""
	keep = digest(frappe.session.sid) if keep_current and frappe.session.sid else ""
	frappe.db.sql(
		"DELETE FROM `tabSessions` WHERE user = %s AND sid != %s", (user or frappe.session.user, keep)
	)


def get_csrf_token() -> str:
	"""The session's token, created on first use. From then on, requests that change something must send it.

	Commits, as Frappe does, because the page with the token is a GET, which would roll back.
	"""
	data = frappe.session.data
	if not data.csrf_token:
		data.csrf_token = new_csrf_token()
		if frappe.session.user != "Guest" and frappe.session.sid not in ("Guest", frappe.session.user):
			_save()
	return data.csrf_token


def new_csrf_token() -> str:
	return secrets.token_hex(28)
