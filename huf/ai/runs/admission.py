"""Checks at entry points whether this user may run this agent now. `check_begun_run` checks a run again that
has begun.

Tools check the documents that they read or change themselves (`tools/document_tools.py`,
`knowledge/access.py`).
"""

import frappe
from frappe import _

from huf.ai.core.errors import TooManyRuns, UsageError
from huf.ai.core.refusals import read_refusal
from huf.ai.core.settings import find_cached, get_settings
from huf.ai.core.types import AgentRequest, Mode, RunStatus
from huf.ai.storage import budgets, stops
from huf.ai.storage.limits import build_cap

NEEDS_ROLE = "You may not do this. A site's agents need the role Huf User."
"""For a user who may read no agent at all."""


def admit(agent_name: str, user: str, chat: bool = False):
	"""The Agent document, if `user` may run it.

	Raises PermissionError if the user may not run or see it, UsageError if nobody can run it at present.
	"""
	if user == "Guest":
		raise frappe.PermissionError("Sign in to talk to an agent.")
	check_enabled(user)
	agent = find_cached("Agent", agent_name)
	if agent is None or not may_use(agent, user):
		raise frappe.PermissionError(_("There is no agent {0} that you may use.").format(repr(agent_name)))
	check_agent_enabled(agent_name)
	if chat and not agent.allow_chat:
		raise UsageError(
			_("The agent {0} does not take part in chats. A Huf Manager can allow it.").format(agent_name)
		)
	return agent


def find_admission_error(agent_name: str, user: str, chat: bool = False) -> str | None:
	"""Why `user` may not run the agent now; None if they may."""
	try:
		admit(agent_name, user, chat)
	except (UsageError, frappe.PermissionError) as error:
		return read_refusal(error)
	return None


def check_agent_enabled(name: str) -> None:
	"""Raises UsageError for a disabled agent, which starts no runs and continues none that wait."""
	agent = find_cached("Agent", name)
	if agent and agent.disabled:
		raise UsageError(_("The agent {0} is disabled. A Huf Manager can enable it.").format(name))


def check_enabled(user: str) -> None:
	"""Raises UsageError for a disabled user, whose triggers and queued runs must not continue with their
	permissions.
	"""
	doc = find_cached("User", user)
	if not (doc and doc.enabled):
		raise UsageError(
			f"The user {user} is disabled, so no agent acts as them. Choose somebody else, or enable them."
		)


def may_use(agent, user: str) -> bool:
	"""Whether the user has read permission on the Agent, and one of its roles if it names any."""
	wanted = {row.role for row in agent.roles}
	has_role = not wanted or user == "Administrator" or bool(wanted & set(frappe.get_roles(user)))
	return has_role and bool(frappe.has_permission("Agent", "read", doc=agent, user=user))


def list_usable_agents(user: str, filters: dict | None = None) -> list:
	"""Enabled Agent documents that `user` may run, by name; only those that the session user may read."""
	names = frappe.get_list(
		"Agent",
		filters={"disabled": 0, **(filters or {})},
		pluck="name",
		order_by="agent_name asc",
		limit_page_length=0,
	)
	return [doc for name in names if may_use(doc := frappe.get_cached_doc("Agent", name), user)]


def admit_model(agent, user: str, provider: str | None, model: str | None) -> None:
	"""Raises PermissionError if `user` may not choose this model or provider for a run of the agent.

	Everybody may choose the agent's own model, the models it allows in chats, and its tiers if it chooses by
	task, each with the provider of its record. Any other choice needs permission to change the agent.
	"""
	if frappe.has_permission("Agent", "write", doc=agent, user=user):
		return
	settings = get_settings()
	own = agent.model or settings.default_model
	tiers = settings.tier_models if agent.choose_by_task else ()
	allowed = {own, *list_chat_models(agent), *tiers} - {None}
	chosen = model or own
	record = find_cached("AI Model", chosen) if chosen in allowed else None
	if not record or provider not in (None, "", record.provider):
		raise frappe.PermissionError(
			f"You may not choose {model or provider!r} for {agent.name}. Leave model and provider out, or "
			"ask a Huf Manager to choose the agent's model."
		)


def list_chat_models(agent) -> list[str]:
	"""The AI Models that a chat may use instead of the agent's own."""
	return [row.model for row in agent.chat_models]


def admit_chat_model(agent, model: str) -> None:
	"""Raises PermissionError for a model that the agent does not allow in chats."""
	if model not in list_chat_models(agent):
		raise frappe.PermissionError(
			_("{0} does not allow {1} in its chats. Choose another model.").format(agent.name, model)
		)


def check_stops(request: AgentRequest, provider: str | None) -> None:
	"""Raises UsageError if a stop covers a new run. Queued runs wait instead."""
	trigger = request.cause.trigger if request.cause else None
	run = {"agent": request.agent, "provider": provider, "run_as": request.user, "trigger": trigger}
	stops.refuse_if_stopped(run, _("A Huf Manager can release it."))


def count_run(request: AgentRequest, agent) -> None:
	"""Count a run against the user's limit per hour. Raises TooManyRuns.

	Runs started by triggers or by other runs are not counted: no person started them, or the press of the
	button was counted. Nor is an agent's run that takes over from a chat: it answers the same message.
	"""
	doc = agent if agent.runs_per_hour else frappe.get_cached_doc("Huf Settings")
	is_takeover = bool(request.routed and request.routed.is_escalated)
	if doc.runs_per_hour and not (request.cause or request.parent_run or is_takeover):
		budgets.count_run_start(request.user, request.agent, build_cap(doc, "runs_per_hour"))


def check_runs_at_once(request: AgentRequest) -> None:
	"""Raises TooManyRuns if more of the user's inline runs are working than allowed, including this one.

	Called in the transaction that has written the run, and by `check_begun_run`.
	"""
	limit = read_runs_at_once(request)
	begun = {
		"run_as": request.user,
		"status": RunStatus.STARTED.value,
		"mode": Mode.INLINE.value,
		# Agents that an agent calls run for the same request.
		"parent_run": ["is", "not set"],
	}
	if limit and frappe.db.count("Agent Run", begun) > limit:
		raise TooManyRuns(_("{0} of your runs are still running. Wait until one has ended.").format(limit))


def check_begun_run(request: AgentRequest) -> None:
	"""Check a committed run again, because runs that start together have not seen each other.

	They are checked one after the other; of too many, the first ones are refused. After TooManyRuns, end the
	run and commit.
	"""
	if read_runs_at_once(request):
		frappe.db.get_value("User", request.user, "name", for_update=True)
		check_runs_at_once(request)
		frappe.db.commit()


def read_runs_at_once(request: AgentRequest) -> int:
	"""The limit that applies to a run; 0 if none does."""
	if request.cause or request.parent_run:
		return 0
	return frappe.get_cached_doc("Huf Settings").runs_at_once or 0


def admit_file(wanted: str, user: str):
	"""The File with this name or URL. Raises PermissionError if `user` may not read it."""
	same = {"name": wanted} if not wanted.startswith(("/", "http")) else {"file_url": wanted}
	for name in frappe.get_all("File", {**same, "is_folder": 0}, pluck="name", order_by="creation asc"):
		# Several Files may share a URL; permission to read one of them is enough.
		if frappe.has_permission("File", "read", doc=name, user=user):
			return frappe.get_doc("File", name)
	raise frappe.PermissionError(f"There is no file {wanted!r} that you may read.")
