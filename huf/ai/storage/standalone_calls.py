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
from frappe.utils import now

from huf.ai.core.costs import Grant, WorstCase
from huf.ai.core.errors import ModelError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.settings import find_cached
from huf.ai.core.types import ModelReply, Usage
from huf.ai.storage.budgets import reserve_budget, settle_reservation
from huf.ai.storage.limits import read_limits_outside_runs
from huf.ai.storage.recorded_run import to_usage_fields
from huf.ai.storage.rows import insert_row, update_row
from huf.ai.storage.stops import refuse_if_stopped

CALL = "Agent LLM Call"
OUTSIDE = "outside"
"""`call_type` of a model call outside runs."""


@dataclass
class CallUsage:
	"""A call's usage and the grant for its answer. While `usage` is None, the whole reservation counts."""

	usage: Usage | None = None
	grant: Grant | None = None
	has_failed: bool = False


@contextmanager
def budgeted_call(worst: WorstCase | None) -> Iterator[CallUsage]:
	"""Reserve the worst case of a call, and settle it afterwards with the usage the caller sets.

	Commits, so that no transaction is open during the call. The row lets `settle_abandoned_calls` find the
	reservation of a lost process, and managers whom the site has contacted. Raises RunStopped,
	BudgetReserved, and UsageError while a stop covers the user or the model's provider.
	"""
	row = build_start_values(worst)
	covered = {"run_as": frappe.session.user, "provider": row["provider"]}
	refuse_if_stopped(covered, _("No model is called until it is released."))
	limits = read_limits_outside_runs(frappe.session.user)
	reservation = reserve_budget(limits, worst) if limits else None
	used = CallUsage(grant=reservation.grant if reservation else None)
	name = insert_row(CALL, row | (reservation.as_row() if reservation else {}))
	frappe.db.commit()
	try:
		yield used
	except ModelError as error:
		used.usage, used.has_failed = error.usage, True
		raise
	finally:
		if reservation:
			settle_reservation(name, reservation, used.usage)
		update_row(CALL, name, build_end_values(used))
		frappe.db.commit()


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


def build_end_values(used: CallUsage) -> dict:
	"""Fields of an Agent LLM Call row when it ends; without usage it has failed."""
	status = "Failed" if used.has_failed or used.usage is None else "Success"
	return {"status": status, **(to_usage_fields(used.usage) if used.usage else {})}
