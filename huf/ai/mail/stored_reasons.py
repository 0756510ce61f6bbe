"""Reasons and summaries that mails and their events store in English, shown in the reader's language."""

import re
from collections.abc import Sequence

from frappe import _

from huf.ai.core.errors import DETAILS_MARK
from huf.ai.storage.outgoing_mail import NO_SERVER

ANSWERED = "{who} has already answered"
MAILBOX_DELETED = "The mailbox {mailbox} was deleted"
MANY_IN_THREAD = "{count} replies went into the thread within a day; it may be a machine that answers"
MANY_TO_ADDRESS = "{count} replies went to {recipients} within a day; it may be a machine that answers"
OUTSIDER = "{outsiders} takes no part in this thread. The mail names it for replies."
NOT_CLASSIFIED = "It was not classified. {reason}."
FAILED_OFTEN = "It failed several times. {reason}"
RUN_AS = "Run as {user}: {reason}"
TOO_LONG_CHAIN = "At most {limit} runs may start one another. This mail would start run {depth} of the chain"
# Those that begin with fixed words come first.
REASONS = (
	FAILED_OFTEN,
	NOT_CLASSIFIED,
	RUN_AS,
	TOO_LONG_CHAIN,
	NO_SERVER,
	MAILBOX_DELETED,
	MANY_IN_THREAD,
	MANY_TO_ADDRESS,
	OUTSIDER,
	ANSWERED,
)

BY = "By {user}"
TO = "To {recipients}"
TAKEN_OVER = "Taken over by {user}"
NO_RULE = "No rule fits: {route}"
RUN_ENDED = "{agent}: {status}, {steps} iterations, {calls} tool calls"
SUMMARIES = (BY, TO, TAKEN_OVER, NO_RULE, RUN_ENDED)

PLACE = re.compile(r"\{(\w+)\}")
MAX_DEPTH = 2
"""How deep messages may be nested in the values of others."""


def translate_reason(text: str | None) -> str | None:
	return translate_stored(text, REASONS)


def translate_summary(text: str | None) -> str | None:
	return translate_stored(text, (*REASONS, *SUMMARIES))


def translate_stored(text: str | None, templates: Sequence[str]) -> str | None:
	"""A stored message in the reader's language, with the values that it has in the places of one of the
	templates; these may be messages too. A text that matches nothing is returned as it is.
	"""
	words, mark, details = (text or "").partition(DETAILS_MARK)
	return f"{translate_words(words, templates)}{mark}{details}" if words else text


def translate_words(text: str, templates: Sequence[str], depth: int = MAX_DEPTH) -> str:
	if (known := _(text)) != text:
		return known
	for template in templates if depth else ():
		literals = PLACE.split(template)
		if found := extract_values(text, literals[::2]):
			translated = [translate_words(value, templates, depth - 1) for value in found]
			return _(template).format(**dict(zip(literals[1::2], translated, strict=True)))
	return text


def extract_values(text: str, literals: Sequence[str]) -> list[str]:
	"""What stands between the literals of a text; empty if the text does not contain them in this order.

	Takes linear time: outsiders write parts of these texts.
	"""
	first, *others, last = literals
	if not (text.startswith(first) and text.endswith(last)):
		return []
	values, rest = [], text[len(first) : len(text) - len(last)]
	for literal in others:
		value, _found, rest = rest.partition(literal)
		values.append(value)
	return [*values, rest] if all((*values, rest)) else []
