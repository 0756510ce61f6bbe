"""Endpoints that manage the users of a site, for System Managers."""

import frappe
from frappe import _

from huf.ai.core.request_values import clamp_start, clip_search
from huf.ai.setup import people


@frappe.whitelist(methods=["GET"])
def get_people(start: int = 0, text: str = ""):
	"""{people, can_mail}; a person is described at `huf.ai.setup.people.list_people`."""
	require_system_manager()
	found = people.list_people(clamp_start(start), clip_search(text))
	return {"people": found, "can_mail": people.can_mail()}


@frappe.whitelist(methods=["POST"])
def invite(email: str, first_name: str, last_name: str = "", roles: list | None = None, by_mail: int = 0):
	"""Create a user and a link to set the first password: {person, link}. `link` is None if it was mailed."""
	require_system_manager()
	user = people.create_person(email, first_name, last_name, roles or [])
	return {"person": people.read_person(user), "link": hand_out_link(user, by_mail)}


@frappe.whitelist(methods=["POST"])
def make_link(user: str, by_mail: int = 0):
	"""Create a link to set a new password: {link}, None if it was mailed. Earlier links become invalid."""
	require_system_manager()
	return {"link": hand_out_link(user, by_mail)}


@frappe.whitelist(methods=["POST"])
def save_person(user: str, roles: list, enabled: int):
	"""Change the roles that the web app manages, and enable or disable the user. Returns the person."""
	require_system_manager()
	people.change_person(user, roles, bool(int(enabled)))
	return people.read_person(user)


@frappe.whitelist(methods=["GET"])
def get_usable_agents(user: str):
	"""Names of the agents that a user may run."""
	require_system_manager()
	return people.list_agents_of_user(user)


def hand_out_link(user: str, by_mail: int) -> str | None:
	link = people.make_password_link(user)
	if not int(by_mail):
		return link
	people.mail_link(user, link)
	return None


def require_system_manager() -> None:
	if "System Manager" not in frappe.get_roles():
		raise frappe.PermissionError(_("Only a System Manager may manage people."))
