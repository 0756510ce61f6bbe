"""A mail that is to go, as the text that a server is given. Only writes text; sends nothing."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP

from huf.ai.core.text_decoding import EMAIL_ADDRESS, read_addresses, strip_control_chars

REPLY_PREFIX = re.compile(r"^\s*(?:re|aw|sv|vs|odp|antw|ref|rif|res)(?:\[\d+\])?\s*:", re.IGNORECASE)


@dataclass(frozen=True)
class OutgoingMail:
	"""`automatic`: no person has seen it, so that no machine may answer it. Message-IDs stand without < and >."""

	sender: str
	sender_name: str
	to: Sequence[str]
	cc: Sequence[str]
	subject: str
	body: str
	message_id: str
	in_reply_to: str
	references: Sequence[str]
	date: datetime
	automatic: bool = False


def compose(letter: OutgoingMail) -> str:
	mail = EmailMessage(policy=SMTP)
	mail["From"] = Address(to_one_line(letter.sender_name), addr_spec=letter.sender)
	mail["To"] = ", ".join(letter.to)
	if letter.cc:
		mail["Cc"] = ", ".join(letter.cc)
	mail["Subject"] = to_one_line(letter.subject)
	mail["Date"] = letter.date
	mail["Message-ID"] = f"<{letter.message_id}>"
	if letter.in_reply_to:
		mail["In-Reply-To"] = f"<{letter.in_reply_to}>"
		mail["References"] = " ".join(f"<{each}>" for each in letter.references)
	if letter.automatic:
		mail["Auto-Submitted"] = "auto-replied"
		mail["X-Auto-Response-Suppress"] = "All"
	mail.set_content(strip_control_chars(letter.body), cte="quoted-printable")
	return mail.as_string()


def build_reply_subject(subject: str) -> str:
	subject = to_one_line(subject)
	return subject if REPLY_PREFIX.match(subject) else f"Re: {subject}".strip()


def to_one_line(text: str) -> str:
	return " ".join(strip_control_chars(text or "").split())


def read_recipients(text: str) -> tuple[str, ...]:
	"""The addresses of a field that a model or a person filled in. Raises ValueError where something in it is none."""
	parts = [part.strip() for part in re.split(r"[,;\n]", text or "") if part.strip()]
	found = [read_addresses(part) for part in parts]
	for part, addresses in zip(parts, found, strict=True):
		rest = part.rpartition("<")[2].rstrip("> ") if "<" in part else part
		if len(addresses) != 1 or not EMAIL_ADDRESS.fullmatch(rest):
			raise ValueError(
				f"{part!r} is no address. Give addresses such as anna@example.com, with commas between them."
			)
	if not found:
		raise ValueError("There is no address to send it to.")
	return tuple(dict.fromkeys(addresses[0][1] for addresses in found))
