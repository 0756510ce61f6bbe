"""Tracks which documents a tool call reads, to find out whether outsiders wrote them."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from huf.ai.storage.untrusted_records import find_marked, find_outsider

MAIL_DOCTYPES = ("Agent Mail", "Communication")


@dataclass
class Reads:
	"""Names of documents by DocType; None stands for documents without known names."""

	documents: dict[str, dict[str | None, None]] = field(default_factory=dict)

	def find_origins(self) -> list[str]:
		return [origin for doctype in self.documents if (origin := self.find_origin(doctype))]

	def find_origin(self, doctype: str) -> str | None:
		if doctype in MAIL_DOCTYPES:
			return "mail"
		names = [name for name in self.documents[doctype] if name is not None]
		is_partial = len(names) < len(self.documents[doctype])
		return find_marked(doctype, None if is_partial else names) or find_outsider(doctype, names)


_reads: ContextVar[Reads | None] = ContextVar("huf_reads", default=None)


@contextmanager
def tracking_reads() -> Iterator[Reads]:
	token = _reads.set(reads := Reads())
	try:
		yield reads
	finally:
		_reads.reset(token)


def record_reads(doctype: str, names: Iterable[str | None]) -> None:
	"""Note that the present call has read these documents."""
	if reads := _reads.get():
		reads.documents.setdefault(doctype, {}).update(dict.fromkeys(names))
