"""Passes unanswered drafts on to another approver, and notifies them. Scheduled every minute."""

from datetime import datetime

import frappe
from frappe.utils import add_to_date, now_datetime

from huf.ai.runs.approvals import mail_approver
from huf.ai.storage import drafts, notifications
from huf.ai.storage.users import list_users_with_role, read_named_deputy
from huf.permissions import may_answer


def pass_on_drafts(now: datetime | None = None) -> list[str]:
	"""Pass each overdue draft on, once; returns their names. Commits each."""
	hours = frappe.get_cached_doc("Huf Settings").pass_on_hours
	if not hours:
		return []
	now = now or now_datetime()
	rows = drafts.read_unanswered_drafts(add_to_date(now, hours=-hours, as_datetime=True))
	passed_on = []
	for row in rows:
		approver = find_next_approver(row)
		if not drafts.pass_on_draft(row, approver, now):
			frappe.db.rollback()
			continue
		notify_approvers(row, [approver] if approver else list_users_with_role("Huf Manager"))
		frappe.db.commit()
		mail_approver(row.agent, row.name)
		passed_on.append(row.name)
	return passed_on


def find_next_approver(row) -> str | None:
	"""The approver's deputy, else the user of Huf Settings; None: any Huf Manager."""
	deputy = row.approver and read_named_deputy(row.approver)
	candidates = (deputy, frappe.get_cached_doc("Huf Settings").pass_on_to)
	return next((user for user in candidates if user and is_eligible(user, row)), None)


def is_eligible(user: str, row) -> bool:
	"""Not the user of the run, and not the approver who left the draft unanswered."""
	return user not in (row.owner, row.approver) and may_answer(user)


def notify_approvers(row, users: list[str]) -> None:
	for user in users:
		language = frappe.get_cached_value("User", user, "language")
		subject = frappe._("{0} waits for your approval: {1}", lang=language).format(row.agent, row.tool)
		notifications.notify_user(user, subject, "", "Agent Run", row.run)
		message = {key: row[key] for key in ("run", "agent", "tool")}
		frappe.publish_realtime("huf_draft", {"draft": row.name, **message}, user=user)
