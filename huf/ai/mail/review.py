"""Read models for people who manage mail: a mail's history, rules and their matches, a mailbox's servers."""

import json
import smtplib
import ssl
import time
from dataclasses import asdict
from functools import partial

import frappe
from frappe import _
from frappe.utils import add_to_date, now_datetime

from huf.ai.core.errors import UsageError, add_details
from huf.ai.core.mail_types import Direction, MailStatus
from huf.ai.mail import oauth, store, threads
from huf.ai.mail.actions import UNSENT
from huf.ai.mail.delivery import add_current_states
from huf.ai.mail.dispatch import RULE, read_rules, route_mail, rule_from_row
from huf.ai.mail.inbox import InboxError, open_inbox
from huf.ai.mail.intake import build_account, get_own_addresses
from huf.ai.mail.jobs import get_categories, message_from_row
from huf.ai.mail.rules import Rule, find_unreachable, try_rule
from huf.ai.mail.stored_reasons import translate_summary
from huf.ai.queries.tool_log import read_tool_log
from huf.ai.storage.outgoing_mail import find_sending_problem

RUN_FIELDS = ["stop_reason", "response", "error_message", "steps", "model", "total_cost"]
CALL_FIELDS = ["call_type", "step", "status", "model", "input_tokens", "output_tokens", "cost"]
MAX_SECONDS = 20
MAX_BACKTEST_MAILS = 500
SMTP_TIMEOUT_S = 15

# --- looking ---


def describe_mail(doc) -> dict:
	"""All that is known of a mail: {mail, rules, prepared, run, drafts, others, events, with_person,
	categories}.

	`drafts` are its replies with the open draft of its thread, or itself if a person may still send it.
	`others`: whom it names in To and Cc besides the mailbox.
	"""
	(mail,) = add_current_states([doc.as_dict()])
	of_mail = {"reply_to_mail": doc.name, "status": MailStatus.DRAFT.value}
	drafts = list_drafts(doc.thread, {"name": doc.name} if is_unsent(mail) else of_mail)
	about = {"mail": ["in", [doc.name, *(each.name for each in drafts)]]}
	events = frappe.get_all(store.EVENT, about, ["*"], order_by="creation asc")
	return {
		"mail": {**mail, "attachments": parse_field(doc.attachments, [])},
		"rules": parse_field(doc.checks, []),
		"prepared": parse_field(doc.prepared, {}),
		"run": describe_mail_run(doc.run) if doc.run else None,
		"drafts": drafts,
		"others": list_other_recipients(doc),
		"events": [
			{
				**each,
				"summary": translate_summary(each.summary),
				"details": parse_field(each.details, {}),
			}
			for each in events
		],
		"with_person": threads.is_with_person(doc.thread),
		"categories": [each.name for each in get_categories()],
	}


def list_other_recipients(doc) -> list[str]:
	if doc.direction != Direction.INCOMING.value or not frappe.db.exists(store.MAILBOX, doc.mailbox):
		return []
	own = get_own_addresses(store.read_mailbox(doc.mailbox))
	named = [*store.split_addresses(doc.recipients), *store.split_addresses(doc.cc)]
	return [each for each in dict.fromkeys(named) if each not in own]


def is_unsent(mail) -> bool:
	return mail.direction == Direction.OUTGOING.value and MailStatus(mail.status) in UNSENT


def describe_mail_run(name: str) -> dict | None:
	"""The run of a mail; without its contents if the session user, to whom the mail may only be assigned,
	may not read it.
	"""
	run = frappe.db.get_value("Agent Run", name, ["name", "agent", "status"], as_dict=True)
	if not run or not frappe.has_permission("Agent Run", "read", doc=name):
		return run
	calls = frappe.get_all("Agent LLM Call", {"run": name}, CALL_FIELDS, order_by="step asc, creation asc")
	run.update(frappe.db.get_value("Agent Run", name, RUN_FIELDS, as_dict=True))
	return run.update({"llm_calls": calls, "tool_calls_log": read_tool_log(name)})


def list_drafts(thread: str, any_of: dict) -> list:
	fields = [*store.LIST_FIELDS, "text", "modified", "edited_by"]
	rows = frappe.get_list(
		store.MAIL, filters={"thread": thread}, or_filters=any_of, fields=fields, order_by="creation asc"
	)
	return add_current_states(rows)


def parse_field(text: str | None, default):
	return json.loads(text) if text else default


# --- rules ---


def list_rules() -> list[dict]:
	"""The rules in order; `blocked_by` names an earlier rule that takes all mail of one that never fires."""
	rows = frappe.get_list(RULE, fields=["*"], order_by="position asc, name asc")
	blocked = find_unreachable(rule_from_row(row) for row in rows if not row.disabled)
	return [
		{
			"name": row.name,
			"disabled": row.disabled,
			"position": row.position,
			"blocked_by": blocked.get(row.name),
			**asdict(rule_from_row(row)),
		}
		for row in rows
	]


def evaluate_rule_on(name: str | None, values: dict | None, mail) -> dict:
	"""The result of one rule for a received mail, a `RuleResult` as a dict. Changes nothing."""
	return asdict(try_rule(rule_from_row(read_rule_document(name, values)), message_from_row(mail)))


def find_mails_for_rule(name: str | None, values: dict | None, days: int) -> dict:
	"""The mails of the last days that a rule, or unsaved `values` of one, would match.

	Returns {looked_at, taken: [{mail, subject, sender, was, would}]}; after MAX_SECONDS it looks at no older
	mails. The rule is placed among the enabled ones by its position; `was` and `would` name the rule that
	took a mail and the one that would.
	"""
	rule, rules = place_rule(name, values)
	since = add_to_date(now_datetime(), days=-days, as_datetime=True)
	found = frappe.get_list(
		store.MAIL,
		filters={"direction": Direction.INCOMING.value, "creation": [">", since]},
		fields=["*"],
		order_by="creation desc",
		limit_page_length=MAX_BACKTEST_MAILS,
	)
	taken, looked_at, deadline = [], 0, time.monotonic() + MAX_SECONDS
	for row in found:
		if time.monotonic() > deadline:
			break
		looked_at += 1
		decision = route_mail(message_from_row(row), rules)
		if decision.tried and decision.tried[-1].fits and decision.rule == rule.name:
			taken.append(
				{
					"mail": row.name,
					"subject": row.subject,
					"sender": row.sender,
					"was": row.rule,
					"would": decision.rule,
				}
			)
	return {"looked_at": looked_at, "taken": taken}


def place_rule(name: str | None, values: dict | None) -> tuple[Rule, list[Rule]]:
	"""(the rule, the enabled rules with it at its position)."""
	doc = read_rule_document(name, values)
	rule = rule_from_row(doc)
	position = doc.position or (frappe.db.get_value(RULE, name, "position") if name else 0) or 0
	others = {"disabled": 0, "position": ["<", position], "name": ["!=", rule.name or ""]}
	rules = [each for each in read_rules() if each.name != rule.name]
	rules.insert(frappe.db.count(RULE, others), rule)
	return rule, rules


def read_rule_document(name: str | None, values: dict | None):
	"""The document of a rule, or of unsaved `values` of one. Raises UsageError, ValidationError."""
	if not (name or values):
		raise UsageError("Name a rule in `rule`, or give the fields of one in `values`.")
	doc = frappe.get_doc({**values, "doctype": RULE}) if values else frappe.get_doc(RULE, name)
	doc.validate()
	return doc


# --- mailboxes ---


def check_servers(mailbox) -> list[dict]:
	"""Log in to a mailbox's servers without changing anything: [{part, error}]."""
	tested = [
		{"part": "IMAP", "error": check_imap(mailbox)},
		{"part": "SMTP", "error": check_smtp(mailbox)},
	]
	if tested[0]["error"] is None:
		store.clear_mailbox_error(mailbox.name)
	return tested


def check_imap(mailbox) -> str | None:
	if not mailbox.imap_host:
		return find_receiving_problem(mailbox)
	try:
		with open_inbox(build_account(mailbox)) as inbox:
			return inbox.find_folder_problem(mailbox.sent_folder)
	except InboxError as error:
		return str(error)


def find_receiving_problem(mailbox) -> str | None:
	"""Why a mailbox without an IMAP server receives no mail; None if Frappe receives it."""
	if frappe.db.exists("Email Account", {"email_id": mailbox.email, "enable_incoming": 1}):
		return None
	return _("No incoming server is set up, so no mail arrives. Enter an IMAP host, user and password.")


def check_smtp(mailbox) -> str | None:
	if not mailbox.smtp_host:
		return find_sending_problem(mailbox.email)
	try:
		token = oauth.read_token(mailbox)
	except oauth.SignInError as error:
		return str(error)
	user = mailbox.smtp_user or mailbox.email
	password = mailbox.get_password("smtp_password", raise_exception=False) or ""
	context = ssl.create_default_context()
	is_ssl = mailbox.smtp_security == "SSL/TLS"
	kind = partial(smtplib.SMTP_SSL, context=context) if is_ssl else smtplib.SMTP
	try:
		with kind(mailbox.smtp_host, mailbox.smtp_port or 0, timeout=SMTP_TIMEOUT_S) as server:
			if mailbox.smtp_security == "STARTTLS":
				server.starttls(context=context)
			if token:
				server.ehlo()
				answer = oauth.xoauth2_string(user, token)
				server.auth("XOAUTH2", lambda challenge=None: answer, initial_response_ok=False)
			elif mailbox.smtp_user or password:
				server.login(user, password)
			server.noop()
	except (OSError, UnicodeError, smtplib.SMTPException) as error:
		message = _("{0} cannot be used. Check the SMTP host, port, security and login.")
		return add_details(message.format(f"{mailbox.smtp_host}:{mailbox.smtp_port}"), error)
	return None
