"""Whether a run has words of strangers in its context, and where from. Only reads."""

import frappe

from huf.ai.trust import Source

WEB_TYPES = ("GET", "POST")
MAIL_DOCTYPES = ("Agent Mail", "Communication")
LONGEST_SEEN = 500_000


def sources_of(run: str | None) -> set[Source]:
	"""The untrusted sources in the context of a run: its own, its conversation's, and those of the runs that called it."""
	found: set[Source] = set()
	while run:
		row = frappe.db.get_value(
			"Agent Run", run, ["conversation", "reference_doctype", "parent_run"], as_dict=True
		)
		if not row:
			break
		channel = frappe.db.get_value("Agent Conversation", row.conversation, "channel")
		if channel == "mail" or row.reference_doctype in MAIL_DOCTYPES:
			found.add(Source.MAIL)
		if reads_web(row.conversation):
			found.add(Source.WEB)
		run = row.parent_run
	return found


def reads_web(conversation: str) -> bool:
	"""Whether a tool has brought text from outside into a conversation."""
	return bool(web_rows(conversation, "made.name", 1))


def seen_in(run: str) -> str:
	"""What was read from outside in a run's conversation, and what the person asked."""
	conversation, prompt = frappe.db.get_value("Agent Run", run, ["conversation", "prompt"])
	texts = [row.result or "" for row in web_rows(conversation, "made.result as result", 200)]
	return "\n".join([prompt or "", *texts])[:LONGEST_SEEN]


def web_rows(conversation: str, column: str, limit: int) -> list:
	return frappe.db.sql(
		f"""select {column} from `tabAgent Tool Call` made join `tabAgent Run` run on run.name = made.run
		where run.conversation = %s and made.effect = 'external' and made.status = 'Success'
		order by made.creation limit {int(limit)}""",
		(conversation,),
		as_dict=True,
	)


def mail_of(run: str | None) -> str | None:
	"""The Agent Mail that a run, or one that led to it, is about."""
	while run:
		row = frappe.db.get_value(
			"Agent Run", run, ["reference_doctype", "reference_name", "parent_run"], as_dict=True
		)
		if not row:
			return None
		if row.reference_doctype == "Agent Mail":
			return row.reference_name
		run = row.parent_run
	return None
