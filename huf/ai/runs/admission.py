"""May this user run this agent now, and acting as whom? Answers at the door, before anything is written."""

from collections.abc import Iterator
from contextlib import contextmanager

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.core.settings import find_cached
from huf.ai.core.types import AgentRequest
from huf.ai.storage import budgets
from huf.ai.storage.limits import read_runs_per_hour


def admit(agent_name: str, user: str, chat: bool = False):
	"""The Agent document, if `user` may run it.

	Raises PermissionError where they may not (or may not know of it), UsageError where nobody can now.
	"""
	if user == "Guest":
		raise frappe.PermissionError("Sign in to talk to an agent.")
	check_enabled(user)
	agent = find_cached("Agent", agent_name)
	if agent is None or not may_use(agent, user):
		raise frappe.PermissionError(f"There is no agent {agent_name!r} that you may use.")
	if agent.disabled:
		raise UsageError(f"The agent {agent_name} is disabled. A Huf Manager can enable it.")
	if chat and not agent.allow_chat:
		raise UsageError(f"The agent {agent_name} does not take part in chats. A Huf Manager can allow it.")
	return agent


def check_enabled(user: str) -> None:
	"""Raises UsageError for who has left: what was set up in their name does not go on with their rights."""
	doc = find_cached("User", user)
	if not (doc and doc.enabled):
		raise UsageError(
			f"The user {user} is disabled, so no agent acts as them. Choose somebody else, or enable them."
		)


def may_use(agent, user: str) -> bool:
	"""Read permission on the Agent, and one of its roles where it names any."""
	return bool(frappe.has_permission("Agent", "read", doc=agent, user=user)) and has_role(agent, user)


def has_role(agent, user: str) -> bool:
	"""One of the roles that the agent names, where it names any."""
	wanted = {row.role for row in agent.roles}
	return not wanted or bool(wanted & set(frappe.get_roles(user))) or user == "Administrator"


def count_run(request: AgentRequest, agent) -> None:
	"""Keep people to their runs an hour. Raises TooManyRuns.

	A trigger's run was decided by who made the trigger, and another run's by its agent: those count for nobody.
	"""
	cap = read_runs_per_hour(agent)
	if cap.amount and not request.origin and not request.parent_run:
		budgets.count_run_start(request.user, request.agent, cap)


def admit_file(wanted: str, user: str):
	"""The File document of that name or address, if `user` may read it. Raises PermissionError."""
	same = {"name": wanted} if not wanted.startswith(("/", "http")) else {"file_url": wanted}
	for name in frappe.get_all("File", {**same, "is_folder": 0}, pluck="name", order_by="creation asc"):
		# Of several with one address each is asked: to read any of them is enough.
		if frappe.has_permission("File", "read", doc=name, user=user):
			return frappe.get_doc("File", name)
	raise frappe.PermissionError(f"There is no file {wanted!r} that you may read.")


@contextmanager
def acting_as(user: str) -> Iterator[None]:
	"""Everything inside has the permissions of `user`, and no other's."""
	session = frappe.local.session
	before, kept = session.user, (session.sid, session.data, frappe.local.form_dict)
	if user != before:
		frappe.set_user(user)
	try:
		yield
	finally:
		if user != before:
			frappe.set_user(before)
			# What Frappe forgets of the person whose request this is, and needs at its end. It may be another session object.
			session = frappe.local.session
			session.sid, session.data, frappe.local.form_dict = kept
