"""Decodes mails and files to text, even if their charset is wrong. Never raises, never drops a line."""

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
"""Charset names that Python does not know, or that senders use for a larger charset."""
FALLBACK_CHARSET = "cp1252"
CZECH_CHARSET = "cp1250"
CZECH_BYTES = frozenset("ěščřžů".encode(CZECH_CHARSET))
MIN_CZECH_BYTES = 4
"""No text of a western language has as many different ones of these bytes: Italian has three, è, ì and ù."""
MIN_CZECH_SHARE = 0.3
"""Of all letters that are not ASCII, this share has Czech bytes; in a western list of names it is lower."""
ASCII = bytes(range(128))
OTHER_SCRIPTS = ("cp1251", "cp1253", "shift_jis", "gb18030", "euc_kr")
"""What Windows has for Cyrillic, Greek, Japanese, Chinese and Korean: Excel writes such CSV files."""
MIN_GUESSED_BYTES = 20
"""With fewer bytes that are not ASCII, western text such as "5 µm" is taken for another script."""
EMAIL_ADDRESS = re.compile(
	r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,8}"
)
MAX_ENCODED_WORDS = 500
"""Limit per header: the decoder's time is quadratic."""
WHOLE_ADDRESS = re.compile(
	rf"(?<![\w@.!#$%&'*+/=?^`{{|}}~-]){EMAIL_ADDRESS.pattern}(?!\"?[@\uff20\ufe6b]|[\w-]|\.\w)"
)
"""An address that is not a part of something else, such as a@b.example@c.example or jörg@b.example."""
BYTE_ORDER_MARKS = {
	codecs.BOM_UTF32_LE: "utf-32",
	codecs.BOM_UTF32_BE: "utf-32",
	codecs.BOM_UTF16_LE: "utf-16",
	codecs.BOM_UTF16_BE: "utf-16",
}
"""The longer ones first: that of UTF-32 begins as that of UTF-16 does."""
DECLARED_CHARSET = re.compile(
	rb"(?:<meta\b[^>]{0,300}?\bcharset|<\?xml\b[^>]{0,100}?\bencoding)\s{0,9}=[\s\"']{0,9}([\w.:-]{1,40})",
	re.IGNORECASE,
)
MAX_DECLARATION_BYTES = 1024
LARGER_CODECS = {"ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254"}
"""What browsers read for these: pages that declare them have the quotes and the € of Windows."""
CONTROL_CHARS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\U000e0000-\U000e01ef]")
"""The last ones, tags and variation selectors, are invisible: only a model would read what they say."""
NO_TAGS = str.maketrans("", "", "<>")


DOMAIN_CODECS = frozenset(("idna", "punycode"))
"""Codecs for names of domains, which take quadratic time to decode a long text."""


def decode_bytes(data: bytes, charset: str | None = None) -> str:
	"""Decode by the byte order mark, else the named charset, else as UTF-8, else by the charset that HTML or
	XML declares, else by a guess.
	"""
	for mark, encoding in BYTE_ORDER_MARKS.items():
		if data.startswith(mark):
			return data.decode(encoding, "replace")
	named = find_codec(charset)
	for codec in (named, "utf-8"):
		try:
			return data.decode(codec) if codec else data.decode("ascii")
		except UnicodeError:
			continue
	if named in (None, "utf-8"):
		named = find_declared_codec(data)
	return data.decode(named or guess_codec(data), "replace")


def guess_codec(data: bytes) -> str:
	"""The charset that Windows has for Czech, or for western languages, or one of another script."""
	accented = data.translate(None, ASCII)
	if is_czech(accented):
		return CZECH_CHARSET
	if len(accented) < MIN_GUESSED_BYTES:
		return FALLBACK_CHARSET
	from charset_normalizer import from_bytes

	matches = from_bytes(data, cp_isolation=[FALLBACK_CHARSET, CZECH_CHARSET, *OTHER_SCRIPTS])
	best = matches.best()
	is_western = any(FALLBACK_CHARSET in match.could_be_from_charset for match in matches)
	return FALLBACK_CHARSET if is_western or not best else best.encoding


def is_czech(accented: bytes) -> bool:
	found = [byte for byte in accented if byte in CZECH_BYTES]
	return len(set(found)) >= MIN_CZECH_BYTES and len(found) >= MIN_CZECH_SHARE * len(accented)


def find_declared_codec(data: bytes) -> str | None:
	"""Python's codec name for the charset that HTML or XML declares; None for Unicode, which it is not."""
	found = DECLARED_CHARSET.search(data[:MAX_DECLARATION_BYTES])
	codec = find_codec(found[1].decode("ascii", "replace")) if found else None
	if codec is None or codec.startswith("utf"):
		return None
	return LARGER_CODECS.get(codec, codec)


def find_codec(charset: str | None) -> str | None:
	"""Python's codec name for a charset; None if it is unknown or not a text encoding."""
	name = (charset or "").strip().strip("\"'").lower()
	try:
		codec = codecs.lookup(ALIASES.get(name, name))
		# Raises LookupError for codecs such as base64. Python looks up no codec for an empty text.
		"a".encode(codec.name)
		return None if codec.name in DOMAIN_CODECS else codec.name
	except (LookupError, ValueError):
		return None


def decode_header_value(raw: str) -> str:
	"""A decoded header value on one line; `raw` may contain undecoded bytes as surrogates."""
	raw = decode_surrogates(raw)
	try:
		parts = decode_header(raw) if raw.count("=?") <= MAX_ENCODED_WORDS else [(raw, None)]
	except (HeaderParseError, ValueError):
		parts = [(raw, None)]
	text = "".join(part if isinstance(part, str) else decode_bytes(part, charset) for part, charset in parts)
	return strip_control_chars(" ".join(text.split()))


def unfold_header_value(raw: str) -> str:
	"""A header value on one line, with its encoded words as they are."""
	return strip_control_chars(" ".join(decode_surrogates(raw).split()))


def decode_surrogates(raw: str) -> str:
	if any("\udc80" <= char <= "\udcff" for char in raw):
		return decode_bytes(raw.encode("utf-8", "surrogateescape"))
	return raw


def strip_control_chars(text: str) -> str:
	"""Remove control characters and lone surrogates, which databases refuse, and invisible text."""
	return CONTROL_CHARS.sub("", text).encode("utf-8", "replace").decode()


def read_addresses(*values: str) -> tuple[tuple[str, str], ...]:
	"""(name, address in lower case) of each address in header values, without duplicates."""
	try:
		parsed = getaddresses(list(values))
	except RecursionError:
		# Nested comments; the addresses are found below.
		parsed = []
	# Addresses that the parser misses, such as those after a name with an unquoted comma.
	all_found = [address for value in values for address in WHOLE_ADDRESS.findall(value)]
	whole = set(all_found)
	found = [(name, address) for name, address in parsed if address in whole]
	found += [("", address) for address in all_found]
	seen: dict[str, str] = {}
	for name, address in found:
		seen.setdefault(address.lower(), name)
	return tuple((name, address) for address, name in seen.items())
