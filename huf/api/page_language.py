"""Request hook: the site answers in the language that the web app shows."""

import frappe


def take_page_language() -> None:
	"""before_request: use the page's language. Frappe uses the user's, else the site's, not the browser's."""
	language = frappe.local.request.environ.get("HTTP_X_HUF_LANGUAGE")
	if language:
		from huf.ai.queries.records import LANGUAGES

		if language in LANGUAGES:
			frappe.local.lang = language
