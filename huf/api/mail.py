"""Endpoints about mail: mails and their processing, rules and rule tests, mailboxes, drafted replies."""

from urllib.parse import urlencode

import frappe

from huf.ai.core.documents import get_permitted
from huf.ai.core.errors import UsageError
from huf.ai.core.mail_types import Direction, MailStatus
from huf.ai.core.request_values import clamp_count, clamp_start, read_json_object
from huf.ai.mail import actions, delivery, oauth, review, store
from huf.ai.queries.tool_log import read_tool_log
from huf.permissions import has_mail_permission

MAIL, MAILBOX, RULE = "Agent Mail", "Agent Mailbox", "Agent Route Rule"


@frappe.whitelist(methods=["GET"])
def get_mails(
	mailbox: str | None = None,
	status: str | None = None,
	thread: str | None = None,
	start: int = 0,
	limit: int = 50,
):
	"""Mails, newest first: [{name, subject, sender, status, route, rule, agent, run, thread, ...}]."""
	given = {"mailbox": mailbox, "status": status, "thread": thread}
	rows = frappe.get_list(
		MAIL,
		filters={key: value for key, value in given.items() if value},
		fields=store.LIST_FIELDS,
		order_by="creation desc",
		limit_start=clamp_start(start),
		limit_page_length=clamp_count(limit, 100),
	)
	return actions.clear_unreadable_links(actions.mark_waiting_replies(delivery.add_current_states(rows)))


@frappe.whitelist(methods=["GET"])
def get_mail(name: str):
	"""A mail's processing history: {mail, rules, prepared, run, drafts, events, with_person}; see
	`huf.ai.mail.review`.
	"""
	return review.describe_mail(get_permitted(MAIL, name))


@frappe.whitelist(methods=["GET"])
def get_rules():
	"""The rules in the order in which they are tried, with their conditions."""
	frappe.has_permission(RULE, "read", throw=True)
	return review.list_rules()


@frappe.whitelist(methods=["GET", "POST"])
def test_rule(rule: str | None, mail: str, values: dict | str | None = None):
	"""Whether a rule, or unsaved `values` of one, matches a stored mail: {rule, fits, checks: [{text, ok,
	saw}]}. Changes nothing.
	"""
	frappe.has_permission(RULE, "read", throw=True)
	return review.evaluate_rule_on(rule, read_rule_values(values), get_permitted(MAIL, mail))


@frappe.whitelist(methods=["POST"])
def backtest_rule(rule: str | None = None, values: dict | str | None = None, days: int = 30):
	"""Past mails that a rule, or unsaved `values` of one, would have matched: see
	`huf.ai.mail.review.find_mails_for_rule`.
	"""
	frappe.has_permission(RULE, "read", throw=True)
	return review.find_mails_for_rule(rule, read_rule_values(values), clamp_count(days, 365))


def read_rule_values(values: dict | str | None) -> dict | None:
	return read_json_object(values, "values") if values else None


@frappe.whitelist(methods=["POST"])
def test_mailbox(mailbox: str):
	"""Sign in to a mailbox's servers: [{part, error}]; None as the error means success."""
	doc = get_permitted(MAILBOX, mailbox, "write")
	return review.check_servers(doc)


@frappe.whitelist(methods=["POST"])
def make_sign_in_app(provider: str):
	"""Find or create the Connected App of a mail provider: {name, redirect_uri, client_id}."""
	app = oauth.make_app(provider)
	return {"name": app.name, "redirect_uri": app.redirect_uri, "client_id": app.client_id}


@frappe.whitelist(methods=["POST"])
def begin_sign_in(mailbox: str):
	"""The URL at which this user grants a mailbox access by OAuth; it leads back to the page."""
	doc = get_permitted(MAILBOX, mailbox, "write")
	return oauth.begin_sign_in(doc, f"/huf/mail?{urlencode({'view': 'mailboxes', 'signed_in': doc.name})}")


@frappe.whitelist(methods=["POST"])
def finish_sign_in(mailbox: str):
	"""After the sign-in: save the Email Account with which the mailbox sends, and test its servers."""
	doc = get_permitted(MAILBOX, mailbox, "write")
	doc.save()
	frappe.db.commit()
	return review.check_servers(doc)


@frappe.whitelist(methods=["POST"])
def sync_mailbox(mailbox: str):
	"""Queue a job that fetches a mailbox's new mail."""
	get_permitted(MAILBOX, mailbox, "write")
	frappe.enqueue("huf.ai.agent_email.sync_mailbox", queue="long", mailbox=mailbox)
	return {"enqueued": True}


@frappe.whitelist(methods=["POST"])
def save_draft(
	name: str, text: str, subject: str | None = None, to: str | None = None, modified: str | None = None
):
	"""Save a person's edits: {name, status, modified}. Agents no longer overwrite the draft.

	`modified`: that of the draft which was edited; refused if it has changed since.
	"""
	return actions.edit_reply(draft_for(name), text, subject, to, modified)


@frappe.whitelist(methods=["POST"])
def approve_draft(
	name: str,
	text: str | None = None,
	subject: str | None = None,
	to: str | None = None,
	modified: str | None = None,
):
	"""Queue the sending of a draft or failed reply, optionally with edits: {name, status, modified}.

	`modified`: as in `save_draft`.
	"""
	row = draft_for(name, *actions.UNSENT)
	return actions.approve_reply(row, text, subject, to, modified)


@frappe.whitelist(methods=["POST"])
def discard_draft(name: str):
	"""Discard a draft, a held or a failed reply: {name, status, modified}."""
	return actions.discard_reply(draft_for(name, *actions.UNSENT))


@frappe.whitelist(methods=["POST"])
def hand_over(mail: str, reason: str = ""):
	"""Assign a mail's thread to a person. Agents no longer process it."""
	return actions.hand_over_thread(own_mail(mail), reason)


@frappe.whitelist(methods=["POST"])
def give_back(mail: str):
	"""Let agents process a mail's thread again."""
	return actions.return_thread(own_mail(mail))


@frappe.whitelist(methods=["GET"])
def get_waiting_replies():
	"""Unsent replies and received mails that wait for this user: [{name, subject, status, ...}]."""
	return actions.list_waiting_mails()


@frappe.whitelist(methods=["POST"])
def reply(mail: str):
	"""Open a new reply to a mail, or the thread's open draft. Returns {name}."""
	return actions.begin_reply(incoming_mail(mail))


@frappe.whitelist(methods=["POST"])
def assign(mail: str, user: str, reason: str = ""):
	"""Assign a mail's thread to a user, who may then read and answer it. Agents no longer process it."""
	return actions.assign_thread(incoming_mail(mail), user, reason)


@frappe.whitelist(methods=["POST"])
def reclassify(mail: str, category: str | None = None):
	"""Set a mail's category, or let a model choose again. A job drafts the reply, if one is due."""
	return actions.reclassify(incoming_mail(mail), category or None)


@frappe.whitelist(methods=["POST"])
def run_again(mail: str):
	"""Let agents process a mail again. Returns {name, status}."""
	return actions.run_again(incoming_mail(mail))


@frappe.whitelist(methods=["GET"])
def get_tool_calls_log(run: str):
	"""The tool calls of a run: [{tool, arguments, result, iteration}]."""
	get_permitted("Agent Run", run)
	return read_tool_log(run)


def own_mail(name: str):
	"""A mail of the user's mailbox or assigned to the user; managers may use any. Shares do not count."""
	doc = get_permitted(MAIL, name)
	if not has_mail_permission(doc):
		raise frappe.PermissionError
	return doc


def incoming_mail(name: str):
	doc = own_mail(name)
	if doc.direction != Direction.INCOMING.value:
		raise UsageError("This mail is outgoing. Open the mail that it answers.")
	return doc


def draft_for(name: str, *statuses: MailStatus):
	"""A draft that the user may send. Raises PermissionError, UsageError."""
	doc, wanted = own_mail(name), statuses or (MailStatus.DRAFT,)
	if doc.status == MailStatus.QUEUED.value:
		# Its page shows what became of it in the queue, which the row may not say yet.
		delivery.follow_queue()
		doc.reload()
	if doc.direction != Direction.OUTGOING.value or doc.status not in [each.value for each in wanted]:
		raise actions.not_a_draft_error(doc.status)
	return doc
