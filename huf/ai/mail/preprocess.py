"""What an agent is told of a mail: a preprocessor turns a MailMessage into a Prepared one.

Which there are is handed in: Huf's own (`PREPROCESSORS`) and those of apps. Knows no site.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from huf.ai.mail.message import MailMessage

DEFAULT = "default"


@dataclass(frozen=True)
class PreparedMail:
	"""`prompt` is what the agent reads; `fields` is what was found out, by name.

	`answer_to`: whom an answer goes to besides those in the thread, where it is sure that the mail tells it truly.
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
	"""`fits` says whether a mail is of its kind, `read` reads it. Neither raises for what a mail holds."""

	fits: Callable[[MailMessage], bool]
	read: Callable[[MailMessage], PreparedMail]


def read_plain(message: MailMessage) -> PreparedMail:
	"""The mail as it is."""
	fields = {"sender_email": message.sender, "subject": message.subject, "body": message.text}
	prompt = f"From: {message.sender}\nSubject: {message.subject}\n\n{message.text}"
	return PreparedMail(DEFAULT, message.sender, message.subject, message.text, prompt, fields)


def prepare_mail(
	message: MailMessage, known: Mapping[str, Preprocessor], wanted: str | None = None
) -> PreparedMail:
	"""By the preprocessor that is wanted, else by the first that the mail fits, else as it is.

	Raises KeyError for a wanted one that is not known.
	"""
	if wanted == DEFAULT:
		return read_plain(message)
	if wanted:
		return known[wanted].read(message)
	return next((each.read for each in known.values() if each.fits(message)), read_plain)(message)
