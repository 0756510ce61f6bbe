"""Reads the limits that apply to a run: its own, its agent's, its user's, the site's, and its parent runs'.

Agent and Huf Settings define the limits; `budgets.py` stores what was spent.
"""

from datetime import datetime
from typing import NamedTuple

import frappe

from huf.ai.core.settings import find_cached
from huf.ai.core.stored_text import digest


class LimitScope(NamedTuple):
	"""What a limit applies to. `cost` and `tokens` name fields of Huf Settings; `own` names Agent fields that
	override them.

	`period` is a strftime format: each formatted time has a budget of its own. `calls` is an SQL condition
	for the Agent LLM Calls (c, with their Agent Run r) that count.
	"""

	key: str
	title: str
	cost: str
	tokens: str
	own: tuple[str, str] | None
	period: str
	calls: str


RUN = LimitScope(
	"run",
	"this run and those it calls",
	"run_cost_limit",
	"run_token_limit",
	("run_cost_limit", "run_token_limit"),
	"",
	"c.run = %(holder)s",
)
AGENT = LimitScope(
	"agent",
	"the agent {holder} for {period}",
	"agent_daily_cost_limit",
	"agent_daily_token_limit",
	("daily_cost_limit", "daily_token_limit"),
	"%Y-%m-%d",
	"r.agent = %(holder)s",
)
USER = LimitScope(
	"user",
	"{holder} for {period}",
	"user_daily_cost_limit",
	"user_daily_token_limit",
	None,
	"%Y-%m-%d",
	"coalesce(r.run_as, c.owner) = %(holder)s",
)
SITE = LimitScope(
	"site",
	"the site for {period}",
	"site_monthly_cost_limit",
	"site_monthly_token_limit",
	None,
	"%Y-%m",
	"1 = 1",
)


class Cap(NamedTuple):
	"""An upper bound (0 means none), and the field that sets it, for error messages."""

	amount: float
	where: str


class Limit(NamedTuple):
	"""Caps on the money (USD) and tokens that one holder may use in a period."""

	scope: LimitScope
	holder: str
	cost: Cap
	tokens: Cap

	def period(self, now: datetime) -> str:
		return now.strftime(self.scope.period)

	def budget(self, now: datetime) -> str:
		"""Name of the Agent Budget that counts it."""
		return digest(self.scope.key, self.holder, self.period(now))


def read_limits(run: str, agent: str, user: str, parent: str | None = None) -> list[Limit]:
	"""The limits of the calls of a run, set or not, including those of the runs that called it."""
	limits = [build_limit(RUN, run, agent), build_limit(AGENT, agent, agent), *read_limits_outside_runs(user)]
	while parent:
		row = frappe.db.get_value("Agent Run", parent, ["agent", "parent_run"], as_dict=True)
		limits.append(build_limit(RUN, parent, row.agent))
		parent = row.parent_run
	return limits


def read_limits_outside_runs(user: str) -> list[Limit]:
	"""The limits, set or not, of a model call for a person outside a run: the user's and the site's."""
	return [build_limit(USER, user), build_limit(SITE, "site")]


def keep_set(limits: list[Limit]) -> list[Limit]:
	return [limit for limit in limits if limit.cost.amount or limit.tokens.amount]


def build_limit(scope: LimitScope, holder: str, agent: str = "") -> Limit:
	"""The limit of Huf Settings or, where the scope has fields `own`, of the agent."""
	settings = frappe.get_cached_doc("Huf Settings")
	own = find_cached("Agent", agent) if scope.own else None
	own_cost, own_tokens = scope.own or ("", "")
	return Limit(
		scope,
		holder,
		read_cap(own, own_cost, settings, scope.cost),
		read_cap(own, own_tokens, settings, scope.tokens),
	)


def read_cap(own, own_field: str, settings, field: str) -> Cap:
	"""The agent's own cap, else that of Huf Settings."""
	doc, name = (own, own_field) if own and own.get(own_field) else (settings, field)
	return build_cap(doc, name)


def build_cap(doc, field: str) -> Cap:
	if not (amount := doc.get(field)):
		return Cap(0, "")
	source = translate(doc.doctype) + ("" if doc.meta.issingle else f" {doc.name}")
	label = translate(doc.meta.get_label(field))
	return Cap(amount, translate("{field} of {record}", field=label, record=source))


def translate(text: str, **values) -> str:
	"""Translate to the language of the run's user: a worker has no request that would tell it."""
	language = frappe.get_cached_value("User", frappe.session.user, "language") or frappe.local.lang
	return frappe._(text, lang=language).format(**values)
