"""Reads new messages in a folder of an IMAP server, and waits for more. Never changes the folder.

Failures are raised as InboxError, for the person who set up the mailbox.
"""

import imaplib
import re
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from frappe import _
from imap_tools import BaseMailBox, ImapToolsError, MailBox, MailBoxStartTls, MailBoxUnencrypted
from imap_tools.errors import MailboxFolderSelectError, MailboxFolderStatusError

from huf.ai.core.errors import UsageError, add_details

SECURITY = {"SSL/TLS": MailBox, "STARTTLS": MailBoxStartTls, "None": MailBoxUnencrypted}
TIMEOUT_S = 30
MAX_UIDS = 5_000
MAX_MAIL_BYTES = 60_000_000
"""Only this much of a longer mail is fetched. Most servers accept mails of 25 to 50 MB."""
MAX_DROPS = 6
"""How many connections a server may end during FETCH. A message at which it ends two is refused."""
INTERNALDATE = re.compile(rb'INTERNALDATE "([^"]+)"')


class InboxError(UsageError):
	"""The server cannot be reached, refuses the login, or answers in an unexpected way."""


class MessageRefused(InboxError):
	"""The server refuses to return one message."""


@dataclass(frozen=True)
class Account:
	host: str
	port: int
	security: str
	user: str
	password: str
	folder: str = "INBOX"
	token: str | None = None
	"""An access token, used instead of the password (XOAUTH2)."""


@dataclass(frozen=True)
class FetchedMail:
	"""`raw`: at most the first MAX_MAIL_BYTES of a message. `arrived` is in UTC."""

	raw: bytes
	arrived: datetime
	is_complete: bool


class Inbox:
	"""An open folder, read-only."""

	def __init__(self, account: Account, connections: ExitStack):
		self.account, self.folder, self.connections = account, account.folder, connections
		self.drops = 0
		self.uidvalidity = self.connect()

	def connect(self) -> str:
		"""Sign in and open the folder; returns its UIDVALIDITY."""
		self.box = open_mailbox(self.account)
		self.connections.callback(log_out, self.box)
		self.box.folder.set(self.folder, readonly=True)
		# Named by the server when it opens the folder: some refuse STATUS for an open one.
		found = self.box.client.response("UIDVALIDITY")[1][-1]
		status = {} if found else self.box.folder.status(self.folder, ["UIDVALIDITY"])
		return found.decode() if found else str(status["UIDVALIDITY"])

	def uids(self, after: int, since: datetime | None = None) -> list[int]:
		"""UIDs after a UID, in order; `since` (UTC) leaves out messages that arrived days before it."""
		# Servers compare the date in their own time zone, where it may still be the day before.
		day = since and since - timedelta(days=1)
		criteria = f"UID {after + 1}:*" + (f" SINCE {day:%d-%b-%Y}" if day else "")
		answer = self.command("SEARCH", None, criteria)
		# Some servers answer with several lines.
		found = sorted(int(uid) for line in answer for uid in (line or b"").split())
		# `n:*` includes the last message even if its UID is smaller.
		return [uid for uid in found if uid > after][:MAX_UIDS]

	def fetch(self, uid: int) -> FetchedMail | None:
		"""None if the message is gone. Raises MessageRefused."""
		for part in self.fetch_parts(uid, f"(INTERNALDATE BODY.PEEK[]<0.{MAX_MAIL_BYTES}>)"):
			if isinstance(part, tuple):
				return FetchedMail(part[1], parse_internal_date(part[0]), len(part[1]) < MAX_MAIL_BYTES)
		return None

	def fetch_id(self, uid: int) -> str:
		"""The value of the header Message-ID. Raises MessageRefused."""
		for part in self.fetch_parts(uid, "(BODY.PEEK[HEADER.FIELDS (MESSAGE-ID)])"):
			if isinstance(part, tuple):
				return part[1].decode("ascii", "replace").partition(":")[2].strip()
		return ""

	def fetch_parts(self, uid: int, items: str, is_second: bool = False) -> list:
		try:
			return self.command("FETCH", str(uid), items)
		except (imaplib.IMAP4.abort, ConnectionError) as error:
			self.connect_again(error)
			if not is_second:
				return self.fetch_parts(uid, items, is_second=True)
			raise MessageRefused(f"The server ends the connection at a mail: {error}") from None
		except (InboxError, imaplib.IMAP4.error) as error:
			raise MessageRefused(f"The server does not hand over a mail: {error}") from None

	def connect_again(self, error: Exception) -> None:
		"""Raises the error if connections end too often for it to be the fault of single messages."""
		self.drops += 1
		if self.drops > MAX_DROPS or self.connect() != self.uidvalidity:
			raise error

	def find_folder_problem(self, folder: str | None) -> str | None:
		"""Why another folder cannot be read and what to do; None if it can, or if none is named."""
		if not folder:
			return None
		try:
			self.box.folder.status(folder, ["UIDVALIDITY"])
		except MailboxFolderStatusError as error:
			return describe_folder_error(folder, error)
		return None

	def wait(self, seconds: float) -> None:
		"""Wait until the server announces a change, for at most `seconds`; not at all if it has no IDLE.

		Announcements are not returned: one that arrives in two pieces is lost.
		"""
		if "IDLE" not in self.box.client.capabilities:
			return
		deadline = time.monotonic() + seconds
		with self.box.idle as idle:
			while is_keepalive(idle.poll(max(0, deadline - time.monotonic()))):
				pass

	def command(self, command: str, *arguments) -> list:
		status, answer = self.box.client.uid(command, *arguments)
		if status != "OK":
			raise InboxError(f"The server refuses {command}: {answer}")
		return answer


def is_keepalive(lines: list[bytes]) -> bool:
	"""Whether a server only says that the connection is alive, as Dovecot does (`* OK Still here`)."""
	return bool(lines) and all(line.startswith(b"* OK") for line in lines)


@contextmanager
def open_inbox(account: Account) -> Iterator[Inbox]:
	"""An IMAP mailbox, signed in within the block. Raises InboxError."""
	try:
		with ExitStack() as connections:
			yield Inbox(account, connections)
	except (MailboxFolderSelectError, MailboxFolderStatusError) as error:
		raise InboxError(describe_folder_error(account.folder, error)) from None
	except ImapToolsError as error:
		raise InboxError(add_details(describe_refused_login(account), error)) from None
	except (imaplib.IMAP4.error, OSError, EOFError) as error:
		place = f"{account.host}:{account.port}"
		message = _("{0} cannot be read as {1}. Check the IMAP host, port, security and login.")
		raise InboxError(add_details(message.format(place, account.user), error)) from None


def describe_folder_error(folder: str, error: Exception) -> str:
	message = _("The mail server cannot open the folder {0}. Check the folder's name in the mailbox.")
	return add_details(message.format(folder), error)


def log_out(box: BaseMailBox) -> None:
	# What was read before counts, however the connection ends.
	with suppress(ImapToolsError, imaplib.IMAP4.error, OSError, EOFError):
		box.logout()


def open_mailbox(account: Account) -> BaseMailBox:
	try:
		box = open_connection(account)
	except UnicodeError as error:  # no host can have this name
		raise OSError(str(error)) from None
	try:
		if account.token:
			return box.xoauth2(account.user, account.token, initial_folder=None)
		login = box.login if (account.user + account.password).isascii() else box.login_utf8
		return login(account.user, account.password, initial_folder=None)
	except imaplib.IMAP4.abort:
		raise
	except (ImapToolsError, imaplib.IMAP4.error) as error:
		raise InboxError(add_details(describe_refused_login(account), error)) from None


def describe_refused_login(account: Account) -> str:
	if account.token:
		message = _("{0} refused {1}. Sign in on the Mailboxes page.")
	else:
		message = _("{0} refused {1}. Check the IMAP user and password.")
	return message.format(account.host, account.user)


def open_connection(account: Account) -> BaseMailBox:
	kind = SECURITY[account.security or "SSL/TLS"]
	secure = {} if kind is MailBoxUnencrypted else {"ssl_context": ssl.create_default_context()}
	return kind(account.host, account.port, timeout=TIMEOUT_S, **secure)


def parse_internal_date(head: bytes) -> datetime:
	found = INTERNALDATE.search(head)
	try:
		text = found.group(1).decode().strip() if found else ""
		when = datetime.strptime(text, "%d-%b-%Y %H:%M:%S %z")
	except ValueError:
		return datetime.now(timezone.utc).replace(tzinfo=None)
	return when.astimezone(timezone.utc).replace(tzinfo=None)
