"""What is spent of each limit: set aside before a model is asked, settled after. The only writer of Agent Budget.

`cost` and `tokens` of an Agent Budget hold what is spent together with what is set aside, so that one statement compares
and adds: two workers never spend the same money. Nothing here commits.
"""

import json
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import floor

import frappe
from frappe.utils import now_datetime

from huf.ai.core.costs import Grant, WorstCase
from huf.ai.core.errors import BudgetReserved, RunStopped, TooManyRuns
from huf.ai.core.types import StopReason, Usage
from huf.ai.storage.limits import Cap, Limit
from huf.ai.storage.rows import digest, insert_rows

MIN_ANSWER_TOKENS = 128
"""Tokens an answer must be allowed at least; with less no model is asked."""
ROUNDING = 1e-9
HOUR = timedelta(hours=1)
TRIES = 20
NOT_PRICED = "It is not known what {model} costs, so {where} cannot be kept. A Huf Manager can enter its prices in AI Model."
NOT_MEASURED = (
	"This provider does not say what a call may use, so {where} cannot be kept. A Huf Manager can lift it."
)


@dataclass(frozen=True)
class Reservation:
	"""What a call may use, set aside in these Agent Budgets."""

	budgets: tuple[str, ...]
	cost: float
	tokens: int
	grant: Grant

	def as_row(self) -> dict:
		return {
			"reserved_cost": self.cost,
			"reserved_tokens": self.tokens,
			"budgets": json.dumps(self.budgets),
		}


def reserve(limits: list[Limit], worst: WorstCase | None, now: datetime | None = None) -> Reservation | None:
	"""Set aside the most a call can use, or as much of it as there is. None: it uses nothing.

	Raises RunStopped where a limit leaves too little for an answer, BudgetHeld where calls under way hold it.
	"""
	check_measurable(limits, worst)
	if not worst.tokens and not worst.cost:
		return None
	now = now or now_datetime()
	named = sorted((limit.budget(now), limit) for limit in limits)
	for _ in range(TRIES):
		grant = find_grant(named, worst, now)
		asked = replace(worst, output_tokens=grant.max_tokens)
		if all(reserve_in_budget(name, limit, asked) for name, limit in named):
			return Reservation(tuple(name for name, _ in named), asked.cost, asked.tokens, grant)
		# Another was quicker. What was added so far goes back, and what there is now is looked at anew.
		frappe.db.rollback()
	raise BudgetReserved("Too many calls want the same budget at once. Try again.")


def check_measurable(limits: list[Limit], worst: WorstCase | None) -> None:
	"""Where nobody can say what a call costs, a limit on it lets none through."""
	cost = next((limit.cost for limit in limits if limit.cost.amount), None)
	if worst is None:
		where = (cost or limits[0].tokens).where
		raise RunStopped(StopReason.MONEY_BUDGET, NOT_MEASURED.format(where=where))
	if cost and not worst.is_priced:
		raise RunStopped(StopReason.MONEY_BUDGET, NOT_PRICED.format(model=worst.model, where=cost.where))


def find_grant(named: list[tuple[str, Limit]], worst: WorstCase, now: datetime) -> Grant:
	"""How long an answer every limit leaves room for. Raises RunStopped, BudgetHeld."""
	rows = read_budgets(named, now)
	most, held = worst.output_tokens, None
	for name, limit in named:
		row = rows[name]
		sides = (
			(limit.tokens, row.tokens, row.reserved_tokens, worst.input_tokens, 1),
			(limit.cost, row.cost, row.reserved_cost, worst.input_cost, worst.output_price),
		)
		for cap, used, reserved, first, each in sides:
			room = find_max_answer_tokens(cap, used, first, each, worst.output_tokens)
			if room >= worst.output_tokens:
				continue
			if reserved > ROUNDING:
				held = describe_exhausted_limit(limit, cap, used - reserved, now)
			elif room < min(MIN_ANSWER_TOKENS, worst.output_tokens):
				frappe.db.rollback()
				raise RunStopped(StopReason.MONEY_BUDGET, describe_exhausted_limit(limit, cap, used, now))
			most = min(most, room)
	if held:
		frappe.db.rollback()
		raise BudgetReserved(f"{held} The rest is set aside for calls under way.")
	return Grant(most, most < worst.output_tokens)


def find_max_answer_tokens(cap: Cap, used: float, first: float, each: float | None, wanted: int) -> int:
	"""Tokens of an answer that a limit leaves room for, when the question alone takes `first`; -1: not even that."""
	left = cap.amount - used - first
	if not cap.amount or (left >= 0 and not each):
		return wanted
	return floor((left + ROUNDING) / each) if left >= 0 else -1


def describe_exhausted_limit(limit: Limit, cap: Cap, spent: float, now: datetime) -> str:
	whom = limit.scope.title.format(holder=limit.holder, period=limit.period(now))
	amounts = (
		(f"{cap.amount:g} USD", f"{spent:.4f} USD")
		if cap is limit.cost
		else (f"{cap.amount:,} tokens", f"{spent:,}")
	)
	return (
		f"The limit of {amounts[0]} for {whom} leaves too little for another answer: {amounts[1]} spent. "
		f"A Huf Manager can raise it: {cap.where}."
	)


def read_budgets(named: list[tuple[str, Limit]], now: datetime) -> dict:
	"""The rows by name; those that are missing are made."""
	names = [name for name, _ in named]
	fields = ["name", "cost", "reserved_cost", "tokens", "reserved_tokens"]
	rows = {}
	for again in (True, False):
		found = frappe.get_all(
			"Agent Budget", filters={"name": ["in", names]}, fields=fields, order_by="name asc"
		)
		rows = {row.name: row for row in found}
		missing = [(name, limit) for name, limit in named if name not in rows]
		if missing and again:
			insert_rows(
				"Agent Budget",
				[new_budget(limit, now) for _, limit in missing],
				"Administrator",
				[name for name, _ in missing],
			)
			# Whoever made them first: what is committed is read by a transaction that begins after it.
			frappe.db.commit()
	return rows


def new_budget(limit: Limit, now: datetime) -> dict:
	return {
		"scope": limit.scope.key,
		"holder": limit.holder,
		"period": limit.period(now),
		**dict.fromkeys(("cost", "reserved_cost", "tokens", "reserved_tokens"), 0),
	}


def reserve_in_budget(name: str, limit: Limit, asked: WorstCase) -> bool:
	"""Set aside in one budget, if it does not go over its limit with it."""
	stamp = frappe.generate_hash(length=20)
	frappe.db.sql(
		"""update `tabAgent Budget` set cost = cost + %(cost)s, reserved_cost = reserved_cost + %(cost)s,
		tokens = tokens + %(tokens)s, reserved_tokens = reserved_tokens + %(tokens)s, stamp = %(stamp)s
		where name = %(name)s and (%(most_cost)s = 0 or cost + %(cost)s <= %(most_cost)s + %(rounding)s)
		and (%(most_tokens)s = 0 or tokens + %(tokens)s <= %(most_tokens)s)""",
		{
			"name": name,
			"stamp": stamp,
			"cost": asked.cost,
			"tokens": asked.tokens,
			"most_cost": limit.cost.amount,
			"most_tokens": limit.tokens.amount,
			"rounding": ROUNDING,
		},
	)
	# The update holds the row, so this reads what it has written, or another's stamp where it found no room.
	return frappe.db.get_value("Agent Budget", name, "stamp") == stamp


def settle_call(call: str, reservation: Reservation, usage: Usage | None) -> None:
	"""Put what an Agent LLM Call has used in the place of what was set aside; all of it where nobody knows.

	Once: a worker that was given up may come back and settle too.
	"""
	stamp = frappe.generate_hash(length=20)
	frappe.db.sql(
		"update `tabAgent LLM Call` set settled = %s where name = %s and settled is null", (stamp, call)
	)
	if frappe.db.get_value("Agent LLM Call", call, "settled") != stamp:
		return
	known = usage is not None and (usage.cost is not None or usage.input_tokens or usage.output_tokens)
	cost = usage.cost if known and usage.cost is not None else reservation.cost
	tokens = usage.input_tokens + usage.output_tokens if known else reservation.tokens
	release_reservation(reservation, cost, tokens)


def release_reservation(reservation: Reservation, cost: float, tokens: int) -> None:
	frappe.db.sql(
		"""update `tabAgent Budget` set cost = cost - %(reserved)s + %(cost)s, reserved_cost = reserved_cost - %(reserved)s,
		tokens = tokens - %(reserved_tokens)s + %(tokens)s, reserved_tokens = reserved_tokens - %(reserved_tokens)s
		where name in %(names)s""",
		{
			"names": reservation.budgets,
			"reserved": reservation.cost,
			"cost": cost,
			"reserved_tokens": reservation.tokens,
			"tokens": tokens,
		},
	)


def settle_lost_runs(runs: list[str]) -> None:
	"""Count what was set aside for calls of these runs, whose workers were lost, as spent."""
	if not runs:
		# To Frappe, what has no value is in an empty list.
		return
	charge_reservations(
		frappe.get_all(
			"Agent LLM Call",
			filters={"run": ["in", runs], "status": "Started", "budgets": ["is", "set"]},
			fields=["name", "budgets", "reserved_cost", "reserved_tokens"],
			order_by="name asc",
		)
	)


def settle_abandoned_calls(before: datetime) -> None:
	"""The same for calls that are no run's and began before a time; nothing else is known of them."""
	calls = frappe.db.sql(
		"""select name, budgets, reserved_cost, reserved_tokens from `tabAgent LLM Call`
		where run is null and status = 'Started' and started_at < %s order by name""",
		(before,),
		as_dict=True,
	)
	charge_reservations(calls)
	if calls:
		frappe.db.delete("Agent LLM Call", {"name": ["in", [call.name for call in calls]]})


def charge_reservations(calls: list) -> None:
	for call in calls:
		names = tuple(json.loads(call.budgets))
		settle_call(call.name, Reservation(names, call.reserved_cost, call.reserved_tokens, Grant(0)), None)


def count_run_start(user: str, agent: str, cap: Cap, now: datetime | None = None) -> None:
	"""Count a run that a user starts. Raises TooManyRuns where they have started as many in the hour as they may."""
	now, name, stamp = now or now_datetime(), digest("rate", user, agent), frappe.generate_hash(length=20)
	row = increment_run_count(name, int(cap.amount), now, stamp)
	if row is None:
		first = {"scope": "rate", "holder": user, "period": agent, "since": now, "runs": 0}
		insert_rows("Agent Budget", [first], "Administrator", [name])
		row = increment_run_count(name, int(cap.amount), now, stamp)
	if row.stamp != stamp:
		raise TooManyRuns(
			f"You may start {cap.amount:g} runs of {agent} an hour. Come back at {row.since + HOUR:%H:%M}. "
			f"A Huf Manager can raise it: {cap.where}."
		)


def increment_run_count(name: str, most: int, now: datetime, stamp: str):
	"""Count one more, in an hour that begins with the first; gives {stamp, since} of the row, None without one."""
	# MariaDB sets columns from left to right, so `runs` has to come before `since` that it looks at.
	frappe.db.sql(
		"""update `tabAgent Budget` set runs = case when since <= %(before)s then 1 else runs + 1 end,
		since = case when since <= %(before)s then %(now)s else since end, stamp = %(stamp)s
		where name = %(name)s and (since <= %(before)s or runs < %(most)s)""",
		{"name": name, "stamp": stamp, "now": now, "before": now - HOUR, "most": most},
	)
	return frappe.db.get_value("Agent Budget", name, ["stamp", "since"], as_dict=True)
