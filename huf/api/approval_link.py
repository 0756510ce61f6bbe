"""The page behind the link of an approval mail, at /agent/approval.

It shows what a call would do, with buttons to answer: opening the link decides nothing.
"""

import json
import re
from collections.abc import Iterator
from html import escape
from typing import Any
from urllib.parse import quote

import frappe
from werkzeug.utils import redirect
from werkzeug.wrappers import Response

from huf.ai.chat import approvals
from huf.ai.core.errors import UsageError
from huf.ai.core.session import acting_as
from huf.ai.core.settings import get_settings
from huf.ai.core.stored_text import clip
from huf.ai.dry_run.diff import translate_labels
from huf.ai.mail.approval_links import PATH, ApprovalLink, read_link
from huf.ai.runs.admission import check_enabled
from huf.ai.storage import drafts
from huf.api.wire.html_page import fill_template, read_csrf_token, show_page

MAX_HTML_CHARS, MAX_REASON_CHARS = 50_000, 1_000
REORDERING = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
"""Characters that show the text around them in another order."""
FORM = """<form method="post"><input type="hidden" name="csrf_token" value="{csrf_token}">
<p><input name="reason" maxlength="1000" placeholder="{reason}"></p>"""
BUTTON = """<button name="decision" value="{decision}">{label}</button>"""
TOO_LONG = "This is too long to show here. Open it in Huf to approve it."
CHANGED = "What this call would do has changed since the mail was sent. Open it in Huf."
HIDDEN_CHANGES = "Changes in fields that cannot be shown: {0}"


@frappe.whitelist(allow_guest=True, xss_safe=True, methods=["GET", "POST"])
def answer(token=None, decision=None, reason=None, **_):
	"""GET shows the page. POST with `decision` (approve or reject) answers as the recipient of the mail.

	The recipient must sign in first, unless Huf Settings say otherwise.
	"""
	link = read_link(str(token or ""))
	if link is None:
		return show_page(frappe._("This link is no longer valid."), "", 410)
	if not get_settings().approval_links_without_sign_in:
		if frappe.session.user == "Guest":
			return redirect(f"/login?redirect-to={quote(f'{PATH}?token={quote(str(token))}')}")
		if frappe.session.user != link.user:
			return show_page(frappe._("This link was sent to another user. Sign in as that user."), "", 403)
	csrf_token = read_csrf_token()
	with acting_as(link.user):
		frappe.local.lang = frappe.db.get_value("User", link.user, "language") or frappe.local.lang
		return handle(link, decision, reason, csrf_token)


def handle(link: ApprovalLink, decision: Any, reason: Any, csrf_token: str) -> Response:
	"""Answer as the user to whom the link was sent."""
	try:
		check_enabled(link.user)
		if not approvals.may_answer_draft(link.draft):
			raise UsageError(frappe._("You may no longer answer this."))
		if frappe.local.request.method == "POST" and link.is_current:
			answered = decide(link, decision, clip(str(reason or ""), MAX_REASON_CHARS))
			return show_page(frappe._("Your answer: {0}").format(frappe._(answered)), render_link(link))
	except UsageError as error:
		return show_page(str(error), render_link(link), 409)
	return show_draft(link, csrf_token)


def decide(link: ApprovalLink, decision: Any, reason: str) -> str:
	"""The status of the answered draft."""
	if decision not in ("approve", "reject"):
		raise UsageError(frappe._("Choose one of the two buttons."))
	row, is_approved = link.draft, decision == "approve"
	if is_approved and render_whole(row) is None:
		raise UsageError(frappe._(TOO_LONG))
	response = approvals.ApprovalResponse(row.name, row.digest, is_approved, reason=reason)
	return approvals.answer_call(response)["status"]


def show_draft(link: ApprovalLink, csrf_token: str) -> Response:
	row = link.draft
	title = frappe._("Allow {0} to call {1}?").format(row.agent, row.tool)
	if not link.is_current:
		is_open = row.status == drafts.PENDING
		return show_page(
			frappe._(CHANGED) if is_open else approvals.describe_decision(row), render_link(link)
		)
	preview = render_whole(row)
	parts = [
		f"<p>{escape(frappe._('It would act as {0}:').format(row.owner))}</p>",
		render_concern(drafts.describe_draft(row)["concern"]),
		f"<p><b>{escape(frappe._(TOO_LONG))}</b></p>" if preview is None else preview,
		render_form(csrf_token, may_approve=preview is not None),
	]
	return show_page(title, "".join(parts) + render_link(link))


def render_link(link: ApprovalLink) -> str:
	return f'<p><a href="/huf/drafts/{quote(link.draft.name)}">{escape(frappe._("Open in Huf"))}</a></p>'


def render_concern(concern: dict | None) -> str:
	if not concern:
		return ""
	origins = ", ".join(concern["origins"])
	return f"<p><b>{escape(frappe._('The run has read content from outside: {0}').format(origins))}</b></p>"


def render_whole(draft) -> str | None:
	"""All that the call would do; None if that is too long for the page, which then approves nothing."""
	difference = translate_labels(drafts.describe_draft(draft)["difference"] or {})
	html = "".join(render_difference(difference))
	return html if len(html) <= MAX_HTML_CHARS else None


def render_form(csrf_token: str, may_approve: bool) -> str:
	buttons = {"approve": frappe._("Approve"), "reject": frappe._("Reject")}
	if not may_approve:
		del buttons["approve"]
	form = fill_template(FORM, csrf_token=csrf_token, reason=frappe._("Reason, if you reject it"))
	rendered = (fill_template(BUTTON, decision=name, label=label) for name, label in buttons.items())
	return f"{form}{''.join(rendered)}</form>"


def render_difference(difference: dict) -> Iterator[str]:
	for change in difference.get("changes") or ():
		action = frappe._(change["action"].title())
		name, title = str(change["name"] or ""), change.get("title") or ""
		called = f"{title} ({name})" if title not in ("", name) else name
		yield f"<h2>{escape(' '.join([action, change['label'], called]))}</h2>"
		yield f"<table>{''.join(render_fields(change))}</table>"
		if hidden := change.get("hidden"):
			yield f"<p>{escape(frappe._(HIDDEN_CHANGES).format(hidden))}</p>"
	rest = {key: value for key, value in difference.items() if key != "changes" and value}
	if rest:
		yield f"<pre>{render_value(json.dumps(rest, ensure_ascii=False, indent=1, default=str))}</pre>"


def render_fields(change: dict, above: str = "") -> Iterator[str]:
	for field in change["fields"]:
		yield (
			f"<tr><th>{escape(above + field['label'])}</th>"
			f"<td><del>{render_value(field['before'])}</del></td>"
			f"<td><ins>{render_value(field['after'])}</ins></td></tr>"
		)
	for row in change.get("rows") or ():
		yield from render_fields(row, f"{row['label']} {row['idx']} · ")


def render_value(value: Any) -> str:
	text = "" if value is None else str(value)
	return escape(REORDERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text))
