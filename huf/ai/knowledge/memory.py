"""Facts that agents keep (Agent Memory): stored and found by tools, and given to a run at its start.

Only facts meant for the user count, even for managers, whose lists show those of others. Facts that were
learned from untrusted content are found by `recall`, whose result is then untrusted as well, but no run
begins with them until a person trusts them. Facts of colleagues who may do less than the run's user count as
messages of others.
"""

import frappe
from frappe.utils import getdate, today

from huf.ai.core.documents import get_permitted
from huf.ai.core.errors import ToolError
from huf.ai.core.field_values import is_date_or_time
from huf.ai.core.types import FACTS
from huf.ai.knowledge import fulltext, ranking
from huf.ai.knowledge.index_text import find_language, make_index_text
from huf.ai.knowledge.terms import build_terms, count_possible_terms
from huf.ai.storage.rows import update_cached_row
from huf.ai.storage.untrusted_records import list_untrusted
from huf.ai.tools.reads import record_reads
from huf.permissions import MEMORY, filter_permitted, is_manager, memory_audience

MAX_RANKED_FACTS = 300
"""How many facts a search ranks: those with most of its words, and of these those changed last."""
MAX_SEARCHED_FACTS = 20_000
"""How many facts are searched for words: those changed last. That takes 0.4 s, in a new process up to 3 s."""
MAX_OFFERED_CHARS = 2_000
"""Limit for the facts that a run begins with: about 500 tokens."""
FIELDS = ["name", "fact", "scope", "role", "reference_doctype", "reference_name", "modified", "modified_by"]


def remember(
	fact: str,
	agent: str | None = None,
	role: str | None = None,
	doctype: str | None = None,
	name: str | None = None,
	expires_on: str | None = None,
) -> dict:
	"""Keep a fact for the session user, a role, or a record: {doctype, name, fact, kept_for}.

	A known fact is not stored twice. It is kept until the later of both days.
	"""
	if bool(doctype) != bool(name) or (role and doctype):
		raise ToolError("Give doctype and name together, or a role, or neither of them.")
	if expires_on and not is_date_or_time(expires_on, getdate):
		raise ToolError(f"{expires_on!r} is not a date. Write it as YYYY-MM-DD.")
	if expires_on and getdate(expires_on) < getdate(today()):
		raise ToolError(f"{expires_on} has passed. Give a later day, or leave it out.")
	audience = {
		"scope": "Role" if role else "Record" if doctype else "User",
		"user": None if role or doctype else frappe.session.user,
		"role": role,
		"reference_doctype": doctype,
		"reference_name": name,
	}
	values = {"fact": " ".join(fact.split()), "agent": agent, **audience}
	same = {key: value or ["is", "not set"] for key, value in values.items()}
	known = keep_readable(frappe.get_all(MEMORY, same, ["name", "expires_on"], order_by="creation asc"))
	stored = extend_fact(known[0], expires_on) if known else insert_fact(values, expires_on)
	return {
		"doctype": MEMORY,
		"name": stored,
		"fact": values["fact"],
		"kept_for": describe_audience(audience),
	}


def insert_fact(values: dict, expires_on: str | None) -> str:
	run = frappe.flags.huf_run
	message = run and frappe.db.get_value(
		"Agent Message", {"run": run, "role": "user"}, "name", order_by="sequence asc"
	)
	row = {"doctype": MEMORY, **values, "expires_on": expires_on, "run": run, "message": message}
	return frappe.get_doc(row).insert().name


def extend_fact(row: dict, expires_on: str | None) -> str:
	"""Keep a known fact until a later day, or for good; returns its name. Raises PermissionError if the user
	may not create such a fact.
	"""
	if row["expires_on"] and (not expires_on or getdate(expires_on) > getdate(row["expires_on"])):
		get_permitted(MEMORY, row["name"], "create")
		update_cached_row(MEMORY, row["name"], {"expires_on": expires_on})
	return row["name"]


def describe_audience(row: dict) -> str:
	if row["scope"] == "Role":
		return f"role {row['role']}"
	return f"{row['reference_doctype']} {row['reference_name']}" if row["scope"] == "Record" else "the user"


def recall(
	query: str = "",
	agent: str | None = None,
	doctype: str | None = None,
	name: str | None = None,
	limit: int = 10,
) -> dict:
	"""Facts of an agent that are meant for the session user: {results: [{doctype, name, fact, about, date}],
	more}, and `untrusted` if some are messages of others. The best fit first; without a query, the newest.
	"""
	where = {"reference_doctype": doctype, "reference_name": name}
	if doctype and name:
		facts = list_facts_about(agent, doctype, name, query)
	else:
		facts = list_facts(agent, {key: value for key, value in where.items() if value}, query)
	rows = rank_facts(query, facts)
	record_reads(MEMORY, [row.name for row in rows[:limit]])
	results = [
		{
			"doctype": MEMORY,
			"name": row.name,
			"fact": row.fact,
			"about": describe_audience(row),
			"date": str(row.modified)[:10],
		}
		for row in rows[:limit]
	]
	of_others = {"untrusted": True} if any(map(is_of_others, rows[:limit])) else {}
	return {"results": results, "more": len(rows) > limit, **of_others}


def list_facts(agent: str | None, filters: dict, query: str = "") -> list:
	"""Rows of FIELDS that are not out of date, newest first; see `select_facts`."""
	if not frappe.has_permission(MEMORY, "read"):
		return []
	names = list_current(agent, memory_audience(frappe.session.user))
	rows = frappe.get_list(
		MEMORY,
		filters={"name": ["in", [*names, ""]], **filters},
		fields=FIELDS,
		order_by="modified desc, name asc",
		limit_page_length=limit_facts(query),
	)
	return select_facts(query, rows)


def list_facts_about(agent: str | None, doctype: str, name: str, query: str = "") -> list:
	"""Like `list_facts`, for a record, which may be none of those whose facts a list shows."""
	if not filter_permitted(doctype, [name], "read", frappe.session.user):
		return []
	about, quote = {"scope": "Record", "reference_doctype": doctype, "reference_name": name}, frappe.db.escape
	names = list_current(agent, " and ".join(f"{field} = {quote(value)}" for field, value in about.items()))
	order = {"order_by": "modified desc, name asc", "limit": limit_facts(query)}
	rows = frappe.get_all(MEMORY, {"name": ["in", [*names, ""]]}, FIELDS, **order)
	return keep_readable(select_facts(query, rows))


def limit_facts(query: str) -> int:
	"""How many facts to read for a search."""
	return MAX_SEARCHED_FACTS if query.strip() else MAX_RANKED_FACTS


def select_facts(query: str, rows: list) -> list:
	"""At most MAX_RANKED_FACTS of the rows, those in which most of the query's words may occur."""
	if len(rows) <= MAX_RANKED_FACTS:
		return rows
	terms = build_terms(query, str)
	counts = [count_possible_terms(terms, searched_text(row)) for row in rows]
	places = [place for place, count in enumerate(counts) if count]
	return [rows[place] for place in sorted(places, key=lambda place: -counts[place])[:MAX_RANKED_FACTS]]


def list_current(agent: str | None, condition: str) -> list[str]:
	"""Names of the facts of an agent that meet an SQL condition and are not out of date."""
	quote = frappe.db.escape
	return frappe.db.sql(
		f"""select name from `tab{MEMORY}` where {condition}
		and (coalesce(agent, '') in ('', {quote(agent or "")}))
		and (expires_on is null or expires_on >= {quote(today())})""",
		pluck=True,
	)


def keep_readable(rows: list) -> list:
	"""Checked one by one: a list shows the facts of some hundred records only."""
	return [row for row in rows if frappe.has_permission(MEMORY, "read", doc=row["name"])]


def rank_facts(query: str, rows: list) -> list:
	if not query.strip():
		return rows
	terms = build_terms(query, fulltext.get_index().encode_word)
	texts = list(map(searched_text, rows))
	passages = [
		ranking.Passage("", make_index_text(find_language([text]), None, None, None, text), text)
		for text in texts
	]
	scored = zip(rows, ranking.score_passages(terms, passages), strict=True)
	return [row for row, score in sorted(scored, key=lambda pair: -pair[1]) if score]


def searched_text(row) -> str:
	"""What the words of a search are looked for in."""
	return f"{row.fact} {row.reference_name or ''}"


def is_of_others(row) -> bool:
	"""Whether another user, who lacks one of the session user's roles, saved the fact last: the run must not
	follow it without asking. Managers are excepted, because they also write the agent's instructions.
	"""
	user, author = frappe.session.user, row.modified_by
	if author == user or is_manager(author):
		return False
	return not set(frappe.get_roles(user)) <= set(frappe.get_roles(author))


def offer_facts(agent: str, record: tuple[str | None, ...], is_private: bool) -> tuple[str, bool]:
	"""(what a run begins with, or "": the newest facts on its record, for its user (if the conversation
	`is_private`) and for the user's roles, within MAX_OFFERED_CHARS; whether some are messages of others).
	"""
	doctype, name = record or (None, None)
	about = list_facts_about(agent, doctype, name) if doctype and name else []
	rows = list_facts(agent, {"scope": ["in", ("User", "Role")]})
	own = [row for row in rows if row.scope == "User" and is_private]
	shared = [row for row in rows if row.scope == "Role"]
	offered = [*about, *own, *shared]
	untrusted = list_untrusted(MEMORY, [row.name for row in offered])
	lines, room, has_others = [], MAX_OFFERED_CHARS, False
	for row in offered:
		line = f"- {row.fact} ({describe_audience(row)}, {str(row.modified)[:10]})"
		if row.name not in untrusted and (room := room - len(line)) >= 0:
			lines.append(line)
			has_others = has_others or is_of_others(row)
	return "\n".join([FACTS, *lines]) if lines else "", has_others
