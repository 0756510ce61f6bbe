"""Sample mails generated from tables: charsets, parts, replies and faults as real mail programs write them.

The other samples are the .eml files in this folder.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path


@dataclass(frozen=True)
class Sample:
	"""`has`: texts it must contain; `new`: the text without quotes; `files`: (name, bytes) of attachments."""

	name: str
	raw: bytes
	has: tuple[str, ...] = ()
	new: str | None = None
	subject: str | None = None
	sender: str | None = None
	files: tuple[tuple[str, bytes], ...] = ()
	automated: bool = False


CHARSETS = {
	"utf-8": "Příliš žluťoučký kůň €",
	"iso-8859-2": "Příliš žluťoučký kůň",
	"windows-1250": "Příliš žluťoučký kůň €",
	"iso-8859-1": "Grüße aus Köln, à bientôt",
	"windows-1252": "Grüße “aus” Köln – 5 €",
	"iso-8859-15": "Œuvre à 5 €",
	"koi8-r": "Съешь ещё этих булок",
	"windows-1251": "Съешь ещё этих булок",
	"iso-8859-7": "Καλημέρα κόσμε",
	"windows-1255": "שלום עולם",
	"iso-2022-jp": "こんにちは世界",
	"shift_jis": "こんにちは世界",
	"euc-jp": "こんにちは世界",
	"gb2312": "你好，世界",
	"gb18030": "你好，世界 㐀",
	"big5": "你好，世界",
	"euc-kr": "안녕하세요",
	"utf-16": "Příliš žluťoučký",
}
HEAD = b"From: Anna <anna@customer.example>\r\nTo: office@office.example\r\nMessage-ID: <made@customer.example>\r\n"
OLD = "old words that are quoted"
ANSWERS = {
	"en_gmail": ("On Wed, Nov 18, 2026 at 5:01 PM Office <office@office.example> wrote:", ">"),
	"cs_gmail": ("st 18. 11. 2026 v 17:01 odesílatel Office <office@office.example> napsal:", ">"),
	"cs_thunderbird": ("Dne 18. 11. 2026 v 17:01 Office napsal(a):", ">"),
	"de_gmail": ("Am Mi., 18. Nov. 2026 um 17:01 Uhr schrieb Office <office@office.example>:", ">"),
	"fr_gmail": ("Le mer. 18 nov. 2026 à 17:01, Office <office@office.example> a écrit :", ">"),
	"es_gmail": ("El mié, 18 nov 2026 a las 17:01, Office (<office@office.example>) escribió:", ">"),
	"it_gmail": ("Il giorno mer 18 nov 2026 alle ore 17:01 Office <office@office.example> ha scritto:", ">"),
	"nl_gmail": ("Op wo 18 nov 2026 om 17:01 schreef Office <office@office.example>:", ">"),
	"pl_gmail": ("śr., 18 lis 2026 o 17:01 Office <office@office.example> napisał(a):", ">"),
	"sv_outlook": (
		"Från: Office <office@office.example>\nSkickat: den 18 november 2026 17:01\nTill: Anna\nÄmne: Hej",
		"",
	),
	"da_outlook": (
		"Fra: Office <office@office.example>\nSendt: 18. november 2026 17:01\nTil: Anna\nEmne: Hej",
		"",
	),
	"en_outlook": (
		"From: Office <office@office.example>\nSent: Wednesday, November 18, 2026 5:01 PM\nTo: Anna\nSubject: Hi",
		"",
	),
	"de_outlook": (
		"Von: Office <office@office.example>\nGesendet: Mittwoch, 18. November 2026 17:01\nAn: Anna\nBetreff: Hallo",
		"",
	),
	"cs_outlook": (
		"Od: Office <office@office.example>\nOdesláno: středa 18. listopadu 2026 17:01\nKomu: Anna\nPředmět: Ahoj",
		"",
	),
	"en_original": (
		"-----Original Message-----\nFrom: Office <office@office.example>\nSent: Wednesday\nTo: Anna\nSubject: Hi",
		"",
	),
}
FOLDER = Path(__file__).parent
EML_FILES = {
	"gmail_forward_en": ("anna@customer.example", "Where is my order?"),
	"gmail_forward_cs": ("jan@zakaznik.example", "Kde je moje objednávka?"),
	"outlook_forward_en": ("jose@customer.example", "Please send the invoice again."),
	"outlook_forward_cs": ("Petr Šimák", "Zboží přišlo rozbité."),
	"apple_forward_en": ("Marie Dupré", "Can I come on Friday?"),
	"apple_forward_cs": ("eva@zakaznik.example", "Mohu přijít v pátek?"),
	"crisp_en": ("Jane Doe", "Ibuprofen 400 in Brno"),
	"crisp_cs": ("Jana Nováková", "Ibuprofen 400 v Brně"),
	"crisp_wrote_en": ("Jane Doe", "I need two."),
	"crisp_wrote_cs": ("Petr Malý", "Potřebuji dva."),
	"crisp_html_en": ("John Smith", "Aspirin"),
	"bounce": ("could not be delivered",),
}


def all_samples() -> list[Sample]:
	return [*from_eml_files(), *in_charsets(), *answers(), *with_parts(), *with_faults()]


def from_eml_files() -> Iterator[Sample]:
	for name, has in EML_FILES.items():
		yield Sample(
			name, (FOLDER / f"{name}.eml").read_bytes(), has, automated=name == "bounce" or "html" in name
		)


def in_charsets() -> Iterator[Sample]:
	for number, (charset, words) in enumerate(CHARSETS.items()):
		body = words.encode(charset)
		encodings = ("base64", "quoted-printable", "8bit")
		encoding = "base64" if charset == "utf-16" else encodings[number % 3]
		head = f"Subject: {encoded_word(words, charset)}\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset={charset}\r\n"
		head += f"Content-Transfer-Encoding: {encoding}\r\n\r\n"
		yield Sample(
			f"charset_{charset}", HEAD + head.encode() + transfer(body, encoding), (words,), subject=words
		)


def encoded_word(words: str, charset: str) -> str:
	import base64

	return f"=?{charset}?B?{base64.b64encode(words.encode(charset)).decode()}?="


def transfer(body: bytes, encoding: str) -> bytes:
	import base64
	import quopri

	return {"base64": base64.encodebytes, "quoted-printable": quopri.encodestring}.get(encoding, bytes)(body)


def answers() -> Iterator[Sample]:
	for name, (line, mark) in ANSWERS.items():
		quoted = "\n".join(f"{mark} {each}".strip() for each in (OLD, "and more of it"))
		text = f"Thank you, that is fine.\n\nAnna\n\n{line}\n\n{quoted}\n"
		raw = (
			HEAD
			+ b"Subject: Re: Hi\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n"
		)
		yield Sample(f"answer_{name}", raw + text.encode(), (OLD,), new="Thank you, that is fine.\n\nAnna")


def with_parts() -> Iterator[Sample]:
	pdf = b"%PDF-1.4\n" + bytes(range(256)) * 4
	both = base()
	both.set_content("Plain words")
	both.add_alternative("<p>Words in <b>HTML</b></p>", subtype="html")
	yield Sample("alternative", both.as_bytes(), ("Plain words",), new="Plain words")
	html = base()
	html.set_content(
		"<h1>Title</h1><p>A <a href='https://x.example'>link</a></p><style>p{}</style>", subtype="html"
	)
	yield Sample("html_only", html.as_bytes(), ("# Title", "[link](https://x.example)"))
	hollow = base()
	hollow.set_content(" \n")
	hollow.add_alternative("<p>Only here</p>", subtype="html")
	yield Sample("empty_plain", hollow.as_bytes(), ("Only here",))
	mixed = base()
	mixed.set_content("See both files")
	mixed.add_attachment(pdf, "application", "pdf", filename="Účet č. 1.pdf")
	mixed.add_attachment("a;b\n1;2\n", subtype="csv", filename="table.csv")
	yield Sample(
		"mixed", mixed.as_bytes(), ("See both",), files=(("Účet č. 1.pdf", pdf), ("table.csv", b"a;b\n1;2\n"))
	)
	picture = base()
	picture.set_content("A picture")
	picture.add_alternative('<p>A picture</p><img src="cid:one">', subtype="html")
	picture.get_payload()[1].add_related(
		b"\x89PNG" + bytes(40), "image", "png", cid="<one>", filename="one.png"
	)
	yield Sample("related", picture.as_bytes(), ("A picture",), files=(("one.png", b"\x89PNG" + bytes(40)),))
	inner = base()
	inner.set_content("The inner mail")
	outer = base()
	outer.set_content("See what is attached")
	outer.add_attachment(inner)
	yield Sample(
		"mail_in_mail", outer.as_bytes(), ("See what",), files=(("attachment.eml", inner.as_bytes()),)
	)
	meeting = base()
	meeting.set_content("Come on Friday")
	meeting.add_attachment(b"BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n", "text", "calendar")
	yield Sample(
		"invitation",
		meeting.as_bytes(),
		("Friday",),
		files=(("attachment.ics", b"BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n"),),
	)
	nameless = base()
	nameless.set_content("No name")
	nameless.add_attachment(b"\0\1\2", "application", "octet-stream")
	yield Sample("nameless_file", nameless.as_bytes(), ("No name",), files=(("attachment.bin", b"\0\1\2"),))
	path = base()
	path.set_content("A path")
	path.add_attachment(b"x", "application", "octet-stream", filename="..\\..\\etc/passwd")
	yield Sample("file_with_a_path", path.as_bytes(), files=(("passwd", b"x"),))
	old_name = b'Content-Type: application/pdf; name="=?iso-8859-2?Q?=FA=E8et.pdf?="\r\nContent-Transfer-Encoding: base64\r\n\r\nUERG\r\n'
	raw = (
		HEAD
		+ b"MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\r\nHere\r\n--x\r\n"
		+ old_name
		+ b"--x--\r\n"
	)
	yield Sample("encoded_word_as_name", raw, ("Here",), files=(("účet.pdf", b"PDF"),))
	list_mail = base()
	list_mail["List-Id"], list_mail["Precedence"] = "<news.example>", "bulk"
	list_mail.set_content("News of the week")
	yield Sample("newsletter", list_mail.as_bytes(), ("News",), automated=True)
	away = base()
	away["Auto-Submitted"] = "auto-replied (vacation)"
	away.set_content("I am away")
	yield Sample("vacation", away.as_bytes(), ("away",), automated=True)


def with_faults() -> Iterator[Sample]:
	czech = "Žluťoučký kůň"
	plain = b"Content-Type: text/plain"
	yield Sample(
		"says_ascii_is_utf8", HEAD + plain + b"; charset=us-ascii\r\n\r\n" + czech.encode(), (czech,)
	)
	yield Sample("says_nothing_is_utf8", HEAD + b"\r\n" + czech.encode(), (czech,))
	yield Sample("unknown_charset", HEAD + plain + b"; charset=x-martian\r\n\r\n" + czech.encode(), (czech,))
	yield Sample(
		"says_utf8_is_cp1252", HEAD + plain + b"; charset=utf-8\r\n\r\n" + "Köln".encode("cp1252"), ("Köln",)
	)
	yield Sample(
		"charset_in_quotes", HEAD + plain + b"; charset=\"'utf-8'\"\r\n\r\n" + czech.encode(), (czech,)
	)
	yield Sample("raw_subject", HEAD + b"Subject: " + czech.encode() + b"\r\n\r\nHi", ("Hi",), subject=czech)
	yield Sample("broken_word", HEAD + b"Subject: =?utf-8?B?!!!?= rest\r\n\r\nHi", ("Hi",))
	two = b"Subject: =?utf-8?Q?P=C5=99=C3=ADli?=\r\n =?utf-8?Q?=C5=A1?=\r\n\r\nHi"
	yield Sample("subject_in_two_words", HEAD + two, ("Hi",), subject="Příliš")
	yield Sample("no_sender", b"To: office@office.example\r\nSubject: x\r\n\r\nHi", ("Hi",), sender="")
	yield Sample(
		"unquoted_comma",
		b"From: Nowak, Anna <anna@customer.example>\r\n\r\nHi",
		("Hi",),
		sender="anna@customer.example",
	)
	yield Sample(
		"two_senders", b"From: a@x.example\r\nFrom: b@x.example\r\n\r\nHi", ("Hi",), sender="a@x.example"
	)
	yield Sample(
		"sender_in_words",
		b'From: "boss@evil.example" <anna@customer.example>\r\n\r\nHi',
		sender="anna@customer.example",
	)
	yield Sample("broken_date", HEAD + b"Date: yesterday at 25:99\r\n\r\nHi", ("Hi",))
	yield Sample("no_colon", HEAD + b"This is no header\r\nSubject: late\r\n\r\nHi", ("Hi",))
	yield Sample("bare_newlines", HEAD.replace(b"\r\n", b"\n") + b"Subject: x\n\nHi\nthere", ("Hi\nthere",))
	yield Sample(
		"no_end_of_parts",
		HEAD + b"Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\r\nFirst\r\n",
		("First",),
	)
	yield Sample(
		"parts_without_a_boundary",
		HEAD + b"Content-Type: multipart/mixed\r\n\r\nAll the same",
		("All the same",),
	)
	yield Sample(
		"a_boundary_that_never_comes",
		HEAD + b"Content-Type: multipart/mixed; boundary=y\r\n\r\nJust text",
		("Just text",),
	)
	broken = b"Content-Transfer-Encoding: base64\r\n\r\nSGVsbG8gd29ybGQ*****\r\n"
	yield Sample("broken_base64", HEAD + plain + b"\r\n" + broken, ("Hello",))
	yield Sample("nulls", HEAD + b"\r\nHi\0there", ("Hithere",))
	yield Sample("empty", b"", ())
	yield Sample("nothing_but_text", b"Just a line of text without headers", ())
	yield Sample("bare_id", b"From: a@x.example\r\nMessage-ID: no-brackets@x\r\n\r\nHi", ("Hi",))
	yield Sample("very_long_line", HEAD + b"\r\n" + b"On " * 30_000, ("On On",))
	yield Sample("many_blank_lines", HEAD + b"\r\nHi\r\n" + b" \r\n" * 30_000, ("Hi",))
	yield Sample("deep_html", HEAD + b"Content-Type: text/html\r\n\r\n" + b"<div>" * 2_000 + b"Hi", ("Hi",))
	yield Sample("unclosed_html", HEAD + b"Content-Type: text/html\r\n\r\n<p>Hi <b>there", ("Hi",))


def base() -> EmailMessage:
	mail = EmailMessage()
	mail["From"], mail["To"] = "Anna <anna@customer.example>", "office@office.example"
	mail["Subject"], mail["Message-ID"] = "A mail", "<made@customer.example>"
	return mail
