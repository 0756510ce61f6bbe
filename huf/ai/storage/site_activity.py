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
	"""Insert an Activity Log if agents are in use and the last one is older than a day. Scheduled daily.

	Returns the name of the new document, or None.
	"""
	since = (now or now_datetime()) - INTERVAL
	if frappe.db.exists(ACTIVITY_LOG, {"creation": [">", since]}) or not is_in_use(since):
		return None
	values = {"doctype": ACTIVITY_LOG, "subject": "Agents are active", "user": frappe.session.user}
	return frappe.get_doc(values).insert(ignore_permissions=True).name


def is_in_use(since: datetime) -> bool:
	"""Whether agents have run since then, or wait for a schedule or for mail."""
	return bool(
		frappe.db.exists("Agent Run", {"creation": [">", since]})
		or frappe.db.exists("Agent Trigger", {"trigger_type": "Schedule", "disabled": 0})
		or frappe.db.exists("Agent Mailbox", {"enabled": 1})
	)
