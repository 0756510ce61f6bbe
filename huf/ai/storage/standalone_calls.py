"""Model calls that belong to no run: paid from what their user and the site may use."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import frappe
from frappe.utils import now

from huf.ai.core.costs import WorstCase
from huf.ai.core.types import Usage
from huf.ai.storage.budgets import reserve, settle_call
from huf.ai.storage.limits import read_limits_outside_runs
from huf.ai.storage.rows import insert_row

CALL = "Agent LLM Call"


@dataclass
class CallUsage:
	"""What the call has used; as long as nobody knows, all that was set aside for it."""

	usage: Usage | None = None


@contextmanager
def budgeted_call(worst: WorstCase) -> Iterator[CallUsage]:
	"""Set aside the most a call can use, and settle it afterwards. Commits: nothing stays open while a model thinks.

	Meanwhile there is a row of the call, for whoever looks after what a lost process has set aside (`background.recover`).
	Raises RunStopped, BudgetHeld.
	"""
	limits, bill = read_limits_outside_runs(frappe.session.user), CallUsage()
	held = reserve(limits, worst) if limits else None
	if held:
		row = {"call_type": "outside", "status": "Started", "started_at": now(), **held.as_row()}
		name = insert_row(CALL, row)
	frappe.db.commit()
	try:
		yield bill
	finally:
		if held:
			settle_call(name, held, bill.usage)
			frappe.db.delete(CALL, {"name": name})
			frappe.db.commit()
