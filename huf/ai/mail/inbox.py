"""A folder on an IMAP server: what is new in it, message by message, and the wait for more. Changes nothing there.

What goes wrong on the way is an InboxError, for the person who set the mailbox up.
"""

import imaplib
import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone

from imap_tools import BaseMailBox, ImapToolsError, MailBox, MailBoxStartTls, MailBoxUnencrypted

from huf.ai.core.errors import UsageError

SECURITY = {"SSL/TLS": MailBox, "STARTTLS": MailBoxStartTls, "None": MailBoxUnencrypted}
TIMEOUT_S = 30
MAX_UIDS = 5_000
INTERNALDATE = re.compile(rb'INTERNALDATE "([^"]+)"')


class InboxError(UsageError):
	"""The server cannot be reached, does not let us in, or does not answer as it should."""


@dataclass(frozen=True)
class Account:
	host: str
	port: int
	security: str
	user: str
	password: str
	folder: str = "INBOX"


class Inbox:
	"""An open folder, read-only."""

	def __init__(self, box: BaseMailBox, folder: str):
		self.box, self.folder = box, folder
		box.folder.set(folder, readonly=True)
		status = box.folder.status(folder, ["UIDVALIDITY"])
		self.uidvalidity = str(status["UIDVALIDITY"])

	def uids(self, after: int, since: datetime | None = None) -> list[int]:
		"""Messages behind a UID, in order; `since` (UTC) leaves out those of days before."""
		wish = f"UID {after + 1}:*" + (f" SINCE {since:%d-%b-%Y}" if since else "")
		answer = self.ask("SEARCH", None, wish)
		found = sorted(int(uid) for uid in (answer[0] or b"").split())
		# `n:*` names the last message even where its UID is smaller.
		return [uid for uid in found if uid > after][:MAX_UIDS]

	def fetch(self, uid: int) -> tuple[bytes, datetime] | None:
		"""A message as it came and when it came (UTC); None where it is gone meanwhile."""
		for part in self.ask("FETCH", str(uid), "(INTERNALDATE BODY.PEEK[])"):
			if isinstance(part, tuple):
				return part[1], parse_internal_date(part[0])
		return None

	def fetch_id(self, uid: int) -> str:
		"""The header Message-ID as it stands there."""
		for part in self.ask("FETCH", str(uid), "(BODY.PEEK[HEADER.FIELDS (MESSAGE-ID)])"):
			if isinstance(part, tuple):
				return part[1].decode("ascii", "replace").partition(":")[2].strip()
		return ""

	def wait(self, seconds: float) -> bool:
		"""Whether the server tells of something new in that time; False at once where it cannot tell."""
		if "IDLE" not in self.box.client.capabilities:
			return False
		return bool(self.box.idle.wait(timeout=seconds))

	def ask(self, command: str, *arguments) -> list:
		status, answer = self.box.client.uid(command, *arguments)
		if status != "OK":
			raise InboxError(f"The server refuses {command}: {answer}")
		return answer


@contextmanager
def open_inbox(account: Account) -> Iterator[Inbox]:
	try:
		with open_connection(account).login(account.user, account.password, initial_folder=None) as box:
			yield Inbox(box, account.folder)
	except ImapToolsError as error:
		raise InboxError(f"{account.host} refuses: {error}") from None
	except (imaplib.IMAP4.error, OSError, EOFError) as error:
		raise InboxError(f"{account.host}:{account.port} cannot be read as {account.user}: {error}") from None


def open_connection(account: Account) -> BaseMailBox:
	kind = SECURITY[account.security or "SSL/TLS"]
	secure = {} if kind is MailBoxUnencrypted else {"ssl_context": ssl.create_default_context()}
	return kind(account.host, account.port, timeout=TIMEOUT_S, **secure)


def parse_internal_date(head: bytes) -> datetime:
	found = INTERNALDATE.search(head)
	try:
		when = datetime.strptime(found.group(1).decode().strip(), "%d-%b-%Y %H:%M:%S %z")
	except (AttributeError, ValueError):
		return datetime.now(timezone.utc).replace(tzinfo=None)
	return when.astimezone(timezone.utc).replace(tzinfo=None)
