"""Notifies the user whom a trigger names of its run's result or failure."""

import frappe

from huf.ai.core.types import Outcome, RunStatus
from huf.ai.storage import notifications, outgoing_mail

ON_RESULT, ON_FAILURE, ON_BOTH = "Result", "Failure", "Result or failure"


def send_result_notice(run: str, trigger: str | None, outcome: Outcome) -> None:
	"""Write the notification when a triggered run ends. Does not commit."""
	if not trigger or not frappe.db.exists("Agent Trigger", trigger):
		return
	doc = frappe.get_cached_doc("Agent Trigger", trigger)
	is_good = outcome.status is RunStatus.SUCCESS
	wanted = (ON_RESULT, ON_BOTH) if is_good else (ON_FAILURE, ON_BOTH)
	if not doc.notify_user or doc.notify_on not in wanted or outcome.status is RunStatus.CANCELLED:
		return
	subject = f"{trigger}: {outcome.status.value}"
	text = (outcome.text or "") if is_good else (outcome.error or outcome.text or "")
	notifications.notify_user(doc.notify_user, subject, text, "Agent Run", run)
	sender = outgoing_mail.find_sender()
	if doc.notify_by_mail and sender:
		address = frappe.db.get_value("User", doc.notify_user, "email") or doc.notify_user
		outgoing_mail.insert_new_mail(sender, [address], subject, text, run)
