"""Text and IDs as columns of Huf's tables hold them: cut to their size, on one line, or as a digest."""

import hashlib
from typing import Any, overload

MAX_TEXT_CHARS = 20_000
"""Limit of a text field in these tables; Agent Message has the whole text."""
MAX_TEXT_BYTES = 2**16 - 1
"""Limit of a field of type Small Text on MariaDB."""
MAX_ID_CHARS = 140
"""Limit of a field of type Data."""


@overload
def clip(text: str, max_chars: int = MAX_TEXT_CHARS) -> str: ...
@overload
def clip(text: None, max_chars: int = MAX_TEXT_CHARS) -> None: ...
def clip(text: str | None, max_chars: int = MAX_TEXT_CHARS) -> str | None:
	"""The text, cut to `max_chars` with an ellipsis if it is longer, and so that it fits into the field."""
	if text is None or len(text) <= min(max_chars, MAX_TEXT_BYTES // 4):
		return text
	cut = text if len(text) <= max_chars else text[: max_chars - 1] + "…"
	encoded = cut.encode("utf-8", "replace")
	if max_chars > MAX_TEXT_CHARS or len(encoded) <= MAX_TEXT_BYTES:
		return cut
	return encoded[: MAX_TEXT_BYTES - 3].decode("utf-8", "ignore") + "…"


def clip_line(text: str, max_chars: int) -> str:
	"""The text on one line, cut to `max_chars`."""
	return clip(" ".join(text.split()), max_chars)


def digest(*parts: Any) -> str:
	"""A name derived from the given parts, so that equal parts yield equal names. 32 hexadecimal digits."""
	return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:32]


def shorten_id(value: object) -> str:
	"""An ID from outside as a field of type Data holds it: a longer one is replaced by its digest."""
	text = str(value)
	return text if len(text) <= MAX_ID_CHARS else digest(text)
