"""Endpoints of a user's own profile: name, language, default agent, password, sessions."""

import frappe
from frappe import _
from frappe.sessions import clear_sessions
from frappe.utils.password import check_password

from huf.ai.chat.agents import USER_SETTINGS
from huf.ai.core.documents import get_or_new
from huf.ai.core.errors import UsageError
from huf.ai.queries.records import LANGUAGES
from huf.ai.storage import users
from huf.ai.storage.shared_values import share_value

FIELDS = ["first_name", "last_name", "language"]
CHOSEN = ["default_agent", "deputy", "away_until"]
MAX_WRONG_PASSWORDS, WRONG_PASSWORDS_S = 10, 300


@frappe.whitelist(methods=["GET"])
def get_profile():
	"""{user, first_name, last_name, language, default_agent, deputy, away_until} of the session user."""
	user = require_user()
	row = frappe.db.get_value("User", user, FIELDS, as_dict=True)
	chosen = frappe.db.get_value(USER_SETTINGS, user, CHOSEN, as_dict=True) or dict.fromkeys(CHOSEN)
	return {**row, "user": user, **chosen}


@frappe.whitelist(methods=["POST"])
def save_profile(
	first_name: str,
	last_name: str = "",
	language: str = "",
	default_agent: str | None = None,
	deputy: str | None = None,
	away_until: str | None = None,
):
	"""Save the session user's profile. Other fields of the user are unchanged."""
	user = require_user()
	if not first_name.strip():
		raise UsageError(_("Enter a name."))
	if language not in ("", *LANGUAGES):
		raise UsageError(_("There is no language {0}.").format(language))
	users.save_own_user(
		{"first_name": first_name.strip(), "last_name": last_name.strip(), "language": language or None}
	)
	chosen = {"default_agent": default_agent, "deputy": deputy, "away_until": away_until}
	chosen = {"user": user, **{field: value or None for field, value in chosen.items()}}
	get_or_new(USER_SETTINGS, user).update(chosen).save()
	return get_profile()


@frappe.whitelist(methods=["POST"])
def change_password(old_password: str, new_password: str):
	"""Change the session user's password; the site's password policy applies."""
	user = require_user()
	check_old_password(user, old_password)
	users.save_own_user({"new_password": new_password})


def check_old_password(user: str, password: str) -> None:
	"""Raises UsageError. Who has come by a session or an API key must not find out the password by trying."""
	key = f"wrong_old_passwords:{user}"
	wrong = frappe.cache.get_value(key, expires=True) or 0
	if wrong >= MAX_WRONG_PASSWORDS:
		raise UsageError(_("Too many wrong passwords. Try again in some minutes."))
	# Counted first, because many requests may come at once.
	share_value(key, wrong + 1, WRONG_PASSWORDS_S)
	try:
		check_password(user, password)
	except frappe.AuthenticationError:
		raise UsageError(_("The old password is wrong.")) from None
	share_value(key, 0, WRONG_PASSWORDS_S)


@frappe.whitelist(methods=["GET"])
def get_sessions():
	"""The session user's sessions: [{id, last_used, address, is_current}], most recently used first."""
	return users.read_sessions(require_user(), frappe.session.sid)


@frappe.whitelist(methods=["POST"])
def end_other_sessions():
	"""End the session user's other sessions; with an API key, all sessions."""
	clear_sessions(require_user(), keep_current=True, force=True)
	return get_sessions()


@frappe.whitelist(methods=["POST"])
def end_session(session: str):
	"""End one of the session user's sessions, named by its `id`."""
	if not users.end_session(require_user(), session):
		raise UsageError(_("This session has ended already."))
	return get_sessions()


def require_user() -> str:
	if frappe.session.user == "Guest":
		raise frappe.PermissionError
	return frappe.session.user
