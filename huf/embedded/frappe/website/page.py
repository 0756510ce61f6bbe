"""Helpers for pages: request headers, redirects, message pages."""

import frappe
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response

ERRORS = {
	401: ("Please log in again", "Your session has expired."),
	403: ("Not permitted", "You may not see this page with the account you are using."),
	404: ("Not found", "There is nothing at this address."),
	413: ("Too large", "This upload is larger than the site accepts."),
	429: ("Too many tries", "Please wait some minutes and try again."),
}
OTHER_ERROR = ("Something went wrong", "The error was written to the site's Error Log.")


def get_request_header(key: str, default=None):
	request = getattr(frappe.local, "request", None)
	return request.headers.get(key, default) if request else default


def redirect(url: str):
	"""End the request and redirect the browser to `url`."""
	frappe.flags.redirect_location = url
	raise frappe.Redirect(302)


def message_page(title: str, message: str, status: int = 200) -> Response:
	"""A page with one message, which is escaped unless it is Markup."""
	from frappe.website.serve import render

	home = "/login" if frappe.session.user in (None, "", "Guest") else "/"
	html = render(
		"frappe", "message.html", {"title": title, "message": message, "status": status, "home": home}
	)
	return Response(html, status=status, mimetype="text/html")


def is_for_people(status: int, error: Exception) -> bool:
	if isinstance(error, frappe.StorageError):
		return True
	return status < 500 and not isinstance(error, HTTPException)


def error_page(status: int, error: Exception) -> Response:
	"""The error page of an exception: with its message if that is meant for people, else a general one."""
	title, message = map(frappe._, ERRORS.get(status, OTHER_ERROR))
	own_words = frappe.utils.strip_html(str(error)) if is_for_people(status, error) else ""
	return message_page(title, own_words or message, status)
