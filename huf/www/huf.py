"""The web app's only page. It passes the signed-in user to the browser; all other data comes through REST."""

from urllib.parse import quote

import frappe
from frappe.sessions import get_csrf_token

from huf.ai.runs.messages import describe_limits
from huf.permissions import is_manager

no_cache = 1


def has_mail() -> bool:
	"""Whether the session user has a mail, as the user of a mailbox or because it is assigned to them."""
	is_reader = frappe.has_permission("Agent Mail", "read")
	return is_reader and bool(frappe.get_list("Agent Mail", limit_page_length=1, order_by="creation desc"))


def get_context(context):
	user = frappe.session.user
	if user == "Guest":
		target = quote(frappe.local.request.full_path.rstrip("?"))
		frappe.local.flags.redirect_location = f"/login?redirect-to={target}"
		raise frappe.Redirect
	context.boot = {
		"csrf_token": get_csrf_token(),
		"user": user,
		"full_name": frappe.utils.get_fullname(user),
		"site_name": frappe.local.site,
		"is_manager": is_manager(user),
		"has_mail": is_manager(user) or has_mail(),
		"is_system_manager": "System Manager" in frappe.get_roles(user),
		"attachments": describe_limits(),
		"time_zone": frappe.utils.get_system_timezone(),
		# The user's own choice. Without one, the browser's language is a better guess than the site's.
		"lang": frappe.db.get_value("User", user, "language") or "",
	}
	# Frappe rolls back what a GET writes, but the CSRF token must persist.
	frappe.db.commit()
	return context
