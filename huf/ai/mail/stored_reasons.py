"""Reasons and summaries with places for values, which mails and their events store in English."""

from huf.ai.core.stored_messages import translate_stored
from huf.ai.storage.outgoing_mail import NO_SERVER

ANSWERED = "{who} has already answered"
MAILBOX_DELETED = "The mailbox {mailbox} was deleted"
MANY_IN_THREAD = "{count} replies went into the thread within a day; it may be a machine that answers"
MANY_TO_ADDRESS = "{count} replies went to {recipients} within a day; it may be a machine that answers"
OUTSIDER = "{outsiders} takes no part in this thread. The mail names it for replies."
NOT_CLASSIFIED = "It was not classified. {reason}."
FAILED_OFTEN = "It failed several times. {reason}"
RUN_AS = "Run as {user}: {reason}"
# Those that begin with fixed words come first.
REASONS = (
	FAILED_OFTEN,
	NOT_CLASSIFIED,
	RUN_AS,
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


def translate_reason(text: str | None) -> str | None:
	return translate_stored(text, REASONS)


def translate_summary(text: str | None) -> str | None:
	return translate_stored(text, (*REASONS, *SUMMARIES))
