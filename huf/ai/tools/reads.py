"""Tracks which documents a tool call reads, to find out whether outsiders wrote them."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import frappe

from huf.ai.core.errors import ToolError
from huf.ai.storage.untrusted_records import MAX_NAMES, find_marked, find_outsider

MAIL_DOCTYPES = ("Agent Mail", "Communication")
LOGS = frozenset(
	[
		"Activity Log",
		"Agent Change",
		"Agent Conversation",
		"Agent Draft",
		"Agent Eval Case",
		"Agent Eval Run",
		"Agent LLM Call",
		"Agent Mail Event",
		"Agent Mailbox",
		"Agent Message",
		"Agent Route Decision",
		"Agent Run",
		"Agent Tool Call",
		"Agent Trigger",
		"Agent Trigger Event",
		"Agent Untrusted Record",
		"Deleted Document",
		"Email Queue",
		"Error Log",
		"Integration Request",
		"Knowledge Chunk",
		"MCP Grant",
		"MCP Server Connection",
		"Notification Log",
		"Version",
		"Webhook Request Log",
	]
)
"""Records that Frappe and Huf write, or whose errors and descriptions come from outside; they may repeat
anybody's text.
"""
QUOTING = (ToolError, frappe.ValidationError, ValueError)
"""Errors whose text may quote what was read."""


@dataclass
class Reads:
	"""Names of documents by DocType, with the fields that were read; None stands for documents without known
	names, and for all fields.
	"""

	documents: dict[str, dict[str | None, frozenset[str] | None]] = field(default_factory=dict)

	def find_origins(self) -> list[str]:
		return [origin for doctype in self.documents if (origin := self.find_origin(doctype))]

	def find_origin(self, doctype: str) -> str | None:
		if doctype in MAIL_DOCTYPES:
			return "mail"
		if doctype in LOGS:
			return doctype
		documents = self.documents[doctype]
		names = [name for name in documents if name is not None]
		known = names if len(names) == len(documents) and len(names) <= MAX_NAMES else None
		parts = [each for each in documents.values() if each is not None]
		fields = frozenset().union(*parts) if len(parts) == len(documents) else None
		origin = find_marked(doctype, known, fields) or find_outsider(doctype, known)
		return origin or (find_attached_origin(names) if doctype == "File" else None)


def find_attached_origin(files: list[str]) -> str | None:
	"""The origin of documents to which files are attached, whose authors named the files."""
	attached = {"attached_to_name": ["is", "set"], "attached_to_doctype": ["!=", "File"]}
	filters = {"name": ["in", files], **attached}
	fields = ["attached_to_doctype", "attached_to_name"]
	reads = Reads()
	for row in frappe.get_all("File", filters, fields, order_by="name asc"):
		reads.documents.setdefault(row.attached_to_doctype, {})[row.attached_to_name] = None
	return next(iter(reads.find_origins()), None)


_reads: ContextVar[Reads | None] = ContextVar("huf_reads", default=None)


@contextmanager
def tracking_reads() -> Iterator[Reads]:
	"""Collect what the tool calls in the block read. An error gets the `origins` of what it may quote."""
	token = _reads.set(reads := Reads())
	try:
		yield reads
	except frappe.UniqueValidationError:
		raise  # It quotes the value that was written, and Postgres answers no query after it.
	except QUOTING as error:
		error.origins = tuple(reads.find_origins())  # type: ignore[union-attr]
		raise
	finally:
		_reads.reset(token)


def record_reads(doctype: str, names: Iterable[str | None], fields: Iterable[str] | None = None) -> None:
	"""Record that the current call has read these documents, or these fields of them."""
	if reads := _reads.get():
		known = reads.documents.setdefault(doctype, {})
		for name in names:
			before = known.get(name, frozenset())
			known[name] = None if fields is None or before is None else before.union(fields)
