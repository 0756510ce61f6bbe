"""The one page of the web app. Hands the browser who is signed in; everything else comes by REST."""

from urllib.parse import quote

import frappe
from frappe.sessions import get_csrf_token

from huf.ai.runs.attached_files import describe_limits
from huf.permissions import is_manager

no_cache = 1


def get_context(context):
	user = frappe.session.user
	if user == "Guest":
		wanted = quote(frappe.local.request.full_path.rstrip("?"))
		frappe.local.flags.redirect_location = f"/login?redirect-to={wanted}"
		raise frappe.Redirect
	context.boot = {
		"csrf_token": get_csrf_token(),
		"user": user,
		"full_name": frappe.utils.get_fullname(user),
		"site_name": frappe.local.site,
		"is_manager": is_manager(user),
		"is_system_manager": "System Manager" in frappe.get_roles(user),
		"attachments": describe_limits(),
		"time_zone": frappe.utils.get_system_timezone(),
		# What the person has chosen for themselves; where they have not, the browser knows better than the site.
		"lang": frappe.db.get_value("User", user, "language") or "",
	}
	# The page is a GET, whose writes are dropped; the token has to outlive it.
	frappe.db.commit()
	return context
