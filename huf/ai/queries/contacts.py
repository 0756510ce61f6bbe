"""Lists the outside contacts of runs, including refused ones.

It is read from the journal (Agent LLM Call, Agent Tool Call) and from Agent Mail. A model's host is that of
its AI Provider as it is now.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

import frappe

from huf.ai.core.contacts import list_domains, name_model_host
from huf.ai.core.mail_types import Direction, MailStatus
from huf.ai.queries.audit import MAX_ENTRIES, Entry, build_audit_entry

ACTIONS = {
	MailStatus.DRAFT.value: "waiting",
	MailStatus.HELD.value: "refused",
	MailStatus.DISCARDED.value: "refused",
}
"""The action by the status of a mail; "contact" for any other status."""
IN_PERIOD = "made.creation > %(since)s and made.creation <= %(until)s and %(agent)s in ('', run.agent)"
Contact = tuple[str, str, str]
"""(action, kind, destination)"""


def read_contacts(
	since: datetime | None, until: datetime | None, agent: str | None = None, limit: int = MAX_ENTRIES
) -> list[Entry]:
	"""The first entries after `since`, oldest first: {time, user, action, kind, destination, agent, run ...}.

	`action`: "contact", "refused" where Huf or a person did not allow it, or "waiting" of a mail that a
	person has to approve. `status`: of the call or the mail. Without `agent`: a model call outside runs.
	"""
	period = describe_period(since, until, agent, limit)
	merged = heapq.merge(*(source.read(period) for source in SOURCES), key=lambda entry: entry["time"])
	return list(islice(merged, limit))


def list_destinations(
	since: datetime | None, until: datetime | None, agent: str | None, limit: int
) -> list[dict[str, Any]]:
	"""Each destination once by agent, in order: {agent, kind, destination, action, count, first, last}.

	Equal calls, and equal mails, count as one row; at most `limit` rows of each are read, the latest first.
	"""
	period = describe_period(since, until, agent, limit)
	found: dict[tuple[str, ...], dict[str, Any]] = {}
	for source in SOURCES:
		for row in source.count(period):
			first, last = str(row.first), str(row.last)
			for action, kind, destination in source.parse(row):
				key = row.agent or "", kind, destination, action
				known = found.setdefault(key, {"count": 0, "first": first, "last": last})
				known["count"] += row.number
				known["first"], known["last"] = min(known["first"], first), max(known["last"], last)
	names = ("agent", "kind", "destination", "action")
	return [dict(zip(names, key, strict=True)) | found[key] for key in sorted(found)]


def describe_period(since: datetime | None, until: datetime | None, agent: str | None, limit: int) -> dict:
	return {
		"since": since or datetime(1970, 1, 1),
		"until": until or datetime(9999, 1, 1),
		"agent": agent or "",
		"limit": limit,
		"outgoing": Direction.OUTGOING.value,
	}


@dataclass(frozen=True)
class Source:
	"""A table of contacts, `made` in SQL.

	`values`: columns from which `parse` reads the contacts of a row. `about`: more columns of an entry.
	"""

	tables: str
	condition: str
	values: str
	about: str
	parse: Callable[[Any], Iterable[Contact]]

	def read(self, period: dict) -> Iterator[Entry]:
		rows = frappe.db.sql(
			f"""select made.creation, run.agent, made.run, {self.values}, {self.about} from {self.tables}
			where {self.condition} and {IN_PERIOD} order by made.creation, made.name limit %(limit)s""",
			period,
			as_dict=True,
		)
		for row in rows:
			about = {name: row.get(name) for name in ("agent", "run", "tool", "mail", "model", "status")}
			for action, kind, destination in self.parse(row):
				yield build_audit_entry(
					row.creation, row.run_as, action, kind=kind, destination=destination, **about
				)

	def count(self, period: dict) -> list:
		"""How many rows there are with the same values, and when: {agent, number, first, last, ...}."""
		return frappe.db.sql(
			f"""select run.agent, {self.values}, count(*) as number, min(made.creation) as first,
			max(made.creation) as last from {self.tables} where {self.condition} and {IN_PERIOD}
			group by run.agent, {self.values} order by last desc limit %(limit)s""",
			period,
			as_dict=True,
		)


def parse_call(row) -> Iterator[Contact]:
	for line in row.contacts.splitlines():
		kind, _, destination = line.removesuffix(" refused").partition(" ")
		yield "refused" if line.endswith(" refused") else "contact", kind, destination


def parse_mail(row) -> Iterator[Contact]:
	for domain in list_domains(f"{row.recipients or ''},{row.cc or ''}".split(",")):
		yield ACTIONS.get(row.status, "contact"), "mail", domain


def parse_model_call(row) -> Iterator[Contact]:
	yield "contact", "model", name_model_host(row.provider, row.api_base)


RUN = "join `tabAgent Run` run on run.name = made.run"
SOURCES = (
	Source(
		f"`tabAgent Tool Call` made {RUN}",
		"coalesce(made.contacts, '') != ''",
		"made.contacts",
		"run.run_as, made.tool, made.status",
		parse_call,
	),
	Source(
		f"`tabAgent Mail` made {RUN}",
		"made.direction = %(outgoing)s",
		"made.recipients, made.cc, made.status",
		"made.run_as, made.name as mail",
		parse_mail,
	),
	Source(
		f"""`tabAgent LLM Call` made left {RUN}
		left join `tabAI Provider` provider on provider.name = made.provider""",
		"coalesce(made.provider, '') != ''",
		"made.provider, provider.api_base",
		"coalesce(run.run_as, made.owner) as run_as, made.model, made.status",
		parse_model_call,
	),
)
