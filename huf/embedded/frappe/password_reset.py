"""Password resets by a link that is valid once and for an hour.

Links are requested on the login page and mailed, or created by a System Manager. The user's record stores a
digest of the key. Requests for unknown names do the same work and get the same answer.
"""

import datetime
from threading import Lock

import frappe
from frappe import _
from frappe.core.doctype.activity_log.activity_log import add_authentication_log
from frappe.email.queue import find_account
from frappe.sessions import digest
from frappe.utils import escape_html, get_url, now, now_datetime
from frappe.utils.caching import Cache
from frappe.utils.password import update_password
from frappe.utils.password_strength import check_password_strength

LINK_LIFETIME_S = 3600
LINK_INTERVAL_S = 600
"""Minimum time between two links for an account."""
REQUESTS_PER_ADDRESS, WINDOW_S = 10, 3600
requests = Cache()
_lock = Lock()


def is_possible() -> bool:
	"""Whether outgoing mail is configured, and a site address that does not come from a request."""
	return bool(frappe.conf.host_name and find_account(None))


def count_request() -> None:
	"""Raises TooManyRequestsError after REQUESTS_PER_ADDRESS."""
	key = f"reset_password:{frappe.local.request_ip}"
	with _lock:
		count = requests.get_value(key) or 0
		if count >= REQUESTS_PER_ADDRESS:
			frappe.throw(_("Too many requests. Try again in an hour."), frappe.TooManyRequestsError)
		requests.set_value(key, count + 1, expires_in_sec=WINDOW_S)


def send_link_later(text: str) -> None:
	"""Enqueue a job that mails a link to the account of this name, if it exists.

	Unknown names are not stored, because people type passwords there.
	"""
	query = "SELECT name FROM `tabUser` WHERE enabled = 1 AND (name = %(text)s OR username = %(text)s)"
	names = frappe.db.sql(query, {"text": text}, pluck=True)
	user = names[0] if names and names[0] not in frappe.STANDARD_USERS else None
	frappe.enqueue("frappe.password_reset.send_link", queue="short", user=user)


def send_link(user: str | None) -> None:
	if not user:
		return
	fields = ["email", "language", "last_reset_password_key_generated_on"]
	# The row is locked, so that only one of two jobs for an account sends a link.
	row = frappe.db.get_value("User", user, fields, as_dict=True, for_update=True)
	if age_s(row.last_reset_password_key_generated_on) < LINK_INTERVAL_S:
		return
	frappe.local.lang = row.language or frappe.local.lang
	link, address = escape_html(make_link(user)), escape_html(row.email)
	texts = (
		_("Someone, probably you, asked to reset the password for {0}.").format(address),
		f'<a href="{link}">{_("Set a new password")}</a>',
		_("The link works once, within one hour. If this was not you, ignore this mail."),
	)
	message = "".join(f"<p>{text}</p>" for text in texts)
	frappe.sendmail(recipients=[row.email], subject=_("Password Reset"), message=message)


def make_link(user: str) -> str:
	"""Create a link for an account and return its URL. Earlier links become invalid."""
	key = frappe.generate_hash(length=64)
	values = {"reset_password_key": digest(key), "last_reset_password_key_generated_on": now()}
	frappe.db.set_value("User", user, values, update_modified=False)
	return get_url(f"/update-password?key={key}")


def set_password(key: str, password: str) -> str | None:
	"""Set the password and end the user's sessions. Returns the user; None if the link is invalid.

	Raises ValidationError for a password that is easily guessed; the link can then be used again.
	"""
	user = find_user_of_link(key)
	if not user:
		return None
	names = frappe.db.get_value("User", user, ["first_name", "middle_name", "last_name", "email"])
	check_password_strength(password, *names)
	# The row is locked: the second of two simultaneous uses finds no key.
	if not find_user_of_link(key, for_update=True):
		return None
	update_password(user, password, logout_all_sessions=True)
	frappe.db.commit()
	add_authentication_log(_("Password set by a link"), user, "Reset Password")
	return user


def find_user_of_link(key: str, for_update: bool = False) -> str | None:
	filters = {"reset_password_key": digest(key), "enabled": 1}
	fields = ["name", "last_reset_password_key_generated_on"]
	user, sent = frappe.db.get_value("User", filters, fields, for_update=for_update) or (None, None)
	return user if age_s(sent) < LINK_LIFETIME_S else None


def age_s(sent: datetime.datetime | None) -> float:
	return (now_datetime() - sent).total_seconds() if sent else float("inf")
