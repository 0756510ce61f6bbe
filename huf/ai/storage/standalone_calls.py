"""Reserves and settles model calls outside runs, such as route decisions, vectors and speech.

They count for their user and the site. Without a known price there is no call where money is limited.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import frappe
from frappe.utils import now

from huf.ai.core.costs import WorstCase
from huf.ai.core.errors import UsageError
from huf.ai.core.types import Usage
from huf.ai.storage.budgets import reserve_budget, settle_reservation
from huf.ai.storage.limits import read_limits_outside_runs
from huf.ai.storage.rows import insert_row
from huf.ai.storage.stops import describe_stop, find_stop, read_stops

CALL = "Agent LLM Call"


@dataclass
class CallUsage:
	"""What the call has used; while that is not known, the whole reservation."""

	usage: Usage | None = None


@contextmanager
def budgeted_call(worst: WorstCase | None) -> Iterator[CallUsage]:
	"""Reserve the worst case of a call, and settle it afterwards with the usage the caller sets.

	Commits, so that no transaction is open during the call. While it runs, a row lets
	`settle_abandoned_calls` find the reservation of a lost process. Raises RunStopped, BudgetReserved, and
	UsageError while a stop covers the user.
	"""
	user = {"run_as": frappe.session.user}
	if stop := find_stop(read_stops(), user):
		raise UsageError(f"{describe_stop(stop)}. No model is called meanwhile.")
	limits, used = read_limits_outside_runs(frappe.session.user), CallUsage()
	reservation = reserve_budget(limits, worst) if limits else None
	if reservation:
		row = {"call_type": "outside", "status": "Started", "started_at": now(), **reservation.as_row()}
		name = insert_row(CALL, row)
	frappe.db.commit()
	try:
		yield used
	finally:
		if reservation:
			settle_reservation(name, reservation, used.usage)
			frappe.db.delete(CALL, {"name": name})
			frappe.db.commit()
