"""Parses the parts of a mail within limits of depth, number and header length; `email` has no limits."""

from email.message import Message
from email.parser import BytesHeaderParser, BytesParser
from email.policy import Compat32, Policy, compat32
from typing import cast

from huf.ai.core.text_decoding import decode_surrogates

MAX_DEPTH = 30
MAX_PARTS = 1_000
MAX_HEADER_CHARS = 100_000
"""Limit of a header; the rest is dropped, as Postfix does."""
MAX_ALL_HEADERS_CHARS = 500_000
MAX_TYPE_CHARS = 5_000
"""Limit of headers such as Content-Type: the time to read their parameters is quadratic."""
MAX_HTML_PARTS = 5


class TooManyParts(Exception):
	"""The parts are too many, or nested too deeply."""


class BoundedPolicy(Compat32):
	def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
		name, value = super().header_source_parse(sourcelines)
		return name, value[: MAX_TYPE_CHARS if name.lower().startswith("content-") else MAX_HEADER_CHARS]

	def header_fetch_parse(self, name: str, value: str) -> str:
		"""Read the bytes of a file name that its sender has not encoded, which `email` replaces."""
		return decode_surrogates(value)


class BoundedMessage(Message):
	"""A part that knows how deep it is, and counts all parts in the outermost one."""

	def __init__(self, policy: Policy = compat32):
		super().__init__(policy)
		self.root, self.depth, self.parts, self.html_parts = self, 0, 0, 0

	def attach(self, payload) -> None:
		payload.root, payload.depth = self.root, self.depth + 1
		self.root.parts += 1
		if payload.depth > MAX_DEPTH or self.root.parts > MAX_PARTS:
			raise TooManyParts
		super().attach(payload)

	def take_html(self) -> bool:
		"""Whether this part may be converted, which takes time: only the first few of a mail are."""
		self.root.html_parts += 1
		return self.root.html_parts <= MAX_HTML_PARTS


def parse_parts(raw: bytes) -> BoundedMessage:
	"""The mail with its parts; with too many of them, all that follows the headers is one text."""
	try:
		parsed = BytesParser(BoundedMessage, policy=BoundedPolicy()).parsebytes(raw)
	except TooManyParts:
		parsed = BytesHeaderParser(BoundedMessage, policy=BoundedPolicy()).parsebytes(raw)
	return cast(BoundedMessage, parsed)


def read_headers(message: Message) -> list[tuple[str, str]]:
	"""The first headers, undecoded, until their total length reaches the limit."""
	headers, chars = [], 0
	for name, value in message.raw_items():
		chars += len(name) + len(value)
		if chars > MAX_ALL_HEADERS_CHARS:
			break
		headers.append((name, value))
	return headers
