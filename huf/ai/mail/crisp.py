"""Mails that the helpdesk Crisp forwards: who wrote, from where, and what, in Czech and in English. Only reads."""

import re
import unicodedata

from huf.ai.core.text_decoding import read_addresses
from huf.ai.mail.message import MailMessage
from huf.ai.mail.preprocess import PreparedMail

PROMPT = (
	"New support inquiry from {patient_name} ({patient_email}):\nSubject: {subject}\n\n{original_message}"
)
HOSTS = ("crisp.chat", "crisp.email", "crisp.help")
LABELS = {
	"name": "name customer visitor user contact from jmeno zakaznik navstevnik uzivatel kontakt od".split(),
	"email": ["email", "e-mail", "email address", "e-mail address", "e-mailova adresa"],
	"message": ["message", "original message", "zprava", "puvodni zprava", "text zpravy"],
}
"""Of each field, how Crisp calls it; without accents."""
LABEL = re.compile(r"([^\W\d][\w -]{1,30}?)\s*:\s*(.*)")
SENTENCES = (
	re.compile(r".{0,60}\b(?:message|inquiry|zprav[auy]|dotaz) (?:from|od) (?P<who>.{1,150}?)[:.]?"),
	re.compile(
		r"(?P<who>.{1,150}?) (?:wrote|says|sent you a (?:new )?message|napsal(?:a|\(a\))?|posil[aá] zpravu|poslala? zpravu)[:.]?"
	),
)
ANONYMOUS = {"a visitor", "a customer", "a user", "navstevnika", "zakaznika", "uzivatele"}
RULE = re.compile(r"[-_=]{2,}")
FOOTER = re.compile(
	r"(?:powered|sent|odeslano|zaslano|poslano|reply|view|open|see|answer|odpovedet|odpovezte|zobrazit|otevrit)\b"
	r".{0,120}?(?:\bcrisp\b|\bconversation|\bkonverzac|\binbox\b|\bschrank)"
)
MENTION = re.compile(r"\bcrisp\.(?:chat|email|help)\b|\b(?:via|by|with|in your|pres|v aplikaci) crisp\b")
MAX_LINES = 5_000
HEAD_LINES = 15
"""How far down the lines stand that say who wrote."""


def is_from_crisp(message: MailMessage) -> bool:
	"""Crisp sent it, or it says in its headers or its words that Crisp did."""
	return is_sent_by_crisp(message) or bool(MENTION.search(fold_accents(message.text[:100_000])))


def is_sent_by_crisp(message: MailMessage) -> bool:
	"""As its headers say; words of a mail could be anybody's."""
	domain = message.sender.rpartition("@")[2]
	is_theirs = any(domain == host or domain.endswith(f".{host}") for host in HOSTS)
	return is_theirs or any(name.lower().startswith("x-crisp") for name, _value in message.headers)


def read_crisp(message: MailMessage) -> PreparedMail:
	"""What the customer wrote. What cannot be found is the mail's own, so that nothing is left out."""
	lines = [strip_markup(line) for line in message.text.split("\n")[:MAX_LINES]]
	said, first = read_head(lines)
	addresses = read_addresses(said.get("email", ""), said.get("name", ""), *message.reply_to)
	address = next(
		(each for _name, each in addresses if each.rpartition("@")[2] not in HOSTS), message.sender
	)
	name = re.sub(r"[<(\[]?\S+@\S+", "", said.get("name", "")).strip(" *_<>()[]\"'|:,")
	fields = {
		"patient_name": name or message.sender_name or address,
		"patient_email": address,
		"subject": message.subject,
		"original_message": read_original_message(lines, first) or message.text.strip(),
	}
	answer_to = address if is_sent_by_crisp(message) else ""
	# What stands in the fields is put in as it is: nothing of a mail is read as a template.
	prompt = PROMPT.format(**fields)
	return PreparedMail(
		"crisp", address, message.subject, fields["original_message"], prompt, fields, answer_to
	)


def read_head(lines: list[str]) -> tuple[dict[str, str], int]:
	"""What the first lines say of the writer, and the line after them."""
	said: dict[str, str] = {}
	first = 0
	for number, line in enumerate(lines[:HEAD_LINES]):
		field, value = read_label(line) or read_sentence(line) or ("", "")
		if field == "message":
			lines[number] = value
			return said, number
		if field:
			first = number + 1
			if not (field == "name" and fold_accents(value) in ANONYMOUS):
				said.setdefault(field, value)
	return said, first


def read_label(line: str) -> tuple[str, str] | None:
	found = LABEL.fullmatch(line)
	label = fold_accents(found.group(1)).strip() if found else ""
	return next(((field, found.group(2)) for field, names in LABELS.items() if label in names), None)


def read_sentence(line: str) -> tuple[str, str] | None:
	"""Such as "New message from Jane (jane@x.example)". Looked for without accents, and given with them."""
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
	"""Without the marks of quotes and of markdown."""
	line = re.sub(r"^(?:>\s?)+|^#+\s+", "", line.strip())
	line = re.sub(r"\\([-*_#>])", r"\1", line)
	return re.sub(r"\*\*|\[([^\]\n]*)\]\(mailto:[^)\n]*\)", r"\1", line).strip()


def fold_accents(text: str) -> str:
	"""In small letters without accents; as long as it was."""
	return "".join(unicodedata.normalize("NFKD", char)[:1] for char in text).lower()
