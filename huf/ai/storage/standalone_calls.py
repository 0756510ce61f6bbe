"""Reserves, settles and records model calls outside runs, such as route decisions, vectors and speech.

They count towards the budgets of their user and the site; if money is limited, models without a known price
are refused. Each call leaves a row without contents.
"""

from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import frappe
from frappe import _
from frappe.utils import now, now_datetime

from huf.ai.core.costs import Grant, WorstCase
from huf.ai.core.errors import ModelError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.settings import find_cached
from huf.ai.core.types import ModelReply, Usage
from huf.ai.storage.budgets import Reservation, reserve_budget, settle_model_call
from huf.ai.storage.limits import keep_set, read_limits_outside_runs
from huf.ai.storage.recorded_run import to_usage_fields
from huf.ai.storage.rows import insert_row, update_row
from huf.ai.storage.stops import refuse_if_stopped

CALL = "Agent LLM Call"
OUTSIDE = "outside"
"""`call_type` of a model call outside runs."""


@dataclass
class OpenCall:
	"""A model call that has begun. `budgets`: names of those of all limits that may concern it.

	Set `usage` before `end`; without one the whole reservation counts.
	"""

	name: str
	reservation: Reservation | None
	budgets: list[str]
	usage: Usage | None = None
	has_failed: bool = False

	@property
	def grant(self) -> Grant | None:
		return self.reservation.grant if self.reservation else None

	def end(self) -> None:
		"""Settle the call and record how it ended. Commits."""
		settle_model_call(self.name, self.reservation, self.usage, self.budgets)
		update_row(CALL, self.name, build_end_values(self))
		frappe.db.commit()


def begin_call(worst: WorstCase | None) -> OpenCall:
	"""Reserve the worst case of a call.

	Commits, so that no transaction is open during the call. The row lets `settle_abandoned_calls` find the
	reservation of a call that is never ended, and managers whom the site has contacted. Raises RunStopped,
	BudgetReserved, and UsageError while a stop covers the user or the model's provider.
	"""
	row = build_start_values(worst)
	covered = {"run_as": frappe.session.user, "provider": row["provider"]}
	refuse_if_stopped(covered, _("No model is called until it is released."))
	limits = read_limits_outside_runs(frappe.session.user)
	budgets = [limit.budget(now_datetime()) for limit in limits]
	limits_set = keep_set(limits)
	reservation = reserve_budget(limits_set, worst) if limits_set else None
	name = insert_row(CALL, row | (reservation.as_row() if reservation else {}))
	frappe.db.commit()
	return OpenCall(name, reservation, budgets)


@contextmanager
def budgeted_call(worst: WorstCase | None) -> Iterator[OpenCall]:
	"""Begin a call as `begin_call`, and end it with the usage that the caller sets."""
	call = begin_call(worst)
	try:
		yield call
	except ModelError as error:
		call.usage, call.has_failed = error.usage, True
		raise
	finally:
		call.end()


def complete_within_budget(
	worst: WorstCase | None, start: Callable[[], Coroutine[Any, Any, ModelReply]]
) -> ModelReply:
	"""The reply of the model call that `start` begins. Raises as `budgeted_call`, and ModelError."""
	with budgeted_call(worst) as used:
		reply = run_coroutine(start())
		used.usage = reply.usage
	return reply


def build_start_values(worst: WorstCase | None) -> dict:
	"""Fields of an Agent LLM Call row when it starts."""
	model = worst.model if worst else ""
	row = find_cached("AI Model", model) if model else None
	return {
		"call_type": OUTSIDE,
		"status": "Started",
		"started_at": now(),
		"provider": row.provider if row else None,
		"model": model,
	}


def build_end_values(call: OpenCall) -> dict:
	"""Fields of an Agent LLM Call row when it ends; without usage it has failed."""
	status = "Failed" if call.has_failed or call.usage is None else "Success"
	return {"status": status, **(to_usage_fields(call.usage) if call.usage else {})}
