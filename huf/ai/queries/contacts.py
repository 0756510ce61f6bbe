"""Lists whom runs have contacted outside the site, or were not allowed to contact.

It is read from the journal (Agent Tool Call) and from Agent Mail.
"""

import heapq
from collections.abc import Iterator
from datetime import datetime
from itertools import islice

import frappe

from huf.ai.core.contacts import list_domains
from huf.ai.core.mail_types import Direction, MailStatus
from huf.ai.queries.audit import MAX_ENTRIES, Entry, build_entry

IN_PERIOD = """{table}.creation > %(since)s and {table}.creation <= %(until)s
	and %(agent)s in ('', run.agent) order by {table}.creation, {table}.name limit %(limit)s"""
ACTIONS = {
	MailStatus.DRAFT.value: "waiting",
	MailStatus.HELD.value: "refused",
	MailStatus.DISCARDED.value: "refused",
}
"""By status of a mail; of another one, "contact"."""


def read_contacts(
	since: datetime | None, until: datetime | None, agent: str | None = None, limit: int = MAX_ENTRIES
) -> list[Entry]:
	"""The first entries after `since`, oldest first: {time, user, action, kind, destination, agent, run ...}.

	`action`: "contact", "refused" where Huf or a person did not allow it, or "waiting" of a mail that a
	person has to approve. `status`: of the call or the mail.
	"""
	period = {
		"since": since or datetime(1970, 1, 1),
		"until": until or datetime(9999, 1, 1),
		"agent": agent or "",
		"limit": limit,
	}
	merged = heapq.merge(
		read_call_contacts(period), read_mail_contacts(period), key=lambda entry: entry["time"]
	)
	return list(islice(merged, limit))


def read_call_contacts(period: dict) -> Iterator[Entry]:
	calls = frappe.db.sql(
		f"""select made.creation, run.run_as, run.agent, made.run, made.tool, made.status, made.contacts
		from `tabAgent Tool Call` made join `tabAgent Run` run on run.name = made.run
		where ifnull(made.contacts, '') != '' and {IN_PERIOD.format(table="made")}""",
		period,
		as_dict=True,
	)
	for row in calls:
		about = {"agent": row.agent, "run": row.run, "tool": row.tool, "status": row.status}
		for line in row.contacts.splitlines():
			kind, _, destination = line.removesuffix(" refused").partition(" ")
			action = "refused" if line.endswith(" refused") else "contact"
			yield build_entry(row.creation, row.run_as, action, kind=kind, destination=destination, **about)


def read_mail_contacts(period: dict) -> Iterator[Entry]:
	mails = frappe.db.sql(
		f"""select mail.creation, mail.run_as, run.agent, mail.run, mail.name, mail.status, mail.recipients,
			mail.cc
		from `tabAgent Mail` mail join `tabAgent Run` run on run.name = mail.run
		where mail.direction = %(direction)s and {IN_PERIOD.format(table="mail")}""",
		{**period, "direction": Direction.OUTGOING.value},
		as_dict=True,
	)
	for row in mails:
		action = ACTIONS.get(row.status, "contact")
		about = {"agent": row.agent, "run": row.run, "mail": row.name, "status": row.status}
		for domain in list_domains(f"{row.recipients or ''},{row.cc or ''}".split(",")):
			yield build_entry(row.creation, row.run_as, action, kind="mail", destination=domain, **about)
