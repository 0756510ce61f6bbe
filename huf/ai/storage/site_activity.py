"""Records that a site is in use although nobody signs in.

After `dormant_days` (System Settings, 4) without an Activity Log, Frappe runs a site's scheduled jobs once a
day only: schedules, mailboxes and the recovery of runs would wait for the next sign-in.
"""

from datetime import datetime, timedelta

import frappe
from frappe.utils import now_datetime

ACTIVITY_LOG = "Activity Log"
INTERVAL = timedelta(days=1)


def record_activity(now: datetime | None = None) -> str | None:
	"""Insert an Activity Log if agents are in use and there is none of the last day; its name. Scheduled
	daily.
	"""
	since = (now or now_datetime()) - INTERVAL
	if has_row(ACTIVITY_LOG, {"creation": [">", since]}) or not is_in_use(since):
		return None
	values = {"doctype": ACTIVITY_LOG, "subject": "Agents are active", "user": frappe.session.user}
	return frappe.get_doc(values).insert(ignore_permissions=True).name


def is_in_use(since: datetime) -> bool:
	"""Whether agents have run since then, or wait for a schedule or for mail."""
	return (
		has_row("Agent Run", {"creation": [">", since]})
		or has_row("Agent Trigger", {"trigger_type": "Schedule", "disabled": 0})
		or has_row("Agent Mailbox", {"enabled": 1})
	)


def has_row(doctype: str, filters: dict) -> bool:
	return bool(frappe.get_all(doctype, filters=filters, order_by="creation desc", limit_page_length=1))
