"""Mails that the helpdesk Crisp forwards: who wrote, from where, and what, in Czech and in English. Only reads."""

import re

from huf.ai.mail.message import MailMessage
from huf.ai.mail.preprocess import Prepared

PROMPT = (
	"New support inquiry from {patient_name} ({patient_email}):\nSubject: {subject}\n\n{original_message}"
)
ADDRESS = r"[\w.+%-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}"
LABEL = r"^[ \t>*_#|-]{0,10}(?:%s)[ \t*_]{0,4}:[ \t*_]{0,4}(.{1,300})$"
NAME = re.compile(
	LABEL
	% r"Name|Customer|Visitor|User|Contact|From|Jm[eé]no|Z[aá]kazn[ií]k|N[aá]v[sš]t[eě]vn[ií]k|U[zž]ivatel|Kontakt|Od",
	re.IGNORECASE | re.MULTILINE,
)
EMAIL = re.compile(LABEL % r"E-?mail(?: address)?|E-?mailov[aá] adresa", re.IGNORECASE | re.MULTILINE)
MESSAGE = re.compile(
	r"^[ \t>*_#|-]{0,10}(?:Message|Original message|Zpr[aá]va|P[uů]vodn[ií] zpr[aá]va|Text zpr[aá]vy)[ \t*_]{0,4}:[ \t*_]{0,4}",
	re.IGNORECASE | re.MULTILINE,
)
SENTENCE = re.compile(
	rf"^[ \t>*_#-]{{0,10}}(?:(?:New|You (?:have|received)|Nov[aá]|M[aá]te|Obdr[zž]eli jste).{{0,60}}?"
	rf"(?:message|inquiry|zpr[aá]v[auy]|dotaz) (?:from|od)(?: z[aá]kazn[ií]ka| u[zž]ivatele)?|(?:Message|Zpr[aá]va) (?:from|od))[ \t*_]+"
	rf"(?P<name>[^\n<(:]{{1,100}}?)[ \t*_]*(?:[<(](?P<email>{ADDRESS})[>)])?[ \t*_]*[:.]?[ \t]*$"
	rf"|^[ \t>*_#-]{{0,10}}(?P<name2>[^\n<(:]{{1,100}}?)[ \t*_]*(?:[<(](?P<email2>{ADDRESS})[>)])?[ \t*_]+"
	rf"(?:wrote|sent you a (?:new )?message|says|nap[ií]sala?(?:\(a\))?|pos[ií]l[aá](?: v[aá]m)?(?: novou)? zpr[aá]vu|poslala?(?: v[aá]m)?(?: novou)? zpr[aá]vu)[ \t*_]*[:.]?[ \t]*$",
	re.IGNORECASE | re.MULTILINE,
)
FOOTER = re.compile(
	r"^[ \t>*_-]{0,10}(?:(?:Powered|Sent) (?:by|via|with|from) .{0,40}Crisp|(?:Odesl[aá]no|Zasl[aá]no|Posl[aá]no) (?:p[rř]es|z|pomoc[ií]|prost[rř]ednictv[ií]m) .{0,40}Crisp"
	r"|(?:Reply|View|Open|See|Answer) .{0,80}(?:Crisp|conversation|inbox|email)|(?:Odpov[eě]d[eě]t|Odpov[eě]zte|Zobrazit|Otev[rř][ií]t) .{0,80}(?:Crisp|konverzac|e-?mail|schr[aá]n)"
	r"|\[?.{0,60}https?://[\w.-]{0,60}crisp\.(?:chat|email|help)|--[ \t]?$|={5,}[ \t]*$|-{5,}[ \t]*$|_{5,}[ \t]*$).*$",
	re.IGNORECASE | re.MULTILINE,
)
MENTIONED = re.compile(ADDRESS)
HOSTS = ("crisp.chat", "crisp.email", "crisp.help")
LONGEST = 100_000


def is_from_crisp(message: MailMessage) -> bool:
	"""Crisp sent it, or it says in its headers or its words that Crisp did."""
	domain = message.sender.rpartition("@")[2]
	if any(domain == host or domain.endswith(f".{host}") for host in HOSTS):
		return True
	if any(name.lower().startswith("x-crisp") for name, _value in message.headers):
		return True
	return bool(
		re.search(
			r"\bcrisp\.(?:chat|email|help)\b|\bvia crisp\b|\bp[rř]es crisp\b",
			message.text[:LONGEST],
			re.IGNORECASE,
		)
	)


def read_crisp(message: MailMessage) -> Prepared:
	"""What the customer wrote, with the seed's fields. What cannot be found is the mail's own: nothing is left out."""
	text = message.text[:LONGEST]
	sentence = SENTENCE.search(text)
	said = {key: value for key, value in (sentence.groupdict() if sentence else {}).items() if value}
	name = first(NAME, text) or said.get("name") or said.get("name2") or ""
	address = first(EMAIL, text) or said.get("email") or said.get("email2") or other_address(message)
	found = MENTIONED.search(address) or MENTIONED.search(name)
	patient_email = (found.group() if found else message.sender).lower()
	patient_name = tidy(MENTIONED.sub("", name)) or message.sender_name or patient_email
	fields = {
		"patient_name": patient_name,
		"patient_email": patient_email,
		"subject": message.subject,
		"original_message": original_message(text, sentence),
	}
	# Nothing of the mail is read as a template.
	return Prepared(
		"crisp", patient_email, message.subject, fields["original_message"], PROMPT.format(**fields), fields
	)


def other_address(message: MailMessage) -> str:
	return next((each for each in message.reply_to if each.rpartition("@")[2] not in HOSTS), "")


def original_message(text: str, sentence: re.Match | None) -> str:
	"""What stands behind the headers and before the footer; the whole text where neither is found."""
	begins = [match.end() for match in (*NAME.finditer(text), *EMAIL.finditer(text)) if match.start() < 2_000]
	start = max([*begins[:4], sentence.end() if sentence else 0])
	if said := MESSAGE.search(text):
		start = said.end()
	rest = text[start:].strip("\n")
	footers = [match.start() for match in FOOTER.finditer(rest) if rest[: match.start()].strip()]
	body = rest[: footers[0]] if footers else FOOTER.sub("", rest, count=1) if FOOTER.match(rest) else rest
	lines = [re.sub(r"^>[ ]?", "", line) for line in body.strip().split("\n")]
	return "\n".join(lines).strip() or text.strip()


def first(pattern: re.Pattern, text: str) -> str:
	found = pattern.search(text)
	return found.group(1).strip() if found else ""


def tidy(name: str) -> str:
	return name.strip(" \t*_<>()[]\"'|:,")
