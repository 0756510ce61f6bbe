"""Messages that records store in English, shown in the reader's language."""

import re
from collections.abc import Mapping, Sequence

from frappe import _

from huf.ai.core.errors import DETAILS_MARK

PLACE = re.compile(r"\{(\w+)\}")
MAX_DEPTH = 2
"""Of messages within a message."""


def translate_stored(text: str | None, templates: Sequence[str] = ()) -> str | None:
	"""A stored message in the reader's language: a text of the translations, or the first of `templates` that
	it is with values in its places, which may be messages too. Any other text is returned as it is.
	"""
	words, mark, details = (text or "").partition(DETAILS_MARK)
	return f"{translate_words(words, templates)}{mark}{details}" if words else text


def translate_words(text: str, templates: Sequence[str], depth: int = MAX_DEPTH) -> str:
	if (known := _(text)) != text:
		return known
	for template in templates if depth else ():
		literals = PLACE.split(template)
		if found := find_values(text, literals[::2]):
			translated = [translate_words(value, templates, depth - 1) for value in found]
			return fill_places(_(template), dict(zip(literals[1::2], translated, strict=True)))
	return text


def fill_places(template: str, values: Mapping[str, str]) -> str:
	return PLACE.sub(lambda place: values[place[1]], template)


def find_values(text: str, literals: Sequence[str]) -> list[str]:
	"""What is between the literals of a text; empty if it does not consist of them. In linear time: outsiders
	write parts of these texts.
	"""
	first, *others, last = literals
	if not (text.startswith(first) and text.endswith(last)):
		return []
	values, rest = [], text[len(first) : len(text) - len(last)]
	for literal in others:
		value, _found, rest = rest.partition(literal)
		values.append(value)
	return [*values, rest] if all((*values, rest)) else []
