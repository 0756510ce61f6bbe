"""Types of uploaded files, by the ends of their names: what website users may store and browsers display."""

from mimetypes import guess_type
from pathlib import Path

import frappe
from frappe import _

WEBSITE_USERS_MAY_STORE = frozenset(
	("image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf", "text/plain", "text/csv")
)
"""Frappe's, and the images of chats."""
DISPLAYED = WEBSITE_USERS_MAY_STORE | {"image/avif", "image/bmp", "image/x-icon"}


def guess_file_type(file_name: str) -> str | None:
	"""The media type; None for unknown and compressed ones. The rest of a name may look like a data URL."""
	return guess_type(f"file{Path(file_name).suffix.lower()}")[0]


def is_displayed(file_name: str) -> bool:
	"""Whether browsers display a file of this type, and run nothing of it; others are sent as downloads."""
	media_type = guess_file_type(file_name) or ""
	return media_type in DISPLAYED or media_type.startswith(("audio/", "video/"))


def check_may_store(file_name: str):
	"""Desk users may store any type, website users only harmless ones. Frappe checks uploads only."""
	is_desk_user = frappe.db.get_value("User", frappe.session.user, "user_type") == "System User"
	if not is_desk_user and guess_file_type(file_name) not in WEBSITE_USERS_MAY_STORE:
		frappe.throw(_("You can only upload JPG, PNG, PDF, TXT or CSV files."))
