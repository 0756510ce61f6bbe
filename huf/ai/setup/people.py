"""Manages the people of a site: a list with their roles, invitations by a link, changes of roles, disabling.

Saves are subject to Frappe's permissions on User. Links are those of Frappe's own password reset.
"""

from collections.abc import Sequence

import frappe
from frappe import _

from huf.ai.core.documents import get_permitted
from huf.ai.core.errors import UsageError
from huf.ai.core.grouping import group_pairs
from huf.ai.runs import admission
from huf.ai.storage.outgoing_mail import find_sender

ROLES = ("Huf User", "Huf Manager", "System Manager")
"""The roles that the web app changes. It shows a user's other roles, and leaves them."""
UNMANAGED = ("Administrator", "Guest")
PAGE_LENGTH = 50
FIELDS = ["name", "full_name", "enabled", "last_active", "owner", "creation"]


def list_people(start: int = 0, text: str = "") -> list[dict]:
	"""A page of users whose name or address contains `text`, the enabled ones first: {name, full_name,
	enabled, last_active, roles, other_roles, invited_by, creation}.
	"""
	like = ["like", f"%{text}%"]
	rows = frappe.get_list(
		"User",
		filters={"name": ["not in", UNMANAGED]},
		or_filters={"name": like, "full_name": like} if text else None,
		fields=FIELDS,
		order_by="enabled desc, full_name asc, name asc",
		limit_start=start,
		limit_page_length=PAGE_LENGTH,
	)
	held = read_roles([row.name for row in rows])
	return [describe_person(row, held.get(row.name, ())) for row in rows]


def read_roles(users: Sequence[str]) -> dict[str, list[str]]:
	"""{user: role names}, without users who have no role."""
	filters = {"parenttype": "User", "parent": ["in", users]}
	rows = frappe.get_all("Has Role", filters, ["parent", "role"], order_by="role asc") if users else ()
	return group_pairs((row.parent, row.role) for row in rows)


def describe_person(row, roles: Sequence[str]) -> dict:
	kept = {key: row.get(key) for key in ("name", "full_name", "enabled", "last_active", "creation")}
	return {
		**kept,
		"roles": [role for role in ROLES if role in roles],
		"other_roles": [role for role in roles if role not in ROLES],
		"invited_by": row.owner,
	}


def read_person(user: str) -> dict:
	"""One row of `list_people`."""
	doc = load_person(user)
	return describe_person(doc, [row.role for row in doc.roles])


def create_person(email: str, first_name: str, last_name: str, roles: Sequence[str]) -> str:
	"""Create a user without a password; returns the name."""
	email = email.strip().lower()
	if not email or not first_name.strip():
		raise UsageError(_("Enter a name and an e-mail address."))
	if frappe.db.exists("User", email):
		raise UsageError(_("There is an account for {0} already.").format(email))
	values = {"email": email, "first_name": first_name.strip(), "last_name": last_name.strip()}
	chosen = [{"role": role} for role in check_roles(roles)]
	doc = frappe.get_doc({"doctype": "User", **values, "send_welcome_email": 0, "roles": chosen})
	return doc.insert().name


def change_person(user: str, roles: Sequence[str], is_enabled: bool) -> None:
	"""Set which of ROLES a user has, and enable or disable the account. Refuses to lock out the caller."""
	doc, wanted = load_person(user), set(check_roles(roles))
	if user == frappe.session.user and not (is_enabled and "System Manager" in wanted):
		raise UsageError(_("You cannot disable yourself or give up System Manager. Ask another one."))
	wanted |= {row.role for row in doc.roles if row.role not in ROLES}
	doc.set("roles", [row for row in doc.roles if row.role in wanted])
	held = {row.role for row in doc.roles}
	for role in sorted(wanted - held):
		doc.append("roles", {"role": role})
	doc.enabled = int(is_enabled)
	doc.save()
	# A role profile, or a permission that is missing, decides otherwise without an error.
	if {row.role for row in doc.roles} != wanted:
		raise UsageError(_("The roles of {0} come from a role profile. Change them on Desk.").format(user))


def record_action(user: str, text: str) -> None:
	"""Add a comment to a user's record, which the audit lists: for actions that change no field."""
	place = {"reference_doctype": "User", "reference_name": user}
	frappe.get_doc({"doctype": "Comment", "comment_type": "Info", **place, "content": text}).insert()


def make_password_link(user: str) -> str:
	"""A link with which a person sets a password, once and before it expires; earlier links become invalid.

	A comment on the user records who made it.
	"""
	doc = load_person(user)
	if not doc.enabled:
		raise UsageError(_("{0} is disabled. Enable the account first.").format(user))
	# Frappe 16 has renamed the method.
	link = (getattr(doc, "_reset_password", None) or doc.reset_password)()
	record_action(user, _("A link for a new password was made."))
	return link


def mail_link(user: str, link: str) -> None:
	inviter = frappe.utils.get_fullname(frappe.session.user)
	texts = (
		_("{0} invites you to Huf at {1}.").format(inviter, frappe.utils.get_url()),
		_("The link works once and expires soon. Ask for another one if it has expired."),
	)
	first, last = (f"<p>{frappe.utils.escape_html(text)}</p>" for text in texts)
	anchor = f'<p><a href="{frappe.utils.escape_html(link)}">{_("Set your password")}</a></p>'
	address = frappe.db.get_value("User", user, "email")
	frappe.sendmail(recipients=[address], subject=_("Your account"), message=first + anchor + last)


def can_mail() -> bool:
	"""Whether an outgoing mail account exists."""
	return bool(find_sender() or frappe.conf.get("mail_server"))


def list_agents_of_user(user: str) -> list[str]:
	"""Names of the enabled agents that a user may run."""
	load_person(user)
	return [agent.name for agent in admission.list_usable_agents(user)]


def load_person(user: str):
	"""The User, with write permission checked."""
	if user in UNMANAGED:
		raise UsageError(_("{0} is a system account.").format(user))
	return get_permitted("User", user, "write")


def check_roles(roles: Sequence[str]) -> list[str]:
	"""The roles without duplicates. Raises UsageError for one that cannot be granted here."""
	if unknown := [role for role in roles if role not in ROLES]:
		raise UsageError(_("{0} is not a role that can be given here.").format(unknown[0]))
	return list(dict.fromkeys(roles))
