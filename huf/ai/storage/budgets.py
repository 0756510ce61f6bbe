"""Reserves money and tokens before a model call and settles them afterwards. The only writer of Agent Budget.

`cost` and `tokens` of an Agent Budget include what is reserved, so that one statement compares and adds: two
workers cannot spend the same money. The caller commits a reservation together with the row of its call.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import floor

import frappe
from frappe.utils import now_datetime

from huf.ai.core.costs import Grant, WorstCase
from huf.ai.core.errors import BudgetReserved, RunStopped, TooManyRuns
from huf.ai.core.stored_text import digest
from huf.ai.core.types import StopReason, Usage
from huf.ai.storage.limits import RUN, Cap, Limit, translate
from huf.ai.storage.rows import insert_rows, update_row

BUDGET = "Agent Budget"
MIN_ANSWER_TOKENS = 128
"""If a limit leaves fewer tokens for an answer, no model call is made."""
ROUNDING = 1e-9
HOUR = timedelta(hours=1)
MAX_ATTEMPTS = 20
EXHAUSTED = (
	"The limit of {limit} for {holder} leaves too little for another answer: {spent} spent. "
	"A Huf Manager can raise it: {where}."
)
CUT_SHORT = (
	"The limit of {limit} for {holder} leaves too little for a longer answer: {spent} spent. "
	"A Huf Manager can raise it: {where}."
)
TOO_MANY_RUNS = (
	"You may start {limit} runs of {agent} an hour. Try again at {time}. "
	"A Huf Manager can raise the limit: {where}."
)
NOT_PRICED = (
	"The price of {model} is not known, so {where} cannot be enforced. "
	"A Huf Manager can enter its prices in AI Model."
)
NOT_MEASURED = (
	"This provider does not report how much a call may use, so {where} cannot be enforced. "
	"A Huf Manager can remove it."
)


@dataclass(frozen=True)
class Reservation:
	"""What one call may use, reserved in the named Agent Budgets. `cost` in USD."""

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


UNRESERVED = Reservation((), 0, 0, Grant(0))
"""That of a call which no limit concerned when it began."""


def reserve_budget(limits: list[Limit], worst: WorstCase | None) -> Reservation | None:
	"""Reserve the worst case of a call, or as much of its answer as the limits allow; None if the call is
	free.

	`worst` is None if the provider cannot tell; then any limit refuses the call. May roll back the
	transaction several times, so it must not contain other writes. Raises RunStopped if a limit leaves too
	little for an answer, and BudgetReserved if other calls hold what is left.
	"""
	worst = check_measurable(limits, worst)
	if not worst.tokens and not worst.cost:
		return None
	now = now_datetime()
	# Sorted by name: all workers lock the rows in the same order.
	named = sorted((limit.budget(now), limit) for limit in limits)
	for _ in range(MAX_ATTEMPTS):
		grant = compute_grant(named, worst, now)
		granted = replace(worst, output_tokens=grant.max_tokens)
		if all(reserve_in_budget(name, limit, granted) for name, limit in named):
			return Reservation(tuple(name for name, _ in named), granted.cost, granted.tokens, grant)
		# Another worker was faster: roll back the reservations made so far and read the budgets again.
		frappe.db.rollback()
	raise BudgetReserved("Too many calls want the same budget at once. Try again.")


def check_measurable(limits: list[Limit], worst: WorstCase | None) -> WorstCase:
	"""The worst case, if it can be compared with the limits. Raises RunStopped."""
	cost = next((limit.cost for limit in limits if limit.cost.amount), None)
	if worst is None:
		where = (cost or limits[0].tokens).where
		raise RunStopped(StopReason.MONEY_BUDGET, translate(NOT_MEASURED, where=where))
	if cost and not worst.is_priced:
		why = translate(NOT_PRICED, model=worst.model, where=cost.where)
		raise RunStopped(StopReason.MONEY_BUDGET, why)
	return worst


def compute_grant(named: list[tuple[str, Limit]], worst: WorstCase, now: datetime) -> Grant:
	"""The longest answer that all limits allow. Raises RunStopped, BudgetReserved."""
	rows = read_budgets(named, now)
	max_tokens, short_by, exhausted = worst.output_tokens, "", None
	for name, limit in named:
		row = rows[name]
		sides = (
			(limit.tokens, row.tokens, row.reserved_tokens, worst.input_tokens, 1),
			(limit.cost, row.cost, row.reserved_cost, worst.input_cost, worst.output_price),
		)
		for cap, used, reserved, input_amount, amount_per_token in sides:
			allowed = find_max_answer_tokens(cap, used, input_amount, amount_per_token, worst.output_tokens)
			if allowed >= worst.output_tokens:
				continue
			if reserved > ROUNDING:
				exhausted = describe_exhausted_limit(limit, cap, used - reserved, now)
			elif allowed < min(MIN_ANSWER_TOKENS, worst.output_tokens):
				frappe.db.rollback()
				raise RunStopped(StopReason.MONEY_BUDGET, describe_exhausted_limit(limit, cap, used, now))
			if allowed < max_tokens:
				short_by = describe_exhausted_limit(limit, cap, used, now, CUT_SHORT)
				max_tokens = allowed
	if exhausted:
		frappe.db.rollback()
		raise BudgetReserved(f"{exhausted} {translate('The rest is reserved for calls that are running.')}")
	return Grant(max_tokens, short_by)


def find_max_answer_tokens(
	cap: Cap, used: float, input_amount: float, amount_per_token: float | None, wanted: int
) -> int:
	"""How many of the `wanted` answer tokens a limit allows; -1 if it does not allow the input.

	`used`, `input_amount` and `amount_per_token` have the unit of `cap`: USD or tokens.
	"""
	left = cap.amount - used - input_amount
	if not cap.amount:
		return wanted
	if left < 0:
		return -1
	return floor((left + ROUNDING) / amount_per_token) if amount_per_token else wanted


def describe_exhausted_limit(
	limit: Limit, cap: Cap, spent: float, now: datetime, text: str = EXHAUSTED
) -> str:
	amounts = (
		(f"{cap.amount:.10g} USD", f"{spent:.4f} USD")
		if cap is limit.cost
		else (translate("{amount} tokens", amount=f"{cap.amount:.0f}"), f"{spent:.0f}")
	)
	holder = translate(limit.scope.title, holder=limit.holder, period=limit.period(now))
	return translate(text, limit=amounts[0], holder=holder, spent=amounts[1], where=cap.where)


def read_budgets(named: list[tuple[str, Limit]], now: datetime) -> dict:
	"""The Agent Budget rows by name. Missing rows are inserted and committed."""
	names = [name for name, _ in named]
	fields = ["name", "cost", "reserved_cost", "tokens", "reserved_tokens"]
	rows: dict = {}
	for attempt in (1, 2):
		found = frappe.get_all(BUDGET, filters={"name": ["in", names]}, fields=fields, order_by="name asc")
		rows = {row.name: row for row in found}
		missing = [(name, limit) for name, limit in named if name not in rows]
		if missing and attempt == 1:
			insert_rows(
				BUDGET,
				[new_budget(limit, now) for _, limit in missing],
				"Administrator",
				[name for name, _ in missing],
			)
			# Another worker may have inserted them; only a new transaction is sure to see its rows.
			frappe.db.commit()
	return rows


def new_budget(limit: Limit, now: datetime) -> dict:
	cost, tokens = sum_calls(limit, now)
	return {
		"scope": limit.scope.key,
		"holder": limit.holder,
		"period": limit.period(now),
		"cost": cost,
		"reserved_cost": 0,
		"tokens": tokens,
		"reserved_tokens": 0,
	}


def sum_calls(limit: Limit, now: datetime) -> tuple[float, int]:
	"""USD and tokens of the period's calls that ended before the budget was stored; later ones add to it."""
	since = datetime.strptime(limit.period(now), limit.scope.period)
	((cost, tokens),) = frappe.db.sql(
		f"""select sum(c.cost), sum(coalesce(c.input_tokens, 0) + coalesce(c.output_tokens, 0))
		from `tabAgent LLM Call` c left join `tabAgent Run` r on r.name = c.run
		where c.creation >= %(since)s and {limit.scope.calls}""",
		{"since": since, "holder": limit.holder},
	)
	return float(cost or 0), int(tokens or 0)


def reserve_in_budget(name: str, limit: Limit, granted: WorstCase) -> bool:
	"""Add the amount to one budget unless that would exceed its limit."""
	stamp = frappe.generate_hash(length=20)
	frappe.db.sql(
		"""update `tabAgent Budget` set cost = cost + %(cost)s, reserved_cost = reserved_cost + %(cost)s,
		tokens = tokens + %(tokens)s, reserved_tokens = reserved_tokens + %(tokens)s, stamp = %(stamp)s
		where name = %(name)s and (%(max_cost)s = 0 or cost + %(cost)s <= %(max_cost)s + %(rounding)s)
		and (%(max_tokens)s = 0 or tokens + %(tokens)s <= %(max_tokens)s)""",
		{
			"name": name,
			"stamp": stamp,
			"cost": granted.cost,
			"tokens": granted.tokens,
			"max_cost": limit.cost.amount,
			"max_tokens": limit.tokens.amount,
			"rounding": ROUNDING,
		},
	)
	# The update locks the row: this reads our stamp, or another one if the update matched nothing.
	return frappe.db.get_value(BUDGET, name, "stamp") == stamp


def settle_model_call(
	call: str, reservation: Reservation | None, usage: Usage | None, budgets: Sequence[str] = ()
) -> None:
	"""Replace the reservation of an Agent LLM Call by its usage; unknown usage costs the whole reservation.

	Those of `budgets` that exist count the call as well, although their limits were not set when it began.
	Takes effect once: a worker that was believed lost may come back and settle as well.
	"""
	reservation = reservation or UNRESERVED
	cost, tokens = reservation.cost, reservation.tokens
	if usage is not None and (usage.cost is not None or usage.input_tokens or usage.output_tokens):
		cost = cost if usage.cost is None else usage.cost
		tokens = usage.input_tokens + usage.output_tokens
	others = list_other_budgets(budgets, reservation) if cost or tokens else ()
	if not reservation.budgets and not others:
		return
	stamp = frappe.generate_hash(length=20)
	frappe.db.sql(
		"update `tabAgent LLM Call` set settled = %s where name = %s and settled is null", (stamp, call)
	)
	if frappe.db.get_value("Agent LLM Call", call, "settled") != stamp:
		return
	release_reservation(reservation, cost, tokens, others)


def list_other_budgets(names: Sequence[str], reservation: Reservation) -> tuple[str, ...]:
	"""Those of the named budgets that exist, besides the budgets of the reservation."""
	if not (others := tuple(set(names).difference(reservation.budgets))):
		return ()
	return tuple(frappe.db.sql("select name from `tabAgent Budget` where name in %s", (others,), pluck=True))


def release_reservation(
	reservation: Reservation, cost: float, tokens: int, others: tuple[str, ...] = ()
) -> None:
	"""Replace a reservation by the actual `cost` (USD) and `tokens`, which count in `others` as well."""
	# One statement, which locks the rows in the order of their names.
	frappe.db.sql(
		"""update `tabAgent Budget` set
		cost = cost + %(cost)s - case when name in %(names)s then %(reserved)s else 0 end,
		tokens = tokens + %(tokens)s - case when name in %(names)s then %(reserved_tokens)s else 0 end,
		reserved_cost = reserved_cost - case when name in %(names)s then %(reserved)s else 0 end,
		reserved_tokens = reserved_tokens
			- case when name in %(names)s then %(reserved_tokens)s else 0 end
		where name in %(all)s""",
		{
			"names": reservation.budgets or ("",),
			"all": reservation.budgets + others,
			"reserved": reservation.cost,
			"cost": cost,
			"reserved_tokens": reservation.tokens,
			"tokens": tokens,
		},
	)


def delete_run_budget(run: str) -> None:
	"""Delete what counts the limits of one run. Does not commit."""
	frappe.db.delete(BUDGET, {"name": digest(RUN.key, run, RUN.period)})


def settle_lost_runs(runs: list[str]) -> None:
	"""Charge the reservations for unfinished calls of runs whose workers were lost."""
	if not runs:
		# Frappe's `in` with an empty list matches rows without a value.
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
	"""The same for calls outside runs that started before a given time."""
	calls = frappe.db.sql(
		"""select name, budgets, reserved_cost, reserved_tokens from `tabAgent LLM Call`
		where run is null and status = 'Started' and started_at < %s order by name""",
		(before,),
		as_dict=True,
	)
	charge_reservations([call for call in calls if call.budgets])
	for call in calls:
		update_row("Agent LLM Call", call.name, {"status": "Failed"}, status="Started")


def charge_reservations(calls: list) -> None:
	for call in calls:
		names = tuple(json.loads(call.budgets))
		reserved = Reservation(names, call.reserved_cost, call.reserved_tokens, Grant(0))
		settle_model_call(call.name, reserved, None)


def count_run_start(user: str, agent: str, cap: Cap) -> None:
	"""Count a run that a user starts. Raises TooManyRuns if the hour's limit is used up."""
	now, name, stamp = now_datetime(), digest("rate", user, agent), frappe.generate_hash(length=20)
	if not frappe.db.exists(BUDGET, name):
		insert_run_count(name, user, agent, now)
	row = increment_run_count(name, int(cap.amount), now, stamp)
	if row.stamp != stamp:
		known = {"limit": f"{cap.amount:g}", "agent": agent, "time": f"{row.since + HOUR:%H:%M}"}
		raise TooManyRuns(translate(TOO_MANY_RUNS, **known, where=cap.where))


def insert_run_count(name: str, user: str, agent: str, now: datetime) -> None:
	# First runs that start together wait here for each other: changing a missing row, or inserting one
	# twice, would deadlock.
	frappe.db.get_value("Agent", agent, "name", for_update=True)
	if not frappe.db.get_value(BUDGET, name, "name", for_update=True):
		first = {"scope": "rate", "holder": user, "period": agent, "since": now, "runs": 0}
		insert_rows(BUDGET, [first], "Administrator", [name])


def increment_run_count(name: str, max_runs: int, now: datetime, stamp: str):
	"""Count one more run if the hour, which begins with the first one, allows it.

	Returns {stamp, since} of the row, with our stamp if it was counted.
	"""
	# MariaDB assigns from left to right, so `runs` must come before `since`, which it reads.
	frappe.db.sql(
		"""update `tabAgent Budget` set runs = case when since <= %(before)s then 1 else runs + 1 end,
		since = case when since <= %(before)s then %(now)s else since end, stamp = %(stamp)s
		where name = %(name)s and (since <= %(before)s or runs < %(max_runs)s)""",
		{"name": name, "stamp": stamp, "now": now, "before": now - HOUR, "max_runs": max_runs},
	)
	# A plain read may be older than a row that was inserted meanwhile.
	return frappe.db.get_value(BUDGET, name, ["stamp", "since"], as_dict=True, for_update=True)
