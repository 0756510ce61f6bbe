"""Endpoints about the session user's notifications."""

import frappe

from huf.ai.core.request_values import clamp_count
from huf.ai.storage import notifications

MAX_NOTIFICATIONS = 50


@frappe.whitelist(methods=["GET"])
def get_notifications(limit: int = 10):
	"""[{name, subject, email_content, document_type, document_name, read, creation}], newest first."""
	return notifications.list_notifications(frappe.session.user, clamp_count(limit, MAX_NOTIFICATIONS))


@frappe.whitelist(methods=["POST"])
def mark_read(name: str):
	notifications.mark_read(frappe.session.user, name)
