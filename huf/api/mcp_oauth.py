"""OAuth sign-in for MCP programs: metadata, the OAuth endpoints, and the consent page.

A program reads /.well-known/oauth-protected-resource, registers, sends the user's browser to
/mcp-oauth/authorize, and receives tokens that are valid for /mcp only.
"""

from urllib.parse import quote, urlsplit

import frappe
from werkzeug.utils import redirect
from werkzeug.wrappers import Response

from huf.api.wire.html_page import fill_template, read_csrf_token, show_page
from huf.api.wire.json_body import json_response

RESOURCE_METADATA = "/.well-known/oauth-protected-resource"
METHODS = ["GET", "POST", "OPTIONS"]
MAX_BODY_BYTES = 32 * 1024
"""Anybody may register, and each wrong value of a longer list takes a kilobyte of memory."""
TOO_LARGE = f"A request has at most {MAX_BODY_BYTES:,} bytes."
OPEN = {"Access-Control-Allow-Origin": "*"}
FORM = """<p>{about}</p><p>{returns}</p>
<form method="post"><input type="hidden" name="request" value="{request}">
<input type="hidden" name="csrf_token" value="{csrf_token}">
<button name="decision" value="allow">{allow}</button>
<button name="decision" value="deny">{deny}</button></form>"""
REFUSAL = """<p>{about}</p><p><a href="{address}">{back}</a></p>"""
ABOUT = (
	"It will act as {0} at {1}: with your permissions, within the limits of each agent. "
	"What needs approval still needs it."
)
RETURNS = "The access goes to {0}. Programs choose their own names: allow this only if you started it."


@frappe.whitelist(allow_guest=True, methods=["GET"])
def describe_resource(**_):
	"""Protected resource metadata (RFC 9728) for the path that follows the well-known one."""
	from huf.ai.mcp.server import oauth

	path = frappe.local.request.environ.get("huf.address", "").removeprefix(RESOURCE_METADATA)
	return with_headers(json_response(oauth.describe_resource(path)))


@frappe.whitelist(allow_guest=True, methods=["GET"])
def describe_server(**_):
	"""Authorization server metadata (RFC 8414)."""
	from huf.ai.mcp.server import oauth

	return with_headers(json_response(oauth.describe_server()))


@frappe.whitelist(allow_guest=True, xss_safe=True, methods=METHODS)
def serve(**_):
	"""The OAuth endpoints: authorize, token and register."""
	from huf.ai.mcp.server import oauth
	from huf.api.wire.asgi import respond

	request = frappe.local.request
	if len(request.get_data()) > MAX_BODY_BYTES:
		return json_response({"error": "invalid_request", "error_description": TOO_LARGE}, 413)
	path = request.environ.get("huf.address", "").removeprefix(oauth.ISSUER_PATH)
	try:
		response = respond(oauth.create_oauth_app(), request, path)
	except ValueError:
		return json_response({"error": "Signing in programs needs https. Set host_name of the site."}, 400)
	if response.location:
		response.location = oauth.name_issuer(response.location)
		if oauth.leads_elsewhere(response.location):
			return show_refusal_page(response.location)
	return response


def show_refusal_page(address: str) -> Response:
	"""A page with a link to the program, instead of a redirect: anybody can register an address, and people
	who trust this site would follow the redirect.
	"""
	about = frappe._("Its request was refused. It is at {0}.").format(name_receiver(address))
	body = fill_template(REFUSAL, about=about, address=address, back=frappe._("Back to the program"))
	return show_page(frappe._("This program could not connect"), body, 400)


@frappe.whitelist(allow_guest=True, methods=["GET", "POST"])
def consent(request=None, decision=None, **_):
	"""Ask the signed-in user whether the program may act as them, then redirect back to the program."""
	from huf.ai.mcp.server import oauth

	if frappe.session.user == "Guest":
		target = quote(f"{oauth.CONSENT_PATH}?request={quote(str(request))}")
		return redirect(f"/login?redirect-to={target}")
	asked = oauth.read_consent_request(str(request))
	if asked is None:
		return Response(frappe._("This request has expired. Connect the program again."), 400)
	if frappe.local.request.method != "POST":
		return show_consent_page(str(request), asked)
	return redirect(oauth.allow(asked) if decision == "allow" else oauth.deny(asked))


def show_consent_page(sealed: str, asked: dict) -> Response:
	name, user = asked["client_name"], frappe.utils.get_fullname(frappe.session.user)
	form = fill_template(
		FORM,
		about=frappe._(ABOUT).format(user, asked["resource"]),
		returns=frappe._(RETURNS).format(name_receiver(asked["redirect_uri"])),
		allow=frappe._("Allow"),
		deny=frappe._("Deny"),
		request=sealed,
		csrf_token=read_csrf_token(),
	)
	# Browsers apply form-action also to the redirect after the form is sent.
	return show_page(
		frappe._("Allow {0} to connect?").format(name),
		form,
		targets=find_redirect_origin(asked["redirect_uri"]),
	)


def find_redirect_origin(address: str) -> str:
	target = urlsplit(address)
	return f"{target.scheme}://{target.netloc}" if target.netloc else f"{target.scheme}:"


def name_receiver(address: str) -> str:
	"""A host counts for https only: any program can take another scheme and name any host after it."""
	target = urlsplit(address)
	return target.netloc if target.scheme == "https" else find_redirect_origin(address)


def with_headers(response: Response) -> Response:
	response.headers.update(OPEN)
	return response
