"""Bytes of a mail as text, whatever their sender says of them. Never raises for what a mail holds, never loses a line."""

import codecs
import re
from email.errors import HeaderParseError
from email.header import decode_header
from email.utils import getaddresses

ALIASES = {
	"ansi_x3.110-1983": "cp1252",
	"gb2312": "gb18030",
	"iso-8859-8-i": "iso-8859-8",
	"unicode-1-1-utf-7": "utf-7",
	"us-ascii": "utf-8",
	"windows-874": "cp874",
	"x-gbk": "gb18030",
	"x-sjis": "shift_jis",
}
"""Charsets that mails name and Python knows by another name, or that senders name for a larger one."""
LAST_RESORT = "cp1252"
ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,8}")
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def decode_bytes(data: bytes, charset: str | None = None) -> str:
	"""By the charset that is named, else UTF-8, else what most old mails are in."""
	named = known_codec(charset)
	for codec in (named, "utf-8"):
		try:
			return data.decode(codec) if codec else data.decode("ascii")
		except UnicodeDecodeError:
			continue
	wanted = named if named not in (None, "utf-8") else LAST_RESORT
	return data.decode(wanted, "replace")


def known_codec(charset: str | None) -> str | None:
	"""Python's name of a charset that turns bytes into text; None for any other."""
	name = (charset or "").strip().strip("\"'").lower()
	try:
		codec = codecs.lookup(ALIASES.get(name, name))
		b"".decode(codec.name)  # codecs such as base64 are no charsets
		return codec.name
	except (LookupError, ValueError):
		return None


def decode_header_value(raw: str) -> str:
	"""A header's value as it is meant, on one line; `raw` may hold bytes as surrogates."""
	if any("\udc80" <= char <= "\udcff" for char in raw):
		raw = decode_bytes(raw.encode("utf-8", "surrogateescape"))
	try:
		parts = decode_header(raw)
	except (HeaderParseError, ValueError):
		parts = [(raw, None)]
	text = "".join(part if isinstance(part, str) else decode_bytes(part, charset) for part, charset in parts)
	return clean(" ".join(text.split()))


def clean(text: str) -> str:
	"""Without characters that no text has and databases refuse."""
	return CONTROL.sub("", text).encode("utf-8", "replace").decode()


def read_addresses(*values: str) -> tuple[tuple[str, str], ...]:
	"""(name, address in small letters) of each address in some header values, each address once."""
	found = [(name, address) for name, address in getaddresses(list(values)) if ADDRESS.fullmatch(address)]
	for value in values:
		# What the parser gives up on, such as a name with an unquoted comma.
		found += [("", address) for address in ADDRESS.findall(value)]
	seen: dict[str, str] = {}
	for name, address in found:
		seen.setdefault(address.lower(), name)
	return tuple((name, address) for address, name in seen.items())
