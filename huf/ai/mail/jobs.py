"""Jobs of mails: an agent works on a mail, or it is classified and a reply drafted; each job is one run.

Opening a run and marking the mail as started are one commit; so are the end of a run and what follows from
it. Mails that lost their worker or job are enqueued again by `recover_mails`.
"""

import json
from dataclasses import replace
from datetime import datetime
from traceback import format_exc

import frappe

from huf.ai.core.contacts import find_outsiders
from huf.ai.core.errors import RunAlreadyOpened, UsageError
from huf.ai.core.mail_types import MailEvent, MailJob, MailStatus
from huf.ai.core.session import acting_as
from huf.ai.core.trigger_types import RunCause
from huf.ai.core.types import ENDED_STATUSES, OFFLINE, AgentRequest, RunStatus
from huf.ai.mail import drafts, store, threads
from huf.ai.mail.dispatch import RULE, read_preprocessors
from huf.ai.mail.intake import INCOMPLETE, enqueue_mail, get_own_addresses
from huf.ai.mail.message import Attachment, MailMessage, parse_headers, parse_message
from huf.ai.mail.preprocess import prepare_mail
from huf.ai.mail.stored_reasons import FAILED_OFTEN, NOT_CLASSIFIED, OUTSIDER, RUN_AS, RUN_ENDED
from huf.ai.mail.triage import (
	UNCLASSIFIED,
	classify_prompt,
	draft_prompt,
	needs_reply,
	read_categories,
	read_category,
)
from huf.ai.providers.models import choose_model
from huf.ai.queries.tool_log import read_tool_log
from huf.ai.runs.queue import work_on
from huf.ai.runs.start import start_run
from huf.ai.storage.jobs import is_job_waiting
from huf.ai.storage.outgoing_mail import enqueue_sending, mail_job_id
from huf.ai.storage.trigger_events import find_mail_cause

MAX_REPLY_RECIPIENTS = 10
"""Limit for Reply-To, which may name any number of addresses."""
EXTERNAL_STATUSES = {"max_steps": "max_iterations", "final_answer": "completed"}
"""Stop reasons as other programs name them; any other is "error"."""


def process_mail(mail: str) -> None:
	"""Job: do the next job of a mail, and what follows from it. Repeating it has no effect."""
	row = store.read_mail(mail)
	if row and row.status == MailStatus.QUEUED.value and row.job:
		run = open_mail_run(row)
		if run:
			work_on(run)
	finish_mail(mail)


def open_mail_run(row) -> str | None:
	"""Open the run of a mail's job and return its name; None if it needs no run or must not have one."""
	if threads.is_with_person(row.thread):
		end_without_run(row, MailStatus.WITH_PERSON, "The thread was handed over to a person")
		return None
	if problem := store.find_mailbox_problem(row):
		end_without_run(row, MailStatus.FAILED, problem)
		return None
	try:
		agent, prompt = PREPARE[MailJob(row.job)](row)
		return open_run_for(row, agent, prompt) if agent else None
	except RunAlreadyOpened:
		frappe.db.rollback()
	except (UsageError, frappe.PermissionError, frappe.DoesNotExistError, KeyError) as error:
		frappe.db.rollback()
		end_without_run(row, MailStatus.FAILED, RUN_AS.format(user=row.run_as, reason=error))
	return None


def open_run_for(row, agent: str, prompt: str) -> str:
	sending_run, depth = find_mail_cause(row.message_id)
	cause = RunCause(row.name, None, sending_run, depth, store.MAIL, row.name, store.MAIL)
	request = AgentRequest(agent, prompt, row.run_as, channel="mail", external_id=row.thread, cause=cause)
	with acting_as(row.run_as):
		run = start_run(request, RunStatus.QUEUED).name
	store.write_event(row, MailEvent.RUN_STARTED, f"{row.job}: {agent}", run=run)
	frappe.db.commit()
	return run


def end_without_run(row, status: MailStatus, reason: str) -> None:
	kind = MailEvent.FAILED if status is MailStatus.FAILED else MailEvent.SKIPPED
	if store.change_status(row.name, MailStatus.QUEUED, status, reason=reason):
		store.write_event(row, kind, reason)
	frappe.db.commit()


# --- what each job asks ---


def prepare_agent_job(row) -> tuple[str, str]:
	"""(agent of the rule, prompt made by the preprocessor)."""
	if not row.agent:
		raise UsageError(f"The rule {row.rule} names no agent.")
	message = message_from_row(row)
	prepared = prepare_mail(message, read_preprocessors(), row.preprocessor)
	answer_to = prepared.answer_to or (prepared.sender_email if is_named_forwarder(row, message) else "")
	fields = {**prepared.fields, "answer_to": answer_to}
	store.update_mail(
		row.name,
		prompt=prepared.prompt,
		preprocessor=prepared.preprocessor,
		prepared=json.dumps(fields, ensure_ascii=False),
	)
	return row.agent, prepared.prompt


def is_named_forwarder(row, message: MailMessage) -> bool:
	"""Whether the mail comes from the address that its rule names in *Forwarded From*: then a manager has
	decided that the person named in it may be answered.
	"""
	forwarder = (frappe.db.get_value(RULE, row.rule, "forwarded_from") if row.rule else "") or ""
	return bool(forwarder) and message.sender == forwarder.strip().lower()


def prepare_classification(row) -> tuple[str | None, str]:
	"""(agent, prompt) of the classification; without a model the mail stays unclassified."""
	agent, categories = store.find_mail_agent(), get_categories()
	if not agent or not has_model(agent):
		store_category(row, MailStatus.QUEUED, UNCLASSIFIED, "There is no model to put it into a category")
		return None, ""
	return agent, classify_prompt(message_from_row(row), categories)


def prepare_draft(row) -> tuple[str | None, str]:
	agent = store.find_mail_agent()
	if not agent or not has_model(agent):
		end_without_run(row, MailStatus.DONE, "There is no model to draft a reply")
		return None, ""
	return agent, draft_prompt(message_from_row(row), row.category or UNCLASSIFIED)


PREPARE = {
	MailJob.AGENT_PROCESS: prepare_agent_job,
	MailJob.CLASSIFY: prepare_classification,
	MailJob.DRAFT: prepare_draft,
}


def has_model(agent: str) -> bool:
	return choose_model(frappe.get_cached_doc("Agent", agent))[1] != OFFLINE


def get_categories():
	return read_categories(frappe.get_cached_doc("Huf Settings").mail_categories or "")


def message_from_row(row) -> MailMessage:
	"""The mail parsed from its stored bytes, or from its row if they are gone."""
	raw = store.read_raw(row)
	if raw and row.route:  # without a route: `ingest_unreadable`
		message, text = parse_message(raw), row.text or ""
		return replace(message, text=text) if text.endswith(INCOMPLETE) else message
	headers = {"From": row.sender, "To": row.recipients, "Cc": row.cc, "Subject": row.subject}
	message = parse_headers({"Message-ID": f"<{row.message_id}>", **headers})
	files = frappe.parse_json(row.attachments or "[]")
	attachments = tuple(Attachment(each["file_name"], each["content_type"], b"") for each in files)
	return replace(
		message,
		text=row.text or "",
		new_text=row.new_text or "",
		attachments=attachments,
		automated=row.automated or None,
	)


# --- what follows from a run ---


def finish_mail(mail: str) -> None:
	"""Apply the consequences of a mail's ended run, once. Does nothing while the run is open."""
	row = store.read_mail(mail)
	if not row or row.status != MailStatus.STARTED.value:
		return
	fields = ["name", "agent", "status", "stop_reason", "response", "error_message", "steps"]
	run = frappe.db.get_value("Agent Run", row.run, fields, as_dict=True)
	if not run:
		reason = "Its run was deleted before it had ended."
		if store.change_status(mail, MailStatus.STARTED, MailStatus.FAILED, reason=reason):
			store.write_event(row, MailEvent.FAILED, reason)
	elif run.status in ENDED_STATUSES:
		FINISH[MailJob(row.job)](row, run)
	frappe.db.commit()


def finish_agent_job(row, run) -> None:
	log = read_tool_log(run.name)
	status = EXTERNAL_STATUSES.get(run.stop_reason, "error")
	is_good = run.status == RunStatus.SUCCESS.value
	after = MailStatus.DONE if is_good else MailStatus.FAILED
	reason = None if is_good else run.error_message or run.stop_reason
	if threads.is_with_person(row.thread):
		after = MailStatus.WITH_PERSON
	if store.change_status(row.name, MailStatus.STARTED, after, reason=reason):
		store.annotate_run(row, "agent", log)
		summary = RUN_ENDED.format(agent=run.agent, status=status, steps=run.steps, calls=len(log))
		details = {"profile": run.agent, "status": status, "iterations": run.steps, "error": reason}
		kind = MailEvent.COMPLETED if is_good else MailEvent.FAILED
		tools = [each["tool"] for each in log]
		store.write_event(row, kind, summary, run=run.name, tool_calls=tools, **details)


def finish_classification(row, run) -> None:
	categories = get_categories()
	category, reason = UNCLASSIFIED, run.error_message or run.stop_reason
	if run.status == RunStatus.SUCCESS.value:
		category = read_category(run.response or "", categories)
		reason = "The model named none of the categories, or several" if category == UNCLASSIFIED else None
	store.annotate_run(row, MailJob.CLASSIFY.value, None)
	store_category(row, MailStatus.STARTED, category, reason, run.name)


def store_category(
	row, before: MailStatus, category: str, reason: str | None, run: str | None = None
) -> None:
	"""Store a mail's category, and draft a reply if one is due. An unclassified mail fails with `reason`."""
	is_due = needs_reply(message_from_row(row), category, get_categories())
	after, job = (MailStatus.QUEUED, MailJob.DRAFT) if is_due else (MailStatus.DONE, MailJob(row.job))
	event, text = MailEvent.CLASSIFIED, category
	if category == UNCLASSIFIED:
		after, reason = MailStatus.FAILED, NOT_CLASSIFIED.format(reason=reason)
		event, text = MailEvent.FAILED, reason
	values = {"category": category, "reason": reason, "job": job.value, "attempts": 0}
	if not store.change_status(row.name, before, after, **values):
		return
	store.write_event(row, event, text, run=run)
	if is_due:
		enqueue_mail(row.name)
	frappe.db.commit()


def finish_draft(row, run) -> None:
	is_good = run.status == RunStatus.SUCCESS.value and run.response
	after = MailStatus.DONE if is_good else MailStatus.FAILED
	reason = run.error_message or run.stop_reason or "The model wrote nothing"
	if store.change_status(row.name, MailStatus.STARTED, after, reason=None if is_good else reason):
		store.annotate_run(row, MailJob.DRAFT.value, None)
		if is_good:
			drafts.write_draft(row, build_reply(row, run.response), run.name)
		else:
			store.write_event(row, MailEvent.FAILED, reason, run=run.name)


def build_reply(row, text: str) -> drafts.Reply:
	"""The reply to a mail. Its reason names recipients outside the thread: anyone can set Reply-To."""
	to = find_reply_recipients(row)
	outsiders = find_outsiders(to, threads.read_participants(row.thread))
	reason = OUTSIDER.format(outsiders=", ".join(outsiders))
	return drafts.Reply(to, row.subject, text, reason if outsiders else None)


def find_reply_recipients(row) -> tuple[str, ...]:
	"""Who gets the reply to a mail: the customer in its text, else its Reply-To, else its sender."""
	if answer_to := threads.read_answer_to(row):
		return (answer_to,)
	message, own = message_from_row(row), get_own_addresses(store.read_mailbox(row.mailbox))
	named = tuple(each for each in message.reply_to if each not in own)
	return named[:MAX_REPLY_RECIPIENTS] or tuple(filter(None, (message.sender,)))


FINISH = {
	MailJob.AGENT_PROCESS: finish_agent_job,
	MailJob.CLASSIFY: finish_classification,
	MailJob.DRAFT: finish_draft,
}


# --- what was left undone ---


def recover_mails(now: datetime | None = None) -> list[str]:
	"""Enqueue mails again whose job or sending was lost, and return their names. Scheduled every minute."""
	again = []
	for name in store.read_mails_with_ended_runs():
		try:
			finish_mail(name)
		except Exception:  # one mail must not hold up all others
			frappe.db.rollback()
			frappe.log_error(f"What follows for the mail {name} failed", format_exc())
			if store.count_mail_attempt(name) >= store.MAX_ATTEMPTS:
				mark_mail_failed(store.read_mail(name))
			frappe.db.commit()
	for row in store.read_overdue_mails(now):
		if is_job_waiting(mail_job_id(row.name, row.attempts)):
			continue
		if row.attempts >= store.MAX_ATTEMPTS:
			mark_mail_failed(store.read_mail(row.name))
			continue
		enqueue = enqueue_mail if row.status == MailStatus.QUEUED.value else enqueue_sending
		if enqueue(row.name, row.attempts + 1, after_commit=False):
			store.count_mail_attempt(row.name)
			again.append(row.name)
	frappe.db.commit()
	return again


def mark_mail_failed(row) -> None:
	reason = FAILED_OFTEN.format(reason=row.reason or "A manager finds the reason in the Error Log.")
	before = MailStatus(row.status)
	after, kind = (
		(MailStatus.HELD, MailEvent.HELD)
		if before is MailStatus.APPROVED
		else (MailStatus.FAILED, MailEvent.FAILED)
	)
	if store.change_status(row.name, before, after, reason=reason):
		store.write_event(row, kind, reason)
