"""Which limits a run has to keep: its own, its agent's, its user's, the site's, and those of the runs that led to it.

Only reads: Agent and Huf Settings say what the limits are. What is spent of them is kept by `budgets.py`.
"""

from datetime import datetime
from typing import NamedTuple

import frappe

from huf.ai.storage.rows import digest


class Scope(NamedTuple):
	"""What a limit is for. `cost` and `tokens` are fields of Huf Settings; `own` are the two of Agent, which win."""

	key: str
	title: str
	cost: str
	tokens: str
	own: tuple[str, str] | None
	period: str


RUN = Scope(
	"run",
	"this run and those it calls",
	"run_cost_limit",
	"run_token_limit",
	("run_cost_limit", "run_token_limit"),
	"",
)
AGENT = Scope(
	"agent",
	"the agent {holder} for {period}",
	"agent_daily_cost_limit",
	"agent_daily_token_limit",
	("daily_cost_limit", "daily_token_limit"),
	"%Y-%m-%d",
)
USER = Scope(
	"user",
	"{holder} for {period}",
	"user_daily_cost_limit",
	"user_daily_token_limit",
	None,
	"%Y-%m-%d",
)
SITE = Scope(
	"site", "the site for {period}", "site_monthly_cost_limit", "site_monthly_token_limit", None, "%Y-%m"
)


class Cap(NamedTuple):
	"""The most of something, 0 for no limit, and the field that says so."""

	amount: float
	where: str


class Limit(NamedTuple):
	"""Of the money (USD) and the tokens that one holder may use in a period."""

	scope: Scope
	holder: str
	cost: Cap
	tokens: Cap

	def period(self, now: datetime) -> str:
		return now.strftime(self.scope.period)

	def budget(self, now: datetime) -> str:
		"""Name of the Agent Budget that it is counted in."""
		return digest(self.scope.key, self.holder, self.period(now))


def read_limits(run: str, agent: str, user: str, parent: str | None = None) -> list[Limit]:
	"""Every limit there is for the calls of a run; mostly none."""
	settings = frappe.get_cached_doc("Huf Settings")
	agents = [(RUN, run, agent), (AGENT, agent, agent), (USER, user, agent), (SITE, "site", agent)]
	while parent:
		row = frappe.db.get_value("Agent Run", parent, ["agent", "parent_run"], as_dict=True)
		agents.append((RUN, parent, row.agent))
		parent = row.parent_run
	limits = [build_limit(scope, holder, settings, name) for scope, holder, name in agents]
	return [limit for limit in limits if limit.cost.amount or limit.tokens.amount]


def read_limits_outside_runs(user: str) -> list[Limit]:
	"""Every limit there is for a call that serves a person, and belongs to no run."""
	settings = frappe.get_cached_doc("Huf Settings")
	limits = [build_limit(scope, holder, settings, "") for scope, holder in ((USER, user), (SITE, "site"))]
	return [limit for limit in limits if limit.cost.amount or limit.tokens.amount]


def build_limit(scope: Scope, holder: str, settings, agent: str) -> Limit:
	own = frappe.get_cached_doc("Agent", agent) if scope.own else None
	caps = []
	for place, field in enumerate((scope.cost, scope.tokens)):
		doc, name = (own, scope.own[place]) if own and own.get(scope.own[place]) else (settings, field)
		caps.append(Cap(doc.get(name) or 0, f"{doc.meta.get_label(name)} of {describe_source(doc)}"))
	return Limit(scope, holder, *caps)


def describe_source(doc) -> str:
	return doc.doctype if doc.meta.issingle else f"{doc.doctype} {doc.name}"


def read_runs_per_hour(agent) -> Cap:
	"""How many runs one user may start with an agent in an hour."""
	settings = frappe.get_cached_doc("Huf Settings")
	doc = agent if agent.runs_per_hour else settings
	return Cap(doc.runs_per_hour or 0, f"Runs per Hour of {describe_source(doc)}")
