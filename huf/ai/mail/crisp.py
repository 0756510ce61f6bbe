"""Reads mails that the helpdesk Crisp forwards, in Czech and in English: who wrote, from where, and what."""

import re
import unicodedata

from huf.ai.core.text_decoding import read_addresses
from huf.ai.mail.message import MailMessage
from huf.ai.mail.preprocess import PreparedMail

PROMPT = (
	"New support inquiry from {patient_name} ({patient_email}):\nSubject: {subject}\n\n{original_message}"
)
UNKNOWN = "unknown"
HOSTS = ("crisp.chat", "crisp.email", "crisp.help")
LABELS = {
	"name": "name customer visitor user contact from jmeno zakaznik navstevnik uzivatel kontakt od".split(),
	"email": ["email", "e-mail", "email address", "e-mail address", "e-mailova adresa"],
	"message": ["message", "original message", "zprava", "puvodni zprava", "text zpravy"],
}
"""The labels Crisp uses for each field, without accents."""
PERSON = re.compile(
	r"^(?:customer|visitor|user|contact|patient)(?:'s)? (?=\w)|(?<=\w) (?:zakaznika|navstevnika|uzivatele)$"
)
"""Whose field it is, as in "Customer Email"."""
LABEL = re.compile(r"([^\W\d][\w' -]{1,30}?)\s*:\s*(.*)")
SENTENCES = (
	re.compile(r".{0,60}\b(?:message|inquiry|zprav[auy]|dotaz) (?:from|od):? (?P<who>.{1,150}?)[:.]?"),
	re.compile(
		r"(?P<who>.{1,150}?) (?:wrote|says|sent you a (?:new )?message"
		r"|napsal(?:a|\(a\))?|posil[aá] zpravu|poslala? zpravu)[:.]?"
	),
)
ANONYMOUS = {"a visitor", "a customer", "a user", "navstevnika", "zakaznika", "uzivatele"}
RULE = re.compile(r"[-_=]{2,}")
FOOTER = re.compile(
	r"(?:powered|sent|odeslano|zaslano|poslano|reply|view|open|see|answer"
	r"|odpovedet|odpovezte|zobrazit|otevrit)\b"
	r".{0,120}?(?:\bcrisp\b|\bconversation|\bkonverzac|\binbox\b|\bschrank)"
)
MENTION = re.compile(r"\bcrisp\.(?:chat|email|help)\b|\b(?:via|by|with|in your|pres|v aplikaci) crisp\b")
MAX_LINES = 5_000
MAX_NAME_CHARS = 300
HEAD_LINES = 15
"""The lines that say who wrote are among these."""


def is_from_crisp(message: MailMessage) -> bool:
	"""Whether Crisp sent it, or its headers or text say so."""
	has_header = any(name.lower().startswith("x-crisp") for name, _value in message.headers)
	return (
		has_header or is_sent_by_crisp(message) or bool(MENTION.search(fold_accents(message.text[:100_000])))
	)


def is_sent_by_crisp(message: MailMessage) -> bool:
	"""Whether the sender is Crisp. Text and other headers do not count: anybody could write them."""
	domain = message.sender.rpartition("@")[2]
	return any(domain == host or domain.endswith(f".{host}") for host in HOSTS)


def read_crisp(message: MailMessage) -> PreparedMail:
	"""What the customer wrote; where a field cannot be found, the value of the mail itself."""
	lines = [strip_markup(line) for line in message.text.split("\n")[:MAX_LINES]]
	found, first = read_head(lines)
	address = find_customer_address(found, message)
	name = re.sub(r"[<(\[]?\S+@\S+", "", found.get("name", "")[:MAX_NAME_CHARS]).strip(" *_<>()[]\"'|:,")
	fields = {
		"patient_name": name or address or UNKNOWN,
		"patient_email": address,
		"subject": message.subject,
		"original_message": read_original_message(lines, first) or message.text.strip(),
	}
	answer_to = address if is_sent_by_crisp(message) else ""
	# Field values are inserted as they are: nothing in a mail is rendered as a template.
	prompt = PROMPT.format(**{**fields, "patient_email": address or UNKNOWN})
	return PreparedMail(
		"crisp", address, message.subject, fields["original_message"], prompt, fields, answer_to
	)


def find_customer_address(found: dict[str, str], message: MailMessage) -> str:
	"""The customer's address among the fields; "" if there is none, never that of the forwarder."""
	forwarders = {message.sender, *message.reply_to, *message.to, *message.cc}
	labelled = read_addresses(found.get("email", ""))
	named = [each for each in read_addresses(found.get("name", "")) if each[1] not in forwarders]
	return next((each for _name, each in [*labelled, *named] if each.rpartition("@")[2] not in HOSTS), "")


def read_head(lines: list[str]) -> tuple[dict[str, str], int]:
	"""(the fields in the first lines, the number of the line after them)."""
	found: dict[str, str] = {}
	first = 0
	for number, line in enumerate(lines[:HEAD_LINES]):
		field, value = read_label(line) or read_sentence(line) or ("", "")
		if field == "message":
			lines[number] = value
			return found, number
		if field:
			first = number + 1
			if not (field == "name" and fold_accents(value) in ANONYMOUS):
				found.setdefault(field, value)
	return found, first


def read_label(line: str) -> tuple[str, str] | None:
	found = LABEL.fullmatch(line)
	if not found:
		return None
	label = PERSON.sub("", fold_accents(found.group(1)).strip())
	return next(((field, found.group(2)) for field, names in LABELS.items() if label in names), None)


def read_sentence(line: str) -> tuple[str, str] | None:
	"""The name in a line such as "New message from Jane (jane@x.example)", with its accents."""
	for pattern in SENTENCES:
		if len(line) <= 250 and (found := pattern.fullmatch(fold_accents(line))):
			return "name", line[found.start("who") : found.end("who")]
	return None


def read_original_message(lines: list[str], first: int) -> str:
	body: list[str] = []
	for line in lines[first:]:
		if any(body) and (RULE.fullmatch(line) or FOOTER.match(fold_accents(line))):
			break
		if body or line:
			body.append(line)
	return "\n".join(body).strip()


def strip_markup(line: str) -> str:
	"""The line without marks of quoting and of markdown."""
	line = re.sub(r"^(?:>\s?)+|^#+\s+", "", line.strip())
	line = re.sub(r"\\([-*_#>])", r"\1", line)
	return re.sub(r"\*\*|\[([^\[\]\n]*)\]\(mailto:[^()\n]*\)", r"\1", line).strip()


def fold_accents(text: str) -> str:
	"""In lower case without accents, with the same number of characters."""
	return "".join(unicodedata.normalize("NFKD", char)[:1] for char in text).lower()
