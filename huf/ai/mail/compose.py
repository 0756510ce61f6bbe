"""Composes outgoing mail as the RFC 5322 text that a mail server receives. Sends nothing."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP

import idna
from frappe import _

from huf.ai.core.text_decoding import EMAIL_ADDRESS, read_addresses, strip_control_chars

REPLY_PREFIX = re.compile(r"^\s*(?:re|aw|sv|vs|odp|antw|ref|rif|res)(?:\[\d+\])?\s*:", re.IGNORECASE)
MESSAGE_ID = re.compile(r"(?!.*=\?)[!-;=?-~]{1,900}")
"""Message-IDs that a header can hold. An encoded word is refused, because `email` would decode it."""

INTERNATIONAL = re.compile(r"(?<=@)[\w.-]*[^\x00-\x7f\W][\w.-]*")
"""A domain such as müller.example; mail servers know it as xn--mller-kva.example."""


@dataclass(frozen=True)
class OutgoingMail:
	"""`automatic`: no person has approved it. Message-IDs are without < and >."""

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


def compose(outgoing: OutgoingMail) -> str:
	mail = EmailMessage(policy=SMTP)
	mail["From"] = Address(to_header_value(outgoing.sender_name), addr_spec=outgoing.sender)
	mail["To"] = ", ".join(outgoing.to)
	if outgoing.cc:
		mail["Cc"] = ", ".join(outgoing.cc)
	mail["Subject"] = to_header_value(outgoing.subject)
	mail["Date"] = outgoing.date
	mail["Message-ID"] = f"<{outgoing.message_id}>"
	if MESSAGE_ID.fullmatch(outgoing.in_reply_to):
		mail["In-Reply-To"] = f"<{outgoing.in_reply_to}>"
		known = [each for each in outgoing.references if MESSAGE_ID.fullmatch(each)]
		mail["References"] = " ".join(f"<{each}>" for each in known)
	if outgoing.automatic:
		mail["Auto-Submitted"] = "auto-replied" if outgoing.in_reply_to else "auto-generated"
		mail["X-Auto-Response-Suppress"] = "All"
	mail.set_content(strip_control_chars(outgoing.body), cte="quoted-printable")
	return mail.as_string()


def build_reply_subject(subject: str) -> str:
	subject = to_one_line(subject)
	return subject if REPLY_PREFIX.match(subject) else f"Re: {subject}".strip()


def to_header_value(text: str) -> str:
	"""One line without encoded words, which `email` decodes; before Python 3.11.10 with their line breaks."""
	return to_one_line(text).replace("=?", "= ?")


def to_one_line(text: str) -> str:
	return " ".join(strip_control_chars(text or "").split())


def to_ascii_domains(text: str) -> str:
	"""The text with the domains of its addresses as mail servers know them."""
	return INTERNATIONAL.sub(to_ascii_domain, text)


def to_ascii_domain(found: re.Match) -> str:
	"""A domain as mail servers know it, or unchanged if there can be none of this name."""
	try:
		# Python's own codec turns straße.example into strasse.example, which is somebody else's.
		return idna.encode(found[0], uts46=True).decode()
	except idna.IDNAError:
		return found[0]


def read_recipients(text: str) -> tuple[str, ...]:
	"""The addresses in a field that a model or a person filled in. Raises ValueError."""
	plain = to_ascii_domains(text or "")
	parts = [part.strip() for part in re.split(r"[,;\n]", plain) if part.strip()]
	found = [read_addresses(part) for part in parts]
	for part, addresses in zip(parts, found, strict=True):
		rest = part.rpartition("<")[2].rstrip("> ") if "<" in part else part
		if len(addresses) != 1 or not EMAIL_ADDRESS.fullmatch(rest):
			raise ValueError(
				_(
					"{0} is not an address. Give addresses such as anna@example.com, separated by commas."
				).format(repr(part))
			)
	if not found:
		raise ValueError(_("There is no recipient. Give at least one address."))
	return tuple(dict.fromkeys(addresses[0][1] for addresses in found))
