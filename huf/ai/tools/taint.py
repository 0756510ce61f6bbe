"""Finds untrusted content in the context of a run, and its sources. Changes nothing."""

import frappe

from huf.ai.core.egress import TYPES_WITHOUT_DESTINATION, UntrustedSource
from huf.ai.tools.types import KNOWLEDGE, MCP_TOOL

MAIL_DOCTYPES = ("Agent Mail", "Communication")
READ_DOCTYPE = """case when made.result like '%%"doctype": "Agent Mail"%%'
	or made.result like '%%"doctype": "Communication"%%'
	then 'Communication' else tool.reference_doctype end"""
"""SQL: the DocType that a call read; for a knowledge search, from its results."""
MAX_UNTRUSTED_CHARS = 500_000


def find_untrusted_sources(run: str | None) -> set[UntrustedSource]:
	"""The untrusted sources in the context of a run: its own, its conversation's, and those of the runs that
	called it.
	"""
	found: set[UntrustedSource] = set()
	while run:
		row = frappe.db.get_value(
			"Agent Run", run, ["conversation", "reference_doctype", "parent_run"], as_dict=True
		)
		if not row:
			break
		channel = frappe.db.get_value("Agent Conversation", row.conversation, "channel")
		if channel == "mcp":
			# Nobody here knows what the program that calls has read before.
			found.add(UntrustedSource.PROGRAM)
		if channel == "mail" or row.reference_doctype in MAIL_DOCTYPES:
			found.add(UntrustedSource.MAIL)
		if has_attachments(row.conversation):
			found.add(UntrustedSource.FILE)
		for doctype in find_doctypes_read(row.conversation):
			found.add(UntrustedSource.MAIL if doctype in MAIL_DOCTYPES else UntrustedSource.WEB)
		run = row.parent_run
	return found


def has_attachments(conversation: str) -> bool:
	"""Whether somebody attached a file in the conversation; nobody knows who wrote it, so it is untrusted."""
	return bool(
		frappe.db.exists("Agent Message", {"conversation": conversation, "attachments": ["is", "set"]})
	)


def find_doctypes_read(conversation: str) -> list[str]:
	"""DocTypes from which tools read untrusted content in a conversation; "" stands for content from outside
	the site.
	"""
	rows = find_untrusted_calls(conversation, f"distinct {READ_DOCTYPE} as doctype", "")
	return [row.doctype or "" for row in rows]


def read_untrusted_text(run: str) -> str:
	"""The results of calls with untrusted content in a run's conversation, and the person's prompt."""
	conversation, prompt = frappe.db.get_value("Agent Run", run, ["conversation", "prompt"])
	rows = find_untrusted_calls(conversation, "made.result as result", "order by made.creation limit 200")
	return "\n".join([prompt or "", *(row.result or "" for row in rows)])[:MAX_UNTRUSTED_CHARS]


def find_untrusted_calls(conversation: str, columns: str, ending: str) -> list:
	"""Successful calls with untrusted results, of a conversation or of the one it was branched from."""
	return frappe.db.sql(
		f"""select {columns} from `tabAgent Tool Call` made join `tabAgent Run` run on run.name = made.run
		join `tabAgent Tool Function` tool on tool.name = made.tool
		where (run.conversation = %s or run.name in (
			select message.run from `tabAgent Message` message where message.conversation = %s))
			and made.status = 'Success' and (
			(made.effect = 'external' and tool.types not in %s) or tool.types = %s
			or tool.reference_doctype in %s
			or (tool.types = %s and made.result like %s)) {ending}""",
		(
			conversation,
			conversation,
			TYPES_WITHOUT_DESTINATION,
			MCP_TOOL,
			MAIL_DOCTYPES,
			KNOWLEDGE,
			'%"untrusted": true%',
		),
		as_dict=True,
	)


def find_mail(run: str | None) -> str | None:
	"""The Agent Mail that a run, or one of its parent runs, is about."""
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
