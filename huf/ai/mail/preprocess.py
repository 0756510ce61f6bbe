"""Turns a mail into the prompt of an agent. Pure; the preprocessors, built-in or of apps, are passed in."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from huf.ai.mail.message import MAX_NAMES_CHARS, MailMessage, list_attachments

DEFAULT = "default"
MAX_PROMPT_CHARS = 40_000
"""How much of a mail an agent reads: a long thread or a pasted log would not fit into a model's window."""


@dataclass(frozen=True)
class PreparedMail:
	"""`prompt` is what the agent reads; `fields` are the values found in the mail, by name.

	`answer_to`: an address that may be answered besides those in the thread; only if the mail is known to be
	genuine.
	"""

	preprocessor: str
	sender_email: str
	subject: str
	body: str
	prompt: str
	fields: Mapping[str, str] = field(default_factory=dict)
	answer_to: str = ""


@dataclass(frozen=True)
class Preprocessor:
	"""`fits` says whether a mail is of its kind, `read` reads it. Neither raises."""

	fits: Callable[[MailMessage], bool]
	read: Callable[[MailMessage], PreparedMail]


def describe_people(message: MailMessage) -> str:
	"""Lines for a prompt: who wrote, to whom if there are several, and where replies should go instead.

	Anyone can set any of them.
	"""
	is_both = message.sender_name and message.sender
	sender = f"{message.sender_name} <{message.sender}>" if is_both else message.sender_name or message.sender
	has_several = len(message.to) + len(message.cc) > 1
	others = {
		"To": message.to if has_several else (),
		"Cc": message.cc if has_several else (),
		"Reply-To": [each for each in message.reply_to if each != message.sender],
	}
	lines = [f"{name}: {', '.join(found)[:MAX_NAMES_CHARS]}" for name, found in others.items() if found]
	return "\n".join([f"From: {sender}", *lines])


def render_mail(message: MailMessage, max_chars: int) -> str:
	"""A mail in a prompt, with at most `max_chars` of its text and the names of its attachments."""
	text = message.text[:max_chars]
	if len(message.text) > max_chars:
		text += f"\n\n[Truncated: the first {max_chars:,} of {len(message.text):,} characters.]"
	heads = f"{describe_people(message)}\nSubject: {message.subject}"
	return f"{heads}\n\n{text}{list_attachments(message)}"


def read_plain(message: MailMessage) -> PreparedMail:
	"""The mail unchanged."""
	fields = {"sender_email": message.sender, "subject": message.subject, "body": message.text}
	prompt = render_mail(message, MAX_PROMPT_CHARS)
	return PreparedMail(DEFAULT, message.sender, message.subject, message.text, prompt, fields)


def prepare_mail(
	message: MailMessage, known: Mapping[str, Preprocessor], wanted: str | None = None
) -> PreparedMail:
	"""Prepare a mail with the `wanted` preprocessor, else with the first that it fits, else unchanged.

	Raises KeyError for an unknown `wanted`.
	"""
	if wanted == DEFAULT:
		return read_plain(message)
	if wanted:
		return known[wanted].read(message)
	return next((each.read for each in known.values() if each.fits(message)), read_plain)(message)
