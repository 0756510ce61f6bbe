"""Pages outside the web app, for a person who follows a link or lets a program sign in."""

from html import escape

import frappe
from frappe.sessions import get_csrf_token
from werkzeug.wrappers import Response

POLICY = (
	"default-src 'none'; style-src 'unsafe-inline'; form-action 'self' {targets}; "
	"frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
	"Cache-Control": "no-store",
	"Referrer-Policy": "no-referrer",
	"X-Content-Type-Options": "nosniff",
}
PAGE = """<!doctype html><html><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:3rem auto;padding:0 1rem}}
table{{border-collapse:collapse;width:100%}}td,th{{border-top:1px solid #ccc;padding:.3rem .5rem;
text-align:left;vertical-align:top;overflow-wrap:anywhere}}
pre{{white-space:pre-wrap;overflow-wrap:anywhere}}del{{color:#a00}}ins{{color:#070}}
button,input{{font:inherit;padding:.5rem 1rem;margin:.5rem .5rem 0 0}}</style></head><body>
<h1>{title}</h1>{body}</body></html>"""


def show_page(title: str, body: str, status: int = 200, targets: str = "") -> Response:
	"""`body`: HTML. `targets`: origins to which the answer to its form may redirect, besides this site."""
	policy = {"Content-Security-Policy": POLICY.format(targets=targets)}
	page = PAGE.format(title=escape(title), body=body)
	return Response(page, status=status, mimetype="text/html", headers={**HEADERS, **policy})


def fill_template(template: str, **texts: str) -> str:
	"""HTML with these texts, escaped, in place of their names in braces."""
	return template.format(**{name: escape(str(text)) for name, text in texts.items()})


def read_csrf_token() -> str:
	"""The CSRF token of the browser's session, which Frappe requires of signed-in users."""
	if frappe.session.user == "Guest":
		return ""
	csrf_token = get_csrf_token()
	# Frappe rolls back what a GET writes, but the CSRF token must persist.
	frappe.db.commit()
	return csrf_token
