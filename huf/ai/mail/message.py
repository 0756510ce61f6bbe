"""Parses the bytes of a mail into a frozen MailMessage. Pure; never raises for the content of a mail."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from email.message import Message
from email.utils import parsedate_to_datetime

from huf.ai.core.text_decoding import (
	decode_bytes,
	decode_header_value,
	decode_surrogates,
	read_addresses,
	strip_control_chars,
	unfold_header_value,
)
from huf.ai.mail.automated import find_automated
from huf.ai.mail.bounded_parser import BoundedMessage, parse_parts, read_headers
from huf.ai.mail.compose import to_ascii_domains
from huf.ai.mail.html_text import html_to_text, strip_unconverted_html
from huf.ai.mail.quoting import extract_new_text

MAX_CALENDAR_CHARS = 50_000
FORWARDED = "---------- Forwarded message ---------"
SEALED_TYPES = ("application/pkcs7-mime", "application/x-pkcs7-mime", "application/pgp-encrypted")
SEALED = "[This mail is encrypted, or sealed by its signature. Its text can be read only in a mail program.]"
EVENT_LINE = re.compile("(?:SUMMARY|DTSTART|DTEND|DURATION|RRULE|LOCATION|ORGANIZER|STATUS)[;:]")
MESSAGE_ID = re.compile(r"<([^<>\s]+)>")
MAX_REFERENCES = 100
MAX_NAMES_CHARS = 1_000
NAME_PARTS = re.compile(r'=\?[^?\s]*\?[^?\s]*\?[^?]*\?=|"(?:[^"\\]|\\.?)*(?:"|(?P<unclosed>$))|\([^()]*\)')
"""Encoded words, quoted texts and comments."""
TURNING = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""With these, a program can have a name that people read as invoice.pdf."""
ADDRESS_PLACE = re.compile(r"@|<[^<>]*\w")
"""What stands where the address belongs, whether it can be read or not."""


@dataclass(frozen=True)
class Attachment:
	file_name: str
	content_type: str
	content: bytes
	content_id: str = ""
	is_inline: bool = False


@dataclass(frozen=True)
class MailMessage:
	"""One mail. Addresses are in lower case; Message-IDs are without < and >.

	`sender_name` is the whole header if no address in it can be read; `sender` is then empty.
	`text` is markdown if the mail is HTML; `new_text` is the text without quotes. `headers` are (name,
	decoded value) in order. `automated` says why a machine is the author, None for a person. `digest`
	identifies the bytes.
	"""

	message_id: str
	sender: str
	sender_name: str
	to: tuple[str, ...]
	cc: tuple[str, ...]
	reply_to: tuple[str, ...]
	subject: str
	date: datetime | None
	headers: tuple[tuple[str, str], ...]
	text: str
	new_text: str
	attachments: tuple[Attachment, ...]
	in_reply_to: str
	references: tuple[str, ...]
	automated: str | None
	digest: str

	def header(self, name: str) -> str | None:
		"""The first value of a header, or None."""
		return next(iter(self.all_headers(name)), None)

	def all_headers(self, name: str) -> list[str]:
		return [value for key, value in self.headers if key.lower() == name.lower()]

	@property
	def sent_at(self) -> datetime | None:
		"""The date in UTC, without its time zone."""
		return self.date.astimezone(timezone.utc).replace(tzinfo=None) if self.date else None

	@property
	def key(self) -> str:
		"""What identifies the mail: its Message-ID, or the digest of its bytes."""
		return self.message_id or self.digest


def list_attachments(message: MailMessage) -> str:
	"""Lines for a prompt that name the attachments, without pictures in the text; may be empty."""
	names = [
		each.file_name
		for each in message.attachments
		if not (each.is_inline and each.content_id and each.content_type.startswith("image/"))
	]
	return f"\n\nAttachments: {', '.join(names)[:MAX_NAMES_CHARS]}" if names else ""


def parse_headers(headers: dict[str, str | None]) -> MailMessage:
	"""A mail of which only these headers are known."""
	lines = [f"{name}: {' '.join(value.split())}" for name, value in headers.items() if value]
	return parse_message("\n".join([*lines, "", ""]).encode())


def parse_message(raw: bytes) -> MailMessage:
	parsed = parse_parts(raw)
	undecoded = read_headers(parsed)
	headers = tuple((name, decode_header_value(value)) for name, value in undecoded)

	def header(name: str) -> str | None:
		return next((value for key, value in headers if key.lower() == name.lower()), None)

	def addresses(name: str) -> tuple[tuple[str, str], ...]:
		values = (value for key, value in undecoded if key.lower() == name.lower())
		# Some programs write müller.example, as people do.
		return read_address_headers([to_ascii_domains(decode_surrogates(each)) for each in values])

	# Receiving servers check the domain in From only: an address there that cannot be read is no reason to
	# believe Sender.
	author = "From" if "@" in (header("From") or "") else "Sender"
	sender_name, sender = next(iter(addresses(author)), ("", ""))
	text, attachments = read_text_and_files(parsed)
	return MailMessage(
		message_id=first_id(header("Message-ID")),
		sender=sender,
		sender_name=sender_name or ("" if sender else header("From") or ""),
		to=just_addresses(addresses("To")),
		cc=just_addresses(addresses("Cc")),
		reply_to=just_addresses(addresses("Reply-To")),
		subject=header("Subject") or "",
		date=parse_date_header(header("Date")),
		headers=headers,
		text=text,
		new_text=extract_new_text(text),
		attachments=attachments,
		in_reply_to=first_id(header("In-Reply-To")),
		references=tuple(dict.fromkeys(MESSAGE_ID.findall(header("References") or "")))[-MAX_REFERENCES:],
		automated=find_automated(header, sender),
		digest=hashlib.sha256(raw).hexdigest()[:32],
	)


def read_address_headers(values: list[str]) -> tuple[tuple[str, str], ...]:
	"""(name, address) of undecoded values. An address that somebody put into a name does not count, unless
	there is nothing else, as in "anna@shop.example" or a header that is encoded as a whole.
	"""
	texts = [unfold_header_value(value) for value in values]
	found = read_addresses(*texts) or read_addresses(*map(decode_header_value, values))
	names = {address: decode_header_value(name) for name, address in found}
	places = [remove_names(text) for text in texts]
	if any(map(ADDRESS_PLACE.search, places)):
		return tuple((names.get(address, ""), address) for address in just_addresses(read_addresses(*places)))
	return tuple((name, address) for address, name in names.items())


def remove_names(text: str) -> str:
	"""The addresses of a header without what stands before their < >."""
	entries = re.split("[,;]", NAME_PARTS.sub(remove_name_part, text))
	return ", ".join(entry[max(entry.rfind("<"), 0) :] for entry in entries)


def remove_name_part(found: re.Match) -> str:
	"""A space instead of a match of NAME_PARTS; a quote that is not closed reaches to the next <."""
	if found["unclosed"] is None:
		return " "
	return NAME_PARTS.sub(" ", "".join(found[0].replace('"', " ").partition("<")[1:]))


def just_addresses(found: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
	return tuple(address for _name, address in found)


def first_id(value: str | None) -> str:
	"""The first Message-ID in a value; one without brackets counts too. May be empty."""
	found = MESSAGE_ID.search(value or "")
	if found:
		return found.group(1)
	bare = (value or "").strip()
	return bare if bare.strip("<>") and not re.search(r"\s", bare) else ""


def parse_date_header(value: str | None) -> datetime | None:
	"""The date with its time zone (UTC if it names none); None if it cannot be parsed."""
	try:
		date = parsedate_to_datetime(value) if value else None
		if date is None or date.tzinfo is None:
			return date and date.replace(tzinfo=timezone.utc)
		date.astimezone(timezone.utc)  # raises OverflowError
		return date
	except (TypeError, ValueError, IndexError, OverflowError):
		return None


# --- parts ---


def read_text_and_files(parsed: BoundedMessage) -> tuple[str, tuple[Attachment, ...]]:
	"""(the text of a mail with what its calendar says, its attachments)."""
	parts = list(read_parts(parsed))
	attachments = tuple(each for each in parts if isinstance(each, Attachment))
	text = "\n\n".join(each for each in parts if isinstance(each, str) and each.strip()).strip()
	if not text and any(each.content_type in SEALED_TYPES for each in attachments):
		text = SEALED
	return add_event(text, read_calendar(attachments)), attachments


def read_parts(part: BoundedMessage, parent: str = "") -> Iterator[str | Attachment]:
	"""The texts and attachments of a mail in order; of alternatives the plain text, if it is not empty.

	`parent`: the content type of the part that contains this one.
	"""
	kind = part.get_content_type()
	if kind == "multipart/alternative":
		yield from read_alternatives(part)
	elif part.is_multipart() and kind.startswith("multipart/"):
		for each in read_subparts(part):
			yield from read_parts(each, kind)
	elif kind.startswith("multipart/"):
		# Declared as multipart, but without parts.
		yield decode_text(part)
	elif kind in ("text/plain", "text/html") and not is_attached(part):
		yield decode_text(part)
	else:
		# What belongs to an HTML text, like its pictures, is related to it.
		yield to_attachment(part, is_related=parent == "multipart/related")
		if kind == "message/rfc822" and parent != "multipart/report":
			yield from map(read_forwarded_mail, read_subparts(part))


def read_forwarded_mail(mail: BoundedMessage) -> str:
	"""The head and the texts of a mail that is attached to another one; empty if it has no head."""
	names = ("From", "Date", "To", "Subject")
	head = [f"{name}: {decode_header_value(mail[name])}" for name in names if mail[name]]
	texts = [each for each in read_parts(mail) if isinstance(each, str) and each.strip()]
	return "\n\n".join(["\n".join([FORWARDED, *head]), *texts]) if head else ""


def read_alternatives(part: BoundedMessage) -> Iterator[str | Attachment]:
	parts = read_subparts(part)
	read = [list(read_parts(each)) for each in parts]
	texts_by_part = [[each for each in some if isinstance(each, str) and each.strip()] for some in read]
	plain = next(
		(texts for texts, each in zip(texts_by_part, parts, strict=True) if texts and is_plain(each)), None
	)
	if plain is None:
		plain = next((texts for texts in reversed(texts_by_part) if texts), [])
	yield from plain
	yield from (each for some in read for each in some if isinstance(each, Attachment))


def read_calendar(attachments: Iterable[Attachment]) -> str:
	"""The first calendar of a mail; may be empty."""
	found = next((each.content for each in attachments if each.content_type == "text/calendar"), b"")
	return strip_control_chars(decode_bytes(found, None).replace("\r\n", "\n"))[:MAX_CALENDAR_CHARS].strip()


def add_event(text: str, calendar: str) -> str:
	"""The text with when and where of an invitation, which often has no text, or one without them."""
	if not text:
		return calendar
	event = calendar.partition("BEGIN:VEVENT\n")[2].partition("BEGIN:VALARM")[0].partition("END:VEVENT")[0]
	lines = re.sub(r"\n[ \t]", "", event).split("\n")
	return "\n".join([text, "", *filter(EVENT_LINE.match, lines)]).strip()


def read_subparts(part: BoundedMessage) -> list[BoundedMessage]:
	if not part.is_multipart():
		return []
	return [each for each in part.get_payload() if isinstance(each, BoundedMessage)]


def is_plain(part: Message) -> bool:
	return part.get_content_type() == "text/plain"


def is_attached(part: Message) -> bool:
	return part.get_content_disposition() == "attachment" or bool(get_file_name(part))


def decode_text(part: BoundedMessage) -> str:
	text = strip_control_chars(
		decode_bytes(payload_of(part), part.get_content_charset()).replace("\r\n", "\n").replace("\r", "\n")
	)
	if part.get_content_type() != "text/html":
		return text
	return html_to_text(text) if part.take_html() else strip_unconverted_html(text)


def to_attachment(part: BoundedMessage, is_related: bool) -> Attachment:
	kind = part.get_content_type()
	if part.is_multipart():
		# A forwarded mail: its bytes are the attachment.
		content = b"\n\n".join(each.as_bytes() for each in read_subparts(part))
	else:
		content = payload_of(part)
	ending = {"message/rfc822": ".eml", "text/calendar": ".ics", "text/plain": ".txt", "text/html": ".html"}
	name = get_file_name(part) or f"attachment{ending.get(kind, '.bin')}"
	content_id = first_id(str(part.get("Content-ID") or ""))
	disposition = part.get_content_disposition()
	# Gmail sets a Content-ID on every attachment; some programs declare pictures of the text as attachments.
	is_picture = (
		bool(content_id) and kind.startswith("image/") and (is_related or disposition != "attachment")
	)
	return Attachment(name, kind, content, content_id, disposition == "inline" or is_picture)


def payload_of(part: Message) -> bytes:
	payload = part.get_payload(decode=True)
	return payload if isinstance(payload, bytes) else b""


def get_file_name(part: Message) -> str:
	"""The file name without folders, and without characters that reverse text; may be empty."""
	try:
		name = part.get_filename() or ""
	except (LookupError, ValueError, TypeError):
		name = ""
	return re.split(r"[/\\]", TURNING.sub("", decode_header_value(name)))[-1].strip()
